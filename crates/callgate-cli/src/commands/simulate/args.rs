//! The command line of `callgate simulate`.

use std::ffi::OsString;
use std::path::PathBuf;

use callgate_vm::EngineKind;
use clap::{ValueEnum, ValueHint};

use super::engine::engines;
use crate::options::Format;
use crate::source::AnyFilterOptions;
use callgate_requests::syscall;

/// Evaluate a filter for one syscall, or a socket filter for packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --packet or --packets, the SOURCE is a socket filter, such as the output of
`tcpdump -ddd`. A packet starts at offset 0 of the filter's loads; metadata that
is not part of a packet (the interface, the mark and so on) is 0.

If an engine is not available (jit needs x86-64 or aarch64 and permission to map
executable memory), `decoded` is used instead; a warning, --stats and the JSON
show this.

Examples:
  callgate simulate container-default unshare CLONE_NEWUSER
  callgate simulate filter.bpf --arch aarch64 --trace socket 38 5 0
  callgate simulate profile.json --arch x86 socketcall 1
  callgate simulate profile.json --by rules openat -100 0 0x80000
  callgate simulate profile.json --engine jit --stats getpid
  callgate simulate profile.json --expect tests.txt
  tcpdump -ddd port 22 | callgate simulate - --packets capture.pcap
  callgate simulate filter.txt --packet '45 00 00 1c' --trace

Exit status: 0 success, for any verdict; 1 an expectation is not met; 2 error.")]
pub(crate) struct SimulateArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) source: OsString,

    /// The syscall: its name, its number as the filter sees it, or a call such as
    /// 'socket(AF_INET, SOCK_STREAM, 0)'
    #[arg(value_name = "SYSCALL", conflicts_with_all = ["packet", "packets"])]
    pub(super) call: Option<String>,

    /// At most six arguments: decimal, hexadecimal (0x), octal (0o), binary (0b) or negative numbers,
    /// constants such as AF_ALG and O_RDWR|O_CLOEXEC, or _ for any value [default: 0]
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub(super) args: Vec<String>,

    /// The form of the filter to evaluate
    #[arg(long, value_name = "FORM", default_value = "program", conflicts_with_all = ["packet", "packets"])]
    pub(super) by: EvaluatedForm,

    /// The engine that runs the program; all return the same verdicts
    #[arg(long, value_name = "ENGINE", default_value = "reference", value_parser = engines())]
    pub(super) engine: EngineKind,

    /// The arch token of the syscall (AUDIT_ARCH_*), overrides --arch; SYSCALL must be a number
    #[arg(
        long,
        value_name = "TOKEN",
        value_parser = syscall::parse_token,
        conflicts_with_all = ["packet", "packets"]
    )]
    pub(super) token: Option<u32>,

    /// The instruction pointer [default: 0]
    #[arg(
        long,
        value_name = "ADDRESS",
        value_parser = syscall::parse_value,
        conflicts_with_all = ["packet", "packets"]
    )]
    pub(super) ip: Option<u64>,

    /// Check the expectations in this file: a line each, such as `openat = allow` or `socket(AF_ALG) = deny`
    ///
    /// A call means all calls with these arguments: one that is not given, or is _, may have any value. allow means
    /// ALLOW or LOG, deny any other verdict; otherwise the line has an action such as KILL_PROCESS, TRAP or TRACE(7),
    /// or an error such as EPERM. A # begins a comment. Without an architecture before the call, it is of this machine,
    /// or of the first architecture of the filter.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["call", "by", "engine", "token", "ip", "trace", "stats", "packet", "packets"]
    )]
    pub(super) expect: Option<PathBuf>,

    /// Print each executed instruction with the registers before it
    #[arg(long)]
    pub(super) trace: bool,

    /// Print the engine, the size of its code and how long preparing it took
    #[arg(long)]
    pub(super) stats: bool,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) subject: AnyFilterOptions,
}

/// The forms of a filter; all must return the same verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvaluatedForm {
    /// The given program, or the compiled profile
    Program,
    /// The compiled program, even if a program is given
    Optimized,
    /// The rules of a profile, evaluated directly
    Rules,
    /// A profile's unoptimized program, which tests rule by rule
    Plain,
}

impl EvaluatedForm {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            EvaluatedForm::Program => "program",
            EvaluatedForm::Optimized => "optimized",
            EvaluatedForm::Rules => "rules",
            EvaluatedForm::Plain => "plain",
        }
    }
}
