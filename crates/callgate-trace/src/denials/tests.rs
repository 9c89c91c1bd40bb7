use super::*;
use crate::logs::lines::MAX_LINE;
use crate::recording::SyscallId;
use callgate_bpf::SyscallTable;
use callgate_core::{Arch, Verdict};

pub(super) fn read(log: &[u8], size: usize) -> DenialLog {
    let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0x3f));
    log.chunks(size).for_each(|piece| reader.push(piece));
    reader.finish()
}

pub(super) fn one(line: &str) -> Denial {
    let mut log = read(line.as_bytes(), 1 << 20);
    assert_eq!(log.denials.len(), 1, "{line}: {log:?}");
    log.denials.remove(0)
}

pub(super) const RAW: &str = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm=\"nginx\" exe=\"/usr/bin/nginx\" \
                   sig=0 arch=c000003e syscall=165 compat=0 ip=0x7f code=0x50001\n";

#[test]
fn audit_records_in_all_forms() {
    let interpreted = "type=SECCOMP msg=audit(01/02/2026 10:00:00.123:3) : auid=root pid=7 comm=nginx exe=/usr/bin/nginx \
                       sig=SIGSYS arch=x86_64 syscall=mount compat=0 ip=0x7f code=kill \n";
    let dmesg = "[  12.3] audit: type=1326 audit(1.2:3): auid=0 comm=\"nginx\" exe=\"/n\" sig=31 arch=c000003e syscall=165 \
                 compat=0 ip=0x7f code=0x80000000\n";
    let journal = "Jan 02 10:00:00 host audit[7]: SECCOMP auid=0 uid=0 comm=\"nginx\" exe=\"/n\" sig=31 arch=c000003e \
                   syscall=165 compat=0 ip=0x7f code=0x80000000\n";
    let json = "{\"MESSAGE\":\"SECCOMP auid=0 uid=0 comm=\\\"nginx\\\" exe=\\\"/n\\\" sig=31 arch=c000003e syscall=165 \
                compat=0 ip=0x7f code=0x0\",\"_TRANSPORT\":\"audit\"}\n";
    let bytes: Vec<String> = journal.trim_end().bytes().map(|byte| byte.to_string()).collect();
    let as_bytes = format!("{{\"MESSAGE\":[{}],\"X\":\"SECCOMP\"}}\n", bytes.join(","));
    let old = RAW.replace("type=SECCOMP", "type=UNKNOWN[1326]");
    for line in [RAW, interpreted, dmesg, journal, json, &as_bytes, &old] {
        let denial = one(line);
        assert_eq!(denial.call.syscall.name(), Some("mount"), "{line}");
        assert_eq!(denial.programs, [("nginx".to_owned(), 1)], "{line}");
        assert_eq!(denial.call.evidence, Evidence::Filter);
    }
    // A journal has a record in both formats.
    assert_eq!(one(&format!("{dmesg}{journal}")).count, 1);
    assert_eq!(one(&format!("{dmesg}{dmesg}{journal}")).count, 2);
}

#[test]
fn unusual_names_of_programs_are_decoded() {
    let line = RAW.replace("\"nginx\"", "1B5B6D");
    assert_eq!(one(&line).programs, [("\u{1b}[m".to_owned(), 1)]);
}

#[test]
fn reports_of_sigsys() {
    for (line, name) in [
        (
            "--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x7f, si_syscall=__NR_mount, \
             si_arch=AUDIT_ARCH_X86_64} ---\n",
            "mount",
        ),
        ("  _sigsys = {_call_addr = 0x7f <x>, _syscall = 165, _arch = 3221225534}\n", "mount"),
        ("libminijail[7]: blocked syscall: mount\n", "mount"),
        ("Shutting down VM after intercepting a bad syscall (165).\n", "mount"),
        ("x.cc:**CRASHING**:seccomp-bpf failure in syscall nr=0xa5 arg1=0x1 arg2=0x2\n", "mount"),
        ("Cause: seccomp prevented call to disallowed arm64 system call 40\n", "mount"),
    ] {
        assert_eq!(one(line).call.syscall.name(), Some(name), "{line}");
        assert!(one(line).has_signal, "{line}");
    }
    let chromium = one("seccomp-bpf failure in syscall nr=0xa5 arg1=0x1 arg2=0xff\n");
    assert_eq!(chromium.call.args[..3], [Some(1), Some(255), None]);
}

#[test]
fn syscalls_of_strace_that_fail() {
    let denial = one(
        "[pid 12] 10:00:00 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = -1 EPERM (Operation not permitted)\n",
    );
    assert_eq!(denial.call.evidence, Evidence::Failed(1));
    assert_eq!(denial.call.args[..2], [Some(16), Some(0x80003)]);
    let clone = one(
        "clone(child_stack=NULL, flags=CLONE_NEWUSER|SIGCHLD) = -1 ENOSYS (Function not implemented)\n",
    );
    assert_eq!(clone.call.args[..2], [Some(0x1000_0011), None]);
    let text = "mount(\"a, (b) = ?\", \"c\\\"\", NULL, 0x1, {x=1, y=[2, 3]}) = ?\n";
    let mount = one(text);
    assert_eq!(mount.call.evidence, Evidence::NoReturn);
    assert_eq!(mount.call.args[..5], [None, None, Some(0), Some(1), None]);
    // A call that returned a value was not denied.
    assert!(read(b"read(3, \" = ?\", 5) = 5\nclose(3) = 0\n", 7).denials.is_empty());
}

/// As `strace -f -T -y` writes it, with a process of 32 bits and interrupted syscalls.
#[test]
fn syscalls_of_strace_in_two_lines_with_notes() {
    let denials = |log: &str| -> Vec<(String, Vec<Option<u64>>)> {
        let found = read(log.as_bytes(), 10);
        let call = |denial: &Denial| {
            let SyscallId { arch, .. } = denial.call.syscall;
            let name = denial.call.syscall.name().unwrap();
            (format!("{arch} {name}"), denial.call.args[..3].to_vec())
        };
        found.denials.iter().map(call).collect()
    };
    let mount = |arch: &str| {
        let args = vec![None, None, Some(0)];
        vec![(format!("{arch} mount"), args)]
    };
    let ended = "mount(\"a) = -1 EPERM (x)\", \"b\", NULL, 0, NULL) = -1 EPERM (Operation not permitted) <0.000012>\n";
    assert_eq!(denials(ended), mount("x86_64"));
    let halves = "7 mount(\"a\", \"b\", NULL, 0,  <unfinished ...>\n8 read(3, \"\", 1) = 0 <0.1>\n\
                  7 <... mount resumed>NULL) = -1 EPERM (Operation not permitted) <0.1>\n";
    assert_eq!(denials(halves), mount("x86_64"));
    let narrow = "[ Process PID=7 runs in 32 bit mode. ]\n";
    assert_eq!(denials(&format!("{narrow}{halves}")), mount("x86"));
    let noted = "ioctl(3</a,0x1>, TIOCSTI, 0x7ffe) = -1 EPERM (Operation not permitted)\n";
    let args = vec![Some(3), Some(0x5412), Some(0x7ffe)];
    assert_eq!(denials(noted), [("x86_64 ioctl".to_owned(), args)]);
    // The kernel reads 32 bits of the first argument.
    let at = "openat(AT_FDCWD</a>, \"/x\", O_RDONLY) = -1 EPERM (Operation not permitted)\n";
    let args = vec![Some(0xffff_ff9c), None, Some(0)];
    assert_eq!(denials(at), [("x86_64 openat".to_owned(), args)]);
    assert_eq!(denials("read(3, 0x7ffe, 5) = ? ERESTARTSYS (To be restarted)\n"), []);
    let killed = "mount(\"a\", \"b\", NULL, 0, NULL <unfinished ...>) = ?\n";
    assert_eq!(denials(killed), mount("x86_64"));
}

/// `ausearch -i` prints the name of a program without escapes.
#[test]
fn a_name_of_a_program_does_not_hide_its_denials() {
    let line = "type=SECCOMP msg=audit(01/02/2026 10:00:00.123:3) : auid=root pid=7 comm=NAME exe=/n sig=SIGSYS \
                arch=x86_64 syscall=mount compat=0 ip=0x7f code=kill \n";
    assert_eq!(one(&line.replace("NAME", "a code=allow")).programs, [("a".to_owned(), 1)]);
    assert_eq!(one(&line.replace("NAME", "FEED")).programs, [("FEED".to_owned(), 1)]);
}

/// Debuggers and Android report the signal before the syscall.
#[test]
fn a_signal_is_unread_only_if_no_syscall_follows() {
    let android = "signal 31 (SIGSYS), code 1 (SYS_SECCOMP), fault addr --------\n\
                   Cause: seccomp prevented call to disallowed arm64 system call 40\n";
    let gdb = "Program received signal SIGSYS, Bad system call.\n0x7f in mount () from libc.so.6\n\
               (gdb) p $_siginfo._sifields._sigsys\n$1 = {_call_addr = 0x7f, _syscall = 165, _arch = 3221225534}\n";
    for log in [android, gdb] {
        let found = read(log.as_bytes(), 10);
        assert_eq!((found.denials.len(), found.unread.count), (1, 0), "{log}");
        let late = log.replacen('\n', &"\n".repeat(50), 1);
        let found = read(late.as_bytes(), 10);
        assert_eq!((found.denials.len(), found.unread.count), (1, 1), "{late}");
        assert_eq!(found.unread.lines.first().map(|first| first.line), Some(1));
    }
}

#[test]
fn records_that_cannot_be_read_are_counted() {
    let log = format!(
        "x\n{}{}SIGSYS: bad system call\nPC=0x1\n{}\n",
        RAW.replace("syscall=165", "syscall=mo\u{1b}nt"),
        RAW.replace("c000003e", "c00000ff"),
        RAW.trim_end().replace(" syscall=165", "")
    );
    let found = read(log.as_bytes(), 100);
    assert!(found.denials.is_empty());
    assert_eq!((found.unread.count, found.lines), (4, 6));
    let lines: Vec<u64> = found.unread.lines.iter().map(|one| one.line).collect();
    assert_eq!(lines, [2, 3, 4, 6]);
    assert!(found.unread.lines[0].why.contains("unknown syscall"), "{:?}", found.unread);
    assert!(found.unread.lines[2].text.starts_with("SIGSYS: bad"), "{:?}", found.unread);
}

/// Only KILL and TRAP send `SIGSYS`.
#[test]
fn a_denial_says_whether_there_was_a_signal() {
    for (code, sig, has_signal) in [
        ("0x50001", "0", false),
        ("0x7fc00000", "0", false),
        ("0x0", "31", true),
        ("0x80000000", "31", true),
        ("0x30000", "0", true),
    ] {
        let line = RAW.replace("0x50001", code).replace("sig=0", &format!("sig={sig}"));
        assert_eq!(one(&line).has_signal, has_signal, "{line}");
    }
    assert!(one("SIGSYS: bad system call\nrax    0xa5\n").has_signal);
    assert!(!one("app: syscall mount was denied by seccomp\n").has_signal);
}

/// In a log, and given by themselves.
#[test]
fn error_messages_are_failed_syscalls() {
    let log = "unshare: unshare failed: Operation not permitted\nmount: /mnt: permission denied.\n\
               memfd_create: Function not implemented\nbash: ./x: Permission denied\n";
    let mut found = Vec::new();
    let mut reader = DenialReader::new(Arch::X86_64, |call| {
        found.push((call.syscall.name(), call.evidence));
        None
    });
    reader.push(log.as_bytes());
    let log = reader.finish();
    assert_eq!((log.denials.len(), log.unread.count, log.is_recognized), (0, 0, true));
    let expected = [("unshare", 1), ("mount", 1), ("memfd_create", 38)];
    assert_eq!(found, expected.map(|(name, errno)| (Some(name), Evidence::Failed(errno))));
    let mut given = DenialReader::new(Arch::Aarch64, |_| None).given();
    given.push(b"bash: ./x: Permission denied\nmkdir: Permission denied\n");
    let unread = given.finish().unread;
    assert_eq!(unread.count, 1);
    let mut given = DenialReader::new(Arch::X86_64, |_| None).given();
    given.push(b"set_mempolicy: Operation not permitted\nsetting interleave mask: Operation not permitted\n");
    assert_eq!(given.finish().unread.count, 0);
    let why: Vec<&str> = unread.lines.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(why, ["aarch64 has no syscall \"mkdir\""]);
}

/// Phones rarely have the architecture of the machine on which somebody asks.
#[test]
fn the_architecture_of_android_is_not_assumed() {
    let line = "F libc: Fatal signal 31 (SIGSYS), code 1 (SYS_SECCOMP), syscall 165 in tid 7 (app), pid 7\n";
    let cause = "Cause: seccomp prevented call to disallowed arm64 system call 40\n";
    let given = |text: &str| {
        let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0)).given();
        reader.push(text.as_bytes());
        reader.finish()
    };
    let found = given(line);
    assert_eq!((found.denials.len(), found.unread.count), (0, 1));
    assert!(found.unread.lines[0].why.contains("--arch"), "{:?}", found.unread);
    let found = given(&format!("{line}{cause}"));
    assert_eq!((found.denials.len(), found.unread.count), (1, 0));
    assert_eq!(found.denials[0].call.syscall, SyscallId::new(Arch::Aarch64, 40));
    let mut reader = DenialReader::new(Arch::Aarch64, |_| Some(0)).given().of_given_arch();
    reader.push(line.replace("165", "40").as_bytes());
    assert_eq!(reader.finish().denials[0].call.syscall, SyscallId::new(Arch::Aarch64, 40));
}

/// As snappy-debug, old versions of strace and mail programs print them.
#[test]
fn further_forms_of_known_reports() {
    let is = |name: &str| (1, Some(name.to_owned()), vec![]);
    let snap = "= Seccomp =\nTime: Mar 27 20:29:40\nLog: auid=0 uid=0 gid=0 ses=1 subj=snap.a.b pid=7 comm=\"b\" exe=\"/b\" sig=31 \
                arch=c000003e 314(sched_setattr) compat=0 ip=0x7f code=0x0\nSyscall: sched_setattr\n";
    assert_eq!(summary(snap), is("x86_64 sched_setattr"));
    assert_eq!(summary(&format!("{snap}{snap}")), is("x86_64 sched_setattr"));
    assert_eq!(one(snap).programs, [("b".to_owned(), 1)]);
    let logged = snap.replace("code=0x0", "code=0x7ffc0000");
    assert_eq!((summary(&logged), read(logged.as_bytes(), 9).logged), ((0, None, vec![]), 1));
    assert_eq!(summary("= Seccomp =\nSyscall: mount\n"), (0, None, vec![1]));
    // The architecture is the one of the reader.
    let copied = "si_signo=SIGSYS, si_code=SYS_SECCOMP, si_syscall=__NR_mount\n";
    assert_eq!(summary(copied), is("x86_64 mount"));
    assert_eq!(read(copied.as_bytes(), 9).assumed_arch, 1);
    for line in [
        "syscall_0x1a9(0x7, 0x8) = -1 EPERM (Operation not permitted)\n",
        "[pid 7] syscall_425(0x7, 0x8) = -1 EPERM (Operation not permitted)\n",
    ] {
        assert_eq!(summary(line), is("x86_64 io_uring_setup"));
    }
    let cut = |line: &str| {
        line.replace(" ses=1", "\n> ses=1").replace(" exe=", "\n>   exe=").replace(" ip=", "\nip=")
    };
    let wrapped = format!("> {}", cut(RAW));
    assert_eq!(one(&wrapped), one(RAW));
    assert_eq!(one(&format!("x\n{wrapped}{RAW}")).count, 2);
    let gvisor = "Container Sandbox: Unsupported syscall clone3(0x3, 0x58). It is very likely that you can safely ignore this message\n";
    assert_eq!(summary(gvisor), (0, None, vec![1]));
    // Prompts and commands are not denials.
    for line in ["└─# strace -f mount /x", "❯ unshare -r sh", "$ sudo seccomp-tools dump ./mount"]
    {
        assert_eq!(summary(&format!("{line}\n")), (0, None, vec![]), "{line}");
    }
}

/// A person may shorten a record.
#[test]
fn a_record_with_few_fields_is_read() {
    let short = "type=1326 pid=42 comm=\"redis\" sig=31 arch=c000003e syscall=165\n";
    assert_eq!(summary(short), (1, Some("x86_64 mount".to_owned()), vec![]));
    assert_eq!(
        summary(&format!("{short}x\n{short}")),
        (1, Some("x86_64 mount".to_owned()), vec![])
    );
    assert_eq!(read(format!("{short}{short}").as_bytes(), 9).denials[0].count, 2);
}

/// What follows a truncated record is not the rest of it.
#[test]
fn truncated_records_do_not_take_fields_of_other_lines() {
    let cut = RAW.split_once(" syscall").unwrap().0;
    for next in [
        "app: syscall=166 code=0x0",
        "level=info arch=c000003e syscall=166 code=0x0",
        "Jan 02 10:00:00 host app[7]: syscall=166",
        "",
    ] {
        let log = format!("{cut}\n{next}\n");
        assert_eq!(summary(&log), (0, None, vec![1]), "{log}");
    }
    let log = format!("{cut}\n{RAW}");
    assert_eq!(summary(&log), (1, Some("x86_64 mount".to_owned()), vec![1]));
}

#[test]
fn executed_syscalls_are_no_denials() {
    let log = read(RAW.replace("0x50001", "0x7ffc0000").as_bytes(), 64);
    assert_eq!((log.denials.len(), log.logged), (0, 1));
    let mount = SyscallId::new(Arch::X86_64, 165);
    assert_eq!(log.logged_calls, [(mount, 1)]);
}

#[test]
fn the_result_does_not_depend_on_the_pieces() {
    let log = format!("{RAW}\u{fffd}\nx\n{RAW}{}", RAW.trim_end().replace("=165", "=166"));
    let mut bytes = log.into_bytes();
    bytes.extend(b"\xff\0\n");
    bytes.extend(RAW.as_bytes());
    let whole = read(&bytes, usize::MAX);
    assert_eq!((whole.lines, whole.denials.len()), (6, 2));
    for size in [1, 2, 3, 7, 50, 299, 300, 1000] {
        assert_eq!(read(&bytes, size), whole, "{size}");
    }
    // A line longer than the limit, and one that is as long.
    for (length, unread) in [(MAX_LINE, 1), (MAX_LINE - 1, 0)] {
        let long = [vec![b'x'; length], b"\n".to_vec(), RAW.as_bytes().to_vec()].concat();
        for size in [1 << 16, usize::MAX] {
            let log = read(&long, size);
            assert_eq!((log.unread.count, log.lines, log.denials.len()), (unread, 2, 1), "{size}");
        }
    }
}

#[test]
fn memory_is_bounded() {
    let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0x3f));
    for nr in 0..MAX_DENIALS + 10 {
        for program in 0..20 {
            let line =
                RAW.replace("=165", &format!("={nr}")).replace("nginx\"", &format!("{program}\""));
            reader.push(line.as_bytes());
        }
    }
    let long = vec![b'x'; MAX_LINE + 1];
    long.chunks(1 << 16).for_each(|piece| reader.push(piece));
    reader.push(b"\n");
    reader.push(RAW.as_bytes());
    let log = reader.finish();
    assert_eq!((log.denials.len(), log.lost), (MAX_DENIALS, 200));
    assert_eq!(log.unread.count, 1);
    assert_eq!(log.denials[0].count, 21);
    assert!(log.denials.iter().all(|denial| denial.programs.len() == 16));
    assert_eq!(log.denials[1].others, 4);
}

/// The number of denials, the name of the first, and the lines that were not read.
fn summary(log: &str) -> (usize, Option<String>, Vec<u64>) {
    let found = read(log.as_bytes(), 9);
    let first = found.denials.first().map(|denial| {
        let SyscallId { arch, nr } = denial.call.syscall;
        format!("{arch} {}", arch.syscall_name(nr).unwrap_or("?"))
    });
    assert_eq!(found.unread.count as usize, found.unread.lines.len());
    (found.denials.len(), first, found.unread.lines.iter().map(|one| one.line).collect())
}

#[test]
fn reports_of_firefox_openssh_tor_and_old_chromium_are_read() {
    for (line, expected) in [
        (
            "Sandbox: seccomp sandbox violation: pid 12, tid 13, syscall 41, args 16 3 0 0 0 0.\n",
            "x86_64 socket",
        ),
        (
            "ssh_sandbox_violation: unexpected system call (arch:0xc00000b7,syscall:198 @ 0xffff8) [preauth]\n",
            "aarch64 socket",
        ),
        ("sandbox: (Sandbox) Caught a bad syscall attempt (syscall socket)\n", "x86_64 socket"),
        ("x.cc:**CRASHING**:seccomp-bpf failure in syscall 0273\n", "x86_64 set_robust_list"),
    ] {
        assert_eq!(summary(line), (1, Some(expected.to_owned()), vec![]), "{line}");
    }
    let firefox =
        one("Sandbox: seccomp sandbox violation: pid 1, tid 1, syscall 41, args 16 3 0 0 0 0.\n");
    assert_eq!(firefox.call.args, [16, 3, 0, 0, 0, 0].map(Some));
    // Old versions print 0000 for numbers that have more digits.
    let old = "x.cc:**CRASHING**:seccomp-bpf failure in syscall 0000\n";
    assert_eq!(summary(old), (0, None, vec![1]));
}

#[test]
fn reports_without_an_architecture_are_counted() {
    let log = "blocked syscall: mount\nssh_sandbox_violation: unexpected system call (arch:0xc000003e,syscall:41 @ 0x7f)\n";
    assert_eq!(read(log.as_bytes(), 5).assumed_arch, 1);
}

#[test]
fn records_say_what_the_filter_returned() {
    let log = format!("{RAW}{}{}", RAW.replace("0x50001", "0x0"), RAW.replace("0x50001", "0x0"));
    let denial = one(&log);
    assert_eq!(denial.verdicts, [(Verdict::KILL_THREAD, 2), (Verdict::errno(1), 1)]);
}

/// systemd reports the end of a service after the record, shells and strace too.
#[test]
fn the_end_of_a_process_is_explained_by_the_record_before() {
    let end = "systemd[1]: app.service: Main process exited, code=killed, status=31/SYS\n";
    let mount = || Some("x86_64 mount".to_owned());
    assert_eq!(summary(&format!("{RAW}x\n{end}")), (1, mount(), vec![]));
    assert_eq!(summary(&format!("{end}{RAW}")), (1, mount(), vec![]));
    // A record explains one end.
    assert_eq!(summary(&format!("{RAW}{end}{end}")), (1, mount(), vec![3]));
    assert_eq!(summary(end), (0, None, vec![1]));
    let strace =
        "7 mount(\"a\", \"b\", NULL, 0, NULL) = ?\n7 +++ killed by SIGSYS (core dumped) +++\n";
    assert_eq!(summary(strace), (1, mount(), vec![]));
    assert_eq!(summary("7 +++ killed by SIGSYS +++\n"), (0, None, vec![1]));
    // A signal that a process sent is not a denial, and its end is not either.
    let sent = "--- SIGSYS {si_signo=SIGSYS, si_code=SI_USER, si_pid=7, si_uid=0} ---\n";
    assert_eq!(summary(sent), (0, None, vec![]));
}

#[test]
fn wrapped_reports_of_strace_are_joined() {
    let info = "{si_signo=SIGSYS, si_code=SYS_SECCOMP,\n  si_call_addr=0x70,\n si_syscall=__NR_landlock_create_ruleset,\n \
                si_arch=AUDIT_ARCH_AARCH64}";
    let log = format!(
        "rt_tgsigqueueinfo(7, 7, SIGSYS, {info}) = 0\n--- SIGSYS {info} ---\n+++ killed by SIGSYS +++\n"
    );
    assert_eq!(summary(&log), (1, Some("aarch64 landlock_create_ruleset".to_owned()), vec![]));
    assert_eq!(read(log.as_bytes(), 9).denials[0].count, 1);
    // The rest is missing.
    let cut = "--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP,\n";
    assert_eq!(summary(cut), (0, None, vec![1]));
    let long = format!("{cut}{}", "x\n".repeat(20));
    assert_eq!(summary(&long), (0, None, vec![1]));
    // What follows is another report.
    assert_eq!(summary(&format!("{cut}{RAW}x\n{RAW}x\n")).0, 1);
    assert_eq!(read(format!("{cut}{RAW}x\n{RAW}x\n").as_bytes(), 9).denials[0].count, 2);
}

/// A program may choose its name, and loggers write fields of their own before a record.
#[test]
fn no_field_before_a_record_hides_it() {
    let record = "auid=0 uid=0 gid=0 ses=1 pid=1 comm=\"a\" exe=\"/a\" sig=31 arch=c000003e syscall=165 compat=0 ip=0x0 \
                  code=0x0";
    let mount = || (1, Some("x86_64 mount".to_owned()), vec![]);
    for log in [
        format!("log_type=kernel audit: type=1326 audit(1.1:2): {record}\n"),
        format!("type=log msg=\"audit: type=1326 audit(1.1:2): {record}\"\n"),
        format!("audit[7]: SECCOMP {}\n", record.replace("\"a\"", "\"type=audit(\"")),
        format!("type=SECCOMP msg=audit(1.1:2): {}\n", record.replace("\"a\"", "\"type=audit(\"")),
    ] {
        assert_eq!(summary(&log), mount(), "{log}");
    }
    let other = "type=EXECVE msg=audit(1.2:3): argc=2 a0=\"grep\" a1=\"SIGSYS\"\n";
    assert_eq!(summary(other), (0, None, vec![]));
}

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
