//! The command line of `callgate fuzz`.

use std::ffi::OsString;

use callgate::fuzz::Search;
use clap::ValueHint;

use super::options;
use crate::options::{Format, parse_u32, parse_u64};

/// Search for syscalls on which forms of a filter, or two filters, disagree
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The forms of a profile are its rules, an unoptimized program that tests rule by
rule, and the compiled programs for every --model and --optimize. The forms of a
program are the given program and the compiled ones. Test syscalls are derived
from the constants of the filter and from its MTBDD until every instruction and
both edges of every branch are executed or proved unreachable; random syscalls
follow.

Two filters, in any form, are compared with each other as they are: rules are
evaluated, programs interpreted, and the instructions of both are covered; of
rules, those of an unoptimized program. Nothing is compiled or proved, so this
also works where a filter is too complex for `callgate diff`. If nothing
differs, this is not a proof.

--kernel without a version also runs the programs in the running kernel, in a
child process: every value that a program returns is replaced by an errno, so no
test syscall takes effect. This covers syscalls of this machine's native ABI for
which the instruction pointer does not matter. --kernel X.Y has the same meaning
as in other commands: the version for the conditions of a profile.

Examples:
  callgate fuzz profile.json
  callgate fuzz filter.bpf --kernel
  callgate fuzz profile.json --arch aarch64 --time 60 --seed 42
  callgate fuzz profile.json pid:1234
  callgate fuzz old.policy new.bpf --runs 1000000

Exit status: 0 no mismatch, 1 mismatch, 2 error. Of one filter, coverage that is
not full is an error; of two, a warning.")]
pub(crate) struct FuzzArgs {
    /// The filter, a SOURCE (see `callgate --help`) [default: container-default]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) source: Option<OsString>,

    /// Another filter, a SOURCE, which is compared with the first one
    #[arg(value_name = "OTHER", value_hint = ValueHint::FilePath)]
    pub(super) other: Option<OsString>,

    /// The seed of the random generator
    #[arg(long, value_name = "N", default_value_t = Search::default().seed, value_parser = parse_u64,
          allow_negative_numbers = true)]
    pub(super) seed: u64,

    /// The number of random syscalls [default: 20000; with --time, unlimited]
    #[arg(long, value_name = "N", value_parser = parse_u64, allow_negative_numbers = true)]
    pub(super) runs: Option<u64>,

    /// The maximum time for random syscalls, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = parse_u32, allow_negative_numbers = true)]
    pub(super) time: Option<u32>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) reading: options::FuzzSourceOptions,

    #[command(flatten)]
    pub(super) compiling: options::FuzzCompileOptions,
}

impl FuzzArgs {
    /// The options other than those of reading the source.
    pub(super) fn own_arguments(&self) -> Vec<String> {
        let mut arguments = self.compiling.0.arguments();
        arguments.push(format!("--seed={}", self.seed));
        arguments.extend(self.runs.map(|runs| format!("--runs={runs}")));
        arguments.extend(self.time.map(|seconds| format!("--time={seconds}")));
        arguments
    }
}
