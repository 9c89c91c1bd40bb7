//! Helpers: filters, and their conversions.

use callgate::convert::{ConvertOptions, Converted, Loss, convert};
use callgate::{Arch, ErrorKind};
use callgate_core::policy::Policy;
use callgate_formats::kafel;
use callgate_formats::languages::LanguageId;

/// A policy in Kafel's language for these architectures.
pub(crate) fn policy(text: &str, arches: &[Arch]) -> Policy {
    let options = kafel::ReadOptions::for_arches(arches.to_vec());
    kafel::read(text, &options).unwrap_or_else(|error| panic!("{text}\n{error}")).policy
}

/// The conversion of a Kafel policy for x86_64, which must be exact.
pub(crate) fn exact(text: &str, target: LanguageId) -> Converted {
    let policy = policy(text, &[Arch::X86_64]);
    let converted = convert(&policy, &ConvertOptions::new(target));
    let converted = converted.unwrap_or_else(|error| panic!("{target}: {text}\n{error}"));
    assert_eq!(converted.losses, []);
    converted
}

/// The nearest policy to a Kafel policy for x86_64.
pub(crate) fn closest(text: &str, target: LanguageId) -> Converted {
    let policy = policy(text, &[Arch::X86_64]);
    let options = closest_options(target);
    convert(&policy, &options).unwrap_or_else(|error| panic!("{target}: {text}\n{error}"))
}

/// What a target cannot express of a Kafel policy for x86_64.
pub(crate) fn losses(text: &str, target: LanguageId) -> Vec<Loss> {
    let policy = policy(text, &[Arch::X86_64]);
    let error = match convert(&policy, &ConvertOptions::new(target)) {
        Err(error) => error,
        Ok(converted) => panic!("{target} can express {text}:\n{}", converted.text),
    };
    match error.kind() {
        ErrorKind::Convert(error) if !error.losses().is_empty() => error.losses().to_vec(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn closest_options(target: LanguageId) -> ConvertOptions {
    let mut options = ConvertOptions::new(target);
    options.closest = true;
    options
}

/// Whether no policy of the language permits at most what a filter permits.
pub(crate) fn has_no_policy(error: &str) -> bool {
    const STARTS: [&str; 5] = [
        "libseccomp also applies rules",
        "systemd 258 always allows write",
        "every policy of ",
        "the filter is the same for all architectures, and none is given",
        "the filter compares arguments with each other",
    ];
    STARTS.iter().any(|start| error.starts_with(start))
        || error.contains(" has no filters for ")
        || error.starts_with("a SeccompProfile resource cannot name ")
}

/// Conditions may have more alternatives than a policy can list, and a policy more comparisons or bytes than its reader accepts;
/// the limit is in the message.
pub(crate) fn is_too_complex(error: &str) -> bool {
    error.contains("4096 alternatives")
        || error.contains("the limit is 4096")
        || error.contains("(the limit)")
        || (error.contains(" would be too large, so nothing was written: ")
            && ["150000", "10485760", "2097152"].iter().any(|limit| error.contains(limit)))
}
