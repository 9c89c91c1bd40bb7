//! Android lists in the [registry](crate::languages): how they are recognized, read and changed.

use super::line::is_entry;
use super::options::{APP_ZYGOTE, ListKind, ListText, ReadOptions};
use super::read::read as read_texts;
use crate::change::input::{Edit, EditInput, line_at_end};
use crate::languages::is_text;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, ReadFilter, ReadResult, ReadSource, Reading,
    SourceFiles, Text, weights_of,
};
use crate::profile::Profile;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::{Count, Weights};
use callgate_core::Arch;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("android")],
    forms: &[(
        "android:libc#app",
        "an Android filter, from the lists in bionic's directory libc: app, app-zygote, system; a list alone: android:FILE",
    )],
    utf8_help: Some("bionic's lists are text in UTF-8"),
    likeness,
    files: SourceFiles::Directory {
        roles: &[
            ListKind::Base.name(),
            ListKind::Allow.name(),
            ListKind::Block.name(),
            ListKind::Priority.name(),
        ],
    },
    for_builds: false,
    editor: Some(Editor { names_files: true, ..Editor::of(edits) }),
    ..Language::of("an Android filter", "android", read)
};

fn likeness(_: Option<&str>, text: &[u8]) -> Likeness {
    Likeness::of_text(is_text(text) && is_list(text))
}

/// Reads the lists of a filter, or a single list: the filter that allows only its syscalls.
fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    if let (Some(name), [_]) = (input.file, input.texts) {
        check_list_name(name)?;
    }
    let lists: Vec<ListText<'_>> = input.texts.iter().map(list_of).collect();
    let options = ReadOptions {
        is_app_zygote: input.part == Some(APP_ZYGOTE),
        statements: reading.statements,
        ..ReadOptions::new(reading.host())
    };
    let policy = read_texts(&lists, &options)?;
    let profile = Profile { statements: policy.statements, ..Profile::of(policy.policy) };
    let filter = ReadFilter::of(profile);
    let weights = weights(&filter, &policy.priorities)?;
    let filters = vec![ReadFilter { weights, ..filter }];
    Ok(ReadSource { filters, warnings: policy.warnings, missing: None })
}

fn list_of<'t>(one: &Text<'t>) -> ListText<'t> {
    let kind = ListKind::from_name(one.role).unwrap_or(ListKind::Allow);
    ListText { kind, text: one.text, name: one.name }
}

/// The weights of frequent syscalls. The list has an order and no counts: frequencies of syscalls fall roughly with the rank
/// (Zipf's law).
fn weights(
    filter: &ReadFilter,
    priorities: &[&'static str],
) -> Result<Option<Weights>, Diagnostic> {
    let of_rank = |(index, name): (usize, &&'static str)| {
        let count = 1.0 / (index as f64 + 1.0);
        let name = String::from(*name);
        filter.arches.iter().map(move |arch| Count { arch: Some(*arch), name: name.clone(), count })
    };
    weights_of(priorities.iter().enumerate().flat_map(of_rank))
}

/// Whether a text begins as a list: with an entry such as `close(int) all`.
pub(super) fn is_list(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(is_entry)
}

/// Refuses a list whose syscalls are not allowed. As in bionic's genseccomp.py, the name of the file decides.
///
/// # Errors
/// For lists of what is blocked, and of priorities.
fn check_list_name(name: &str) -> Result<(), Diagnostic> {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let what = if name.contains("blocklist") || name.contains("blacklist") {
        "a block list has no filter of its own"
    } else if name.ends_with("priority.txt") {
        "a list of priorities has no filter of its own"
    } else {
        return Ok(());
    };
    Err(Diagnostic::error(None, what)
        .help("give bionic's directory libc, with its lists unchanged"))
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let (text, wanted) = (input.text, input.wanted);
    if !wanted.args.is_empty() || !is_allowlist(input.file) {
        return Vec::new();
    }
    let arch = match wanted.arch {
        Arch::Aarch64 => "arm64",
        arch => arch.name(),
    };
    // Until Android 15, a type precedes each function; all lists of a filter must agree.
    let entries = text.lines().map(str::trim).filter(|line| line.contains('('));
    let first = entries.filter(|line| !line.starts_with('#')).map(has_type).next();
    let forms: &[&str] = match first {
        Some(true) => &["long "],
        Some(false) => &[""],
        None => &["", "long "],
    };
    let line = |form: &&str| vec![line_at_end(text, &format!("{form}{}() {arch}", wanted.name))];
    forms.iter().map(line).collect()
}

/// Whether a file lists allowed syscalls; the other files of a filter have names that say otherwise.
fn is_allowlist(file: Option<&str>) -> bool {
    let name = file.and_then(|file| file.rsplit('/').next()).unwrap_or_default();
    let name = name.to_ascii_lowercase();
    !["syscalls.txt", "blocklist", "blacklist", "priority"].iter().any(|own| name.contains(own))
}

fn has_type(entry: &str) -> bool {
    let head = entry.split('(').next().unwrap_or_default();
    head.trim_end().contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_with_an_entry() {
        for list in ["close(int) all", "# x\n\nint __close:close(int)\tarm,lp64\n"] {
            assert!(is_list(list.as_bytes()), "{list}");
        }
        for text in [
            "",
            "# x",
            "close(3) = 0",
            "futex\nioctl\n",
            "ld [4]\nret ALLOW",
            "f(x) { all }",
            "read: 1",
        ] {
            assert!(!is_list(text.as_bytes()), "{text}");
        }
    }
}
