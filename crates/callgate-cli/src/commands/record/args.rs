//! Options of `callgate record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use callgate::Arch;
use callgate_record::RecordMethod;
use clap::builder::NonEmptyStringValueParser;
use clap::{ValueEnum, ValueHint};

use super::label::{Label, label};
use super::merge::MergeArgs;
use super::pods::{LOGS, PodPattern};
use super::time::parse_time;
use crate::options::{ArchParser, Format, parse_u32};
use crate::selection::SelectionOptions;

/// What a recording says about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedWords {
    /// Its name: arguments may be passwords.
    Name,
    /// Its name and its arguments.
    All,
}

/// The heading of the options for running processes.
const ATTACHING: &str = "Running processes";

/// The heading of the options for a Kubernetes node.
const NODE: &str = "Containers of a Kubernetes node";

/// What excludes these options.
const NOT_ATTACHED: [&str; 2] = ["command", "from"];

/// What excludes options that qualify `--node`.
const OTHER_TARGETS: [&str; 7] =
    ["command", "from", "pid", "cgroup", "unit", "container", "oci_hook"];

/// What excludes `--node`: it writes a recording for each container, and reports as text.
const NOT_NODE: [&str; 6] = ["command", "from", "output", "split", "keep_arguments", "format"];

/// Record the syscalls of a command, or of running processes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Records the syscalls of all processes and threads, from the execve of the
command until the last of them has ended, with their argument values: all
values while there are few, then bounds. The recording (-o) is JSON, which
--weights, generate and check read. `callgate record merge` combines files of
one or several formats into one recording: recordings, strace logs (best
with -f -e raw=all), tables of strace -c and perf trace -s, and SECCOMP records
of the audit log, dmesg and journalctl; --from does the same. To record a
command named merge, write -- before it.

Options instead of a command attach to processes that run already, without
stopping them: --pid to a process and its descendants, --cgroup, --unit and
--container to the processes of a cgroup. The recording ends after --for, by
Ctrl-C or SIGTERM, or with the last process. Syscalls before and after are
missing, so also record a start. Processes that enter the cgroup from outside,
as with docker exec, are recorded from the execve of their program on, without
the syscalls of the container's runtime. Needs the tracepoint method, and for
cgroups a mounted cgroup v2 hierarchy.

Of the command, the recording has only the name, because arguments may be
passwords; --keep-arguments keeps them.

--node records the containers of a Kubernetes node whose pods match --pods, each
into DIR/POD_NAMESPACE_CONTAINER-ID.json, with the labels node (the name of the
machine, unless --label node=NAME is given), namespace, pod and container. It
looks for new containers every second, in the names of kubelet's links in
/var/log/containers; a container that has a recording in DIR is not recorded
again. A recording that ended early, because a signal arrived before the time of
--for or the recorder was killed, gets a name that ends in .1.json (.2.json, …),
and the container is recorded again. DIR has one recorder at a time and at most
10,000 recordings. Their eBPF programs are shared, and each container takes
about 1 MB of kernel memory per processor.

With --split, each executable also gets a recording of its own, for programs
that start others which need other profiles, such as a login server and its
shells. An executable is the path that was executed, for a script that of the
script. Its recording starts with this execve, has the label executable, and
contains what all processes did while they executed it. Do not merge it with the
recording of the whole run, which has the same syscalls.

The command uses the terminal and the standard streams; the report goes to
standard error at the end. Ctrl-C ends the command and keeps the recording; if
the command has ended, Ctrl-C stops waiting for processes that outlive it. While
the command runs, FILE.partial contains the recording so far, saved at least
every minute in case the recorder is killed (SIGKILL); `generate --partial`
reads it. It is removed once FILE is written.

  tracepoint   eBPF programs count syscalls. Needs root (CAP_BPF and
               CAP_PERFMON), x86-64 and Linux 5.15. Adds about 0.3 µs to a
               syscall and slows down all other processes of the machine nearly
               as much while it runs.
  ptrace       Each syscall waits for the recorder. Needs no privilege. With
               Linux 6.6 on x86-64, uses seccomp notifications, which add some
               microseconds; otherwise, stops. The command cannot use ptrace or
               notifications itself, and set-user-ID programs run without their
               privileges unless the recorder is root.
  stops        Like ptrace without notifications, for commands that use them;
               usually several times slower. Needs Linux 5.3.

Examples:
  callgate record -o ls.json -- ls -l
  callgate record -- make -j8
  callgate record --pid 812 --for 30s -o nginx.json
  callgate record --container web --for 5m -o web.json
  callgate record --unit nginx                         until Ctrl-C
  callgate record --node recordings --pods 'default/web-*' --for 1h
  callgate record --split recordings -- sshd -D
  callgate compile profile.json --weights ls.json --stats
  callgate record merge monday.json tuesday.json -o all.json
  callgate record -o all.json --from monday.json strace.log /var/log/audit/*

Exit status: that of the command; 127 if it is not found, 126 if it cannot be
executed, 2 for an error in the recording, or if the status is unknown. For
running processes: 0 success, 2 error.")]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct RecordArgs {
    #[command(subcommand)]
    pub(super) verb: Option<RecordCommand>,

    /// Write the recording to this file, atomically [default: print a table of counts]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) output: Option<PathBuf>,

    /// Also write a recording for each executable to this directory, which must be new or empty
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "from")]
    pub(super) split: Option<PathBuf>,

    /// Attach to this running process and its descendants
    #[arg(long, value_name = "N", allow_negative_numbers = true, group = "target", help_heading = ATTACHING, value_parser = parse_u32, conflicts_with_all = NOT_ATTACHED)]
    pub(super) pid: Option<u32>,

    /// Attach to the processes of a cgroup and of those below: a directory, or a path as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", group = "target", help_heading = ATTACHING, value_hint = ValueHint::DirPath, conflicts_with_all = NOT_ATTACHED)]
    pub(super) cgroup: Option<PathBuf>,

    /// Attach to a running systemd unit; .service may be omitted
    #[arg(long, value_name = "NAME", group = "target", help_heading = ATTACHING, value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = NOT_ATTACHED)]
    pub(super) unit: Option<String>,

    /// Attach to a running container of Docker, Podman, containerd or CRI-O: its ID, the start of it, or the name that
    /// docker or podman know
    #[arg(long, value_name = "NAME|ID", value_parser = NonEmptyStringValueParser::new(), group = "target", help_heading = ATTACHING, conflicts_with_all = NOT_ATTACHED)]
    pub(super) container: Option<String>,

    /// Record the processes that execute a program in the cgroup from now on, and not those that run there already
    #[arg(long, help_heading = ATTACHING, requires = "cgroup", conflicts_with_all = ["pid", "unit", "container", "oci_hook"])]
    pub(super) starting: bool,

    /// With --starting: the process that waits in the cgroup to become the first one of a container; others that run there
    /// are a caveat
    #[arg(long, value_name = "N", help_heading = ATTACHING, value_parser = parse_u32, requires = "starting")]
    pub(super) first_process: Option<u32>,

    /// As an OCI hook (createRuntime): read the state of a container from standard input, and record it from its start, in
    /// the background; {id} in FILE becomes its ID
    #[arg(long, group = "target", help_heading = ATTACHING, conflicts_with_all = NOT_ATTACHED, requires = "output")]
    pub(super) oci_hook: bool,

    /// Record each container whose pod matches --pods, also those that start later, into this directory; until Ctrl-C or
    /// SIGTERM
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, group = "target", help_heading = NODE, conflicts_with_all = NOT_NODE, requires = "pods")]
    pub(super) node: Option<PathBuf>,

    /// Which pods: NAMESPACE/POD or NAMESPACE/POD/CONTAINER, with * for any text; separated by commas, or repeated
    #[arg(long, value_name = "PATTERN", value_delimiter = ',', help_heading = NODE, requires = "node", conflicts_with_all = OTHER_TARGETS, value_parser = PodPattern::parse)]
    pub(super) pods: Vec<PodPattern>,

    /// How many containers to record at the same time; others wait
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = NODE, requires = "node", conflicts_with_all = OTHER_TARGETS)]
    pub(super) most: u16,

    /// Where kubelet makes links to the logs of containers, whose names are those of pods
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = LOGS, help_heading = NODE, requires = "node", conflicts_with_all = OTHER_TARGETS)]
    pub(super) logs: PathBuf,

    /// How long to record running processes, with --node each container: 30s, 5m, 1h, 500ms [default: until Ctrl-C or
    /// their end]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = ATTACHING, value_parser = parse_time, conflicts_with = "from")]
    pub(super) time: Option<Duration>,

    /// How to observe syscalls [default: tracepoint if possible, otherwise ptrace]
    #[arg(long, value_name = "METHOD", default_value = "auto", hide_default_value = true)]
    pub(super) via: MethodArg,

    /// Read recordings and logs of other tools instead of running a command; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["command", "via"]
    )]
    pub(super) from: Vec<PathBuf>,

    /// The architecture of logs that do not contain it [default: this machine's]
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true, requires = "from", conflicts_with = "command")]
    pub(super) arch: Option<Arch>,

    /// Treat unknown names of syscalls in logs as errors
    #[arg(long, requires = "from", conflicts_with = "command")]
    pub(super) strict: bool,

    /// Read the complete entries of a truncated recording; later syscalls are missing
    #[arg(long, requires = "from", conflicts_with = "command")]
    pub(super) partial: bool,

    #[command(flatten)]
    pub(super) selection: SelectionOptions,

    /// Add a label to the run, such as the node or the image; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub(super) label: Vec<Label>,

    /// Keep the arguments of the command in the recording, not only its name: they may be passwords, and recordings are
    /// passed on. Profiles never have them
    #[arg(long, conflicts_with = "from")]
    pub(super) keep_arguments: bool,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,

    /// The command and its arguments
    #[arg(
        value_name = "CMD",
        required_unless_present_any = ["from", "target"],
        trailing_var_arg = true
    )]
    pub(super) command: Vec<OsString>,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum RecordCommand {
    /// Merge several recordings into one
    Merge(MergeArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// tracepoint if possible, otherwise ptrace
    Auto,
    /// eBPF programs count syscalls
    Tracepoint,
    /// Syscalls wait for a seccomp notification if possible, otherwise they stop
    Ptrace,
    /// Each syscall stops for the tracer
    Stops,
}

impl RecordArgs {
    /// What the recording says about the command.
    pub(super) fn recorded_words(&self) -> RecordedWords {
        if self.keep_arguments { RecordedWords::All } else { RecordedWords::Name }
    }
}

impl MethodArg {
    /// The methods to try, in order.
    pub(crate) fn methods(self) -> &'static [RecordMethod] {
        match self {
            MethodArg::Auto => &RecordMethod::ALL,
            MethodArg::Tracepoint => &[RecordMethod::Tracepoint],
            MethodArg::Ptrace => &RecordMethod::PTRACE,
            MethodArg::Stops => &[RecordMethod::Stops],
        }
    }
}
