//! Instructions, written from the last to the first: the distance of each target is known when a test is added.

use callgate_core::{Insn, Op, Verdict};

/// Instructions from the last to the first. A place is the number of instructions after it.
#[derive(Default)]
pub(super) struct Backwards {
    insns: Vec<Insn>,
    returns: Vec<(Verdict, usize)>,
}

impl Backwards {
    /// The instructions, in order.
    pub(super) fn into_insns(mut self) -> Vec<Insn> {
        self.insns.reverse();
        self.insns
    }

    /// The place of the return of a verdict.
    pub(super) fn verdict(&mut self, verdict: Verdict) -> usize {
        if let Some((_, at)) = self.returns.iter().find(|(known, _)| *known == verdict) {
            return *at;
        }
        let at = self.add(Insn::new(Op::RetK, verdict.0));
        self.returns.push((verdict, at));
        at
    }

    /// A load before the code at a place; `None` unless that is the latest.
    pub(super) fn load(&mut self, offset: u32, next: usize) -> Option<usize> {
        (next + 1 == self.insns.len()).then(|| self.add(Insn::new(Op::LdWordAbs, offset)))
    }

    /// A test, unless both results lead to the same place; `None` if a target is too far away.
    pub(super) fn test(&mut self, op: Op, k: u32, then: usize, otherwise: usize) -> Option<usize> {
        if then == otherwise {
            return Some(then);
        }
        let distance = |to: usize| u8::try_from(self.insns.len().checked_sub(to + 1)?).ok();
        let (jt, jf) = (distance(then)?, distance(otherwise)?);
        Some(self.add(Insn::branch(op, k, jt, jf)))
    }

    fn add(&mut self, insn: Insn) -> usize {
        self.insns.push(insn);
        self.insns.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_distances() {
        let mut code = Backwards::default();
        let deny = code.verdict(Verdict::errno(1));
        let allow = code.verdict(Verdict::ALLOW);
        assert_eq!(code.verdict(Verdict::errno(1)), deny);
        assert_eq!(code.test(Op::JeqK, 7, allow, allow), Some(allow));
        let test = code.test(Op::JeqK, 7, allow, deny).unwrap();
        assert_eq!(code.load(0, allow), None);
        code.load(0, test).unwrap();
        let insns = [
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, Verdict::errno(1).0),
        ];
        assert_eq!(code.into_insns(), insns);
    }

    #[test]
    fn targets_may_be_255_instructions_away() {
        let mut code = Backwards::default();
        let deny = code.verdict(Verdict::errno(1));
        let allow = code.verdict(Verdict::ALLOW);
        let mut entry = allow;
        for k in 0..255 {
            entry = code.test(Op::JeqK, k, deny, entry).unwrap();
        }
        assert_eq!(code.test(Op::JeqK, 255, deny, entry), None);
        let first = code.into_insns()[0];
        assert_eq!((first.jt, first.jf), (255, 0));
    }
}
