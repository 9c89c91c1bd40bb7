//! The command line of `callgate explain`.

use std::ffi::OsString;

use callgate::explain::Order;
use clap::{ValueEnum, ValueHint};

use crate::options::{SourceOptions, TextFormat};
use crate::report;
use crate::source::BUILT_IN;

/// List what the filter does with each syscall
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The result begins with a summary: how many syscalls are allowed, allowed for
some arguments only, and denied; the most dangerous of those that are allowed;
and where ignored bits of an argument, a multiplexer such as `socketcall` or
another ABI of the same machine permit what is denied. The list of all syscalls
follows. `family.low` is the low half of an argument: of an int, the kernel
reads only these 32 bits. `callgate lint` finds more.

All of this is derived from the semantics of the filter, so that a program is
explained in the same way as a profile. For each further architecture, the list
shows only differences from the first one, or everything if most syscalls
differ; --format json always contains everything. pid:N shows the combined
effect of all filters of process N; without filters, everything is allowed.

Of a socket filter, which takes packets, it shows the loads, the bytes on which
the result depends, and the shortest packet for each result.

Lines have at most $COLUMNS columns (40 to 200), 80 if it is not set.

Examples:
  callgate explain
  callgate explain pid:1234
  callgate explain profile.json clone socket
  callgate explain profile.json --why clone socket
  callgate explain profile.json --format markdown > comment.md
  callgate explain filter.bpf --format json
  tcpdump -ddd port 22 | callgate explain -

Exit status: 0 success, 2 error.")]
pub(crate) struct ExplainArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    pub(super) source: OsString,

    /// Show only these syscalls: names, or numbers as the filter sees them [default: all]
    #[arg(value_name = "SYSCALL")]
    pub(super) calls: Vec<String>,

    /// The order of the list: by what syscalls are for, by name, or by verdict [default: group, or verdict if syscalls
    /// are named]
    #[arg(long, value_name = "ORDER")]
    order: Option<By>,

    /// Show where the profile has the rules of each syscall: file, line and column
    #[arg(long)]
    pub(super) why: bool,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: TextFormat,

    #[command(flatten)]
    pub(super) reading: SourceOptions,
}

impl ExplainArgs {
    /// Warns about an order, for a format that has its own.
    pub(super) fn warn_about_order(&self) {
        if self.order.is_some() {
            report::warn("--order has no effect on JSON", "omit it");
        }
    }

    /// The order of the list.
    pub(super) fn order(&self) -> Order {
        match self.order {
            Some(By::Group) => Order::Group,
            Some(By::Name) => Order::Name,
            Some(By::Verdict) => Order::Verdict,
            None if self.calls.is_empty() => Order::Group,
            None => Order::Verdict,
        }
    }
}

/// The order of a list of syscalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Groups of syscalls with one purpose, such as files or network
    Group,
    /// One line per syscall, sorted by name
    Name,
    /// Groups of syscalls with one verdict
    Verdict,
}
