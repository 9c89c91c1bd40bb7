//! Syscalls in logs of strace that failed or did not return.

use callgate_bpf::constants;
use callgate_bpf::syscalls::Arch;

use super::line::Parsed;
use super::model::{Evidence, LoggedCall};
use super::tally::Origin;
use crate::logs::strace::ParsedLine;
use crate::recording::SyscallId;

/// A line as a syscall that failed or did not return.
pub(super) fn syscall(line: &str, arch: Arch) -> Option<Parsed<'_>> {
    let parsed = ParsedLine::of(line);
    let (name, args) = parsed.syscall(line)?;
    let (args, result) = args.rsplit_once(") ").map(|(args, rest)| (args, rest.trim_start()))?;
    let result = result.strip_prefix("= ")?;
    let evidence = match result.strip_prefix("-1 ") {
        Some(error) => {
            let name = error.split([' ', '\n', '\r']).next()?;
            let errno = constants::value_of_bit_or(arch, name, |_| None).ok()?;
            Evidence::Failed(u16::try_from(errno).ok()?)
        }
        None if result.trim_end() == "?" => Evidence::NoReturn,
        None => return None,
    };
    let Some(nr) = arch.number(name) else {
        return Some(Parsed::Unread(format!("{arch} has no syscall \"{name}\"")));
    };
    let syscall = SyscallId::new(arch, nr);
    let call = LoggedCall { syscall, args: values(arch, name, args), evidence };
    Some(Parsed::Denial(call, None, Origin::Other))
}

/// The arguments that are numbers or constants. strace reorders those of clone, and names them.
fn values(arch: Arch, name: &str, args: &str) -> [Option<u64>; 6] {
    let mut values = [None; 6];
    for (index, arg) in top_level(args).into_iter().enumerate() {
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
            *slot = value(arch, text);
        }
    }
    values
}

fn value(arch: Arch, text: &str) -> Option<u64> {
    let number = |part: &str| match part.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // In C, numbers that start with 0 are octal.
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    match text {
        "NULL" => Some(0),
        _ if text.is_empty() || text.starts_with(['"', '[', '{', '-', '~']) => None,
        _ => constants::value_of_bit_or(arch, text, number).ok(),
    }
}

/// The arguments between commas outside of strings, brackets and braces; at most six, shortened ones end the list.
fn top_level(args: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in args.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(args.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
        if found.len() == 6 {
            return found;
        }
    }
    found.push(args.get(start..).unwrap_or_default().trim());
    found
}
