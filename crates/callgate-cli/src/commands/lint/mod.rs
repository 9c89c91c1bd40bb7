//! `callgate lint`: finds misleading rules, and filters that can be evaded.

mod args;
mod run;
mod sarif;
mod text;

pub(crate) use args::LintArgs;
pub(crate) use run::{report_of, run};
