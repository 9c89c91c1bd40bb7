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
//!
//! gdb also prints the register of the number, which the kernel restores before it sends the signal (`syscall_rollback` in
//! `__seccomp_filter`, `kernel/seccomp.c`): `rax            0x13b               315`, or `$1 = 315` below `p $rax`.

use callgate_bpf::syscalls::{SyscallTable, known_name};
use callgate_core::Arch;

use super::wrappers::{makes_another, wrapped};
use crate::recording::SyscallId;

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

/// The registers of the number that only one architecture has.
const REGISTERS: [(&str, Arch); 6] = [
    ("rax", Arch::X86_64),
    ("orig_rax", Arch::X86_64),
    ("eax", Arch::X86),
    ("orig_eax", Arch::X86),
    ("x8", Arch::Aarch64),
    ("r7", Arch::Arm),
];

fn of_register(name: &str) -> Option<Arch> {
    REGISTERS.iter().find(|(register, _)| *register == name).map(|(_, arch)| *arch)
}

/// The syscall in a line of `info registers`.
pub(super) fn register(line: &str) -> Option<SyscallId> {
    let mut words = line.split_ascii_whitespace();
    let arch = of_register(words.next()?)?;
    let value = words.next()?.strip_prefix("0x")?;
    let nr = u32::from_str_radix(value, 16).ok()?;
    let is_equal = words.next()?.parse() == Ok(nr) && words.next().is_none();
    in_register(arch, nr).filter(|_| is_equal)
}

/// The architecture of the register that a command of gdb prints: `(gdb) p $rax`, `print/x $orig_rax`.
pub(super) fn asked(line: &str) -> Option<Arch> {
    let command = line.trim();
    let command = command.strip_prefix("(gdb)").map_or(command, str::trim_start);
    let (verb, register) = command.split_once(' ')?;
    let is_print = ["p", "print", "output"].contains(&verb.split('/').next()?);
    of_register(register.trim().strip_prefix('$')?).filter(|_| is_print)
}

/// What gdb answers: `$1 = 315`, `$1 = 0x13b`.
pub(super) fn answer(line: &str, arch: Arch) -> Option<SyscallId> {
    let (_, value) = line.trim().strip_prefix('$')?.split_once(" = ")?;
    let nr = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => value.parse().ok()?,
    };
    in_register(arch, nr)
}

/// A syscall, if the value of the register can be its number. A newer kernel may have it.
fn in_register(arch: Arch, nr: u32) -> Option<SyscallId> {
    (nr < 4096 || arch.syscall_name(nr).is_some()).then(|| SyscallId::new(arch, nr))
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
    if makes_another(own) {
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

    #[test]
    fn the_register_of_the_number_tells_the_syscall() {
        let x86_64 = |nr| Some(SyscallId::new(Arch::X86_64, nr));
        assert_eq!(register("rax            0x13b               315"), x86_64(315));
        assert_eq!(
            register("x8             0x1b2               434"),
            Some(SyscallId::new(Arch::Aarch64, 434))
        );
        for (line, arch) in [
            ("(gdb) p $rax", Some(Arch::X86_64)),
            ("print/x $orig_rax", Some(Arch::X86_64)),
            ("(gdb) p $x8", Some(Arch::Aarch64)),
            ("(gdb) p $rbx", None),
            ("(gdb) x $rax", None),
            ("rax", None),
        ] {
            assert_eq!(asked(line), arch, "{line}");
        }
        for text in ["$1 = 315", "$7 = 0x13b"] {
            assert_eq!(answer(text, Arch::X86_64), x86_64(315), "{text}");
        }
        for line in [
            "rax            0x7fffff001000      140737471582208",
            "rax            0x13b               316",
            "rbx            0x13b               315",
            "rax 315",
            "rax            0x13b               315 (a)",
        ] {
            assert_eq!(register(line), None, "{line}");
        }
        for line in ["$1 = -38", "$1 = 140737471582208", "$1 = (void *) 0x13b", "1 = 315"] {
            assert_eq!(answer(line, Arch::X86_64), None, "{line}");
        }
    }
}
