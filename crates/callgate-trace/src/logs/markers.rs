//! Which lines of logs look like denials: the texts that programs, runtimes and service managers print when a filter denied a
//! syscall or killed a process.
//!
//! A line that has one of these texts and that no reader understands must not pass as "no denial". The texts are in one table. Each
//! is so specific that lines of other kinds do not contain it: that a program supports seccomp, which profile it loads, a table
//! of signals or the handler of one are not denials.
//!
//! Sources: the messages of Firefox (`SandboxFilter`), Chromium (`sigsys_handlers.cc`), Tor (`sandbox.c`), OpenSSH
//! (`sandbox-seccomp-filter.c`), minijail, Firecracker, Cloud Hypervisor, Android (`debuggerd`), the log enricher of the Security
//! Profiles Operator, snappy-debug, systemd (`service.c`, `coredump.c`), Go's runtime, glibc's `strsignal`, nginx, strace.

use super::lines::AnyOf;

/// What a line with a marker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reported {
    /// A denied syscall, which the line should name.
    Denial,
    /// A process got `SIGSYS`; another line may name the syscall. There may be several such lines about one denial, each with
    /// another text.
    Signal,
    /// The end of a process by `SIGSYS`, in a form that occurs once per end.
    End,
}

/// A text that only lines about denials contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marker {
    pub(crate) text: &'static str,
    /// What follows it somewhere in the line.
    pub(crate) then: &'static str,
    pub(crate) reported: Reported,
    /// Why a line with it is not read.
    pub(crate) why: &'static str,
}

impl Marker {
    /// Whether what a line with it names is a denied syscall. Some monitors report what a filter only logs, too.
    pub(crate) fn names_syscall(self) -> bool {
        ![OPERATOR, NSJAIL, GVISOR].contains(&self.why)
    }
}

/// The end of a process as strace prints it.
pub(crate) const KILLED: Marker = end("+++ killed by SIGSYS");

const NO_SYSCALL: &str = "SIGSYS, without the syscall";
const EXIT_159: &str = "exit status 159, which is 128 + SIGSYS, without the syscall";
const UNKNOWN_FORM: &str = "a report of a denial in a form that is not read";

const fn denial(text: &'static str, why: &'static str) -> Marker {
    Marker { text, then: "", reported: Reported::Denial, why }
}

const fn denial_then(text: &'static str, then: &'static str) -> Marker {
    Marker { then, ..denial(text, UNKNOWN_FORM) }
}

const fn signal(text: &'static str) -> Marker {
    Marker { text, then: "", reported: Reported::Signal, why: NO_SYSCALL }
}

const fn end(text: &'static str) -> Marker {
    Marker { text, then: "", reported: Reported::End, why: NO_SYSCALL }
}

/// Android's C library, where it names a syscall without the architecture.
pub(crate) const ANDROID: Marker = Marker {
    why: "a number without the architecture, from Android: give --arch arm64, or the line \"Cause:\" of the crash dump",
    ..signal("Fatal signal 31 (SIGSYS)")
};

/// The end of a process as an audit record.
const ABNORMAL_END: Marker = end("ANOM_ABEND");

/// The end of a process as shells and container runtimes report it.
const EXIT: Marker = Marker { why: EXIT_159, ..end("159") };

/// The texts. One that ends with a digit is not followed by another.
static MARKERS: &[Marker] = &[
    // Programs that name the syscall.
    denial("seccomp sandbox violation", UNKNOWN_FORM),
    denial("Caught a bad syscall attempt", UNKNOWN_FORM),
    denial("ssh_sandbox_violation", UNKNOWN_FORM),
    denial("seccomp prevented call to", UNKNOWN_FORM),
    denial("seccomp-bpf failure", UNKNOWN_FORM),
    denial(".cc:**CRASHING**", UNKNOWN_FORM),
    denial("blocked syscall: ", UNKNOWN_FORM),
    denial("ffending syscall number: ", UNKNOWN_FORM),
    denial("intercepting a bad syscall", UNKNOWN_FORM),
    denial("\"type\"=\"seccomp\"", OPERATOR),
    denial("\"type\":\"seccomp\"", OPERATOR),
    denial(" type=\"seccomp\"", OPERATOR),
    denial(" type=seccomp ", OPERATOR),
    denial("SiSyscall: ", NSJAIL),
    Marker { then: "safely ignore", ..denial("nsupported syscall ", GVISOR) },
    denial("Container Sandbox: Unsupported syscall", GVISOR),
    denial("by seccomp filter", UNKNOWN_FORM),
    denial("blocked by seccomp", UNKNOWN_FORM),
    denial("killed by seccomp", UNKNOWN_FORM),
    denial("denied by seccomp", UNKNOWN_FORM),
    denial("disallowed by seccomp", UNKNOWN_FORM),
    denial("rejected by seccomp", UNKNOWN_FORM),
    denial("eccomp prevented execution", UNKNOWN_FORM),
    denial("SECCOMP denied", UNKNOWN_FORM),
    denial("eccomp denied", UNKNOWN_FORM),
    denial("eccomp blocked syscall", UNKNOWN_FORM),
    denial("eccomp rejected syscall", UNKNOWN_FORM),
    denial("isallowed syscall \"", UNKNOWN_FORM),
    denial("isallowed syscall access", UNKNOWN_FORM),
    denial_then("eccomp violation", "syscall"),
    // The signal: kernels, debuggers, runtimes of languages, monitors of virtual machines and jails.
    signal("terminated with signal SIGSYS"),
    signal("eccomp violation"),
    signal("ad system call"),
    signal("zsh: invalid system call"),
    Marker { why: SNAPPY, ..signal("= Seccomp =") },
    signal("SIGSYS: "),
    signal("SIGSYS (0x1f)"),
    // Android's C library and its debugger report the same end.
    signal("Fatal signal 31 (SIGSYS)"),
    signal("(SIGSYS)"),
    signal("signal SIGSYS"),
    signal("signal: SIGSYS"),
    signal("signal=SIGSYS"),
    signal("sig=SIGSYS"),
    signal("'SIGSYS'"),
    signal("\"SIGSYS\""),
    signal("by SIGSYS"),
    signal("with SIGSYS"),
    signal("got SIGSYS"),
    signal("eceived SIGSYS"),
    signal("aught SIGSYS"),
    signal("--- SIGSYS"),
    signal("code SYS_SECCOMP"),
    signal("(SYS_SECCOMP)"),
    signal("si_code=SYS_SECCOMP"),
    // systemd and its dumps of memory.
    end("status=31/SYS"),
    signal("31/SYS"),
    signal("signal=SYS"),
    signal("31 (SYS)"),
    signal(" SIGSYS present"),
    signal(" SIGSYS none"),
    signal(" SIGSYS missing"),
    signal(" SIGSYS inaccessible"),
    signal(" SIGSYS truncated"),
    signal(" SIGSYS journal"),
    signal(" SIGSYS error"),
    // By its number, which is 31 except on MIPS, PA-RISC and Alpha.
    signal("by signal 31"),
    signal("on signal 31"),
    signal("got signal 31"),
    signal("eceived signal 31"),
    signal("aught signal 31"),
    signal("with signal 31"),
    signal("signal 31 ("),
    signal("fatal signal 31"),
];

const OPERATOR: &str = "a line of the Security Profiles Operator, which does not say whether the syscall was denied or only logged: callgate why SOURCE SYSCALL \
     tells";

const SNAPPY: &str = "a report of snappy-debug without its line \"Log:\"";

/// What gVisor prints for syscalls that it does not implement.
const GVISOR: &str = "gVisor implements syscalls itself, and not this one: no seccomp filter denied it, so no change to a profile helps";

const NSJAIL: &str = "nsjail prints the status of the process here, 31 for SIGSYS, and not the number of the syscall";

/// Each marker contains one of these, and each of a [denial](Reported::Denial) one of [`OF_DENIALS`].
const STEMS: [&str; 12] = [
    "eccomp",
    "SECCOMP denied",
    "CRASHING",
    "d syscall",
    "sandbox_violation",
    "SiSyscall",
    "ffending syscall",
    "SYS",
    "sig=31",
    "d system call",
    "ignal 31",
    "159",
];

/// Those of denials, which are rare in logs of other kinds.
const OF_DENIALS: [&str; 7] =
    [STEMS[0], STEMS[1], STEMS[2], STEMS[3], STEMS[4], STEMS[5], STEMS[6]];

/// Searches for lines that may have a marker.
pub(crate) fn stems() -> AnyOf {
    AnyOf::new(&STEMS)
}

/// Searches for lines that may have a marker of a denial.
pub(crate) fn stems_of_denials() -> AnyOf {
    AnyOf::new(&OF_DENIALS)
}

/// What a line reports that looks like a denial; `None` for other lines.
pub(crate) fn reported(line: &str) -> Option<Marker> {
    if let Some(is_signal) = abnormal_end(line) {
        return is_signal.then_some(ABNORMAL_END);
    }
    let Some(found) = MARKERS.iter().find(|marker| contains(line, marker)) else {
        return is_exit_159(line).then_some(EXIT);
    };
    // A signal that a process sent, and a page of the manual.
    let is_innocent = found.reported == Reported::Signal
        && ["si_code=SI_USER", "si_code=SI_TKILL", "SVr4", "POSIX.1"]
            .iter()
            .any(|text| line.contains(text));
    (!is_innocent).then_some(*found)
}

/// Whether a line says that a process exited with status 159, as shells, container runtimes and Kubernetes do: `Exit Code:
/// 159`, `"exitCode": 159`, `Exited (159)`.
fn is_exit_159(line: &str) -> bool {
    const BEFORE: [&str; 6] =
        ["exit code", "exitcode", "exit status", "exit_status", "exited", "exit_code"];
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    line.match_indices("159").any(|(at, number)| {
        let bytes = line.as_bytes();
        let is_whole = !is_digit(bytes.get(at + number.len()))
            && !is_digit(at.checked_sub(1).and_then(|before| bytes.get(before)));
        let before = line.get(..at).unwrap_or_default();
        let start = before.len().saturating_sub(40);
        let start = (start..=before.len()).find(|at| before.is_char_boundary(*at));
        let before = before.get(start.unwrap_or_default()..).unwrap_or_default();
        let before = before.to_ascii_lowercase();
        let before = before.trim_end_matches([' ', '\t', ':', '=', '"', '(']);
        let before = ["with", "with code", "with status"]
            .iter()
            .find_map(|with| before.strip_suffix(with))
            .map_or(before, str::trim_end);
        is_whole && BEFORE.iter().any(|word| before.ends_with(word))
    })
}

/// Whether a line is an audit record of another type that reports no denial: most lines of an audit log.
pub(crate) fn is_other_record(line: &str) -> bool {
    abnormal_end(line) == Some(false)
}

/// Whether a line contains a marker; a number at its end is a whole number.
fn contains(line: &str, marker: &Marker) -> bool {
    let Marker { text, then, .. } = marker;
    let ends_with_digit = text.ends_with(|c: char| c.is_ascii_digit());
    line.match_indices(text).any(|(at, _)| {
        let rest = line.get(at + text.len()..).unwrap_or_default();
        let is_whole = !ends_with_digit || !rest.starts_with(|c: char| c.is_ascii_digit());
        is_whole && (then.is_empty() || rest.contains(then))
    })
}

/// For audit records of other types: whether one says that `SIGSYS` ended a process (`type=ANOM_ABEND`). Those of programs may
/// contain any text.
fn abnormal_end(line: &str) -> Option<bool> {
    let (kind, record) = record_type(line)?;
    let is_seccomp = matches!(kind, "SECCOMP" | "1326" | "UNKNOWN[1326]");
    let is_end = matches!(kind, "ANOM_ABEND" | "1701");
    let is_sigsys = || {
        let mut fields = record.split([' ', '\t', '\n', '\r', '\u{1d}', '\'']);
        fields.any(|field| matches!(field, "sig=31" | "sig=SIGSYS"))
    };
    (!is_seccomp).then(|| is_end && is_sigsys())
}

/// The type of an audit record, and the text from there on. Loggers may write other fields named `type` before it, and names
/// of programs may contain `type=` and `audit(`, but not the blank between them.
pub(crate) fn record_type(line: &str) -> Option<(&str, &str)> {
    line.match_indices("audit(").find_map(|(at, _)| {
        let before = line.get(..at)?;
        let before = before.strip_suffix("msg=").unwrap_or(before);
        let word = before.strip_suffix(' ')?.rsplit(' ').next()?;
        let (_, kind) = word.rsplit_once("type=")?;
        let start = before.len() - 1 - kind.len();
        (!kind.is_empty()).then_some((kind, line.get(start..)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of many programs, written anew from the facts.
    const DENIALS: &[&str] = &[
        "Sandbox: seccomp sandbox violation: pid 12, tid 12, syscall 41, args 2 1 0 0 0 0.",
        "Jan 02 10:00:00.000 [err] tor_bug_occurred_(): (Sandbox) Caught a bad syscall attempt (syscall socket)",
        "sshd[12]: fatal: ssh_sandbox_violation: unexpected system call (arch:0xc000003e,syscall:41 @ 0x7f00) [preauth]",
        "systemd[1]: app.service: Main process exited, code=killed, status=31/SYS",
        "systemd[1]: app.service: Main process exited, code=dumped, status=31/SYS",
        "   Process: 12 ExecStart=/bin/app (code=dumped, signal=SYS)",
        "run.sh: line 3:    12 Bad system call         (core dumped) ./app",
        "SIGSYS: bad system call",
        "fatal error: unexpected signal SIGSYS",
        "Error: Command failed with signal SIGSYS",
        "  signal: 'SIGSYS',",
        "        Signal: 31 (SYS)",
        "Fri 2026-01-02 10:00:00 CET 12 1000 1000 SIGSYS present /usr/bin/app 48.1K",
        "systemd-coredump[9]: Process 12 (app) of user 1000 terminated abnormally with signal 31/SYS, processing...",
        "+++ killed by SIGSYS +++",
        "+++ killed by SIGSYS (core dumped) +++",
        "Program terminated with signal SIGSYS, Bad system call.",
        "2026/01/02 10:00:00 [alert] 7#7: worker process 12 exited on signal 31 (core dumped)",
        "      Exit Code:    159",
        "    exitCode: 159",
        "  \"exitCode\": 159,",
        "time=\"…\" level=error msg=\"container exited with status 159\"",
        "app exited with code 159",
        "abc  img  \"app\"  2 hours ago  Exited (159) 2 hours ago",
        "type=ANOM_ABEND msg=audit(1.2:3): auid=1 uid=1 gid=1 ses=1 pid=7 comm=\"a\" exe=\"/a\" sig=31 res=1",
        "audit: type=1701 audit(1.2:3): auid=1 uid=1 gid=1 ses=1 pid=7 comm=\"a\" exe=\"/a\" sig=31 res=1",
        "type=ANOM_ABEND msg=audit(1.2:3): auid=1 uid=1 pid=7 comm=\"sshd\" reason=\"memory violation\" sig=31",
        "type=ANOM_ABEND msg=audit(1.2:3): auid=1 uid=1 pid=7 comm=\"a\" exe=\"/a\" sig=31\u{1d}UID=\"a\"",
        "{\"ts\":1,\"msg\":\"audit\",\"type\":\"seccomp\",\"syscallName\":\"socket\",\"syscallID\":41}",
        "enricher.go:1] log-enricher \"msg\"=\"audit\" \"syscallID\"=41 \"syscallName\"=\"socket\" \"type\"=\"seccomp\"",
        "= Seccomp =",
        "Container Sandbox: Unsupported syscall clone3(0x7f). It is likely that you can safely ignore this message",
        "Offending syscall number: 16 (arch: 0xc000003e, tid: 7)",
        "==== Possible seccomp violation ====",
        "F DEBUG   : Cause: seccomp prevented call to disallowed arm64 system call 434",
        "signal 31 (SIGSYS), code 1 (SYS_SECCOMP), fault addr --------",
        "../../sandbox/linux/seccomp-bpf-helpers/sigsys_handlers.cc:**CRASHING**:seccomp-bpf failure in syscall 0273",
        "zsh: invalid system call  ./app",
        "thread 'main' panicked: child was killed by signal: SIGSYS",
        "ChildProcessError: worker received SIGSYS",
        " **** Seccomp prevented execution of syscall 0000000016 on architecture amd64 ****",
        "Disallowed syscall \"close_range\" caught in sandbox",
        "Sandbox violation: disallowed syscall access (21), architecture 0xc000003e",
        "SECCOMP denied syscall ptrace(2)",
        "seccomp denied syscall 101",
        "Error: seccomp violation: syscall 101 blocked",
        "pid=7743, SiSyscall: 31, SiCode: 2, SiErrno: 0, SiSigno: 17, SP: 0, PC: 0",
    ];

    /// Messages that mention seccomp, signals or numbers, and are not denials.
    const INNOCENT: &[&str] = &[
        "systemd[1]: systemd 258 running in system mode (+PAM +AUDIT +SELINUX -APPARMOR +SECCOMP +GCRYPT)",
        "kernel: Command line: BOOT_IMAGE=/vmlinuz audit=1",
        "kernel: audit: type=1400 audit(1.2:3): apparmor=\"DENIED\" operation=\"open\" profile=\"x\" name=\"/x\"",
        "type=SYSCALL msg=audit(1.2:3): arch=c000003e syscall=41 success=no exit=-13 comm=\"sh\" exe=\"/bin/sh\"",
        "type=EXECVE msg=audit(1.2:3): argc=2 a0=\"grep\" a1=\"SIGSYS: bad system call\"",
        "type=ANOM_ABEND msg=audit(1.2:3): auid=1 pid=7 comm=\"a\" exe=\"/a\" sig=11 res=1",
        "dockerd[1]: Security Options: seccomp, profile=builtin",
        "Error: pods \"a\" is forbidden: violates PodSecurity \"restricted\": seccompProfile (container \"c\" must set it)",
        "lxc-start: seccomp.c: parse_config_v2: 807 Processing \"reject_force_umount\"",
        "runc: failed to add seccomp filter rule for syscall bdflush: permission denied",
        "level=info msg=\"loading seccomp profile\" path=/etc/seccomp.json",
        "29) SIGIO       30) SIGPWR      31) SIGSYS      34) SIGRTMIN",
        "       SIGSYS       SVr4       Core    Bad system call; see also seccomp(2)",
        "handler for SIGSYS installed",
        "wlan0: signal 31 dBm",
        "app exited with code 1590",
        "GET /items/159 HTTP/1.1 200 159",
        "systemd[1]: app.service: Main process exited, code=exited, status=1/FAILURE",
        "systemd[1]: app.service: Main process exited, code=killed, status=9/KILL",
        "worker process 12 exited on signal 310",
        "SyscallFilter=@system-service",
        "sandbox: started with user namespaces",
        "unexpected end of the sandbox: EOF",
        "sandbox: list of disallowed syscalls loaded",
        "config: seccomp_blocked_syscalls = []",
        "--- SIGSYS {si_signo=SIGSYS, si_code=SI_USER, si_pid=7, si_uid=0} ---",
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7, si_uid=0, si_status=0} ---",
    ];

    #[test]
    fn reports_of_denials_have_markers_and_other_lines_have_none() {
        let stems = stems();
        let is_marked = |line: &str| stems.is_in(line.as_bytes()) && reported(line).is_some();
        for line in DENIALS {
            assert!(is_marked(line), "{line}");
        }
        for line in INNOCENT {
            assert!(!is_marked(line), "{line}");
        }
    }

    #[test]
    fn each_marker_contains_a_stem() {
        for Marker { text, reported, .. } in MARKERS {
            let stems = match reported {
                Reported::Denial => &OF_DENIALS[..],
                _ => &STEMS,
            };
            assert!(stems.iter().any(|stem| text.contains(stem)), "{text}");
        }
    }
}
