//! The command line of `callgate fuzz`.

use std::ffi::OsString;

use callgate::fuzz::Options;
use clap::ValueHint;

use super::options;
use crate::options::Format;

/// Look for calls on which the forms of a filter differ
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The forms of a profile are its rules, a plain program of one test after the
other, and the programs that the compiler makes for every model and aim; those
of a program are the program as it is, and compiled anew. Calls come from the
constants in them, and from the decision diagram, until every instruction and
both directions of every branch were executed or are proved unreachable; then
follow random calls.

With --kernel the running kernel is asked too, in a child process and without
executing a call: each value that a program returns is replaced by an errno.
It answers for calls of this machine's own interface at which the instruction
pointer does not matter. --kernel X.Y is what it is elsewhere, the version that
a profile's conditions ask about.

Examples:
  callgate fuzz profile.json
  callgate fuzz filter.bpf --kernel
  callgate fuzz profile.json --arch aarch64 --time 60 --seed 42

Exit status: 0 no mismatch and everything covered, 1 mismatch, 2 trouble.")]
pub(crate) struct FuzzArgs {
    /// The filter, a SOURCE (see `callgate --help`) [default: container-default]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) source: Option<OsString>,

    /// Where random choices begin
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    pub(super) seed: u64,

    /// How many random calls follow when everything is covered [default: 20000; with --time as
    /// many as fit]
    #[arg(long, value_name = "N")]
    pub(super) runs: Option<u64>,

    /// How many seconds it may go on with random calls
    #[arg(long, value_name = "SECONDS")]
    pub(super) time: Option<u32>,

    /// The form of the report
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) reading: options::Reading,

    #[command(flatten)]
    pub(super) compiling: options::Compiling,
}

impl FuzzArgs {
    /// The options beside those that say how the source is read.
    pub(super) fn own_arguments(&self) -> Vec<String> {
        let mut arguments = self.compiling.0.arguments();
        arguments.push(format!("--seed={}", self.seed));
        arguments.extend(self.runs.map(|runs| format!("--runs={runs}")));
        arguments.extend(self.time.map(|seconds| format!("--time={seconds}")));
        arguments
    }
}
