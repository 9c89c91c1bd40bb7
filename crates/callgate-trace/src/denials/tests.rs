use super::*;
use callgate_bpf::syscalls::Arch;

fn read(log: &[u8], size: usize) -> DenialLog {
    let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0x3f));
    log.chunks(size).for_each(|piece| reader.push(piece));
    reader.finish()
}

fn one(line: &str) -> Denial {
    let mut log = read(line.as_bytes(), 1 << 20);
    assert_eq!(log.denials.len(), 1, "{line}: {log:?}");
    log.denials.remove(0)
}

const RAW: &str = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm=\"nginx\" exe=\"/usr/bin/nginx\" \
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
    for line in [RAW, interpreted, dmesg, journal, json, &as_bytes] {
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
    let (line, why) = found.unread.first.unwrap();
    assert_eq!((line, why.contains("unknown syscall")), (2, true));
}

#[test]
fn executed_syscalls_are_no_denials() {
    let log = read(RAW.replace("0x50001", "0x7ffc0000").as_bytes(), 64);
    assert_eq!((log.denials.len(), log.logged), (0, 1));
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
    let long = vec![b'x'; 3 << 20];
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
