//! `cargo lab bpf-sim`: runs a filter that libseccomp exported on one syscall, with the command line and the
//! output of libseccomp's own simulator `scmp_bpf_sim`.
//!
//! `scmp_bpf_sim` knows only the instructions that libseccomp generates. [`Simulator`] runs every program that the
//! kernel accepts, and refuses all others.

mod number;
mod options;
mod run;
mod simulator;

pub(crate) use number::number;
pub(crate) use options::HELP;
pub(crate) use run::run;
pub(crate) use simulator::Simulator;
