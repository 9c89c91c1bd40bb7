//! The command line of `callgate simulate`.

use std::ffi::OsString;

use callgate_vm::EngineKind;
use clap::{ValueEnum, ValueHint};

use super::engine::engines;
use crate::call;
use crate::options::Format;
use crate::source::SubjectOptions;

/// Say what a filter does with one call, or a socket filter with packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A socket filter, such as `tcpdump -ddd` prints, is asked about packets. The
packet begins where it begins for the filter; what is not in it (the interface,
the mark and so on) is 0. A SOURCE is read as one when packets are given.

Where an engine cannot be used (jit needs x86-64 or aarch64, and memory that may
become executable), `decoded` answers in its place, and a warning, --stats and
the JSON say so.

Examples:
  callgate simulate container-default unshare 0x10000000
  callgate simulate filter.bpf --arch aarch64 --trace socket 38 5 0
  callgate simulate profile.json --arch x86 socketcall 1
  callgate simulate profile.json --by rules openat -100 0 0x80000
  callgate simulate profile.json --engine jit --stats getpid
  tcpdump -ddd port 22 | callgate simulate - --packets capture.pcap
  callgate simulate filter.txt --packet '45 00 00 1c' --trace

Exit status: 0 whatever the verdict is, 2 trouble.")]
pub(crate) struct SimulateArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) source: OsString,

    /// The call: its name, or its number as the filter sees it
    #[arg(conflicts_with_all = ["packet", "packets"])]
    pub(super) call: Option<String>,

    /// Up to six arguments, decimal, hexadecimal (0x), octal (0o) or negative; the others are 0
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub(super) args: Vec<String>,

    /// Who answers
    #[arg(long, value_name = "WHO", default_value = "program", conflicts_with_all = ["packet", "packets"])]
    pub(super) by: By,

    /// What runs the program: the plain interpreter, or one of the faster engines, which say the same
    #[arg(long, value_name = "ENGINE", default_value = "reference", value_parser = engines())]
    pub(super) engine: EngineKind,

    /// The arch token of the call (AUDIT_ARCH_*), whatever --arch says; the call is then a number
    #[arg(
        long,
        value_name = "TOKEN",
        value_parser = call::parse_token,
        conflicts_with_all = ["packet", "packets"]
    )]
    pub(super) token: Option<u32>,

    /// The instruction pointer of the call
    #[arg(
        long,
        value_name = "ADDRESS",
        value_parser = call::parse_value,
        conflicts_with_all = ["packet", "packets"]
    )]
    pub(super) ip: Option<u64>,

    /// Print the instructions that are executed, with the registers before each
    #[arg(long)]
    pub(super) trace: bool,

    /// Print which engine answered, the size of its code and how long it took to make it
    #[arg(long)]
    pub(super) stats: bool,

    /// The form of the result
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) subject: SubjectOptions,
}

/// Who says what the filter does: forms of one filter that should all say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The program: a given one as it is, a profile compiled
    Program,
    /// The program compiled anew, also if a program is given
    Optimized,
    /// The rules of a profile, without any program
    Rules,
    /// A profile's plain program, with one test after the other
    Plain,
}

impl By {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            By::Program => "program",
            By::Optimized => "optimized",
            By::Rules => "rules",
            By::Plain => "plain",
        }
    }
}
