//! Snaps in the [registry](crate::languages).

use super::options::{ReadOptions, system_id};
use super::read::read as read_texts;
use super::{edit, write};
use crate::files::FileErrors;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Parts, ReadFilter, ReadSource, Reading, Writer,
    of_first,
};
use crate::profile::Profile;

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a profile of a snap",
    names: &[Name::written("snap", &WRITER)],
    forms: &[(
        "snap:FILE",
        "a seccomp profile of a snap (*.src): both filters that snap-confine installs",
    )],
    utf8_help: None,
    page: "snap",
    likeness: |_, _| Likeness::None,
    read,
    options: &[],
    parts: Parts::None,
    for_builds: false,
    editor: Some(Editor { names_files: true, ..Editor::of(edit::edits) }),
};

const WRITER: Writer = Writer::of("snap.src", |fit, _| write::write(fit));

/// Reads a profile as its two filters. Users and groups other than root and those of snapd may have other numbers where the
/// profile is used, so their names are not looked up.
fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> Result<ReadSource, FileErrors> {
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
