//! The command line of `callgate why`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueHint;

use crate::options::{DenialFormat, SourceOptions};
use crate::report::Failure;
use crate::selection::SelectionOptions;

/// Show which rule of a filter decides about a syscall
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the verdict and the rule of the profile that is its reason, with file,
line and column, or the default action if no rule applies. Rules about the
syscall that do not apply follow: those whose condition its arguments do not
meet, and those that need another capability, kernel or architecture. In a
program, the reason is the instruction that returns.

If the syscall is denied, the smallest change that allows it follows, as a patch
to the profile in its own language: with the given arguments only, or else with
all. It is proved: the filter allows the syscall after the change, and nothing
else in addition. If a capability is enough, it comes first. For a profile with
an absolute name, apply the patch with `patch -d / -p1`.

With --from, the syscalls are those that a log says were denied: audit records
(auditd, dmesg, the journal as text or JSON), reports of SIGSYS (strace, gdb,
minijail, Firecracker, Chromium, Firefox, OpenSSH, Tor, Android), and lines of
strace with the errno that the filter returns; in quotes, any line that says
that a filter denied something and names it. A table lists the distinct denials;
each follows with its programs and the rule, and last one patch for all. The
patch leaves out syscalls that fail with ENOSYS on purpose, and dangerous ones
unless --with-dangerous is given. --each prints a patch for each denial as well.
Without a SOURCE, it is shown what each syscall is for. --from is not needed for
a line of a log in quotes, nor for a log alone.

The filter is read as the machine of each record installs it: for a record of
arm64, as on arm64. With --arch, only records of these architectures count;
others are counted as outside. Reports without an architecture are those of
--arch, or else of this machine.

A line that looks like a denial but cannot be read is shown, and the exit status
is 2; so it is for a text in which nothing is recognized. Where a log says that
records were lost, so does the result. Denials by AppArmor, SELinux, Smack and
Landlock are counted. Logs are not kept in memory. --format prometheus and otlp
print counters of denials for monitoring instead, by syscall, action and
program: at most 500 series, and one for all others.

A process or a systemd unit can have several filters. The kernel takes the
verdict of highest precedence; each filter is shown, the one that decides first.

Examples:
  callgate why 'unshare: unshare failed: Operation not permitted'
  callgate why profile.json ptrace
  callgate why profile.json clone CLONE_NEWUSER
  callgate why profile.json sendto _ _ _ _ 0
  callgate why docker.json --caps docker,SYS_PTRACE ptrace
  callgate why profile.json --patch ptrace.patch ptrace
  callgate why nginx.service --arch x86_64 mount
  callgate why pid:1234 personality 8
  callgate why 425                                 which syscall this number is
  callgate why --from /var/log/audit/audit.log     which syscalls, and what for
  callgate why 'audit: type=1326 … arch=c000003e syscall=165 …'   a line of it
  callgate why profile.json --from /var/log/audit/audit.log
  journalctl -k -o json | callgate why nginx.service --from -
  strace -f ./app 2>&1 | callgate why profile.json --from -
  callgate why p.json --from audit.log --format prometheus > denials.prom

Exit status: 0 success, for any verdict; 2 error, or lines could not be read.")]
pub(crate) struct WhyArgs {
    /// The filter, a SOURCE (see `callgate --help`); may be omitted for a log, and to
    /// show which syscall a number is
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) source: Option<OsString>,

    /// The syscall: its name, its number as the filter sees it, or a call such as
    /// 'socket(AF_INET, SOCK_STREAM, 0)'; or a line of a log
    #[arg(value_name = "SYSCALL", conflicts_with = "from")]
    pub(super) call: Option<String>,

    /// At most six arguments: numbers, constants such as O_RDWR|O_CLOEXEC, or _ for any value [default: 0]
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub(super) args: Vec<String>,

    /// A log with denials, or - for standard input
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub(super) from: Option<PathBuf>,

    #[command(flatten)]
    pub(super) selection: SelectionOptions,

    /// With --from, allow dangerous syscalls in the patch
    #[arg(long)]
    pub(super) with_dangerous: bool,

    /// With --from, print a patch for each denial as well
    #[arg(long)]
    pub(super) each: bool,

    /// The format of the report; prometheus and otlp only with --from
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: DenialFormat,

    /// Write the patch to a file, for `patch -p1` or `git apply`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) patch: Option<PathBuf>,

    #[command(flatten)]
    pub(super) reading: SourceOptions,
}

/// The error for a word alone that is neither a syscall, nor a log, nor a line of one.
pub(super) fn missing_call() -> Failure {
    Failure::new("missing syscall or log").help(
        "callgate why SOURCE SYSCALL [ARG]…, or callgate why --from LOG; see `callgate why -h`",
    )
}
