//! Advice that a program which shows it may word for its own interface.
//!
//! Most advice is about the input, and is the same for everyone. This advice is about how a filter is read or what is done with
//! it, which every interface calls by other names: options, arguments, keys. The words here are for the user of a library.

use crate::syscalls::KernelVersion;
use callgate_core::ProgramHint;
use std::fmt;

/// What to do, where that depends on the interface. `Display` has the words for the user of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Choose the architecture of a program as text.
    ProgramArch,
    /// Choose the architecture, or define what an `#error` asks for.
    ArchOrDefinitions,
    /// Define this macro, or say that it is not defined.
    Define(String),
    /// Write the value of this name, or define it.
    ValueOf(String),
    /// Choose one of the programs of a text by its name or line, such as this one.
    OneProgram(String),
    /// What to do with a program that the kernel would refuse.
    Program(ProgramHint),
    /// Remove hidden characters, of which this many more are not reported.
    HiddenCharacters {
        /// How many are not reported.
        more: usize,
    },
    /// Give the architectures of a policy.
    PolicyArches,
    /// Change the filter like this, or choose a kernel of this version or a newer one.
    ChangeOrKernel {
        /// What to change.
        change: &'static str,
        /// The version.
        since: KernelVersion,
    },
    /// Give the architecture of a syscall, or a number instead of a constant.
    SyscallArchOrNumber,
    /// Give another architecture for a syscall, or a number instead of a constant.
    OtherSyscallArchOrNumber,
    /// Give the version of systemd.
    SystemdVersion,
    /// Read the unit for a kernel and a systemd without `PR_SET_MDWE`.
    OlderSystemd,
    /// Give a newer version of systemd.
    NewerSystemd,
    /// Choose the compiler of minijail that decides what a policy means.
    MinijailSemantics,
    /// Name the directory with included files.
    IncludeRoot,
    /// Read the filters of a running process.
    ReadProcess,
    /// Start the program and catch the filter that it installs, or do this.
    ReadProcessOr(&'static str),
    /// Generate a profile from the program in an ELF file, or catch the filters that it installs.
    GenerateFromBinary,
    /// Generate a profile from a recording, or compare a filter with it.
    UseRecording,
    /// Take the program out of a result in JSON.
    ExtractProgram,
    /// Convert to the nearest policy, or for one architecture.
    ClosestOrOneArch,
    /// Read for all architectures of a host, or convert to the nearest policy.
    AllArchesOfHost,
    /// Convert to the nearest policy, or compile a program.
    ClosestOrCompile,
    /// Convert to another language, for another architecture or version.
    OtherTargetOrArch,
    /// Write fewer values, or compile a program.
    FewerValuesOrCompile,
    /// Convert to another language, or compile a program.
    OtherTargetOrCompile,
    /// Read the profile without the rules that a runtime adds.
    WithoutRuntimeRules,
    /// Merge filters of one byte order.
    OneByteOrder,
    /// Combine filters for one machine.
    OneMachine,
    /// Write a list in the other form.
    DenyList,
    /// Write a list in the other form.
    AllowList,
    /// Write the program so that the kernel recognizes what is always allowed.
    RecognizedFirst,
    /// Optimize the program.
    Optimize,
    /// Merge the filters of a stack.
    Merge,
    /// Look up the identifiers of all checks.
    ListChecks,
    /// Look up the names of all syscalls.
    ListSyscalls,
    /// Give a recording, in any of the supported formats.
    SupportedRecordings,
    /// Give a file with a recording.
    GiveRecording,
    /// Use a recorder that also has the values of arguments, not the output of `perf trace`.
    PerfTable,
    /// Record with a recorder that distinguishes syscalls from those through `socketcall` and `ipc`.
    RecordMultiplexed,
    /// Record again, or read these many complete entries.
    ReadPartially {
        /// The number of complete entries.
        complete: usize,
    },
    /// Add records of the kernel, or read the others only.
    AddKernelRecords,
    /// Name the architecture of a recording.
    RecordedArch,
    /// Record again, or accept that the recording is incomplete.
    AcceptIncomplete,
    /// Name the architecture that was recorded, or all.
    ArchOfRecording,
    /// Select one architecture, or choose another language.
    OneArchOrOtherLanguage,
    /// Limit no arguments, or select other architectures.
    NoLimitsOrOtherArches,
    /// Record again as root.
    RecordAsRoot,
    /// The program may behave in another way without the recorder.
    RecorderAlters,
    /// Record with the values of arguments.
    RecordValues,
    /// Record with the values of arguments; strace and counts lack them.
    RecordAllValues,
    /// Record, or name the namespaces that the program creates.
    NameNamespaces,
    /// Generate for all recorded architectures.
    AllRecordedArches,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Advice::ProgramArch => "choose the architecture that this program is for",
            Advice::ArchOrDefinitions => "choose the architecture, or define what the text asks for",
            Advice::Define(name) => {
                return write!(f, "define {name}, with or without a value, or say that it is not defined");
            }
            Advice::ValueOf(name) => {
                return write!(
                    f,
                    "write its value instead, add a line `#define {name} …`, or give a definition"
                );
            }
            Advice::OneProgram(name) => {
                return write!(
                    f,
                    "choose one by its name or line as the part of the text, such as {name}, or keep only that one"
                );
            }
            Advice::Program(hint) => return hint.fmt(f),
            Advice::HiddenCharacters { more: 0 } => {
                "remove it, or write it as an escape: read strictly, a text must be what it looks like"
            }
            Advice::HiddenCharacters { more } => {
                return write!(
                    f,
                    "there are {more} more; remove them, or write them as escapes: read strictly, a text must be what it \
                     looks like"
                );
            }
            Advice::PolicyArches => "give at least one architecture",
            Advice::ChangeOrKernel { change, since } => {
                return write!(f, "{change}, or choose Linux {since} or newer");
            }
            Advice::SyscallArchOrNumber => "give an architecture, or a number",
            Advice::OtherSyscallArchOrNumber => "give a number, or another architecture",
            Advice::SystemdVersion => "give the version of systemd; `systemctl --version` prints it",
            Advice::OlderSystemd => "Linux 6.2 and systemd 253 show the filter of older systems",
            Advice::NewerSystemd => "for a newer systemd, give its version",
            Advice::MinijailSemantics => {
                "choose the semantics: `c` of minijail0 -S, or `python` of compile_seccomp_policy.py"
            }
            Advice::IncludeRoot => "put the file beside the source",
            Advice::ReadProcess => "the filters of a running process can be read",
            Advice::ReadProcessOr(what) => {
                return write!(f, "{what}, or start the program and catch the filter that it installs");
            }
            Advice::GenerateFromBinary => {
                "generate a profile from its code, or start it and catch the filters that it installs"
            }
            Advice::UseRecording => "generate a profile from it, or compare a filter with it",
            Advice::ExtractProgram => {
                "take the program out: jq -r '..|.program?|arrays|length,(.[]|join(\" \"))'"
            }
            Advice::ClosestOrOneArch => {
                "write the nearest stricter policy, which accepts these losses, or a policy for one architecture alone"
            }
            Advice::AllArchesOfHost => {
                "read a policy for all architectures of the host, such as x86_64, x86 and x32 for lxc and x86_64 and x86 \
                 for snap; or write the nearest stricter policy"
            }
            Advice::ClosestOrCompile => {
                "write the nearest stricter policy, or compile the filter: a program can express any"
            }
            Advice::OtherTargetOrArch => {
                "choose another language or architecture, or an older version of systemd"
            }
            Advice::FewerValuesOrCompile => {
                "compare fewer single values, or give fewer architectures; or compile the filter: a program can express any"
            }
            Advice::OtherTargetOrCompile => {
                "choose another language, or compile the filter: a program can express any"
            }
            Advice::WithoutRuntimeRules => "read the profile without the rules that runc adds",
            Advice::OneByteOrder => "give filters for machines of one byte order",
            Advice::OneMachine => "choose one machine, or the byte order of a program",
            Advice::DenyList => {
                "convert it to a list of what is denied; it allows what newer kernels add. Compiled programs compare a few \
                 numbers in either form"
            }
            Advice::AllowList => {
                "convert it to a list of what is allowed; it denies what newer kernels add"
            }
            Advice::RecognizedFirst => {
                "compare arch and number before anything else, as optimized programs do"
            }
            Advice::Optimize => "optimize the program",
            Advice::Merge => "merge the filters",
            Advice::ListChecks => "the list of checks has all",
            Advice::ListSyscalls => "the syscall tables have all",
            Advice::SupportedRecordings => {
                "supported are recordings of Callgate, strace logs (strace -f -o FILE CMD), tables of strace -c and \
                 perf trace -s, audit records (ausearch -m SECCOMP, journalctl, dmesg), and lines with a name and a count"
            }
            Advice::GiveRecording => {
                "give a file that Callgate recorded, or a log or table of another tool"
            }
            Advice::PerfTable => {
                "use the table of perf trace -s, or record with Callgate, which also records values"
            }
            Advice::RecordMultiplexed => "record with Callgate, which distinguishes them",
            Advice::ReadPartially { complete } => {
                return write!(
                    f,
                    "the recording is truncated: record again, or read only the complete entries of `calls` ({complete}); \
                     later syscalls are missing"
                );
            }
            Advice::AddKernelRecords => {
                "add the records of the kernel for them (journalctl -k --grep type=1326), or read only the others"
            }
            Advice::RecordedArch => "name the architecture of these syscalls",
            Advice::AcceptIncomplete => {
                "record again, or accept that missing syscalls are denied"
            }
            Advice::ArchOfRecording => "name the architecture of the recording, or none",
            Advice::OneArchOrOtherLanguage => "select one of them, or choose another language",
            Advice::NoLimitsOrOtherArches => "limit no arguments, or select other architectures",
            Advice::RecordAsRoot => "record again; recording as root loses the fewest syscalls",
            Advice::RecorderAlters => "without the recorder, the program may make other syscalls",
            Advice::RecordValues => "record with Callgate, or log with strace -e raw=all",
            Advice::RecordAllValues => {
                "strace prints names instead of numbers, and counts have no values: record with Callgate, or log with \
                 strace -e raw=all"
            }
            Advice::NameNamespaces => "record with Callgate, or name the namespaces",
            Advice::AllRecordedArches => "name all architectures, or none",
        })
    }
}
