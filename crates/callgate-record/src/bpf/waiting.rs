//! The syscall in which a thread waits, from `/proc/TID/syscall`.
//!
//! The kernel reads it without stopping the thread, and only while that is off the processor
//! (`proc_pid_syscall` in `fs/proc/base.c`). Needs the permission to trace the thread.

use std::fs;
use std::io::Read as _;

use callgate::Arch;
use callgate::recording::SyscallId;

use crate::target::Thread;

/// The syscall and its arguments; `None` if the thread runs, is not in a syscall, or cannot be read.
pub(super) fn waiting_syscall(thread: Thread) -> Option<(SyscallId, [u64; 6])> {
    let id = thread.id;
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/syscall")).ok()?;
    let (nr, args) = parse(&text)?;
    let mut header = [0; 20];
    fs::File::open(format!("/proc/{id}/exe")).ok()?.read_exact(&mut header).ok()?;
    let is_32_bit = header.starts_with(b"\x7fELF\x01") && header.get(18) == Some(&EM_386);
    let arch = if is_32_bit { Arch::X86 } else { Arch::X86_64 };
    Some((SyscallId::of(arch.token(), nr)?, args))
}

/// `EM_386` of `elf.h`.
const EM_386: u8 = 3;

/// `NR ARG… SP PC`; `running`; or `-1 SP PC` outside of a syscall.
fn parse(text: &str) -> Option<(u32, [u64; 6])> {
    let mut words = text.split_ascii_whitespace();
    let nr = words.next()?.parse().ok()?;
    let mut args = [0; 6];
    for arg in &mut args {
        *arg = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((nr, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_in_a_syscall_have_one() {
        let text = "232 0x5 0x7ffd 0x200 0xffffffffffffffff 0x0 0x8 0x7ffd1 0x7f2c\n";
        assert_eq!(parse(text), Some((232, [5, 0x7ffd, 0x200, u64::MAX, 0, 8])));
        for text in ["running\n", "-1 0x7ffd1 0x7f2c\n", "", "232 0x5\n", "1 2 3 4 5 6 7\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
