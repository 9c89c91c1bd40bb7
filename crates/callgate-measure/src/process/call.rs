//! A recorded syscall, and what filters may have seen of it.

use callgate::SeccompData;
use callgate_core::{Endian, Op};

use crate::subject::Subject;
use crate::syscalls::MeasurableSyscall;

/// How many combinations of argument values are tried for a syscall.
const MOST_COMBINATIONS: usize = 1024;

/// The offset of the first argument in `struct seccomp_data`, and the size of each.
const ARGS: u32 = 16;
const ARG: u32 = 8;

/// The values of an argument that were recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentValues {
    /// These and no others.
    All(Vec<u64>),
    /// Many, of which only the smallest and the largest are known.
    Between(u64, u64),
    /// They are not known.
    Unknown,
}

/// A syscall of a process.
#[derive(Clone, Debug)]
pub struct ProcessCall {
    /// Its name; with the ABI if the machine has another one.
    pub name: String,
    /// How often it was made.
    pub count: u64,
    /// The syscall with safe arguments; `None` if it has none.
    pub(super) stand_in: Option<MeasurableSyscall>,
    /// What the filters may have seen: each combination of recorded values of the arguments that they load.
    pub(super) seen: Vec<SeccompData>,
    /// Whether they may have seen other values.
    pub(super) are_others: bool,
}

impl ProcessCall {
    /// A syscall by the arch token and the number that filters see, with the values of its arguments. Arguments at the end may
    /// be missing.
    pub fn new(
        name: impl Into<String>,
        count: u64,
        (arch, nr): (u32, u32),
        args: &[ArgumentValues],
        stand_in: Option<MeasurableSyscall>,
        filters: &Subject,
    ) -> ProcessCall {
        let usual = stand_in.map_or([0; 6], |call| call.args());
        let base = SeccompData { nr, arch, args: usual, ..SeccompData::default() };
        let (mut seen, mut tried, mut are_others) = (vec![base], [false; 6], false);
        // Each turn finds the arguments that are loaded with the values so far, so there are at most seven.
        loop {
            let is_new = |slot: &usize| !tried[*slot];
            let Some(slot) = seen.iter().flat_map(|one| loaded(filters, one)).find(is_new) else {
                break;
            };
            tried[slot] = true;
            let (values, is_complete) = match args.get(slot) {
                Some(ArgumentValues::All(values)) if !values.is_empty() => (values.clone(), true),
                Some(ArgumentValues::Between(least, most)) => (vec![*least, *most], false),
                _ => (vec![usual[slot]], false),
            };
            let is_small = seen.len() * values.len() <= MOST_COMBINATIONS;
            let values = match (values.first(), values.last()) {
                (Some(first), Some(last)) if !is_small => vec![*first, *last],
                _ => values,
            };
            are_others |= !is_complete || !is_small;
            let with = |one: &SeccompData, value: u64| {
                let mut args = one.args;
                args[slot] = value;
                SeccompData { args, ..*one }
            };
            seen = seen
                .iter()
                .flat_map(|one| values.iter().map(move |value| with(one, *value)))
                .collect();
        }
        ProcessCall { name: name.into(), count, stand_in, seen, are_others }
    }
}

/// The indices of the arguments that the filters load for a syscall.
fn loaded(filters: &Subject, data: &SeccompData) -> impl Iterator<Item = usize> + use<> {
    let mut slots = [false; 6];
    let endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
    for program in filters.programs() {
        program.trace(data, endian, |step| {
            let offset = step.insn.k.checked_sub(ARGS).filter(|_| step.insn.op == Op::LdWordAbs);
            if let Some(slot) = offset.and_then(|offset| slots.get_mut((offset / ARG) as usize)) {
                *slot = true;
            }
        });
    }
    (0..6).filter(move |slot| slots[*slot])
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::{Insn, Program};

    use super::*;

    /// Loads the first argument; if that is 7, the third one, else nothing more.
    fn filters() -> Subject {
        let insns = vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::LdWordAbs, 32),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ];
        Subject::new("x", Program::new(insns)).unwrap()
    }

    fn call(args: &[ArgumentValues]) -> ProcessCall {
        ProcessCall::new("x", 1, (1, 2), args, None, &filters())
    }

    fn args(call: &ProcessCall) -> Vec<[u64; 6]> {
        call.seen.iter().map(|one| one.args).collect()
    }

    #[test]
    fn only_what_filters_load_is_combined() {
        use ArgumentValues::{All, Between, Unknown};
        let many = || All((0..200).collect());
        let own = call(&[All(vec![1, 2]), many(), many()]);
        assert_eq!(args(&own), [[1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]]);
        assert!(!own.are_others);
        // With 7, the third one is loaded too.
        let own = call(&[All(vec![1, 7]), many(), All(vec![3, 4])]);
        let expected = [[1, 0, 3], [1, 0, 4], [7, 0, 3], [7, 0, 4]];
        assert_eq!(args(&own), expected.map(|[a, b, c]| [a, b, c, 0, 0, 0]));
        assert!(!own.are_others);
        let own = call(&[Between(0, 9)]);
        assert_eq!((args(&own).len(), own.are_others), (2, true));
        assert_eq!((args(&call(&[Unknown])).len(), call(&[]).are_others), (1, true));
    }

    #[test]
    fn combinations_are_limited() {
        use ArgumentValues::All;
        let many = || All((0..1000).collect());
        let own = call(&[many(), All(vec![0]), many()]);
        assert_eq!((own.seen.len(), own.are_others), (2000, true));
    }
}
