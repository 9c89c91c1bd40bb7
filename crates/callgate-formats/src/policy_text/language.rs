//! Policy texts in the [registry](crate::languages).

use super::read::read as read_text;
use crate::languages::{
    Files, Input, Language, Likeness, Name, ReadFilter, ReadResult, ReadSource, Reading,
};
use crate::profile::Profile;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("policytext")],
    forms: &[(
        "policytext:FILE",
        "a policy text, as `callgate policy` writes it; `policytext:` may be omitted",
    )],
    likeness,
    ..Language::of("a policy text", "policy-text", read)
};

fn likeness(_: Option<&str>, text: &[u8]) -> Likeness {
    match text.starts_with(b"callgate-policy ") {
        true => Likeness::Certain,
        false => Likeness::None,
    }
}

fn read(input: &Input<'_>, _: &Reading, _: &mut dyn Files) -> ReadResult {
    let text = read_text(input.text()).map_err(callgate_bpf::diagnostic::Diagnostics::from)?;
    let is_stack = text.is_stack;
    let filter = |(policy, number): (_, u32)| {
        let suffix = if is_stack { format!(" (filter {number})") } else { String::new() };
        ReadFilter { suffix, ..ReadFilter::of(Profile::of(policy)) }
    };
    Ok(ReadSource {
        filters: text.policies.into_iter().zip(1..).map(filter).collect(),
        warnings: Vec::new(),
        missing: None,
    })
}
