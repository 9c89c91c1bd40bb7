//! Policies as they are used with nsjail: for a calculator, a compiler's helper, a static program and a shell.

use callgate::compile::{self, Options};

use crate::kafel::support::{read, syscall};

/// A program that only computes and writes its result.
const CALCULATOR: &str = r#"
#define STDIN 0
#define STDOUT 1
#define STDERR 2

POLICY output {
  ALLOW {
    write { fd == STDOUT || fd == STDERR },
    writev(fd, vec, vlen) { fd == STDOUT, fd == STDERR }
  }
}

POLICY memory {
  ALLOW {
    brk, munmap,
    mmap { prot & PROT_EXEC == 0 && flags & MAP_SHARED == 0 },
    mprotect { (prot & PROT_EXEC) == 0 }
  }
}

POLICY end { ALLOW { exit, exit_group, rt_sigreturn } }

USE output, USE memory, USE end
ALLOW { read { fd == STDIN } }
ERRNO(1) { openat { flags & (O_WRONLY|O_RDWR|O_CREAT) != 0 }, socket, ptrace }
ALLOW { openat, newfstat, close }
DEFAULT KILL_PROCESS
"#;

/// A denylist.
const SHELL: &str = r#"
POLICY dangerous {
  KILL_PROCESS { ptrace, process_vm_readv, process_vm_writev, kexec_load, init_module, finit_module },
  ERRNO(1) {
    mount, umount, pivot_root, newuname(name) { name == 0 },
    clone { clone_flags & (CLONE_NEWUSER|CLONE_NEWNET) != 0 },
    unshare, setns, keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd
  },
  ERRNO(97) { socket { family != AF_UNIX && family != AF_INET && family != AF_INET6 } },
  ERRNO(25) { ioctl { cmd == TIOCSTI || cmd == TIOCLINUX } }
}
USE dangerous
DEFAULT ALLOW
"#;

#[test]
fn a_calculator_reads_and_writes() {
    let profile = read(CALCULATOR);
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
    for (name, args, verdict) in [
        ("write", &[1][..], "ALLOW"),
        ("write", &[3], "KILL_PROCESS"),
        ("writev", &[2], "ALLOW"),
        ("mmap", &[0, 4096, 3, 0x22], "ALLOW"),
        ("mmap", &[0, 4096, 5, 0x22], "KILL_PROCESS"),
        ("mmap", &[0, 4096, 1, 1], "KILL_PROCESS"),
        ("openat", &[0, 0, 0o2_000_000], "ALLOW"),
        ("openat", &[0, 0, 0o101], "ERRNO(EPERM)"),
        ("fstat", &[], "ALLOW"),
        ("execve", &[], "KILL_PROCESS"),
    ] {
        assert_eq!(syscall(&profile, name, args), verdict, "{name} {args:?}");
    }
}

#[test]
fn a_shell_is_denied_what_is_dangerous() {
    let profile = read(SHELL);
    for (name, args, verdict) in [
        ("clone", &[17][..], "ALLOW"),
        ("clone", &[0x1000_0011], "ERRNO(EPERM)"),
        ("socket", &[16], "ERRNO(EAFNOSUPPORT)"),
        ("socket", &[10], "ALLOW"),
        ("ioctl", &[0, 0x5412], "ERRNO(ENOTTY)"),
        ("ioctl", &[0, 0x5_0000_5412], "ERRNO(ENOTTY)"),
        ("umount2", &[], "ERRNO(EPERM)"),
        ("ptrace", &[], "KILL_PROCESS"),
        ("read", &[], "ALLOW"),
    ] {
        assert_eq!(syscall(&profile, name, args), verdict, "{name} {args:?}");
    }
}

/// The compiled program means the same; the compiler proves it.
#[test]
fn samples_compile() {
    for text in [CALCULATOR, SHELL] {
        let profile = read(text);
        assert!(compile::compile(&profile.policy, &Options::default()).is_ok());
    }
}
