//! Looks up numbers by name, and names by number.
//!
//! Numbers of syscalls that exist are those of [`callgate_bpf::syscalls`]. libseccomp 2.6.1 deviates from them:
//! - it lacks `memfd_secret` on loongarch64;
//! - on arm it does not know `sync_file_range2`, the second name of `arm_sync_file_range`.
//!
//! `cargo lab libseccomp-names` compares all names and numbers with those of libseccomp itself.

use callgate_bpf::SyscallTable;
use std::ops::RangeInclusive;

use callgate_bpf::syscalls::known_name;
use callgate_core::{Arch, X32_SYSCALL_BIT};

use super::pseudo::PSEUDO_NUMBERS;

/// Pseudo numbers that libseccomp replaces with `socketcall`.
const SOCKETCALL: RangeInclusive<i32> = -120..=-100;
/// Pseudo numbers that libseccomp replaces with `ipc`.
const IPC: RangeInclusive<i32> = -224..=-200;

/// The number of rows of [`PSEUDO_NUMBERS`].
const ROWS: usize = PSEUDO_NUMBERS.len();

/// The rows of [`PSEUDO_NUMBERS`], sorted by number. Of the names that share a number, the last is first: it is the one
/// that libseccomp finds.
static ROWS_BY_NUMBER: [u16; ROWS] = {
    let (mut rows, mut sorted) = ([0; ROWS], 0);
    while sorted < ROWS {
        let mut slot = sorted;
        while slot > 0 && PSEUDO_NUMBERS[rows[slot - 1] as usize].1 >= PSEUDO_NUMBERS[sorted].1 {
            rows[slot] = rows[slot - 1];
            slot -= 1;
        }
        rows[slot] = sorted as u16;
        sorted += 1;
    }
    rows
};

/// The number of a syscall, possibly a pseudo number; `None` for an unknown name
/// (`seccomp_syscall_resolve_name_arch`).
pub fn number(arch: Arch, name: &str) -> Option<i32> {
    let pseudo = pseudo_number(name);
    if pseudo.is_some_and(|number| is_multiplexed(arch, number)) {
        return pseudo;
    }
    match arch.number(name) {
        Some(number) => i32::try_from(number).ok(),
        None => pseudo.filter(|_| known_name(name).is_some()),
    }
}

/// The name of a syscall by its number, possibly a pseudo number; `None` for an unknown number
/// (`seccomp_syscall_resolve_num_arch`).
///
/// A number may lack the offset of the architecture: the bit of x32, or the thousands of MIPS.
pub fn name(arch: Arch, number: i32) -> Option<&'static str> {
    match u32::try_from(number) {
        Ok(number) => arch.syscall_name(with_offset(arch, number)),
        Err(_) => {
            names_of_pseudo_number(number).find(|name| self::number(arch, name) == Some(number))
        }
    }
}

/// The [number](number) of a syscall, with the number of `socketcall` or `ipc` instead of a pseudo number that these
/// multiplex (`seccomp_syscall_resolve_name_rewrite`).
pub fn rewritten(arch: Arch, name: &str) -> Option<i32> {
    let number = number(arch, name)?;
    let multiplexer = match number {
        _ if !is_multiplexed(arch, number) => return Some(number),
        _ if SOCKETCALL.contains(&number) => "socketcall",
        _ => "ipc",
    };
    self::number(arch, multiplexer)
}

/// Whether a pseudo number stands for a sub-call of `socketcall` or `ipc` of this architecture.
fn is_multiplexed(arch: Arch, number: i32) -> bool {
    (SOCKETCALL.contains(&number) || IPC.contains(&number)) && arch.has_multiplexers()
}

/// A number as a filter sees it.
fn with_offset(arch: Arch, number: u32) -> u32 {
    match arch.first_number() {
        X32_SYSCALL_BIT => number | X32_SYSCALL_BIT,
        first if number < first => number + first,
        _ => number,
    }
}

fn pseudo_number(name: &str) -> Option<i32> {
    let row = PSEUDO_NUMBERS.binary_search_by_key(&name, |(name, _)| name).ok()?;
    PSEUDO_NUMBERS.get(row).map(|(_, number)| *number)
}

fn names_of_pseudo_number(number: i32) -> impl Iterator<Item = &'static str> {
    let entry = |row: &u16| PSEUDO_NUMBERS.get(usize::from(*row));
    let number_of = move |row: &u16| entry(row).map(|(_, number)| *number);
    let first = ROWS_BY_NUMBER.partition_point(|row| number_of(row) < Some(number));
    let rows = ROWS_BY_NUMBER.iter().skip(first);
    rows.take_while(move |row| number_of(row) == Some(number))
        .filter_map(move |row| entry(row).map(|(name, _)| *name))
}

#[cfg(test)]
mod tests {
    use callgate_bpf::syscalls::known_names;

    use super::*;

    /// The architectures that libseccomp multiplexes on.
    const MULTIPLEXED: &[Arch] = &[
        Arch::X86,
        Arch::S390x,
        Arch::S390,
        Arch::Ppc64le,
        Arch::Ppc64,
        Arch::Ppc,
        Arch::Mips,
        Arch::Mipsel,
        Arch::M68k,
        Arch::Sh,
        Arch::Sheb,
    ];

    #[test]
    fn names_resolve_to_the_numbers_of_libseccomp() {
        let facts: &[(Arch, &str, Option<i32>, Option<i32>)] = &[
            (Arch::X86_64, "read", Some(0), Some(0)),
            (Arch::X86_64, "socket", Some(41), Some(41)),
            (Arch::X86_64, "send", Some(-109), Some(-109)),
            (Arch::X86_64, "vm86", Some(-10071), Some(-10071)),
            (Arch::X86_64, "oldwait4", None, None),
            (Arch::X86_64, "no_such_syscall", None, None),
            (Arch::X86_64, "", None, None),
            (Arch::X32, "read", Some(0x4000_0000), Some(0x4000_0000)),
            (Arch::X32, "rt_sigaction", Some(0x4000_0200), Some(0x4000_0200)),
            (Arch::X32, "vm86", Some(-10071), Some(-10071)),
            (Arch::X86, "socket", Some(-101), Some(102)),
            (Arch::X86, "accept", Some(-105), Some(102)),
            (Arch::X86, "sendmmsg", Some(-120), Some(102)),
            (Arch::X86, "semop", Some(-201), Some(117)),
            (Arch::X86, "shmctl", Some(-224), Some(117)),
            (Arch::X86, "arm_fadvise64_64", Some(-10083), Some(-10083)),
            (Arch::S390x, "shmdt", Some(-222), Some(117)),
            (Arch::Mips, "socket", Some(-101), Some(4102)),
            (Arch::Mipsel, "semtimedop", Some(-204), Some(4117)),
            (Arch::Mips64, "socket", Some(5040), Some(5040)),
            (Arch::Mips64n32, "send", Some(-109), Some(-109)),
            (Arch::Parisc, "socket", Some(17), Some(17)),
            (Arch::Arm, "cacheflush", Some(0xf0002), Some(0xf0002)),
            (Arch::Aarch64, "open", Some(-10166), Some(-10166)),
        ];
        for &(arch, name, resolved, replaced) in facts {
            assert_eq!(number(arch, name), resolved, "{arch} {name}");
            assert_eq!(rewritten(arch, name), replaced, "{arch} {name}");
        }
    }

    #[test]
    fn numbers_resolve_to_the_names_of_libseccomp() {
        let facts = [
            (Arch::X86_64, 41, Some("socket")),
            (Arch::X86_64, -101, None),
            (Arch::X86_64, -109, Some("send")),
            (Arch::X86_64, -10071, Some("vm86")),
            (Arch::X86_64, -10146, None),
            (Arch::X86_64, -1, None),
            (Arch::X86_64, i32::MIN, None),
            (Arch::X86_64, 0x4000_0000, None),
            (Arch::X86, -101, Some("socket")),
            (Arch::X86, 359, Some("socket")),
            (Arch::X86, -10071, None),
            (Arch::X32, 0, Some("read")),
            (Arch::X32, 0x4000_0000, Some("read")),
            (Arch::X32, i32::MAX, None),
            (Arch::Mips, 3, Some("read")),
            (Arch::Mips, 4003, Some("read")),
            (Arch::Mips, 8003, None),
            (Arch::Mips, 5000, None),
            (Arch::Arm, 0xf0002, Some("cacheflush")),
            (Arch::Aarch64, -10191, Some("sys_debug_setcontext")),
            (Arch::Ppc64, -10191, None),
        ];
        for (arch, number, resolved) in facts {
            assert_eq!(name(arch, number), resolved, "{arch} {number}");
        }
    }

    #[test]
    fn sub_calls_have_pseudo_numbers_exactly_where_they_are_multiplexed() {
        for arch in Arch::ALL {
            let is_multiplexed = MULTIPLEXED.contains(arch);
            assert_eq!(arch.has_multiplexers(), is_multiplexed, "{arch}");
            assert_eq!(number(*arch, "socket") == Some(-101), is_multiplexed, "{arch}");
            assert_eq!(number(*arch, "shmctl") == Some(-224), is_multiplexed, "{arch}");
        }
    }

    #[test]
    fn every_known_name_has_a_number_on_every_architecture() {
        for arch in Arch::ALL {
            for name in known_names() {
                let number = number(*arch, name).unwrap_or_else(|| panic!("{arch} {name}"));
                let back = self::name(*arch, number).unwrap_or_else(|| panic!("{arch} {number}"));
                assert_eq!(self::number(*arch, back), Some(number), "{arch} {name}");
            }
        }
    }

    #[test]
    fn the_table_is_sorted_and_its_numbers_are_negative() {
        assert!(PSEUDO_NUMBERS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (name, number) in PSEUDO_NUMBERS {
            assert!(number <= -101, "{name}");
            assert!(names_of_pseudo_number(number).any(|found| found == name), "{name}");
        }
    }
}
