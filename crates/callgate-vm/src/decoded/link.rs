//! The last steps of the translation: resolution of targets, from indices of instructions to places in the code, and fusion of pairs
//! of operations.

use std::collections::HashMap;

use super::emit::Emitter;
use super::op::{Code, NOWHERE, Op, Target, Test, Whole};

impl Emitter<'_> {
    /// Replaces indices of instructions by places in the code.
    pub(super) fn link(&mut self) {
        let returns = self.returns();
        let ops_at = self.code.probes.len();
        let returns_at = ops_at + self.code.ops.len();
        let ops = &self.code.ops;
        let places: Vec<Target> = self
            .place
            .iter()
            .map(|&at| {
                let place = match ops.get(usize::from(at)) {
                    Some(Op::Probe(probe)) => usize::from(*probe),
                    Some(Op::Ret(value)) => match returns.get(value) {
                        Some(at) => returns_at + at,
                        None => ops_at + usize::from(at),
                    },
                    Some(_) => ops_at + usize::from(at),
                    None => return NOWHERE,
                };
                Target::try_from(place).unwrap_or(NOWHERE)
            })
            .collect();
        let place = |target: &mut Target| {
            *target = places.get(usize::from(*target)).copied().unwrap_or(NOWHERE);
        };
        let Code { probes, ops, targets, entry, .. } = &mut self.code;
        ops.iter_mut().flat_map(Op::targets_mut).flatten().for_each(place);
        for (at, probe) in probes.iter_mut().enumerate() {
            place(&mut probe.slow);
            probe.to.iter_mut().for_each(place);
            probe.foresee(at, |to| usize::from(to) < returns_at);
        }
        targets.iter_mut().for_each(place);
        *entry = Target::try_from(self.flow.dest(0)).unwrap_or(NOWHERE);
        place(entry);
    }

    /// Collects the returned values; each becomes a place of its own, which saves a dispatch.
    fn returns(&mut self) -> HashMap<u32, usize> {
        let Code { returns, ops, .. } = &mut self.code;
        let mut known = HashMap::new();
        for op in ops.iter() {
            if let Op::Ret(value) = *op {
                known.entry(value).or_insert_with(|| {
                    returns.push(value);
                    returns.len() - 1
                });
            }
        }
        known
    }
}

pub(super) fn join(code: &mut Code) {
    for at in 0..code.ops.len() {
        let behind = code.ops.get(at + 1).copied();
        let joined = match (code.ops.get(at).copied(), behind) {
            (Some(Op::TestArch(test)), _) if test.mask == u32::MAX && test.span == 0 => {
                match code.operation(test.yes.into()) {
                    Some(&Op::DenseNr(dense)) => Some(Op::ArchDenseNr(test.lo, test.no, dense)),
                    _ => None,
                }
            }
            (Some(Op::TestArg(arg, shift, test)), _) => halves(code, arg, shift, &test),
            (Some(Op::HalfMinusX(k)), Some(Op::Store(word))) => Some(Op::KeepHalfMinusX(k, word)),
            (Some(Op::IndexedFieldByte(k, field)), Some(Op::SwapEqX(word, yes, no))) => {
                Some(Op::IndexedFieldEq(k, field, word, yes, no))
            }
            _ => None,
        };
        if let (Some(joined), Some(op)) = (joined, code.ops.get_mut(at)) {
            *op = joined;
        }
    }
}

/// A test as `half & mask == value`, and its targets if that holds and otherwise.
fn equality(test: &Test) -> Option<(u32, u32, Target, Target)> {
    match (test.lo, test.span) {
        (value, 0) => Some((test.mask, value, test.yes, test.no)),
        // `half & mask != 0`, with the targets swapped.
        (1, span) if span == u32::MAX - 1 => Some((test.mask, 0, test.no, test.yes)),
        _ => None,
    }
}

fn halves(code: &Code, arg: u8, shift: u8, first: &Test) -> Option<Op> {
    let (mask, value, next, no) = equality(first)?;
    let Some(&Op::TestArg(other, other_shift, second)) = code.operation(next.into()) else {
        return None;
    };
    let (other_mask, other_value, yes, other_no) = equality(&second)?;
    let fits = other == arg && other_shift != shift && other_no == no;
    if !fits || !forgets_a(code, yes) || !forgets_a(code, no) {
        return None;
    }
    let (mut mask, mut value) = ([mask, other_mask], [value, other_value]);
    if shift != 0 {
        mask.reverse();
        value.reverse();
    }
    Some(Op::TestWhole(Whole { mask, value, arg, yes, no }))
}

/// Whether A is dead before the operation at a place.
fn forgets_a(code: &Code, at: Target) -> bool {
    match code.operation(at.into()) {
        // A return of a constant.
        None => true,
        Some(op) => matches!(
            op,
            Op::Ret(_)
                | Op::LoadNr
                | Op::LoadArch
                | Op::LoadArg(..)
                | Op::LoadIp(_)
                | Op::TestNr(_)
                | Op::TestArch(_)
                | Op::TestArg(..)
                | Op::DenseNr(_)
                | Op::ArchDenseNr(..)
                | Op::Imm(_)
                | Op::Mem(_)
        ),
    }
}
