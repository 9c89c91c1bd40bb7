//! Syscalls in strace logs that failed or did not return.

use callgate_bpf::syscalls::facts;
use callgate_bpf::{SyscallTable, constants};
use callgate_core::Arch;

use super::line::{Found, Parsed};
use super::model::{Evidence, LoggedCall};
use crate::logs::strace::{LoggedSyscall, split_args, value_of_number, without_note};
use crate::recording::SyscallId;

/// A syscall, if it failed or did not return.
pub(super) fn denial(syscall: &LoggedSyscall<'_>) -> Option<Parsed<'static>> {
    let LoggedSyscall { arch, name, args, .. } = syscall;
    // Most syscalls succeed.
    if !(args.contains("= -1 E") || args.contains("= ?")) {
        return None;
    }
    let (args, after) = split_args(args);
    let result = after?.trim_start().strip_prefix("= ")?.trim_end();
    let evidence = match result.strip_prefix("-1 ") {
        Some(error) => {
            let name = error.split(' ').next()?;
            let errno = constants::value_of_bit_or(*arch, name, |_| None).ok()?;
            Evidence::Failed(u16::try_from(errno).ok()?)
        }
        // With -T, the duration follows. A name after the question mark is that of a restart.
        None if result == "?" || result.starts_with("? <") => Evidence::NoReturn,
        None => return None,
    };
    let Some(nr) = arch.number(name).or_else(|| unnamed(name)) else {
        return Some(Parsed::Unread(format!("{arch} has no syscall \"{name}\"")));
    };
    let syscall = SyscallId::new(*arch, nr);
    let args = values(*arch, name, args);
    let call = LoggedCall { args, evidence, ..LoggedCall::denied(syscall) };
    Some(Parsed::Denial(Found::of(call)))
}

/// The number of a syscall that strace does not know: `syscall_0x1b5`, in old versions `syscall_326`.
fn unnamed(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("syscall_")?;
    match digits.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The arguments that are numbers or constants. strace reorders those of clone, and names them.
fn values(arch: Arch, name: &str, args: Vec<&str>) -> [Option<u64>; 6] {
    let mut values = [None; 6];
    for (index, arg) in args.into_iter().enumerate().take(in_one_register(arch, name)) {
        let (index, text) = match arg.split_once('=') {
            Some(("flags", flags)) if name == "clone" => {
                (usize::from(matches!(arch, Arch::S390 | Arch::S390x)), flags)
            }
            Some((key, _)) if key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') => {
                continue;
            }
            _ => (index, arg),
        };
        if let Some(slot) = values.get_mut(index) {
            let value = constants::value_of_bit_or(arch, without_note(text), value_of_number).ok();
            *slot = value.map(|value| value & read_bits(arch, name, index));
        }
    }
    values
}

/// The number of first arguments that are in a register each. strace prints 64-bit numbers of 32-bit ABIs as one argument,
/// although they take two registers.
fn in_one_register(arch: Arch, name: &str) -> usize {
    const WIDE: [&str; 2] = ["loff_t", "__u64"];
    let args = facts(name).filter(|_| !arch.has_wide_registers()).map(|one| one.args);
    args.unwrap_or_default().iter().position(|arg| WIDE.contains(&arg.ctype)).unwrap_or(6)
}

/// The bits of an argument that the kernel reads. strace prints only these, so the others are not known.
fn read_bits(arch: Arch, name: &str, index: usize) -> u64 {
    let argument = u32::try_from(index).ok().and_then(|index| arch.argument_at(name, index).ok());
    match argument.and_then(|argument| argument.bits) {
        Some(bits) if bits <= 32 => u32::MAX.into(),
        _ => u64::MAX,
    }
}
