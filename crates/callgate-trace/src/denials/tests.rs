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
pub(super) fn summary(log: &str) -> (usize, Option<String>, Vec<u64>) {
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
