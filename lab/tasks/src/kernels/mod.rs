//! `cargo lab kernels`: verdicts and costs of filters under kernels other than the running one.
//!
//! [`guests`] lists kernels and machines, [`fetch`] and [`unpack`] get the kernels, [`boot`] runs them in
//! emulation. The only process of a guest (`guest.c`) executes a [`plan`]; [`answers`] parses its output.
//! [`verdicts`] compares the verdicts of [`programs`], [`experiments`], [`published`] and [`weighted`] measure their cost,
//! and [`report`] writes the results. [`costs`] measures the [`forms`] of single instructions, and [`forms_table`] shows them.
//! [`specification`] compares the specification in Coq with the kernels.

mod answers;
mod boot;
mod costs;
mod cpio;
mod experiments;
mod fetch;
mod forms;
mod forms_table;
mod guests;
mod measured;
mod options;
mod plan;
mod prepare;
mod programs;
mod published;
mod report;
mod run;
mod specification;
mod task;
mod unpack;
mod verdicts;
mod weighted;

pub(crate) use options::HELP;
pub(crate) use task::run_task;
