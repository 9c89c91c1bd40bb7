//! nsjail in the [registry](crate::languages).

use super::read::read as read_text;
use crate::kafel::options;
use crate::languages::{
    Files, Input, Language, Likeness, Name, ReadResult, ReadSource, Reading, ReadingOption,
};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("nsjail")],
    forms: &[("jail.cfg", "an nsjail configuration with seccomp_string or seccomp_policy_file")],
    likeness,
    options: &[ReadingOption::Variables],
    editor: None,
    ..Language::of("an nsjail configuration", "nsjail", read)
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("cfg") if is_config(text) => Likeness::Extension,
        _ if has_policy(text) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, files: &mut dyn Files) -> ReadResult {
    let options = options(input, reading);
    let mut include = |name: &str, from: Option<&str>| files.include(name, from);
    Ok(ReadSource::of(read_text(input.text(), &options, &mut include)?))
}

/// Whether a line of a text begins with a field about the filter.
fn has_policy(text: &[u8]) -> bool {
    has_field(text, &[b"seccomp_string", b"seccomp_policy_file"])
}

/// Whether a text, which is in a file with the extension of configurations, has a field that only nsjail's have.
fn is_config(text: &[u8]) -> bool {
    has_policy(text)
        || has_field(
            text,
            &[
                b"clone_newuser",
                b"clone_newnet",
                b"clone_newns",
                b"clone_newpid",
                b"exec_bin",
                b"gidmap",
                b"mount",
                b"mount_proc",
                b"rlimit_as",
                b"rlimit_nofile",
                b"seccomp_log",
                b"uidmap",
            ],
        )
}

/// Whether a line begins with one of these names, and with what may follow it.
fn has_field(text: &[u8], names: &[&[u8]]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    lines.any(|line| {
        names.iter().any(|name| {
            let rest = line.strip_prefix(*name).map(<[u8]>::trim_ascii_start);
            rest.and_then(<[u8]>::first).is_some_and(|next| matches!(next, b':' | b'{' | b'<'))
        })
    })
}
