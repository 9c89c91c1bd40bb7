//! Formats sets of syscalls.

use std::fmt::Write;

use callgate_core::{Arch, SyscallSet};

use super::SyscallTable;

/// The names of the syscalls in a set, for an arch token, and the ranges of numbers without names: `mount,
/// umount2, 500-4294967295`. Only the first `shown` are listed, the others counted.
pub fn list_syscalls(
    token: u32,
    syscalls: &SyscallSet,
    except: Option<u32>,
    shown: usize,
) -> String {
    let mut named: Vec<(u32, &str)> = Arch::with_token(token)
        .flat_map(SyscallTable::syscalls)
        .filter(|(nr, _)| syscalls.contains(*nr) && Some(*nr) != except)
        .collect();
    named.sort_unstable();
    let mut parts: Vec<String> = named.iter().map(|(_, name)| (*name).to_owned()).collect();
    let mut taken: Vec<u32> = named.iter().map(|(nr, _)| *nr).chain(except).collect();
    taken.sort_unstable();
    for (first, last) in gaps(syscalls, &taken) {
        parts.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
    }
    let more = parts.len().saturating_sub(shown);
    parts.truncate(shown);
    let mut text = parts.join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// The ranges of a set without some numbers, which are sorted.
fn gaps(syscalls: &SyscallSet, taken: &[u32]) -> Vec<(u32, u32)> {
    let mut gaps = Vec::new();
    for &(first, last) in syscalls.ranges() {
        let mut next = u64::from(first);
        let inside = taken.iter().filter(|nr| (first..=last).contains(nr));
        for end in inside.map(|nr| u64::from(*nr)).chain([u64::from(last) + 1]) {
            if next < end {
                gaps.push((next as u32, (end - 1) as u32));
            }
            next = end + 1;
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_syscalls_are_named() {
        let of = |syscalls: &SyscallSet, except| {
            list_syscalls(Arch::X86_64.token(), syscalls, except, 8)
        };
        assert_eq!(of(&SyscallSet::range(0, 2), Some(1)), "read, open");
        assert_eq!(of(&SyscallSet::range(0, 2), None), "read, write, open");
        assert_eq!(of(&SyscallSet::one(1), Some(1)), "");
        assert_eq!(
            of(&SyscallSet::from_ranges([(2, 3), (0x9000_0000, u32::MAX)]), Some(2)),
            "close, 2415919104-4294967295"
        );
        assert!(of(&SyscallSet::range(0, 20), Some(0)).ends_with(" and 12 more"));
    }
}
