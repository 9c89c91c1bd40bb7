//! Random syscalls near the constants of a filter, where a mistake of a compiler shows.

use callgate_bpf::random::Rng;
use callgate_core::policy::Policy;
use callgate_core::{Program, SeccompData};

/// A value near another one: itself, one more or less, a bit flipped, the halves swapped.
pub(super) fn near(value: u64, rng: &mut Rng) -> u64 {
    match rng.below(12) {
        0..4 => value,
        4 | 5 => value.wrapping_sub(1),
        6 | 7 => value.wrapping_add(1),
        8 => value ^ 1 << rng.below(64),
        9 => value ^ 1 << rng.below(32),
        10 => value.rotate_left(32),
        _ => value & 0xffff_ffff,
    }
}

/// Boundary values of words and halves.
pub(super) const SPECIAL: [u64; 12] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_0000_0000,
    0xffff_ffff_ffff_fffe,
    u64::MAX,
];

/// The constants of a filter.
#[derive(Debug, Default)]
pub struct Constants {
    tokens: Vec<u32>,
    numbers: Vec<u32>,
    /// Per argument; the instruction pointer is the last.
    fields: [Vec<u64>; 7],
}

impl Constants {
    /// The constants of a policy.
    pub fn of_policy(policy: &Policy) -> Constants {
        let mut found = Constants::default();
        for section in policy.sections() {
            found.tokens.push(section.token());
            for rule in &section.rules {
                for (first, last) in rule.syscalls.ranges() {
                    found.numbers.extend([*first, *last]);
                }
                rule.when.for_each_test(&mut |test| {
                    let field = match test.field.low_word().argument() {
                        Some((arg, _)) => usize::from(arg),
                        None => 6,
                    };
                    found.fields[field].extend([test.value, test.mask & test.value]);
                    if test.mask != test.field.full_mask() {
                        found.fields[field].extend([test.mask, test.value | !test.mask]);
                    }
                });
            }
        }
        found
    }

    /// The constants of a program; each may belong to any word.
    pub fn of_program(program: &Program) -> Constants {
        let words: Vec<u32> =
            program.iter().filter(|insn| insn.op.uses_k()).map(|insn| insn.k).collect();
        let pairs = words.iter().enumerate().flat_map(|(i, low)| {
            let high = words[(i * 7 + 1) % words.len()];
            [u64::from(high) << 32 | u64::from(*low), u64::from(*low)]
        });
        let pairs: Vec<u64> = pairs.collect();
        let fields = std::array::from_fn(|_| pairs.clone());
        Constants { tokens: words.clone(), numbers: words, fields }
    }

    /// A random syscall near these constants.
    pub fn syscall(&self, rng: &mut Rng) -> SeccompData {
        let value = |from: &[u64], rng: &mut Rng| match rng.below(16) {
            0 => rng.next(),
            1 => near(rng.pick(&SPECIAL).unwrap(), rng),
            _ if from.is_empty() => rng.below(3) as u64,
            _ => near(rng.pick(from).unwrap(), rng),
        };
        let word = |from: &[u32], rng: &mut Rng| match rng.below(16) {
            0 => rng.next() as u32,
            1 => rng.pick(&SPECIAL).unwrap() as u32,
            _ if from.is_empty() => rng.below(3) as u32,
            2..6 => near(rng.pick(from).unwrap().into(), rng) as u32,
            _ => rng.pick(from).unwrap().wrapping_add(rng.below(3) as u32).wrapping_sub(1),
        };
        let arch = match rng.below(8) {
            0 => word(&self.tokens, rng),
            _ if self.tokens.is_empty() => 0,
            _ => rng.pick(&self.tokens).unwrap(),
        };
        SeccompData {
            arch,
            nr: word(&self.numbers, rng),
            instruction_pointer: value(&self.fields[6], rng),
            args: std::array::from_fn(|arg| value(&self.fields[arg], rng)),
        }
    }
}
