//! Options of `callgate dump`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;

use crate::commands::disasm::DialectArg;
use crate::commands::record::parse_time;
use crate::emit::Emit;
use crate::options::{Format, parse_u32};

/// Show the filters of a running process, or those that a command installs
#[derive(Debug, clap::Args)]
#[command(override_usage = "callgate dump [OPTIONS] PID\n       callgate dump [OPTIONS] -- CMD...")]
#[command(after_help = "\
With a command, callgate starts it and catches every filter that it or its
children install, without root, until they have ended or the time is over. So it
reads filters that a program makes with a library, such as libseccomp. The
report goes to standard error, because the command has the standard output;
--report FILE keeps it apart from what the command says there.
Set-user-ID programs have no privileges then, unless callgate runs as root.

Of a running process, the kernel shows filters only to root (CAP_SYS_ADMIN), and
only to processes without a filter of their own. The thread is stopped for some
microseconds and then continues. A sleep keeps its time, even if a filter denies
restart_syscall (on x86-64); epoll_wait and the few others that signal(7) lists
fail with EINTR. Filters belong to threads: PID is the main thread of a process,
or any thread; pid:PID means the same.

budget: all filters of a thread together have at most 32,768 instructions,
counted as eBPF, plus 4 for each filter but the newest.
LOG is the only flag that the kernel shows. A filter that returns notifications
has, or had, a listener.

Every command that takes a SOURCE also accepts pid:PID, for all filters
together, and pid:PID/0, for a single one; 0 is the oldest.

Examples:
  callgate dump -o filter.bpf -- bwrap --ro-bind / / true
  callgate dump --report filters.json --format json -- ./server
  callgate dump 1234
  callgate dump 1234 --dialect annotated
  callgate dump 1234 -o filters --merge
  callgate explain pid:1234
  callgate optimize pid:1234/0 -o better.bpf --stats

Exit status: 0 success, even without filters; 2 error; 127 if the command is not
found, 126 if it cannot be executed.")]
pub(crate) struct DumpArgs {
    /// The process or thread, by its number
    #[arg(
        value_name = "PID",
        value_parser = pid,
        allow_negative_numbers = true,
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    pub(super) pid: Option<u32>,

    /// Also print the programs, in this notation
    #[arg(long, value_name = "DIALECT")]
    pub(super) dialect: Option<DialectArg>,

    /// Also merge the filters into one program and show it
    #[arg(long, conflicts_with = "command")]
    pub(super) merge: bool,

    /// End the command after this time: 30s, 5m, 1h, 500ms [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, conflicts_with = "pid")]
    pub(super) time: Option<Duration>,

    /// Let the command run until it ends by itself
    #[arg(long = "continue", conflicts_with_all = ["pid", "time"])]
    pub(super) to_the_end: bool,

    /// Write the program to this file, such as filter.bpf, with --merge the merged one; several have their
    /// numbers in the names, as in filter-0.bpf. Without an extension, it is a directory: 0.bpf for the oldest,
    /// and so on, and merged.bpf. It must not contain files of another dump
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(super) output: Option<PathBuf>,

    /// The format of these files [default: bpf]
    #[arg(long, value_name = "FORMAT", requires = "output")]
    pub(super) emit: Option<Emit>,

    /// Write the report into this file instead of showing it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) report: Option<PathBuf>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,

    /// A command and its arguments
    #[arg(value_name = "CMD", last = true)]
    pub(super) command: Vec<OsString>,
}

/// Parses `N`, or `pid:N` as in sources.
fn pid(text: &str) -> std::result::Result<u32, String> {
    let number = text.strip_prefix("pid:").unwrap_or(text);
    if let Some((process, _)) = number.split_once('/').filter(|_| number.len() < text.len()) {
        return Err(format!("this command shows all filters: write pid:{process}"));
    }
    let pid = parse_u32(number).ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| "expected the number of a process or thread, such as 1234".to_owned())
}

/// How long a command runs if nothing else is asked for.
pub(super) const USUAL_TIME: Duration = Duration::from_secs(10);
