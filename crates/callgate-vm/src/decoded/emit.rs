//! Translation from simplified instructions to the internal form.
//!
//! Code is emitted in chains: from a jump target to a return, a branch, or an instruction that was
//! already emitted. Known patterns become one operation: a load and a comparison, a load and a bit field
//! extraction, consecutive comparisons. An instruction inside a pattern that is a jump target as well
//! begins a chain of its own, so it is emitted twice.
//!
//! **Limits.** [`WORK`] and the number of comparisons bound the size of tables; without a table,
//! comparisons are emitted one by one. Each instruction becomes at most a few operations, so their
//! places fit into a [`Target`].

use callgate_core::cfg::{Registers, Successors};
use callgate_core::{Insn, Op as Bpf, Relation, Source, Width, Word};

use super::op::{Code, Field, Load, NOWHERE, Op, Slow, Target, Test};
use crate::flow::walk::{Follow, Range, Walk};
use crate::flow::{Flow, Input, compares_constant, is_special};

/// How many steps the construction of all tables of a program may take.
const WORK: usize = 1 << 17;

/// At most this many comparisons are emitted one by one: in seccomp filters, and in socket filters.
const FEW: [usize; 2] = [2, 4];

pub(super) struct Emitter<'a> {
    pub(super) flow: &'a Flow,
    pub(super) code: Code,
    /// Per instruction: the place of its code.
    pub(super) place: Vec<Target>,
    /// Jump targets that may not be emitted yet.
    pub(super) wanted: Vec<usize>,
    /// The instructions in the current chain.
    chain: Vec<usize>,
    /// Code still to be emitted for packets that are too short for a probe.
    pub(super) slow: Vec<Slow>,
    pub(super) work: usize,
    walk: Walk,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(flow: &'a Flow) -> Emitter<'a> {
        Emitter {
            flow,
            code: Code::default(),
            place: vec![NOWHERE; flow.len()],
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
        self.flow.insn(at)
    }

    /// The next instruction that has an effect.
    pub(super) fn next(&self, at: usize) -> usize {
        self.flow.dest(at + 1)
    }

    /// Whether it is a seccomp filter.
    pub(super) fn of_syscalls(&self) -> bool {
        matches!(self.flow.input, Input::Syscall(_))
    }

    /// A target for an operation that belongs to no instruction, by the index of the operation.
    pub(super) fn place_of(&mut self, operation: usize) -> Target {
        let target = Target::try_from(self.place.len()).unwrap_or(NOWHERE);
        self.place.push(Target::try_from(operation).unwrap_or(NOWHERE));
        target
    }

    /// A target, which will be emitted.
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

    /// Emits an instruction, perhaps with some after it; returns the next one to emit.
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
                // Fused with the operations before it. Jumps to this instruction get code of their own.
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

    /// `ld M[k]`, fused with an operation with X after it.
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

    /// `and #mask` and a shift, in either order, as the extraction of a bit field; and the next instruction.
    pub(super) fn field(&self, at: usize) -> Option<(Field, usize)> {
        let (first, next) = (self.insn(at)?, self.next(at));
        let second = self.insn(next)?;
        // A shift before the mask is the same as the mask shifted back, before the shift.
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

    /// `and #mask` and a comparison after it, if the masked A is dead afterwards: the mask and the index
    /// of the comparison.
    pub(super) fn masked_branch(&self, at: usize) -> Option<(u32, usize)> {
        let insn = self.insn(at)?;
        let branch = self.next(at);
        let fits = insn.op == Bpf::AndK && compares_constant(self.insn(branch)?);
        (fits && !self.flow.live_after(branch).intersects(Registers::A)).then_some((insn.k, branch))
    }

    /// Withdraws the places after an operation, which replaced the operations there. Jumps to them get code
    /// of their own.
    pub(super) fn forget_places_behind(&mut self, operation: usize) {
        while let Some(&at) = self.chain.last()
            && let Some(place) = self.place.get_mut(at)
            && usize::from(*place) > operation
        {
            *place = NOWHERE;
            self.chain.pop();
        }
    }

    /// The targets of a branch. The target that is requested last is emitted first, right after the
    /// branch: the taken one if the fall-through returns.
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
            // A comparison that never holds was folded, unless there is a mask.
            Relation::Greater if k == u32::MAX => (0, 1, 0),
            Relation::Greater => (mask, k + 1, u32::MAX - (k + 1)),
            Relation::AtLeast => (mask, k, u32::MAX - k),
            Relation::Shares => (mask & k, 1, u32::MAX - 1),
        };
        let (yes, no) = self.sides(at, insn)?;
        Some(Test { mask, lo, span, yes, no })
    }

    /// Emits a comparison of A: a table of several, a probe, or the comparison itself.
    fn compare(&mut self, at: usize) {
        // A may be loaded again with the comparison; after a probe, it does not hold the value.
        let loaded = self.flow.loaded(at).and_then(|load| self.load_of(load));
        if let Some(pieces) = self.spread(at) {
            if let Some(load) = loaded.filter(|_| !self.of_syscalls()) {
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

    /// The destinations of all values of A from a comparison on, if a table pays off: there are enough
    /// comparisons, and `work` is not used up. All returns of one value are one destination.
    fn spread(&mut self, at: usize) -> Option<Vec<Range>> {
        // A comparison alone, as most of those of arguments are, needs no walk.
        let insn = self.insn(at)?;
        let is_followed = |to: usize| self.insn(self.flow.dest(to)).is_some_and(compares_constant);
        if !insn.successors(at).into_iter().any(is_followed) {
            return None;
        }
        self.walk.start(self.flow, at, Follow::All, &mut self.work)?;
        if !self.walk.has_more_than(FEW[usize::from(!self.of_syscalls())]) {
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

impl Emitter<'_> {
    /// What an instruction loads into A; `None` if it is not a load.
    pub(super) fn load_of(&self, insn: Insn) -> Option<Load> {
        let (width, k) = (insn.op.width().filter(|_| insn.op != Bpf::LdxMsh)?, insn.k);
        if matches!(insn.op, Bpf::LdWordInd | Bpf::LdHalfInd | Bpf::LdByteInd) {
            return Some(Load::Indexed(width, k));
        }
        let Input::Syscall(endian) = self.flow.input else {
            return Some(match width {
                width if is_special(k) => Load::Special(width, k),
                width => Load::Packet(width, k),
            });
        };
        // Accepted programs load nothing else.
        let Some(word) = Word::from_offset(k, endian) else { return Some(Load::Nowhere) };
        Some(match (word, word.argument()) {
            (Word::NR, _) => Load::Nr,
            (Word::ARCH, _) => Load::Arch,
            (_, Some((arg, high))) => Load::Arg(arg, if high { 32 } else { 0 }),
            (word, None) => Load::Ip(if word == Word::IP_HIGH { 32 } else { 0 }),
        })
    }

    /// Emits a load and what is fused with it; returns the next instruction to emit.
    pub(super) fn load(&mut self, at: usize, load: Load) -> Option<usize> {
        let next = self.next(at);
        let following = self.insn(next)?;
        if compares_constant(following)
            && let Some(pieces) = self.spread(next)
        {
            if let Load::Nr = load {
                self.table(&pieces, true);
            } else {
                self.code.ops.push(load.plain());
                self.table(&pieces, false);
            }
            return None;
        }
        if self.probe(at).is_some() {
            return None;
        }
        if compares_constant(following) {
            let test = self.test(next, u32::MAX)?;
            return self.fuse(load, test);
        }
        if let Some((mask, branch)) = self.masked_branch(next) {
            let test = self.test(branch, mask)?;
            return self.fuse(load, test);
        }
        if let (Load::Packet(Width::Half, k), Bpf::SubX) = (load, following.op) {
            self.code.ops.push(Op::HalfMinusX(k));
            return Some(self.next(next));
        }
        if let Some((field, after)) = self.field(next) {
            match load {
                // Programs compute the length of an IP header like this for a later `sub x`.
                Load::Packet(Width::Byte, k) => self.code.ops.push(Op::FieldByte(k, field)),
                Load::Indexed(Width::Byte, k) => {
                    self.code.ops.push(Op::IndexedFieldByte(k, field));
                }
                _ => self.code.ops.extend([load.plain(), Op::Field(field)]),
            }
            return Some(after);
        }
        self.code.ops.push(load.plain());
        if let Load::Nowhere = load { None } else { Some(next) }
    }

    /// Emits a load and a test, fused if there is an operation for both.
    pub(super) fn fuse(&mut self, load: Load, test: Test) -> Option<usize> {
        let op = match load {
            Load::Nr => Op::TestNr(test),
            Load::Arch => Op::TestArch(test),
            Load::Arg(arg, shift) => Op::TestArg(arg, shift, test),
            Load::Packet(Width::Byte, k) => Op::TestByte(k, test),
            Load::Packet(Width::Half, k) => Op::TestHalf(k, test),
            Load::Packet(Width::Word, k) => Op::TestWord(k, test),
            Load::Indexed(width, k) => Op::TestIndexed(width, k, test),
            Load::Ip(_) | Load::Special(..) | Load::Nowhere => {
                self.code.ops.push(load.plain());
                Op::Test(test)
            }
        };
        self.code.ops.push(op);
        None
    }
}
