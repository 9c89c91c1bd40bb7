use super::tests::{RAW, one, read, summary};
use super::*;
use callgate_core::{Arch, Verdict};

/// The cause and the registers of a crash dump of Android.
fn tombstone(arch: &str, said: u32, registers: &str) -> (usize, Option<String>, Vec<u64>) {
    summary(&format!(
        "ABI: '{arch}'\npid: 7, tid: 8, name: x  >>> app <<<\nsignal 31 (SIGSYS), code 1 (SYS_SECCOMP), fault addr --------\n\
         Cause: seccomp prevented call to disallowed {arch} system call {said}\n{registers}backtrace:\n      #00 pc 1 /x\n"
    ))
}

#[test]
fn the_register_decides_where_a_tombstone_says_zero() {
    let arm64 = "    x0   0000000000002bd2  x1   0000000000000000\n    x8   00000000000001b2  x9   0000000000000001\n";
    let is = |name: &str| (1, Some(name.to_owned()), vec![]);
    assert_eq!(tombstone("arm64", 0, arm64), is("aarch64 pidfd_open"));
    assert_eq!(tombstone("arm64", 434, arm64), is("aarch64 pidfd_open"));
    assert_eq!(tombstone("arm64", 434, ""), is("aarch64 pidfd_open"));
    let zero = arm64.replace("1b2", "000");
    assert_eq!(tombstone("arm64", 0, &zero), is("aarch64 io_setup"));
    let x86_64 = "    rax 00000000000001b2  rbx 0000000000000000  rcx 0000000000000000\n";
    assert_eq!(tombstone("x86_64", 0, x86_64), is("x86_64 pidfd_open"));
    let x86 = "    eax 000001b2  ebx 00000000  ecx 00000000  edx 00000000\n";
    assert_eq!(tombstone("x86", 0, x86), is("x86 pidfd_open"));
    let arm = "    r4  00000000  r5  00000000  r6  00000000  r7  000001b2\n";
    assert_eq!(tombstone("arm", 0, arm), is("arm pidfd_open"));
}

#[test]
fn a_tombstone_that_contradicts_itself_or_says_nothing_is_not_read() {
    let arm64 = "    x8   00000000000001b2  x9   0000000000000001\n";
    let no = (0, None, vec![4]);
    assert_eq!(tombstone("arm64", 40, arm64), no);
    assert_eq!(tombstone("arm64", 0, ""), no);
    assert_eq!(tombstone("x86_64", 0, "    rip 0000000000000001\n"), no);
    // A pointer is not a number of a syscall.
    assert_eq!(tombstone("arm64", 0, "    x8   00000070f34be3d0\n"), no);
    // The registers of another thread, below the end of the dump.
    let other = format!("backtrace:\n{arm64}");
    assert_eq!(tombstone("arm64", 0, &other), no);
    let log =
        "Cause: seccomp prevented call to disallowed arm64 system call 40\nx8 00000000000001b2\n";
    let why = read(log.as_bytes(), 9).unread.lines[0].why.clone();
    assert_eq!(why, "the sentence says 40 (mount), but the register x8 has 434 (pidfd_open)");
}

#[test]
fn records_in_other_formats_of_the_journal_are_read() {
    let record = "auid=0 uid=0 comm=\"nginx\" exe=\"/n\" sig=31 arch=c000003e syscall=165 compat=0 ip=0x7f code=0x0";
    let escaped = record.replace('"', "\\\"");
    for line in [
        format!("MESSAGE=SECCOMP {record}\n"),
        format!("MESSAGE=audit: type=1326 audit(1.2:3): {record}\n"),
        format!("        \"MESSAGE\" : \"SECCOMP {escaped}\",\n"),
        format!("    MESSAGE=AUDIT1326 {record}\n"),
    ] {
        let denial = one(&line);
        assert_eq!(denial.call.syscall.name(), Some("mount"), "{line}");
        assert_eq!(denial.programs, [("nginx".to_owned(), 1)], "{line}");
        assert_eq!(denial.verdicts, [(Verdict::KILL_THREAD, 1)], "{line}");
    }
}

#[test]
fn the_innermost_function_of_a_stack_tells_the_syscall() {
    let gdb = "Program terminated with signal SIGSYS, Bad system call.\n\
               #0  0x00007ffd34329872 in gettimeofday ()\n";
    assert_eq!(summary(gdb), (1, Some("x86_64 gettimeofday".to_owned()), vec![]));
    let log = read(gdb.as_bytes(), 9);
    assert_eq!((log.from_stacks, log.assumed_arch, log.denials[0].has_signal), (1, 1, true));
    let dump = "           PID: 1671 (host)\n        Signal: 31 (SYS)\n     Timestamp: Thu\n\
                Stack trace of thread 1671:\n\
                #0  0x00007f8c9d11d9fb __clone3 (libc.so.6 + 0x10d9fb)\n\
                #1  0x00007f8c9d0a7b1c create_thread (libc.so.6 + 0x8db1c)\n\n\
                Stack trace of thread 1672:\n#0  0x00007f __poll (libc.so.6 + 0x1)\n";
    assert_eq!(summary(dump), (1, Some("x86_64 clone3".to_owned()), vec![]));
    // Both reports are about one end.
    let both = dump.replace("     Timestamp", "terminated with signal SIGSYS\n     Timestamp");
    assert_eq!(summary(&both), (1, Some("x86_64 clone3".to_owned()), vec![]));
    assert_eq!(read(both.as_bytes(), 9).denials[0].count, 1);
    // The kernel's record is about the same denial.
    let record = RAW.replace("syscall=165", "syscall=96");
    assert_eq!(summary(&format!("{gdb}{record}")).0, 1);
    let unknown = gdb.replace("gettimeofday", "raise");
    assert_eq!(summary(&unknown), (0, None, vec![1]));
    let why = read(unknown.as_bytes(), 9).unread.lines[0].why.clone();
    assert!(why.contains("the function raise"), "{why}");
    let title = "[abrt] firejail: iopl(): faudit killed by SIGSYS\n";
    assert_eq!(summary(title), (1, Some("x86_64 iopl".to_owned()), vec![]));
    // A stack far from a report is another one.
    let far = gdb.replacen('\n', &"\n".repeat(60), 1);
    assert_eq!(summary(&far), (0, None, vec![1]));
}

/// As people paste them: without the separator of enriched records, with the number of the line that grep prints, and through
/// the dispatcher of the audit daemon.
#[test]
fn pasted_records_are_read() {
    let record = RAW
        .trim_end()
        .replace("0x50001", "0x80000000AUID=\"unset\" UID=\"u\" ARCH=x86_64 SYSCALL=mount\n");
    for line in
        [format!("52:{record}"), format!("Jan 29 07:58:12 host audispd[568]: node=host {record}")]
    {
        let denial = one(&line);
        assert_eq!(denial.call.syscall.name(), Some("mount"), "{line}");
        assert_eq!(denial.verdicts, [(Verdict::KILL_PROCESS, 1)], "{line}");
    }
    let executed = record.replace("0x80000000", "0x7ffc0000");
    assert_eq!(read(executed.as_bytes(), 9).logged, 1);
    let killed = record.replace("0x80000000", "0x0");
    assert_eq!(one(&killed).verdicts, [(Verdict::KILL_THREAD, 1)]);
    // The next record is about the end of the process.
    let end = "type=ANOM_ABEND msg=audit(1.2:4): auid=0 uid=0 pid=7 comm=\"nginx\" exe=\"/n\" sig=31 res=1AUID=\"unset\"\n";
    assert_eq!(summary(&format!("{record}{end}")), (1, Some("x86_64 mount".to_owned()), vec![]));
    // A jail reports the violation without the syscall; the journal has it.
    let jail = "[W][7742] seccompViolation():258 pid=7 committed a syscall/seccomp violation and exited with SIGSYS\n";
    assert_eq!(summary(jail), (0, None, vec![1]));
    assert_eq!(summary(&format!("{jail}{record}")), (1, Some("x86_64 mount".to_owned()), vec![]));
    // With emphasis, as in a comment on a tracker.
    let emphasized = RAW.replace("syscall=165", "**syscall=165**");
    assert_eq!(one(&emphasized), one(RAW));
}

#[test]
fn lost_records_are_a_caveat() {
    let log = format!(
        "{RAW}kernel: kauditd_printk_skb: 47 callbacks suppressed\n\
         {{\"MESSAGE\":\"audit: audit_lost=3 audit_rate_limit=0 audit_backlog_limit=64\",\"_TRANSPORT\":\"kernel\"}}\n"
    );
    let caveat = read(log.as_bytes(), 9).lost_records.unwrap();
    assert_eq!((caveat.id.as_str(), caveat.count), ("lost-records", Some(50)));
    assert_eq!(read(RAW.as_bytes(), 9).lost_records, None);
}

#[test]
fn a_log_is_recognized_or_not() {
    let is_recognized = |log: &str| read(log.as_bytes(), 9).is_recognized;
    for log in [
        RAW,
        "type=SYSCALL msg=audit(1.2:3): arch=c000003e syscall=2\n",
        "[    0.1] Linux version\n",
        "openat(AT_FDCWD, \"/x\", O_RDONLY) = 3\n",
        "+++ exited with 0 +++\n",
        "blocked syscall: mount\n",
    ] {
        assert!(is_recognized(log), "{log}");
    }
    for log in
        ["", "hello\n", "{ \"defaultAction\": 1 }\n", "main(argc)\n", "SIGSYS: bad system call\n"]
    {
        assert!(!is_recognized(log), "{log}");
    }
}

/// Logs without a denial, written anew from the facts.
#[test]
fn innocent_logs_have_no_unread_line() {
    for log in [
        "execve(\"/bin/app\", [\"app\"], 0x7ffe /* 20 vars */) = 0\n\
         rt_sigaction(SIGSYS, {sa_handler=SIG_DFL, sa_mask=[], sa_flags=0}, NULL, 8) = 0\n\
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, {len=5, filter=0x7ffe}) = 0\n\
         seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=4, filter=0x7ffd}) = 0\n\
         write(2, \"Bad system call\\n\", 16) = 16\n\
         write(2, \"SIGSYS: bad\", 11 <unfinished ...>\n\
         --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7} ---\n\
         +++ exited with 0 +++\n",
        "[    0.000000] Linux version 6.12.0 (gcc 14.2)\n\
         [    0.400000] audit: type=2000 audit(1.2:1): state=initialized audit_enabled=0 res=1\n\
         [    1.000000] systemd[1]: systemd 258 running in system mode (+AUDIT +SECCOMP)\n\
         [    9.000000] net_ratelimit: 12 callbacks suppressed\n",
        "type=SYSCALL msg=audit(1.2:3): arch=c000003e syscall=159 success=yes exit=159 comm=\"SIGSYS: \"\n\
         type=EXECVE msg=audit(1.2:3): argc=1 a0=\"exit code 159\"\n\
         type=USER_CMD msg=audit(1.2:4): pid=7 cmd=\"grep seccomp violation\"\n",
    ] {
        assert_eq!(summary(log), (0, None, vec![]), "{log}");
    }
}

/// Without a filter, no line with a result tells that a call was denied.
fn alone(log: &str) -> (Vec<(String, u64)>, Vec<u64>) {
    let mut reader =
        DenialReader::new(Arch::X86_64, |call| (call.evidence == Evidence::Filter).then_some(0x3f));
    reader.push(log.as_bytes());
    let found = reader.finish();
    let name = |denial: &Denial| denial.call.syscall.name().unwrap_or("?").to_owned();
    let denials = found.denials.iter().map(|denial| (name(denial), denial.count)).collect();
    (denials, found.unread.lines.iter().map(|one| one.line).collect())
}

#[test]
fn the_call_without_a_result_is_the_one_for_which_sigsys_ended_the_process() {
    let mount = |count| vec![("mount".to_owned(), count)];
    let one =
        "7 mount(\"a\", \"b\", NULL, 0, NULL) = ?\n7 +++ killed by SIGSYS (core dumped) +++\n";
    assert_eq!(alone(one), (mount(1), vec![]));
    assert_eq!(
        alone(&format!("{one}8 read(3, \"\", 1) = 0\n{}", one.replace("7 ", "8 "))),
        (mount(2), vec![])
    );
    assert_eq!(alone(&one.replace("7 ", "")), (mount(1), vec![]));
    let halves = "[pid  7] mount(\"a\", \"b\", NULL, 0, NULL <unfinished ...>\n[pid  8] +++ killed by SIGSYS +++\n\
                  [pid  7] <... mount resumed>) = ?\n+++ killed by SIGSYS (core dumped) +++\n";
    assert_eq!(alone(halves), (mount(1), vec![]));
    // Another thread waited.
    let threads =
        format!("8 futex(0x7f, FUTEX_WAIT, 0, NULL) = ?\n{one}8 +++ killed by SIGSYS +++\n");
    assert_eq!(alone(&threads), (vec![], vec![3]));
    let is_mount = |call: &LoggedCall| (call.syscall.nr == 165).then_some(0x3f);
    let mut reader = DenialReader::new(Arch::X86_64, is_mount);
    reader.push(threads.as_bytes());
    let found = reader.finish();
    assert_eq!((found.denials.len(), found.denials[0].count, found.unread.count), (1, 1, 0));
    // The call of another process, and one that has ended without the signal.
    assert_eq!(
        alone("7 exit_group(0) = ?\n7 +++ exited with 0 +++\n8 +++ killed by SIGSYS +++\n"),
        (vec![], vec![3])
    );
    // The signal names the call.
    let trap = "7 mount(\"a\", \"b\", NULL, 0, NULL) = 165\n\
                7 --- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x7f, si_syscall=__NR_mount, \
                si_arch=AUDIT_ARCH_X86_64} ---\n8 futex(0x7f, FUTEX_WAIT, 0, NULL) = ?\n7 +++ killed by SIGSYS +++\n\
                8 +++ killed by SIGSYS +++\n";
    assert_eq!(alone(trap), (mount(1), vec![]));
    // A handled signal is not the one that ended the process.
    let handled = trap.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    let later = format!(
        "{handled}7 read(3, \"\", 1) = 0\n7 ptrace(PTRACE_TRACEME) = ?\n7 +++ killed by SIGSYS +++\n"
    );
    let both = vec![("ptrace".to_owned(), 1), ("mount".to_owned(), 1)];
    assert_eq!(alone(&later), (both, vec![]));
}

/// A record explains one report of each kind, or those of its own process.
#[test]
fn reports_about_other_denials_are_not_explained() {
    let mount = || Some("x86_64 mount".to_owned());
    let after = |lines: &str| summary(&format!("{RAW}{lines}"));
    assert_eq!(after("Error: seccomp violation: a syscall was blocked\n"), (1, mount(), vec![2]));
    assert_eq!(after("app exited with code 159\nb exited with code 159\n"), (1, mount(), vec![3]));
    assert_eq!(after("a: Exited (159) 2 hours ago\n"), (1, mount(), vec![]));
    assert_eq!(after("SIGSYS: bad system call\nSIGSYS: bad system call\n"), (1, mount(), vec![3]));
    // Only a number that is one of a process names it.
    let codes = "10:00:07 app exited with code 159\n10:00:07 b exited with code 159\n";
    assert_eq!(after(codes), (1, mount(), vec![3]));
    assert_eq!(after(&codes.replace("exited", "[7] exited")), (1, mount(), vec![]));
    // One death, as systemd reports it.
    let service = "systemd[1]: app.service: Main process exited, code=dumped, status=31/SYS\n\
                   systemd-coredump[9]: Process 7 (app) of user 1000 terminated abnormally with signal 31/SYS, processing...\n\
                   systemd-coredump[9]: Process 7 (app) of user 1000 dumped core, signal 31/SYS\n        Signal: 31 (SYS)\n";
    assert_eq!(after(service), (1, mount(), vec![]));
    let status = "Process: 7 ExecStart=/bin/app (code=dumped, signal=SYS)\nMain PID: 7 (code=dumped, signal=SYS)\n";
    assert_eq!(after(status), (1, mount(), vec![]));
    assert_eq!(after(&status.replace(": 7 ", ": 8 ")), (1, mount(), vec![3]));
    let gdb = "Program received signal SIGSYS, Bad system call.\n$1 = {_call_addr = 0x7f, _syscall = 165, _arch = 3221225534}\n\
               Program terminated with signal SIGSYS, Bad system call.\n";
    assert_eq!(summary(gdb), (1, mount(), vec![]));
}

#[test]
fn reports_of_apt_and_others_are_read() {
    let is = |name: &str| (1, Some(name.to_owned()), vec![]);
    let apt =
        " **** Seccomp prevented execution of syscall 0000000016 on architecture amd64 ****\n";
    assert_eq!(summary(apt), is("x86_64 ioctl"));
    assert_eq!(summary(&apt.replace("amd64", "vax")), (0, None, vec![1]));
    assert_eq!(
        summary("Disallowed syscall \"close_range\" caught in sandbox\n"),
        is("x86_64 close_range")
    );
    assert_eq!(
        summary("Sandbox violation: disallowed syscall access (21), architecture 0xc00000b7\n"),
        is("aarch64 epoll_ctl")
    );
    // A record without its type.
    let copied = "audit(1.1:2): auid=0 uid=0 gid=0 ses=1 pid=1 comm=\"b\" exe=\"/b\" sig=31 arch=c000003e syscall=165 compat=0 ip=0x0 \
                  code=0x0\n";
    assert_eq!(summary(copied), is("x86_64 mount"));
    assert_eq!(one(copied).verdicts, [(Verdict::KILL_THREAD, 1)]);
    assert_eq!(read(copied.replace("0x0\n", "0x7ffc0000\n").as_bytes(), 9).logged, 1);
    let cut = copied.split_once("auid").unwrap().1;
    assert_eq!(summary(&format!("auid{cut}")), is("x86_64 mount"));
    assert_eq!(summary("SECCOMP denied syscall ptrace(2)\n"), (0, None, vec![1]));
    let recognized = "[    0.1] Linux version\nSECCOMP denied syscall ptrace(2)\n";
    assert_eq!(summary(recognized), (0, None, vec![2]));
}

/// As gdb prints them below the end of a program.
#[test]
fn registers_of_a_debugger_tell_the_syscall() {
    let gdb = "Core was generated by `/srv/app'.\nProgram terminated with signal SIGSYS, Bad system call.\n\
               #0  0x00007f8823aa in ?? ()\n";
    let asked = format!("{gdb}(gdb) p $rax\n$1 = 317\n");
    assert_eq!(summary(&asked), (1, Some("x86_64 seccomp".to_owned()), vec![]));
    let log = read(asked.as_bytes(), 9);
    assert_eq!((log.from_stacks, log.assumed_arch, log.denials[0].has_signal), (0, 0, true));
    let listed = format!(
        "{gdb}(gdb) info registers\nx0             0x0                 0\nx8             0x1b2               434\n"
    );
    assert_eq!(summary(&listed), (1, Some("aarch64 pidfd_open".to_owned()), vec![]));
    // The answer to another question, a pointer, another signal, and registers far from it.
    for text in [
        format!("{gdb}(gdb) p $rbx\n$1 = 317\n"),
        format!("{gdb}(gdb) p $rax\nx\n$1 = 317\n"),
        format!("{gdb}rax            0x7fffff001000      140737471582208\n"),
        format!("{gdb}{}rax            0x13d               317\n", "\n".repeat(60)),
    ] {
        assert_eq!(summary(&text), (0, None, vec![2]), "{text}");
    }
    let other = asked.replace("SIGSYS, Bad system call", "SIGSEGV, Segmentation fault");
    assert_eq!(summary(&other), (0, None, vec![]));
}

/// A file has what others chose: such lines end in a reason at most, and never hide what the log says.
#[test]
fn errors_in_a_file_that_tells_nothing_else_have_a_reason() {
    let why = |text: &str| {
        let log = read(text.as_bytes(), 16);
        assert!(log.denials.is_empty() && log.unread.count <= 1, "{text}: {log:?}");
        log.unread.lines.first().map(|one| (one.line, one.why.clone()))
    };
    for (text, line, expected) in [
        ("start\napp: pthread_create failed: Operation not permitted\n", 2, "clone3"),
        ("RuntimeError: can't start new thread\n", 1, "clone3"),
        ("a: Permission denied\nmake: mkdir: Operation not permitted\n", 2, "faccessat2"),
        ("host app[7]: user x: note: mount: Operation not permitted\n", 1, "by itself"),
        ("ip: RTNETLINK answers: Operation not permitted\n", 1, "no filter denied this"),
        ("./run: Permission denied\n", 1, "does not name the syscall"),
        (
            "panicked at 'x worker thread: Operation not permitted (os error 1)', a.rs:1:2\n",
            1,
            "does not name",
        ),
        (
            "[2026-01-02T10:00:00+0000] [W][1] mount('a') failed: Operation not permitted\n",
            1,
            "by itself",
        ),
    ] {
        let (at, why) = why(text).unwrap_or_else(|| panic!("{text}"));
        assert!(at == line && why.contains(expected), "{text}: {at}: {why}");
    }
    // The kernel's log says that nothing was denied; what programs print there does not change that.
    let kernel = "[    1.000001] x\nRuntimeError: can't start new thread\nx: Permission denied\n";
    assert_eq!(why(kernel), None);
    let known = format!("x: Permission denied\n{RAW}RuntimeError: can't start new thread\n");
    assert_eq!(summary(&known), (1, Some("x86_64 mount".to_owned()), vec![]));
    let installed =
        "x: Permission denied\nError: OCI runtime error: invalid seccomp syscall 'close_range'\n";
    assert_eq!(why(installed), None);
    assert!(read(installed.as_bytes(), 9).not_installed.is_some());
    // Go's runtime says which syscall failed.
    let go = "runtime: failed to create new OS thread (have 2 already; errno=1)\nfatal error: newosproc\n";
    let log = read(go.as_bytes(), 9);
    assert_eq!(log.denials[0].call.evidence, Evidence::Failed(1));
    assert_eq!(log.denials[0].call.syscall.name(), Some("clone"));
    // A thread, which filters against namespaces allow.
    assert_eq!(log.denials[0].call.args[0], Some(0x5_0f00));
}
