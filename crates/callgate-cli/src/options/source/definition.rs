//! `--define NAME[=VALUE]` and `--undefine NAME`: macros of C.

use callgate_bpf::text::Definition;

/// Macros with which C as text is read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Macros {
    /// A macro with which C as text is read, as a compiler's -D; may be repeated [default: an error where a name that
    /// neither the text nor the architecture defines decides which lines apply]
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = defined, help_heading = "Reading")]
    define: Vec<Definition>,

    /// A macro that is not defined when C as text is read, as a compiler's -U; may be repeated
    #[arg(long, value_name = "NAME", value_parser = undefined, help_heading = "Reading")]
    undefine: Vec<Definition>,
}

impl Macros {
    /// Those that are defined, and then those that are not.
    pub(crate) fn all(&self) -> Vec<Definition> {
        self.define.iter().chain(&self.undefine).cloned().collect()
    }
}

fn defined(text: &str) -> Result<Definition, String> {
    Definition::new(text)
}

fn undefined(text: &str) -> Result<Definition, String> {
    Definition::undefined(text)
}

/// A definition as words of a command line.
pub(super) fn arguments(definition: &Definition) -> [String; 2] {
    match definition.value() {
        Some(value) => ["--define".to_owned(), format!("{}={value}", definition.name())],
        None => ["--undefine".to_owned(), definition.name().to_owned()],
    }
}
