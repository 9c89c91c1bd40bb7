//! Stacks of native code below a report of `SIGSYS`, as gdb, coredumpctl and abrt print them: the innermost frame is the function of
//! the C library that made the syscall.
//!
//! | from | example |
//! |---|---|
//! | gdb | `#0  0x00007ffff7d1a9ab in clock_nanosleep () from /lib/libc.so.6`, `#0  __GI___ioctl (fd=3) at …` |
//! | coredumpctl | `#0  0x00007f8c9d11d9fb __clone3 (libc.so.6 + 0x10d9fb)` |
//! | abrt | `#0 iopl at ../sysdeps/unix/syscall-template.S:78`, `[abrt] x: iopl(): x killed by SIGSYS` |
//!
//! A function counts if C libraries make the syscall of its name, and no other one, on the architecture.

use callgate_bpf::syscalls::{SyscallTable, known_name};
use callgate_core::Arch;

use super::error_message::wrapped;

/// Functions that make another syscall than that of their name, besides those of [`wrapped`], or none at all.
const OTHERS: [&str; 26] = [
    "alarm",
    "access",
    "epoll_create",
    "epoll_wait",
    "futimesat",
    "getdents",
    "inotify_init",
    "mq_open",
    "msgctl",
    "nanosleep",
    "pause",
    "poll",
    "readdir",
    "select",
    "semctl",
    "semop",
    "shmctl",
    "sigaction",
    "signal",
    "sigpending",
    "sigprocmask",
    "sigsuspend",
    "syscall",
    "time",
    "utime",
    "utimes",
];

/// The function of the innermost frame, if a line is that.
pub(super) fn innermost(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("#0")?;
    let mut words = rest.strip_prefix(' ')?.split_whitespace().peekable();
    if words.peek()?.strip_prefix("0x").is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    }) {
        words.next();
    }
    words.next_if_eq(&"in");
    let word = words.next()?;
    let name = word.split(['(', '@']).next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !name.is_empty()).then_some(name)
}

/// The innermost function in a title of abrt.
pub(super) fn in_title(line: &str) -> Option<&str> {
    let (before, _) = line.split_once("(): ")?;
    let name = before.rsplit(' ').next()?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (line.contains(" killed by SIGSYS") && is_name && !name.is_empty()).then_some(name)
}

/// The number of the syscall that a function makes, or why that is not known.
pub(super) fn syscall(function: &str, arch: Arch) -> Result<u32, String> {
    let name = function.trim_start_matches('_');
    let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
    let name = name.strip_prefix("libc_").unwrap_or(name);
    let name = name.strip_suffix("_nocancel").unwrap_or(name);
    let own = known_name(name).or_else(|| known_name(name.strip_suffix("64")?));
    let unknown =
        || Err(format!("SIGSYS in the function {function}, which does not tell the syscall"));
    let Some(own) = own else { return unknown() };
    if let Some(why) = wrapped(own) {
        return Err(format!("SIGSYS in the function {function}: {why}"));
    }
    if OTHERS.contains(&own) {
        return unknown();
    }
    arch.number(own).map_or_else(unknown, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn made(line: &str) -> Option<&'static str> {
        let nr = syscall(innermost(line)?, Arch::X86_64).ok()?;
        Arch::X86_64.syscall_name(nr)
    }

    #[test]
    fn the_innermost_function_tells_the_syscall() {
        for (line, expected) in [
            ("#0  0x00007ffd34329872 in gettimeofday ()", "gettimeofday"),
            ("                #0  0x00007f8c9d11d9fb __clone3 (libc.so.6 + 0x10d9fb)", "clone3"),
            (" #0 iopl at ../sysdeps/unix/syscall-template.S:78", "iopl"),
            ("#0  __GI___ioctl (fd=3, request=21505) at ioctl.c:36", "ioctl"),
            ("#0 0x7ffff7 in __libc_sendto (fd=1) from /lib/libc.so.6", "sendto"),
            ("#0  clock_nanosleep@@GLIBC_2.17 (clock_id=1)", "clock_nanosleep"),
            ("#0  0x00007f in openat64 ()", "openat"),
            ("#0  0x00007f in __write_nocancel ()", "write"),
        ] {
            assert_eq!(made(line), Some(expected), "{line}");
        }
        for line in [
            "#0  0x00007f88edbdaa46 in ?? ()",
            "#0  0x0000000000000000 n/a (n/a + 0x0)",
            "#1  0x00007f in gettimeofday ()",
            "#0  0x00007f in syscall ()",
            "#0  0x00007f in nanosleep ()",
            "#0  raise () at raise.c:50",
            "#0x7 mount",
            "#01 pc 0000 mount",
            "# mount",
        ] {
            assert_eq!(made(line), None, "{line}");
        }
        let title = "[abrt] firejail: iopl(): faudit killed by SIGSYS";
        assert_eq!(in_title(title), Some("iopl"));
        assert_eq!(in_title("x(): y killed by SIGSEGV"), None);
        let open = syscall("__open64", Arch::X86_64).unwrap_err();
        assert!(open.contains("__open64: open in the C library makes openat"), "{open}");
        assert!(syscall("iopl", Arch::Aarch64).is_err(), "not on this architecture");
    }
}
