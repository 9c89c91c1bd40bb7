//! The expected cost of a program: the mean number of executed instructions.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use callgate_bpf::data::{Endian, SeccompData, Word};
use callgate_bpf::{LongProgram, Op, emulate_observed, slack_within};
use callgate_codegen::{WeightedSyscall, query};
use callgate_proof::diagram::{Func, Store};

/// The mean number of instructions that a program executes under weights. Without weights, it is the mean over the
/// syscalls that are permitted for some arguments; `None` if there are none.
///
/// The figure of a syscall whose verdict depends on arguments is the mean over the permitted intervals of the first word
/// with more than one of them. If that word has more than 64 intervals, permitted or not, it is the figure for
/// one permitted value. If nothing is permitted, all arguments are 0.
pub fn expected_insns(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    syscalls: &[WeightedSyscall],
    endian: Endian,
) -> Option<f64> {
    let (syscalls, _) = counted(store, meaning, syscalls);
    let (mut sum, mut total) = (0.0, 0.0);
    for of_arch in syscalls.chunk_by(|a, b| a.token == b.token) {
        // The cofactor for an arch is computed once, not once per syscall.
        let token = of_arch.first().map(|syscall| syscall.token);
        let numbers = token.map_or(meaning, |token| store.follow(meaning, Word::ARCH, token));
        let mut numbers = query::ByNumber::new(store, numbers);
        let mut path: Option<ConstantPath> = None;
        for syscall in of_arch.iter().filter(|syscall| syscall.weight > 0.0) {
            if path.as_ref().is_none_or(|path| !path.numbers.contains(&syscall.nr)) {
                path = ConstantPath::new(program, syscall);
            }
            let executed = match &path {
                Some(path) => path.executed as f64,
                None => executed(store, numbers.cofactor(syscall.nr), program, syscall, endian),
            };
            sum += syscall.weight * executed;
            total += syscall.weight;
        }
    }
    (total > 0.0).then(|| sum / total)
}

/// A path that tests nothing but the arch and the number.
struct ConstantPath {
    /// Numbers of the same arch that take it.
    numbers: RangeInclusive<u32>,
    /// The number of its instructions.
    executed: usize,
}

impl ConstantPath {
    /// The path of a syscall; `None` if it loads other words.
    fn new(program: &LongProgram, syscall: &WeightedSyscall) -> Option<ConstantPath> {
        let (mut executed, mut slack, mut is_number) = (1, u32::MAX, false);
        let end = emulate_observed(program.insns(), syscall.token, syscall.nr, |insn, a| {
            executed += 1;
            let further = match (insn.op, insn.comparison()) {
                (Op::LdWordAbs, _) => {
                    is_number = insn.k == Word::NR.offset(Endian::NATIVE);
                    u32::MAX
                }
                // What is masked increases alike before.
                (Op::AndK, _) => slack_within(a, insn.k.trailing_ones()),
                (_, Some((relation, _))) => relation.slack(a, insn.k),
                _ => u32::MAX,
            };
            slack = slack.min(if is_number { further } else { u32::MAX });
        });
        let returns = program.insns().get(end).is_some_and(|insn| insn.op == Op::RetK);
        let numbers = syscall.nr..=syscall.nr.saturating_add(slack);
        returns.then_some(ConstantPath { numbers, executed })
    }
}

/// The syscalls over which means are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Those with a weight.
    Weights,
    /// None has a weight, so those that are permitted for some arguments, as if they were equally frequent.
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

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Insn;
    use callgate_bpf::random::Rng;

    /// Comparisons of the arch and the number, masked or not, in any order.
    #[test]
    fn all_numbers_of_a_constant_path_execute_the_same_instructions() {
        let mut rng = Rng::new(1);
        let (mut constant, mut numbers) = (0, 0);
        for _ in 0..500 {
            let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
            for left in (2..20).rev() {
                let k = rng.below(40) as u32;
                let [jt, jf] = [(); 2].map(|()| rng.below(left) as u8);
                insns.push(match rng.below(9) {
                    0 => Insn::new(Op::LdWordAbs, [0, 4, 4, 16][k as usize % 4]),
                    1 => Insn::new(Op::AndK, k),
                    _ => {
                        let op = rng.pick(&[Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK]).unwrap();
                        Insn::branch(op, k, jt, jf)
                    }
                });
            }
            insns.extend([0, 1].map(|value| Insn::new(Op::RetK, value)));
            let program = LongProgram::new(insns).unwrap();
            for nr in 0..48 {
                let syscall = WeightedSyscall { token: 9, nr, weight: 1.0, always_allowed: false };
                let Some(path) = ConstantPath::new(&program, &syscall) else { continue };
                constant += 1;
                for same in path.numbers.take_while(|nr| *nr < 64) {
                    let data = SeccompData { arch: 9, nr: same, ..SeccompData::default() };
                    let run = program.run(&data, Endian::NATIVE);
                    assert_eq!(run.executed, path.executed, "{same} as {nr}: {program:?}");
                    numbers += 1;
                }
            }
        }
        assert!(constant > 5_000 && numbers > 2 * constant, "{constant} {numbers}");
    }
}
