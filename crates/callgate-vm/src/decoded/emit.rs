//! From a program to the internal form.
//!
//! Code is made in chains: from an instruction that somebody jumps to up to a return, a branch, or an
//! instruction that is already there. What is found on the way as a pattern becomes one operation: a
//! load and what it is compared with, a load and the bits that are taken out of it, comparisons in a
//! row ([`spread`]). An instruction inside of a pattern that somebody else jumps to begins a chain of
//! its own, so it is there twice.
//!
//! **Limits.** Tables are bounded by [`WORK`] and by the number of comparisons; without a table,
//! comparisons are made one by one. There are at most a few operations per instruction, so their
//! places fit a [`Target`].

use callgate_bpf::cfg::{Registers, Successors};
use callgate_bpf::{Insn, Op as Bpf, Relation, Source};

use super::op::{Code, Field, Op, Target, Test};
use super::window::Slow;
use crate::flow::walk::{Follow, Range, Walk};
use crate::flow::{Flow, Input, compares_constant};

/// How many steps all tables of a program may take to make.
const WORK: usize = 1 << 17;

/// So few comparisons are made one by one: of calls, and of packets.
const FEW: [usize; 2] = [2, 4];

/// What is not made yet.
pub(super) const NOWHERE: Target = Target::MAX;

pub(super) struct Emitter<'a> {
    pub(super) flow: &'a Flow,
    pub(super) code: Code,
    /// Per instruction: where its code is.
    pub(super) place: Vec<Target>,
    /// Instructions that somebody jumps to.
    pub(super) wanted: Vec<usize>,
    /// Those that have a place in the chain that is being made.
    chain: Vec<usize>,
    /// What packets that are too short for a probe will need.
    pub(super) slow: Vec<Slow>,
    pub(super) work: usize,
    walk: Walk,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(flow: &'a Flow) -> Emitter<'a> {
        Emitter {
            flow,
            code: Code::default(),
            place: vec![NOWHERE; flow.insns.len()],
            wanted: Vec::new(),
            chain: Vec::new(),
            slow: Vec::new(),
            work: WORK,
            walk: Walk::default(),
        }
    }

    pub(super) fn emit(mut self) -> Code {
        self.wanted.push(self.flow.dest(0));
        loop {
            if let Some(at) = self.wanted.pop() {
                if self.place.get(at) == Some(&NOWHERE) {
                    self.chain(at);
                }
            } else if let Some(slow) = self.slow.pop() {
                self.chain.clear();
                self.emit_slow(slow);
            } else {
                break;
            }
        }
        self.link();
        self.code
    }

    pub(super) fn insn(&self, at: usize) -> Option<Insn> {
        self.flow.insns.get(at).copied()
    }

    /// The next instruction that does something.
    pub(super) fn next(&self, at: usize) -> usize {
        self.flow.dest(at + 1)
    }

    /// Whether it is a seccomp filter.
    pub(super) fn of_calls(&self) -> bool {
        matches!(self.flow.input, Input::Call(_))
    }

    /// A place in the code for which there is no instruction: that of an operation by its index.
    pub(super) fn place_of(&mut self, operation: usize) -> Target {
        let target = Target::try_from(self.place.len()).unwrap_or(NOWHERE);
        self.place.push(Target::try_from(operation).unwrap_or(NOWHERE));
        target
    }

    /// A target, which will be made.
    pub(super) fn want(&mut self, at: usize) -> Target {
        let at = self.flow.dest(at);
        self.wanted.push(at);
        Target::try_from(at).unwrap_or(NOWHERE)
    }

    fn chain(&mut self, mut at: usize) {
        self.chain.clear();
        loop {
            let here = Target::try_from(self.code.ops.len()).unwrap_or(NOWHERE);
            match self.place.get_mut(at) {
                Some(place) if *place == NOWHERE => {
                    *place = here;
                    self.chain.push(at);
                }
                _ => {
                    let target = self.want(at);
                    self.code.ops.push(Op::Jump(target));
                    return;
                }
            }
            match self.one(at) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Makes code of an instruction, and perhaps of some behind it; where it goes on.
    fn one(&mut self, at: usize) -> Option<usize> {
        let insn = self.insn(at)?;
        let k = insn.k;
        if let Some(load) = self.load_of(insn) {
            return self.load(at, load);
        }
        let op = match insn.op {
            Bpf::RetK => {
                self.code.ops.push(Op::Ret(k));
                return None;
            }
            Bpf::RetA => {
                self.code.ops.push(Op::RetA);
                return None;
            }
            _ if compares_constant(insn) => {
                self.compare(at);
                return None;
            }
            op if op.is_branch() => {
                let (yes, no) = self.sides(at, insn)?;
                let (relation, _) = insn.comparison()?;
                // What was put in front of it here goes with it; who jumps here gets code without.
                let test = match *self.code.ops.as_slice() {
                    [.., Op::Tax, Op::Mem(k)] if relation == Relation::Equal => {
                        self.code.ops.truncate(self.code.ops.len() - 2);
                        self.forget_places_behind(self.code.ops.len());
                        Op::SwapEqX(k, yes, no)
                    }
                    _ => Op::TestX(relation, yes, no),
                };
                self.code.ops.push(test);
                return None;
            }
            Bpf::LdLen => Op::Len,
            Bpf::LdxLen => Op::LenX,
            Bpf::LdImm => Op::Imm(k),
            Bpf::LdxImm => Op::ImmX(k),
            Bpf::LdMem => return self.scratch_load(at, k),
            Bpf::LdxMem => Op::MemX(k as u8),
            Bpf::LdxMsh if (k as i32) < 0 => Op::SpecialMsh(k),
            Bpf::LdxMsh => Op::Msh(k),
            Bpf::St => Op::Store(k as u8),
            Bpf::Stx => Op::StoreX(k as u8),
            Bpf::Neg => Op::Neg,
            Bpf::Tax => Op::Tax,
            Bpf::Txa => Op::Txa,
            Bpf::AndK | Bpf::LshK | Bpf::RshK => {
                if let Some((field, next)) = self.field(at) {
                    self.code.ops.push(Op::Field(field));
                    return Some(next);
                }
                if let Some((mask, branch)) = self.masked_branch(at) {
                    let test = self.test(branch, mask)?;
                    self.code.ops.push(Op::Test(test));
                    return None;
                }
                Op::AluK(insn.arithmetic()?.0, k)
            }
            _ => match insn.arithmetic()? {
                (operation, Source::K(k)) => Op::AluK(operation, k),
                (operation, Source::X) => Op::AluX(operation),
            },
        };
        self.code.ops.push(op);
        Some(self.next(at))
    }

    /// `ld M[k]`, with a computation by X behind it.
    fn scratch_load(&mut self, at: usize, k: u32) -> Option<usize> {
        let next = self.next(at);
        if let Some(following) = self.insn(next)
            && let Some((operation, Source::X)) = following.arithmetic()
        {
            self.code.ops.push(Op::AluMemX(operation, k as u8));
            return Some(self.next(next));
        }
        self.code.ops.push(Op::Mem(k as u8));
        Some(next)
    }

    /// `and #mask` and a shift, in either order, as bits taken out of A; where it goes on.
    pub(super) fn field(&self, at: usize) -> Option<(Field, usize)> {
        let (first, next) = (self.insn(at)?, self.next(at));
        let second = self.insn(next)?;
        // A shift and then a mask is a mask that was shifted back, and a shift.
        let (mask, shift) = match (first.op, second.op) {
            (Bpf::AndK, Bpf::LshK | Bpf::RshK) => (first.k, second),
            (Bpf::LshK, Bpf::AndK) => (second.k.wrapping_shr(first.k), first),
            (Bpf::RshK, Bpf::AndK) => (second.k.wrapping_shl(first.k), first),
            _ => return None,
        };
        let distance = shift.k as u8 & 31;
        let (left, right) = if shift.op == Bpf::LshK { (distance, 0) } else { (0, distance) };
        Some((Field { mask, left, right }, self.next(next)))
    }

    /// `and #mask` and a comparison behind it, when nobody wants to know the masked A: the mask and
    /// where the comparison is.
    pub(super) fn masked_branch(&self, at: usize) -> Option<(u32, usize)> {
        let insn = self.insn(at)?;
        let branch = self.next(at);
        let fits = insn.op == Bpf::AndK && compares_constant(self.insn(branch)?);
        (fits && !self.flow.live_after(branch).intersects(Registers::A)).then_some((insn.k, branch))
    }

    /// Lets nobody jump behind an operation, which took the place of what was there: whoever wants to
    /// gets code of its own.
    pub(super) fn forget_places_behind(&mut self, operation: usize) {
        while let Some(&at) = self.chain.last()
            && let Some(place) = self.place.get_mut(at)
            && usize::from(*place) > operation
        {
            *place = NOWHERE;
            self.chain.pop();
        }
    }

    /// Where a branch leads. The side that is wanted last is made first, right behind the branch: the
    /// other one when this one returns.
    fn sides(&mut self, at: usize, insn: Insn) -> Option<(Target, Target)> {
        let Successors::Branch { taken, otherwise } = insn.successors(at) else { return None };
        let (yes, no) = (self.want(taken), self.want(otherwise));
        if self.insn(usize::from(no)).is_some_and(|insn| insn.op.is_return()) {
            self.wanted.push(usize::from(yes));
        }
        Some((yes, no))
    }

    pub(super) fn test(&mut self, at: usize, mask: u32) -> Option<Test> {
        let insn = self.insn(at)?;
        let k = insn.k;
        let (mask, lo, span) = match insn.comparison()?.0 {
            Relation::Equal => (mask, k, 0),
            // What never holds was folded away, unless there is a mask.
            Relation::Greater if k == u32::MAX => (0, 1, 0),
            Relation::Greater => (mask, k + 1, u32::MAX - (k + 1)),
            Relation::AtLeast => (mask, k, u32::MAX - k),
            Relation::Shares => (mask & k, 1, u32::MAX - 1),
        };
        let (yes, no) = self.sides(at, insn)?;
        Some(Test { mask, lo, span, yes, no })
    }

    /// Comparisons of A: a table, or one of them.
    fn compare(&mut self, at: usize) {
        // What A holds may be loaded again at the same time. After a probe it is not there.
        let loaded = self.flow.loaded(at).and_then(|load| self.load_of(load));
        if let Some(pieces) = self.spread(at) {
            if let Some(load) = loaded.filter(|_| !self.of_calls()) {
                self.code.ops.push(load.plain());
            }
            self.table(&pieces, false);
        } else if self.probe(at).is_none()
            && let Some(test) = self.test(at, u32::MAX)
        {
            match loaded {
                Some(load) => {
                    self.fuse(load, test);
                }
                None => self.code.ops.push(Op::Test(test)),
            }
        }
    }

    /// Where all values of A go from a comparison on, when a table is worth it: there are enough
    /// comparisons, and `work` is not used up. Returns of one value are one destination.
    pub(super) fn spread(&mut self, at: usize) -> Option<Vec<Range>> {
        self.walk.start(self.flow, at, Follow::All, &mut self.work)?;
        if self.walk.len() <= FEW[usize::from(!self.of_calls())] {
            return None;
        }
        let mut ranges = self.walk.ranges(self.flow);
        let mut known: Vec<(u64, Target)> = Vec::new();
        for range in &mut ranges {
            match known.iter().find(|(key, _)| *key == range.key) {
                Some(&(_, to)) => range.to = to,
                None => known.push((range.key, range.to)),
            }
        }
        (ranges.len() >= 2).then_some(ranges)
    }
}
