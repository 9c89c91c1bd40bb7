//! The expected cost of a program: the mean number of executed instructions.

use std::borrow::Cow;

use callgate_codegen::{Permission, WeightedSyscall, query};
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Emulator, Endian, LongProgram, Meaning, Op, SeccompData, Word};

/// What a program executes, as [`expected_insns`] and [`filtered_insns`] tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Executed {
    pub(crate) expected: Option<f64>,
    pub(crate) filtered: Option<f64>,
}

impl Executed {
    /// For a program with this meaning.
    pub(crate) fn of(
        meaning: &Meaning,
        program: &LongProgram,
        syscalls: &[WeightedSyscall],
    ) -> Executed {
        let (store, func, endian) = (meaning.store(), meaning.func(), meaning.endian());
        Executed {
            expected: expected_insns(store, func, program, syscalls, endian),
            filtered: filtered_insns(store, func, program, syscalls, endian),
        }
    }
}

/// The mean number of instructions that a program executes under weights. Without weights, it is the mean over the
/// syscalls that are permitted for some arguments; `None` if there are none.
///
/// The figure of a syscall whose verdict depends on arguments is the mean over the permitted intervals of the first word
/// with more than one of them. If that word has more than 4,096 intervals, permitted or not, it is the figure for
/// one permitted value. If nothing is permitted, all arguments are 0.
pub fn expected_insns(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    syscalls: &[WeightedSyscall],
    endian: Endian,
) -> Option<f64> {
    let (syscalls, _) = counted(store, meaning, syscalls);
    mean(store, meaning, program, syscalls.iter().map(|syscall| (syscall, syscall.weight)), endian)
}

/// The mean number of instructions that a program executes for permitted syscalls for which every kernel runs the filter, because
/// arguments decide, or because their verdict is not ALLOW: under the weights, or of all of them if none has a weight. `None` if
/// there are none.
pub fn filtered_insns(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    syscalls: &[WeightedSyscall],
    endian: Endian,
) -> Option<f64> {
    let (syscalls, _) = counted(store, meaning, syscalls);
    let weights = filtered_weights(&syscalls);
    mean(store, meaning, program, syscalls.iter().zip(weights), endian)
}

/// The mean over syscalls with these weights, which are sorted by arch.
pub(crate) fn mean<'s>(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    weighted: impl Iterator<Item = (&'s WeightedSyscall, f64)>,
    endian: Endian,
) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    // The cofactor for an arch is computed once, not once per syscall.
    let mut of_arch: Option<(u32, Func, Emulator<'_>)> = None;
    for (syscall, weight) in weighted.filter(|(_, weight)| *weight > 0.0) {
        if of_arch.as_ref().is_none_or(|(token, ..)| *token != syscall.token) {
            let numbers = store.follow(meaning, Word::ARCH, syscall.token);
            of_arch = Some((syscall.token, numbers, Emulator::new(program.insns())));
        }
        let Some((_, numbers, emulator)) = &mut of_arch else { continue };
        let emulation = emulator.emulate(syscall.token, syscall.nr);
        // A path to a return tests nothing but the arch and the number.
        let executed = match program.insns().get(emulation.end) {
            Some(insn) if insn.op == Op::RetK => emulation.executed as f64,
            _ => {
                let rest = store.follow(*numbers, Word::NR, syscall.nr);
                executed(store, rest, program, syscall, endian)
            }
        };
        sum += weight * executed;
        total += weight;
    }
    (total > 0.0).then(|| sum / total)
}

/// The weights in the mean of syscalls for which the filter runs: theirs, or if none of them has one, the same for all of the
/// architectures that have weights.
fn filtered_weights(syscalls: &[WeightedSyscall]) -> Vec<f64> {
    let is_filtered = |syscall: &WeightedSyscall| syscall.permission == Permission::Filtered;
    let is_counted = syscalls.iter().any(|one| is_filtered(one) && one.weight > 0.0);
    let mut weights = Vec::with_capacity(syscalls.len());
    for of_arch in syscalls.chunk_by(is_of_same_arch) {
        let has_weight = of_arch.iter().any(|syscall| syscall.weight > 0.0);
        weights.extend(of_arch.iter().map(|syscall| match is_filtered(syscall) {
            false => 0.0,
            true if is_counted => syscall.weight,
            true => f64::from(u8::from(has_weight)),
        }));
    }
    weights
}

/// Whether two syscalls are of the same architecture; x32 has the token of x86-64.
fn is_of_same_arch(a: &WeightedSyscall, b: &WeightedSyscall) -> bool {
    Arch::of_syscall(a.token, a.nr) == Arch::of_syscall(b.token, b.nr)
}

/// The syscalls over which means are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Those with a weight.
    Weights,
    /// No syscall has a weight, so all that are permitted for some arguments, with equal weights.
    Permitted,
}

/// The syscalls with the weights that count: the given ones, or those of [`Basis::Permitted`].
pub(super) fn counted<'s>(
    store: &Store,
    meaning: Func,
    syscalls: &'s [WeightedSyscall],
) -> (Cow<'s, [WeightedSyscall]>, Basis) {
    if syscalls.iter().any(|syscall| syscall.weight > 0.0) {
        return (Cow::Borrowed(syscalls), Basis::Weights);
    }
    let mut all = syscalls.to_vec();
    for of_arch in all.chunk_by_mut(|a, b| a.token == b.token) {
        let Some(token) = of_arch.first().map(|syscall| syscall.token) else { continue };
        let numbers = store.follow(meaning, Word::ARCH, token);
        for syscall in of_arch {
            let rest = store.follow(numbers, Word::NR, syscall.nr);
            let permitted = query::permitted(store, rest, first_data(syscall));
            syscall.weight = f64::from(u8::from(permitted.is_some()));
        }
    }
    (Cow::Owned(all), Basis::Permitted)
}

/// A syscall with this number and all arguments 0.
fn first_data(syscall: &WeightedSyscall) -> SeccompData {
    SeccompData { arch: syscall.token, nr: syscall.nr, ..SeccompData::default() }
}

/// The number of instructions that a program executes for a syscall, as defined by [`expected_insns`]; `rest` is the
/// cofactor of the filter for the arch and the number.
pub(crate) fn executed(
    store: &Store,
    rest: Func,
    program: &LongProgram,
    syscall: &WeightedSyscall,
    endian: Endian,
) -> f64 {
    let executed = |data: &SeccompData| program.run(data, endian).executed as f64;
    if store.as_verdict(rest).is_some() {
        return executed(&first_data(syscall));
    }
    let samples = samples(store, rest, syscall);
    samples.iter().map(executed).sum::<f64>() / samples.len() as f64
}

/// Syscalls with this number that stand for all, as defined by [`expected_insns`]; at least one. `rest` is the cofactor
/// of the filter for the arch and the number.
pub(super) fn samples(store: &Store, rest: Func, syscall: &WeightedSyscall) -> Vec<SeccompData> {
    let first = first_data(syscall);
    if store.as_verdict(rest).is_some() {
        return vec![first];
    }
    let permitted = query::permitted_syscalls(store, rest, first);
    if permitted.is_empty() { vec![first] } else { permitted }
}
