//! Lists of Android in the [registry](crate::languages).

use super::detect::{check_list_name, is_list};
use super::edit;
use super::kind::APP_ZYGOTE;
use super::options::{ListKind, ListText, ReadOptions};
use super::read::read as read_texts;
use crate::files::FileErrors;
use crate::languages::start::is_text;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Parts, ReadFilter, ReadSource, Reading, Text,
};
use crate::profile::Profile;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::{Count, Weights};

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a filter of Android",
    names: &[Name::read("android")],
    forms: &[(
        "android:libc#app",
        "a filter of Android, from the lists in bionic's directory libc: app, app-zygote, system; a list alone: android:FILE",
    )],
    utf8_help: Some("bionic's lists are text in UTF-8"),
    page: "android",
    likeness,
    read,
    options: &[],
    parts: Parts::None,
    for_builds: false,
    editor: Some(Editor { names_files: true, ..Editor::of(edit::edits) }),
};

fn likeness(_: Option<&str>, text: &[u8]) -> Likeness {
    match is_text(text) && is_list(text) {
        true => Likeness::Text,
        false => Likeness::None,
    }
}

/// Reads the lists of a filter, or a single list: the filter that allows only its syscalls.
fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> Result<ReadSource, FileErrors> {
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
    if priorities.is_empty() {
        return Ok(None);
    }
    let of_rank = |(index, name): (usize, &&'static str)| {
        let count = 1.0 / (index as f64 + 1.0);
        let name = String::from(*name);
        filter.arches.iter().map(move |arch| Count { arch: Some(*arch), name: name.clone(), count })
    };
    let weights = Weights::of(priorities.iter().enumerate().flat_map(of_rank));
    weights.map(Some).map_err(|error| Diagnostic::error(None, error.to_string()))
}
