//! Generated rules, the same in every run.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use callgate::{Arch, Verdict};
use callgate_core::policy::{Field, Test};

use super::rules::{Alternative, Rules};

/// Pseudo-random numbers from a 64-bit linear congruential generator (Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

fn allow(tests: Vec<Test>) -> Alternative {
    Alternative { tests, verdict: Verdict::ALLOW }
}

fn allow_list(syscalls: BTreeMap<u32, Vec<Alternative>>) -> Rules {
    Rules::new(Arch::X86_64, Verdict::errno(1), syscalls)
}

fn eq(arg: u32, value: u32) -> Option<Test> {
    Field::arg(arg as u8).map(|field| Test::eq(field, u64::from(value)))
}

/// An allowlist of this many numbers, no two of them adjacent.
pub(super) fn numbers(count: u32) -> Rules {
    let gap = |index: u32| 2 + u32::from(index.is_multiple_of(3));
    let numbers = (0..count).scan(0, |nr, index| {
        let this = *nr;
        *nr += gap(index);
        Some(this)
    });
    allow_list(numbers.map(|nr| (nr, vec![allow(Vec::new())])).collect())
}

/// `ioctl` with this many commands, encoded with a letter per driver, directions and sizes
/// (`include/uapi/asm-generic/ioctl.h`).
pub(super) fn commands(count: u32) -> Rules {
    let mut random = Random(1);
    let sizes = [4, 8, 8, 16, 24, 32, 40, 64, 104, 256];
    let alternatives = (0..count).filter_map(|index| {
        let (letter, command) = (0x41 + index / 100, index % 100);
        let (direction, size) = match random.below(5) {
            0 => (0, 0),
            other => (1 + other % 3, sizes[random.below(sizes.len() as u32) as usize]),
        };
        let value = direction << 30 | size << 16 | letter << 8 | command;
        Some(allow(vec![eq(1, value)?]))
    });
    let ioctl = Arch::X86_64.number("ioctl").unwrap_or_default();
    allow_list(BTreeMap::from([(ioctl, alternatives.collect())]))
}

/// `ioctl` with this many random values of its second argument.
pub(super) fn values(count: u32) -> Rules {
    let mut random = Random(3);
    let alternatives = (0..count).filter_map(|_| Some(allow(vec![eq(1, random.below(u32::MAX))?])));
    let ioctl = Arch::X86_64.number("ioctl").unwrap_or_default();
    allow_list(BTreeMap::from([(ioctl, alternatives.collect())]))
}

/// This many syscalls, each allowed for one pair of values of two arguments.
pub(super) fn pairs(count: u32) -> Rules {
    let syscall = |index: u32| {
        let tests = [eq(index % 6, 100 + index), eq((index + 1 + index / 6 % 5) % 6, 7 * index)];
        (10 + 5 * index, vec![allow(tests.into_iter().flatten().collect())])
    };
    allow_list((0..count).map(syscall).collect())
}

/// This many rules for random syscalls: one in four is unconditional, the others compare an argument with one
/// or two values.
pub(super) fn random(count: u32) -> Rules {
    let mut random = Random(2);
    let mut syscalls: BTreeMap<u32, Vec<Alternative>> = BTreeMap::new();
    for _ in 0..count {
        // As many syscalls as rules, so that the number of syscalls grows and not the conditions of each.
        let alternatives = syscalls.entry(random.below(2 * count)).or_default();
        let kind = random.below(8);
        if alternatives.iter().any(|alternative| alternative.tests.is_empty()) {
            continue;
        }
        if kind < 2 {
            *alternatives = vec![allow(Vec::new())];
            continue;
        }
        let first = random.below(3);
        let mut tests = vec![eq(first, random.below(64))];
        if kind == 7 {
            tests.push(eq(first + 1 + random.below(2), random.below(64)));
        }
        let tests = tests.into_iter().flatten().collect();
        alternatives.push(allow(tests));
    }
    allow_list(syscalls)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sets_have_the_size_they_are_asked_for() {
        for count in [1, 10, 300] {
            assert_eq!(numbers(count).syscalls(), count as usize);
            let commands = commands(count);
            let values: BTreeSet<u64> = commands.blocks[0].syscalls[&16]
                .iter()
                .map(|alternative| alternative.tests[0].value)
                .collect();
            assert_eq!(values.len(), count as usize, "no command is there twice");
        }
        assert_eq!(pairs(32).tests(), 64);
        assert!(random(300).syscalls() > 150);
    }

    #[test]
    fn scattered_numbers_are_not_adjacent() {
        let rules = numbers(100);
        let numbers: Vec<u32> = rules.blocks[0].syscalls.keys().copied().collect();
        assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] >= 2));
    }
}
