//! The result of a search.

use std::time::Duration;

use callgate::fuzz::Report;

/// One form of the filter.
pub(super) struct FilterForm {
    pub(super) name: String,
    pub(super) by: AskedBy,
}

/// The command that asks a form about one call.
pub(super) enum AskedBy {
    /// `callgate simulate` with these options.
    Simulate(Vec<String>),
    /// This command again: nothing else asks the kernel.
    Fuzz,
}

/// Something that was not compared, and why.
pub(super) struct Omission {
    pub(super) name: String,
    pub(super) why: String,
    pub(super) help: String,
    /// Whether it was asked for by an option.
    pub(super) is_trouble: bool,
}

/// Everything that the report tells.
pub(super) struct Outcome {
    pub(super) source: String,
    /// The reference first, then as the comparisons are.
    pub(super) forms: Vec<FilterForm>,
    pub(super) report: Report,
    pub(super) omissions: Vec<Omission>,
    pub(super) elapsed: Duration,
    /// The source and how it is read, as a command line says it.
    pub(super) source_arguments: Vec<String>,
    /// What else this command was told.
    pub(super) own_arguments: Vec<String>,
}
