//! strace logs from a terminal, and audit records from each place where they are logged.

use super::*;
use crate::{Selected, Selection};

/// Lines of `strace -f` on a terminal: a 64-bit shell starts a 32-bit program, which forks; the child also uses x32.
#[test]
fn each_process_has_its_own_abi() {
    let log = "\
execve(\"/bin/sh\", [\"sh\"], 0x7ffd7b360dd8 /* 39 vars */) = 0
vfork(strace: Process 11 attached
 <unfinished ...>
[pid    11] execve(\"./fork32\", [\"./fork32\"], 0x55c4f594db98 /* 39 vars */ <unfinished ...>
[pid    10] <... vfork resumed>)        = 11
[pid    11] <... execve resumed>)       = 0
[pid    10] wait4(-1,  <unfinished ...>
[pid    11] [ Process PID=11 runs in 32 bit mode. ]
[pid    11] fork(strace: Process 12 attached
)                  = 12
[pid    12] getuid()                    = 0
[pid    12] [ Process PID=12 runs in x32 mode. ]
[pid    12] getpid()                    = 12
[pid    11] waitpid(-1,  <unfinished ...>
[pid    12] exit(0)                     = ?
[pid    12] +++ exited with 0 +++
[pid    11] <... waitpid resumed>NULL, 0) = 12
[pid    11] [ Process PID=11 runs in 64 bit mode. ]
[pid    11] getgid()                    = 0
[pid    11] [ Process PID=11 runs in 32 bit mode. ]
[pid    10] exit_group(0)               = ?
[pid    10] +++ killed by SIGKILL +++
getppid()                               = 1
";
    let recording = quiet(log);
    let of = |arch| {
        let syscalls = recording.syscalls().filter(|(syscall, _)| syscall.arch == arch);
        let names =
            syscalls.map(|(syscall, seen)| format!("{}×{}", syscall.name().unwrap(), seen.count()));
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(Arch::X86_64), "vfork×1 execve×2 wait4×1 getgid×1 exit_group×1");
    assert_eq!(of(Arch::X86), "fork×1 waitpid×1 getuid×1 getppid×1");
    // exit has the same name with and without x32's bit, but the ABI is x32.
    assert_eq!(of(Arch::X32), "getpid×1 exit×1");
}

#[test]
fn the_abi_of_a_single_process_applies_to_lines_without_a_number() {
    for notice in ["", "strace: ", "     0.000003 ", "20:39:50 (+     0.000399) ", "20:39:50.1 "] {
        let log = format!(
            "execve(\"./f\", [\"./f\"], 0x7ffedd9b9fe0 /* 39 vars */) = 0\n\
             {notice}[ Process PID=24190 runs in 32 bit mode. ]\n\
             getpid() = 24190\n{notice}[ Process PID=24190 runs in 64 bit mode. ]\nexit(0) = ?\n\
             +++ exited with 0 +++\n"
        );
        let recording = quiet(&log);
        let syscalls: Vec<_> = recording
            .syscalls()
            .map(|(syscall, _)| (syscall.arch, syscall.name().unwrap()))
            .collect();
        let wide = |name| (Arch::X86_64, name);
        let expected = [wide("execve"), wide("exit"), (Arch::X86, "getpid")];
        assert_eq!(syscalls, expected, "{notice}");
    }
    // Followed by the log of a 64-bit run.
    let log = "[ Process PID=7 runs in 32 bit mode. ]\ngetpid() = 7\n+++ exited with 0 +++\ngetpid() = 8\n";
    assert_eq!(counts(&quiet(log)), "getpid×1 getpid×1");
}

#[test]
fn a_syscall_that_resumes_without_a_number_is_counted_once() {
    let rest = "<... wait4 resumed>NULL, 0, NULL) = 11\n";
    for end in ["[pid 11] +++ exited with 0 +++\n", ""] {
        let log =
            format!("[pid 10] wait4(-1,  <unfinished ...>\n[pid 11] getpid() = 11\n{end}{rest}");
        assert_eq!(counts(&quiet(&log)), "getpid×1 wait4×1", "{log}");
    }
}

#[test]
fn arguments_after_a_notice_are_read() {
    let log = "kill(strace: Process 12 attached\n, 0x9) = 0\nclose(3) = 0\n";
    assert_eq!(values(&quiet(log), x86_64("kill")), [None, Some(vec![9])]);
    let text = ")  what a program prints\n";
    let read = read(&(log.to_owned() + text), &OPTIONS).unwrap();
    assert_eq!(lines(&read.warnings), "4:1: this line is not a syscall; skipped");
}

#[test]
fn a_line_of_strace_may_have_two_times() {
    let log = "\
20:36:23 (+     0.000000) close(3) = 0
1795293590.561449 (+     1.000215) close(4) = 0
12 20:39:50.558045 (+     0.000000) [00007f663ae9fc17] close(5) = 0
[pid    12] 20:39:50.558045 (+     0.000012) close(6 <unfinished ...>
[pid    12] 20:39:50.558045 (+     0.000012) <... close resumed>) = 0
";
    assert_eq!(values(&quiet(log), x86_64("close")), [Some(vec![3, 4, 5, 6])]);
}

const RECORD: &str = "auid=0 uid=0 pid=12 comm=\"x\" sig=0 arch=c000003e syscall=257 compat=0 ip=0x7f code=0x7ffc0000";

#[test]
fn audit_records_in_the_kernel_log_and_the_journal() {
    for line in [
        "[   12.345678] audit: type=1326 audit(1700560800.123:45): ",
        "[Tue Nov 21 10:00:00 2023] audit: type=1326 audit(1700560800.123:45): ",
        "<5>[   12.345678] audit: type=1326 audit(1700560800.123:45): ",
        "kern  :notice: [   12.345678] audit: type=1326 audit(1700560800.123:45): ",
        "Nov 21 10:00:00 host kernel: audit: type=1326 audit(1700560800.123:45): ",
        "Nov 21 10:00:00 host audit[77]: SECCOMP ",
        "2023-11-21T10:00:00+0000 host audit: AUDIT1326 ",
        "SECCOMP ",
    ] {
        assert_eq!(counts(&quiet(&format!("{line}{RECORD}\n"))), "openat×1", "{line}");
    }
}

#[test]
fn a_record_that_occurs_twice_in_a_journal_is_counted_once() {
    let [audit, kernel] = ["audit[77]: SECCOMP", "kernel: audit: type=1326 audit(1.2:3):"]
        .map(|start| format!("Nov 21 10:00:00 host {start} {RECORD}\n"));
    let mount = audit.replace("=257", "=165");
    let both = format!("{audit}{kernel}{audit}{kernel}{audit}{mount}");
    assert_eq!(counts(&quiet(&both)), "mount×1 openat×3");
    assert_eq!(counts(&quiet(&kernel.repeat(2))), "openat×2");
}

#[test]
fn lines_that_start_with_a_bracket_are_not_json() {
    let log = "[pid   123] close(3) = 0\n[pid   124] close(4) = 0\n";
    assert_eq!(counts(&quiet(log)), "close×2");
    assert_eq!(counts(&quiet("[00007f663ae9fc17] close(3) = 0\n")), "close×1");
    for json in ["[{\"callgate\": 1}]", "[ ]", "[[1]]", "[\"a\"]", "\u{feff} [\n  {\n} ]", "["] {
        let message = errors(json);
        assert!(message.contains("JSON") || message.contains("not closed"), "{json}: {message}");
    }
}

#[test]
fn an_unknown_format_is_one_error_that_lists_the_supported_ones() {
    let perf = "     0.000 ( 0.039 ms): true/24223 openat(dfd: CWD, filename: 0x65cb10b1, flags: RDONLY) = 3\n     \
                0.057 ( 0.012 ms): true/24223 close(fd: 3)    = 0\n";
    for (text, message, help) in [
        (
            perf,
            "1:6: this looks like the output of perf trace without -s, which is not supported",
            "use the table of perf trace -s",
        ),
        (
            "# a comment\n\nhello, world\nhow are you\nx\n",
            "3:1: unknown format",
            "strace -f -o FILE CMD",
        ),
        ("", "1:1: no syscalls in this file", "strace -f -o FILE CMD"),
    ] {
        let errors = super::super::read(text, &OPTIONS).unwrap_err();
        assert_eq!(lines(&errors), message);
        assert!(errors[0].help.contains(help), "{}", errors[0].help);
    }
    // If one line is a count, the errors are about the other lines.
    assert_eq!(errors("read 5\nhow are you\n"), "2:1: expected 2 columns, found 3");
    assert_eq!(
        errors("how are you\nread five\n"),
        "1:1: expected 2 columns, found 3\n2:6: \"five\" is not a count"
    );
}

const LOGGED: &str = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm=\"x\" exe=\"/x\" sig=0 arch=c000003e \
                      syscall=41 compat=0 ip=0x7f code=0x7ffc0000\n";

/// The caveats of an audit log: identifier and count.
fn caveats_of_log(log: &str) -> Vec<(String, Option<u64>)> {
    let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: true };
    let recording = crate::read::read(log, &options).unwrap().recording;
    recording.caveats().into_iter().map(|caveat| (caveat.id, caveat.count)).collect()
}

#[test]
fn lost_records_are_a_caveat_of_an_audit_log() {
    let suppressed = "kernel: kauditd_printk_skb: 47 callbacks suppressed\n";
    let counter = "kernel: audit: audit_lost=3 audit_rate_limit=0 audit_backlog_limit=64\n";
    let unknown = "audit: backlog limit exceeded\n";
    for (more, count) in [(suppressed, Some(47)), (counter, Some(3)), (unknown, None)] {
        for log in [format!("{more}{LOGGED}"), format!("{LOGGED}{more}")] {
            assert_eq!(caveats_of_log(&log), [("lost-records".to_owned(), count)], "{log}");
        }
    }
    assert_eq!(caveats_of_log(LOGGED), []);
}

#[test]
fn denials_that_are_not_records_are_a_caveat_of_an_audit_log() {
    let firefox =
        "Sandbox: seccomp sandbox violation: pid 1, tid 1, syscall 41, args 16 3 0 0 0 0.\n";
    let log = format!("{LOGGED}{firefox}{firefox}");
    assert_eq!(caveats_of_log(&log), [("unread-denials".to_owned(), Some(2))]);
    let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: false };
    let errors = crate::read::read(&log, &options).unwrap_err();
    let error = errors.first().unwrap();
    let message = "2 lines look like denials, but could not be read; this is the first";
    assert_eq!((error.message.as_str(), error.position.unwrap().line), (message, 2));
    // The end of a process is not a syscall.
    assert_eq!(caveats_of_log(&format!("{LOGGED}a: status=31/SYS\n")), []);
}

#[test]
fn records_of_the_export_format_of_the_journal_are_read() {
    let log = format!("__CURSOR=x\nMESSAGE=SECCOMP {RECORD}\n\n");
    assert_eq!(caveats_of_log(&log), []);
}

#[test]
fn only_the_records_of_a_program_are_read() {
    let other = LOGGED
        .replace("\"x\"", "\"other\"")
        .replace("/x", "/usr/bin/a-rather-long-name")
        .replace("=41", "=165");
    let log = format!("{LOGGED}{}", other.replace("\"other\"", "\"a-rather-long-n\""));
    let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: false };
    let names = |program: &str, log: &str| {
        let mut reader = RecordingReader::new(&options)
            .selecting(Selection::new(vec![Selected::parse(program).unwrap()]));
        reader.push(log.as_bytes()).unwrap();
        let recording =
            reader.finish().map_err(|errors| errors.first().unwrap().message.clone())?.recording;
        Ok::<_, String>(
            recording.syscalls().map(|(call, _)| call.name().unwrap()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(names("x", &log).unwrap(), ["socket"]);
    for program in ["a-rather-long-name", "/usr/bin/a-rather-long-name", "a-rather-long-n"] {
        assert_eq!(names(program, &log).unwrap(), ["mount"]);
    }
    assert_eq!(names("nginx", &log).unwrap_err(), "no record of nginx in this log");
    assert_eq!(names("x", "close(3) = 0\n").unwrap_err(), "only audit records name their programs");
}
