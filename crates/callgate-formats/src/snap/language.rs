//! Snaps in the [registry](crate::languages), and changes of their profiles.

use std::fmt::Write;

use super::line::{ReadOptions, system_id};
use super::read::read as read_texts;
use super::write;
use crate::change::input::{Edit, EditInput, line_at_end, logical_line, without_line};
use crate::change::verify::Compared;
use crate::languages::{
    Editor, Files, Input, Language, Name, ReadFilter, ReadResult, ReadSource, Reading, Writer,
    of_first,
};
use crate::profile::Profile;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::written("snap", &WRITER)],
    forms: &[(
        "snap:FILE",
        "a snap seccomp profile (*.src): both filters that snap-confine installs",
    )],
    for_builds: false,
    editor: Some(Editor { names_files: true, ..Editor::of(edits) }),
    ..Language::of("a snap profile", "snap", read)
};

const WRITER: Writer = Writer::of("snap.src", |fit, _| write::write(fit));

/// Reads a profile as its two filters. Users and groups other than root and those of snapd may have other numbers where the
/// profile is used, so their names are not looked up.
fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let Reading { strict, statements, .. } = *reading;
    let options = ReadOptions { native: reading.host(), strict, statements };
    let filters = read_texts(input.text(), &options, &mut |_, user| system_id(user))?;
    let [of_deny, of_allow] =
        filters.statements.map_or_else(Default::default, |both| both.map(Some));
    let file = input.texts.first().and_then(|text| text.name);
    let filter = |what: &str, policy, statements: Option<crate::statements::Statements>| {
        let statements = statements.map(|own| match file {
            Some(name) => own.of_file(name),
            None => own,
        });
        let profile = Profile { statements, ..Profile::of(policy) };
        ReadFilter { suffix: format!(" ({what})"), ..ReadFilter::of(profile) }
    };
    Ok(ReadSource {
        filters: vec![
            filter("deny", filters.deny, of_deny),
            filter("allow", filters.allow, of_allow),
        ],
        warnings: of_first(filters.warnings),
        missing: None,
    })
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let removed: Vec<Edit> = input
        .denying()
        .into_iter()
        .map(|at| without_line(input.text, logical_line(input.text, at)))
        .collect();
    let mut found = Vec::new();
    if !removed.is_empty() {
        found.push(removed.clone());
    }
    // Syscalls that take -1 have operands of 32 bits, and no masks.
    let forms: [fn(u64) -> String; 3] = [
        |value| format!("{}|{value}", u32::MAX),
        |value| value.to_string(),
        |value| (value as i32).to_string(),
    ];
    let is_any_low = input.wanted.compared().any(|compared| compared.is_low);
    for form in forms.iter().take(if is_any_low { forms.len() } else { 1 }) {
        let added = line_at_end(input.text, &line(input, form));
        found.push(removed.iter().cloned().chain([added]).collect());
    }
    found
}

/// A line for the syscall; `low` writes a value of 32 bits.
fn line(input: &EditInput<'_>, low: &dyn Fn(u64) -> String) -> String {
    let mut line = input.wanted.name.clone();
    let mut next = 0;
    for Compared { index, value, is_low, .. } in input.wanted.compared() {
        (next..index).for_each(|_| line.push_str(" -"));
        let value = if is_low { low(value) } else { value.to_string() };
        let _ = write!(line, " {value}");
        next = index + 1;
    }
    line
}
