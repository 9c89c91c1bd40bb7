//! minijail in the [registry](crate::languages).

use super::detect::{is_like_policy, is_policy};
use super::options::{Frequency, ReadOptions};
use super::read::read_with_includes;
use super::{edit, write};
use crate::files::FileErrors;
use crate::languages::start::is_text;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Parts, ReadFilter, ReadSource, Reading, Writer,
    of_first,
};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::{Count, Weights};
use callgate_core::Arch;

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a policy of minijail",
    names: &[Name::written("minijail", &WRITER)],
    forms: &[(
        "minijail.policy",
        "a policy of minijail, such as `read: 1`; for other file names, write minijail:NAME",
    )],
    utf8_help: None,
    page: "minijail",
    likeness,
    read,
    options: &[],
    parts: Parts::None,
    for_builds: true,
    editor: Some(Editor::of(edit::edits)),
};

const WRITER: Writer = Writer::of("filter.policy", write::write);

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("policy") if is_like_policy(text) => Likeness::Extension,
        _ if is_text(text) && is_policy(text) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(
    input: &Input<'_>,
    reading: &Reading,
    files: &mut dyn Files,
) -> Result<ReadSource, FileErrors> {
    let options = ReadOptions {
        identity: input.identity.map(str::to_owned),
        statements: reading.statements,
        ..ReadOptions::new(reading.only_arch(LANGUAGE.what)?)
    };
    let mut include = |name: &str, from: Option<&str>| files.include(name, from);
    let mut policy = read_with_includes(input.text(), &options, &mut include)?;
    let warnings = of_first(std::mem::take(&mut policy.profile.warnings));
    let weights = weights(options.arch, policy.frequencies)?;
    let filters = vec![ReadFilter { weights, ..ReadFilter::of(policy.profile) }];
    Ok(ReadSource { filters, warnings, missing: None })
}

/// The weights of a policy; `None` if it has no frequencies.
fn weights(arch: Arch, frequencies: Vec<Frequency>) -> Result<Option<Weights>, Diagnostic> {
    if frequencies.is_empty() {
        return Ok(None);
    }
    let count = |Frequency { name, count }| Count {
        arch: Some(arch),
        name: String::from(name),
        count: count as f64,
    };
    let weights = Weights::of(frequencies.into_iter().map(count));
    weights.map(Some).map_err(|error| Diagnostic::error(None, error.to_string()))
}
