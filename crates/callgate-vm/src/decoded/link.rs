//! Target resolution, the last step: from indices of instructions to places in the code.

use std::collections::HashMap;

use super::emit::Emitter;
use super::op::{Code, Op};
use super::target::{NOWHERE, Target};

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
