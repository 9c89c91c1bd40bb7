//! Tracebacks of Go, and dumps that follow each other.

use super::tests::{RAW, one, read};
use super::*;

/// Tracebacks of Go programs under a filter that returns TRAP.
fn go(below: &str) -> DenialLog {
    let text = format!("SIGSYS: bad system call\nPC=0x40408e m=0 sigcode=1\n\n{below}");
    read(text.as_bytes(), 7)
}

#[test]
fn registers_and_frames_of_go_programs_tell_the_syscall() {
    const FRAMES: &str = "goroutine 1 gp=0xc0000061c0 m=0 mp=0x541920 [syscall]:\n\
                          internal/runtime/syscall/linux.Syscall6(0xa5, 0xc000012345, 0x0, 0x0, 0x0, 0x0, 0x0)\n\
                          \t/usr/local/go/src/syscall/syscall_linux.go:96 +0x9\n\nmain.main()\n\t/src/main.go:9 +0x1d\n\n";
    let many = FRAMES.repeat(20);
    for (below, expected, assumed) in [
        (format!("{FRAMES}rax    0xa5\nrbx    0x1\nr8     0x0\n"), "x86_64 mount", 0),
        (format!("{many}rax    0xa5\nrbx    0x1\n"), "x86_64 mount", 0),
        (
            format!("{FRAMES}r0      0x1\nr7      0x0\nr8      0x28\nlr      0x0\n"),
            "aarch64 mount",
            0,
        ),
        ("trap    0x0\nr0      0x1\nr7      0x15\nr8      0x28\n".to_owned(), "arm mount", 0),
        (FRAMES.to_owned(), "x86_64 mount", 1),
    ] {
        let log = go(&below);
        let [only] = log.denials.as_slice() else { panic!("{below}: {log:?}") };
        let syscall = only.call.syscall;
        let name = syscall.name().unwrap_or("?");
        assert_eq!(format!("{} {name}", syscall.arch), expected, "{below}");
        assert_eq!((log.assumed_arch, log.unread.count, only.count), (assumed, 0, 1), "{below}");
    }
}

#[test]
fn go_programs_that_do_not_tell_the_syscall_are_not_read() {
    let sent = "SIGSYS: bad system call\nPC=0x40408e m=0 sigcode=0\n\nrax    0xa5\n";
    for log in [
        go(""),
        go("syscall.Syscall(0xa5?, 0x1, 0x2)\n"),
        go("r8   0x28\tr9   0x1\n"),
        read(sent.as_bytes(), 9),
    ] {
        assert_eq!((log.denials.len(), log.unread.count), (0, 1), "{log:?}");
        assert!(log.unread.lines[0].why.contains("without the syscall"), "{log:?}");
    }
    // The record of the kernel counts once.
    let both = format!("{}SIGSYS: bad system call\nPC=0x1 m=0 sigcode=1\n\nrax    0xa5\n", RAW);
    assert_eq!(one(&both).count, 1);
    // Two programs, of which none has a record.
    let two = "SIGSYS: bad system call\nPC=0x1 m=0 sigcode=1\n\nrax    0xa5\n".repeat(2);
    assert_eq!(one(&two).count, 2);
    // A dump of which nothing is known says nothing about the next one.
    let dump = |cause: &str| {
        format!("Cause: seccomp prevented call to disallowed arm64 system call {cause}\n*** ***\n")
    };
    let log = read(format!("{}{}", dump("0"), dump("40").repeat(2)).as_bytes(), 1 << 20);
    assert_eq!((log.denials[0].count, log.unread.count), (2, 1), "{log:?}");
}
