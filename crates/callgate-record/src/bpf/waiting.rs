//! The syscall in which a thread waits, from `/proc/TID/syscall`.
//!
//! The kernel reads it without stopping the thread, and only while that is off the processor
//! (`proc_pid_syscall` in `fs/proc/base.c`). Needs the permission to trace the thread.

use std::fs;
use std::io::{self, Read as _};

use callgate::Arch;
use callgate_trace::recording::SyscallId;

use crate::running::Thread;

/// Whether a thread waits in a syscall.
pub(super) enum Waiting {
    /// In this one, with these arguments.
    In(SyscallId, [u64; 6]),
    /// It runs, waits elsewhere, or has ended.
    Elsewhere,
    /// This process has no permission to know.
    Denied,
}

pub(super) fn waiting_syscall(thread: Thread) -> Waiting {
    let id = thread.id;
    let text = match fs::read_to_string(format!("/proc/{id}/task/{id}/syscall")) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => return Waiting::Denied,
        Err(_) => return Waiting::Elsewhere,
    };
    let Some((nr, args)) = parse(&text) else { return Waiting::Elsewhere };
    let arch = if is_32_bit(id).unwrap_or(false) { Arch::X86 } else { Arch::X86_64 };
    SyscallId::of(arch.token(), nr).map_or(Waiting::Elsewhere, |syscall| Waiting::In(syscall, args))
}

/// Whether a thread executes a 32-bit program. The file does not have the ABI of the syscall.
fn is_32_bit(thread: u32) -> io::Result<bool> {
    let mut header = [0; 20];
    fs::File::open(format!("/proc/{thread}/exe"))?.read_exact(&mut header)?;
    Ok(header.starts_with(b"\x7fELF\x01") && header.get(18) == Some(&EM_386))
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
