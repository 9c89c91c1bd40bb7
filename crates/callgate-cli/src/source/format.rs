//! The format of a source: the `FORMAT:` before it.

use std::ffi::OsStr;

use callgate_formats::android;
use callgate_formats::languages::LanguageId;
use callgate_requests::source::SourceFormat;

use crate::report::Failure;
use crate::text::did_you_mean;

/// The format of the filters of a running process.
pub(super) const PROCESS: &str = "pid";

/// The format of presets.
pub(super) const PRESET: &str = "preset";

/// A directory of bionic as a source.
pub(super) fn in_android(directory: &str) -> String {
    format!("{}:{directory}", LanguageId::of(&android::LANGUAGE))
}

/// Whether a prefix can be a format: lower-case letters and digits. Anything else before a colon belongs to the
/// file name.
pub(super) fn is_word(prefix: &str) -> bool {
    !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

pub(super) fn unknown_format(prefix: &str, text: &OsStr) -> Failure {
    let mut names: Vec<&str> = SourceFormat::all().map(SourceFormat::name).collect();
    names.extend([PRESET, PROCESS]);
    let meant = did_you_mean(prefix, &names);
    Failure::new(format!("unknown format \"{prefix}\" in the source \"{}\"", text.display())).help(
        format!(
            "for a file with this name, write ./{}; the formats are {}{meant}",
            text.display(),
            names.join(", "),
        ),
    )
}
