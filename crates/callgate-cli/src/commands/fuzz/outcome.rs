//! The result of a search.

use std::time::Duration;

use callgate::fuzz::Report;

/// One form of the filter.
pub(super) struct FilterForm {
    pub(super) name: String,
    pub(super) by: Reproduction,
}

/// The command that reproduces the result of a form for one syscall.
pub(super) enum Reproduction {
    /// `callgate simulate` with these options, of the only source.
    Simulate(Vec<String>),
    /// `callgate simulate` with these words: one of two sources and options.
    SimulateOther(Vec<String>),
    /// `callgate fuzz` again: no other command queries the kernel.
    Fuzz,
}

/// A form that was not compared.
pub(super) struct Omission {
    pub(super) name: String,
    pub(super) why: String,
    pub(super) help: String,
    /// Whether the omission is an error.
    pub(super) is_error: bool,
}

/// The contents of the report.
pub(super) struct FuzzOutcome {
    pub(super) source: String,
    /// The source that is compared with it; `None` if forms of one source are compared.
    pub(super) other: Option<String>,
    /// The reference, then the forms in the order of the comparisons.
    pub(super) forms: Vec<FilterForm>,
    pub(super) report: Report,
    pub(super) omissions: Vec<Omission>,
    pub(super) elapsed: Duration,
    /// The only source and the options for reading it, as on the command line.
    pub(super) source_arguments: Vec<String>,
    /// The other options of the command line.
    pub(super) own_arguments: Vec<String>,
}
