//! The list of targets.

use callgate_formats::languages::{LANGUAGES, Language};

use crate::{binary, c_library, convert, policies, programs, readers, requests};

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    body: Body,
}

type Run = fn(&[u8]);

#[derive(Clone, Copy)]
enum Body {
    Of(Run),
    /// The reader of a language.
    In(&'static Language),
}

impl Target {
    /// Runs it on an input.
    ///
    /// # Panics
    /// When it finds a defect.
    pub fn run(&self, input: &[u8]) {
        match self.body {
            Body::Of(run) => run(input),
            Body::In(language) => readers::in_language(language, input),
        }
    }
}

/// The targets that are not the reader of one language.
const OTHERS: &[(&str, Run)] = &[
    ("language", readers::language),
    ("profile", readers::profile),
    ("unit", readers::unit),
    ("program_text", readers::program_text),
    ("program_bytes", readers::program_bytes),
    ("recording", readers::recording),
    ("counts", readers::counts),
    ("binary", binary::binary),
    ("requests", requests::requests),
    ("compile", policies::compile),
    ("template", policies::template),
    ("merge", policies::merge),
    ("convert", convert::convert_text),
    ("optimize", programs::optimize),
    ("engines", programs::engines),
    ("round_trip", programs::round_trip),
    ("c_library", c_library::c_library),
];

/// All targets: one for each language, with its first name, and the others.
pub fn targets() -> impl Iterator<Item = Target> {
    let languages = LANGUAGES
        .iter()
        .map(|language| Target { name: language.names[0].name, body: Body::In(language) });
    languages.chain(OTHERS.iter().map(|(name, run)| Target { name, body: Body::Of(*run) }))
}

/// Runs the target of this name.
///
/// # Panics
/// When there is no such target, or it finds a defect.
pub fn run(name: &str, input: &[u8]) {
    let target = targets().find(|target| target.name == name);
    target.unwrap_or_else(|| panic!("unknown target {name}")).run(input);
}
