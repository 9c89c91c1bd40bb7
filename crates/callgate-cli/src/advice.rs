//! Advice of the libraries in the words of the command: its options and subcommands.

use callgate::Endian;
use callgate::lint::Check;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Help};
use callgate_core::ProgramHint;

/// A diagnostic with its advice in the words of the command.
pub(crate) fn worded(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.in_words(words)
}

/// The help of an error in the words of the command, if it is advice.
pub(crate) fn help_or(advice: Option<Advice>, help: String) -> String {
    advice.as_ref().and_then(words).unwrap_or(help)
}

/// A help in the words of the command.
pub(crate) fn of(help: &Help) -> String {
    help.in_words(words)
}

/// What a check is about, in the words of the command.
pub(crate) fn about(check: Check) -> &'static str {
    match check {
        Check::SlowProgram => "`callgate optimize` writes it, with a proof.",
        Check::UnmergedStack => {
            "The kernel runs all of them for each syscall; `callgate merge` writes one program, with a proof."
        }
        check => check.about(),
    }
}

/// Advice in the words of the command; `None` if those of the library will do.
#[rustfmt::skip]
pub(crate) fn words(advice: &Advice) -> Option<String> {
    Some(match advice {
        // Reading programs.
        Advice::ProgramArch => "choose the architecture that this program is for (--arch)",
        Advice::ArchOrDefinitions => "choose the architecture (--arch), or define what the text asks for (--define)",
        Advice::Define(name) => {
            return Some(format!("choose with --define {name}, --define {name}=VALUE or --undefine {name}"));
        }
        Advice::ValueOf(name) => {
            return Some(format!(
                "write its value instead, add a line `#define {name} …`, or give --define {name}=VALUE"
            ));
        }
        Advice::OneProgram(name) => {
            return Some(format!(
                "add #NAME, #FUNCTION or #LINE to the name of the file, such as #{name}, or keep only that one"
            ));
        }
        Advice::Program(ProgramHint::ByteOrder(Endian::Big)) =>
            "in big-endian byte order this is a valid program: use `--endian big`",
        Advice::Program(ProgramHint::ByteOrder(Endian::Little)) =>
            "in little-endian byte order this is a valid program: use `--endian little`",
        Advice::Program(ProgramHint::Text) => "these bytes are text: read them with `bpftext:`, or as a profile",
        Advice::Program(ProgramHint::Shorten) => "`callgate optimize` may make it smaller, or split it into several filters",
        Advice::ReadProcess => "`callgate explain pid:N` reads the filters of a process",
        Advice::ReadProcessOr(what) => {
            return Some(format!("{what}, or catch what the program installs: callgate dump -o DIR -- CMD"));
        }
        Advice::GenerateFromBinary =>
            "callgate generate --binary FILE makes a profile for it; callgate dump -- FILE catches the filters that it installs",
        Advice::UseRecording => "callgate generate makes a profile from it; callgate check compares a filter with it",
        Advice::ExtractProgram =>
            "write the program with --emit bpf, or take it out: jq -r '..|.program?|arrays|length,(.[]|join(\" \"))'",
        // Reading policies.
        Advice::HiddenCharacters { more: 0 } =>
            "remove it, or write it as an escape: with --strict, a text must be what it looks like",
        Advice::HiddenCharacters { more } => {
            return Some(format!(
                "there are {more} more; remove them, or write them as escapes: with --strict, a text must be what it \
                 looks like"
            ));
        }
        Advice::PolicyArches => "give --arch",
        Advice::ChangeOrKernel { change, since } => return Some(format!("{change}, or choose --kernel {since}")),
        Advice::SyscallArchOrNumber => "give --arch instead of --token, or a number",
        Advice::OtherSyscallArchOrNumber => "give a number, or another --arch",
        Advice::SystemdVersion => "give --systemd VERSION; `systemctl --version` prints it",
        Advice::OlderSystemd => "--kernel 6.2 and --systemd 253 show the filter of older systems",
        Advice::NewerSystemd => "for a newer systemd, give its version with --systemd",
        Advice::MinijailSemantics =>
            "choose with --minijail-semantics: c for minijail0 -S, or python for compile_seccomp_policy.py",
        Advice::IncludeRoot =>
            "put the file beside the source, or give --include-root DIR, below which absolute paths are",
        // Conversions.
        Advice::ClosestOrOneArch =>
            "--closest accepts these losses and writes the nearest stricter policy; --arch with one architecture writes a \
             policy for it alone",
        Advice::AllArchesOfHost =>
            "read a policy for all architectures of the host, such as --arch x86_64 --arch x86 --arch x32 for lxc and \
             --arch x86_64 --arch x86 for snap; --closest writes the nearest stricter policy",
        Advice::ClosestOrCompile =>
            "--closest writes the nearest stricter policy; `callgate compile` makes a program of any filter",
        Advice::OtherTargetOrArch => "choose another --to or --arch, or an older --systemd",
        Advice::FewerValuesOrCompile =>
            "compare fewer single values, or give fewer architectures; `callgate compile` makes a program of any filter",
        Advice::OtherTargetOrCompile => "choose another --to; `callgate compile` makes a program of any filter",
        Advice::WithoutRuntimeRules => "--enosys-above off: without this check",
        // Stacks and sets.
        Advice::OneByteOrder => "give filters for machines of one byte order; --arch and --endian set that of programs",
        Advice::OneMachine => "choose one machine with --arch, or the byte order of a program with --endian",
        // Findings.
        Advice::DenyList =>
            "`callgate convert --list denied --to LANGUAGE` writes it; it allows what newer kernels add. The programs of \
             `callgate compile` compare a few numbers in either form",
        Advice::AllowList =>
            "`callgate convert --list allowed --to LANGUAGE` writes it; it denies what newer kernels add",
        Advice::RecognizedFirst => "compare arch and number before anything else; `callgate optimize` does",
        Advice::Optimize => "write it with `callgate optimize`",
        Advice::Merge => "write it with `callgate merge`",
        Advice::ListChecks => "`callgate lint --list-checks` lists all",
        Advice::ListSyscalls => "`callgate explain SOURCE --order name` lists all",
        // Recordings.
        Advice::SupportedRecordings =>
            "supported are recordings (callgate record -o FILE -- CMD), strace logs (strace -f -o FILE CMD), tables of \
             strace -c and perf trace -s, audit records (ausearch -m SECCOMP, journalctl, dmesg), and lines with a name and \
             a count",
        Advice::GiveRecording => "give a file that callgate record wrote, or a log or table of another tool",
        Advice::PerfTable => "use the table of perf trace -s, or callgate record, which also records values",
        Advice::RecordMultiplexed => "record with `callgate record`, which distinguishes them",
        Advice::ReadPartially { complete } => {
            return Some(format!(
                "the recording is truncated: record again, or use --partial to read the complete entries of `calls` \
                 ({complete}); later syscalls are missing"
            ));
        }
        Advice::AddKernelRecords =>
            "add the records of the kernel for them (journalctl -k --grep type=1326), or read only the others with --partial",
        Advice::RecordedArch => "name the architecture of these syscalls with --arch",
        // Generated profiles.
        Advice::AcceptIncomplete =>
            "record again, or accept that missing syscalls are denied (callgate generate --partial)",
        Advice::ArchOfRecording => "name the architecture of the recording, or omit --arch",
        Advice::OneArchOrOtherLanguage => "select one of them with --arch, or choose another --to",
        Advice::NoLimitsOrOtherArches =>
            "limit no arguments with --args off, or select other architectures with --arch",
        Advice::RecordAsRoot => "record again; recording as root (--via tracepoint) loses the fewest syscalls",
        Advice::RecorderAlters =>
            "without the recorder, the program may make other syscalls; see callgate record --help",
        Advice::RecordValues => "record with callgate record, or log with strace -e raw=all",
        Advice::RecordAllValues =>
            "strace prints names instead of numbers, and counts have no values: record with callgate record, or log with \
             strace -e raw=all",
        Advice::NameNamespaces => "record with callgate record, or name the namespaces with --namespaces",
        Advice::AllRecordedArches => "name all architectures with --arch, or omit it",
        _ => return None,
    }.to_owned())
}
