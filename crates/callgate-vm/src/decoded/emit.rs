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

use std::collections::HashMap;

use callgate::bpf::{Insn, Op as Bpf, Width};
use callgate::{Endian, Word};

use super::flow::{A, Flow, alu, comparison};
use super::op::{Cmp, Code, Field, Op, Probe, Target, Test};
use super::spread::{Piece, is_constant_branch, spread};

/// How many steps all tables of a program may take to make.
const WORK: usize = 1 << 17;

/// What is not made yet.
pub(super) const NOWHERE: Target = Target::MAX;

pub(super) struct Emitter<'a> {
    flow: &'a Flow,
    endian: Endian,
    pub(super) code: Code,
    /// Per instruction: where its code is.
    pub(super) place: Vec<Target>,
    /// Instructions that somebody jumps to.
    pub(super) wanted: Vec<usize>,
    /// Those that have a place in the chain that is being made.
    chain: Vec<usize>,
    pub(super) work: usize,
}

/// A load at a constant offset, resolved.
#[derive(Clone, Copy)]
enum Load {
    Nr,
    Arch,
    Arg(u8, u8),
    Ip(u8),
    Packet(Width, u32),
    Indexed(Width, u32),
    Special(Width, u32),
    /// A load that never succeeds.
    Nowhere,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(flow: &'a Flow, endian: Endian) -> Emitter<'a> {
        Emitter {
            flow,
            endian,
            code: Code::default(),
            place: vec![NOWHERE; flow.insns.len()],
            wanted: Vec::new(),
            chain: Vec::new(),
            work: WORK,
        }
    }

    pub(super) fn emit(mut self) -> Code {
        self.wanted.push(self.flow.resolve(0));
        while let Some(at) = self.wanted.pop() {
            if self.place.get(at) == Some(&NOWHERE) {
                self.chain(at);
            }
        }
        self.link();
        self.code
    }

    /// Puts places in the code where places in the program stand.
    fn link(&mut self) {
        let Code { probes, returns, ops, .. } = &mut self.code;
        // A return is a place of its own, which saves its dispatch.
        let mut known: HashMap<u32, usize> = HashMap::new();
        for op in ops.iter() {
            if let Op::Ret(value) = *op {
                known.entry(value).or_insert_with(|| {
                    returns.push(value);
                    returns.len() - 1
                });
            }
        }
        let (returns_at, ops_at) = (probes.len(), probes.len() + returns.len());
        let places: Vec<Target> = self
            .place
            .iter()
            .map(|&at| {
                let place = match ops.get(usize::from(at)) {
                    Some(Op::Probe(probe)) => usize::from(*probe),
                    Some(Op::Ret(value)) => match known.get(value) {
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
        self.code.ops.iter_mut().flat_map(Op::targets_mut).flatten().for_each(place);
        for (at, probe) in self.code.probes.iter_mut().enumerate() {
            let test = &mut probe.test;
            for target in [&mut test.yes, &mut test.no, &mut probe.other_yes] {
                place(target);
            }
            probe.yes_is_next = usize::from(test.yes) == at + 1;
            probe.no_is_next = usize::from(test.no) == at + 1;
        }
        self.code.targets.iter_mut().for_each(place);
        self.code.entry = Target::try_from(self.flow.resolve(0)).unwrap_or(NOWHERE);
        place(&mut self.code.entry);
    }

    fn insn(&self, at: usize) -> Option<Insn> {
        self.flow.insns.get(at).copied()
    }

    /// The next instruction that does something.
    fn next(&self, mut at: usize) -> usize {
        at = self.flow.resolve(at + 1);
        while self.flow.is_dead(at) {
            at = self.flow.resolve(at + 1);
        }
        at
    }

    /// A target, which will be made.
    fn want(&mut self, at: usize) -> Target {
        let at = self.flow.resolve(at);
        self.wanted.push(at);
        Target::try_from(at).unwrap_or(NOWHERE)
    }

    fn chain(&mut self, mut at: usize) {
        self.chain.clear();
        loop {
            let here = Target::try_from(self.code.ops.len()).unwrap_or(NOWHERE);
            // What is dead has the place of what comes behind it.
            while self.flow.is_dead(at) {
                if let Some(place) = self.place.get_mut(at) {
                    *place = here;
                    self.chain.push(at);
                }
                at = self.flow.resolve(at + 1);
            }
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
        let op = match insn.op {
            Bpf::RetK => {
                self.code.ops.push(Op::Ret(k));
                return None;
            }
            Bpf::RetA => {
                self.code.ops.push(Op::RetA);
                return None;
            }
            Bpf::LdWordAbs | Bpf::LdHalfAbs | Bpf::LdByteAbs => {
                return self.load(at, self.absolute(insn));
            }
            Bpf::LdWordInd => return self.load(at, Load::Indexed(Width::Word, k)),
            Bpf::LdHalfInd => return self.load(at, Load::Indexed(Width::Half, k)),
            Bpf::LdByteInd => return self.load(at, Load::Indexed(Width::Byte, k)),
            op if is_constant_branch(op) => {
                self.compare(at);
                return None;
            }
            op if op.is_branch() => {
                let (yes, no) = self.sides(at, insn);
                let cmp = comparison(op)?;
                // What was put in front of it here goes with it; who jumps here gets code without.
                let test = match *self.code.ops.as_slice() {
                    [.., Op::Tax, Op::Mem(k)] => {
                        self.code.ops.truncate(self.code.ops.len() - 2);
                        self.forget_places_behind(self.code.ops.len());
                        Op::SwapTestX(cmp, k, yes, no)
                    }
                    _ => Op::TestX(cmp, yes, no),
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
                Op::AluK(alu(insn.op)?.0, k)
            }
            op => match alu(op)? {
                (operation, by_constant) if by_constant == op => Op::AluK(operation, k),
                (operation, _) => Op::AluX(operation),
            },
        };
        self.code.ops.push(op);
        Some(self.next(at))
    }

    fn absolute(&self, insn: Insn) -> Load {
        let k = insn.k;
        let width = width_of(insn.op);
        if !self.flow.of_calls {
            return match width {
                width if (k as i32) < 0 => Load::Special(width, k),
                width => Load::Packet(width, k),
            };
        }
        // Accepted programs load nothing else.
        let Some(word) = Word::from_offset(k, self.endian) else { return Load::Nowhere };
        match (word, word.argument()) {
            (Word::NR, _) => Load::Nr,
            (Word::ARCH, _) => Load::Arch,
            (_, Some((arg, high))) => Load::Arg(arg, if high { 32 } else { 0 }),
            (word, None) => Load::Ip(if word == Word::IP_HIGH { 32 } else { 0 }),
        }
    }

    fn load(&mut self, at: usize, load: Load) -> Option<usize> {
        let next = self.next(at);
        let following = self.insn(next)?;
        if is_constant_branch(following.op) {
            if let Some(pieces) = self.spread(next) {
                let plain = load.plain();
                if let Load::Nr = load {
                    self.table(&pieces, true);
                } else {
                    self.code.ops.push(plain);
                    self.table(&pieces, false);
                }
                return None;
            }
            let test = self.test(next, u32::MAX)?;
            return self.fuse(load, test);
        }
        if following.op == Bpf::AndK
            && let Some((mask, branch)) = self.masked_branch(next)
        {
            let test = self.test(branch, mask)?;
            return self.fuse(load, test);
        }
        if let Load::Packet(Width::Half, k) = load
            && let Some((operation, by_constant)) = alu(following.op)
            && by_constant != following.op
        {
            self.code.ops.push(Op::AluHalfX(operation, k));
            return Some(self.next(next));
        }
        if let Some((field, after)) = self.field(next) {
            let op = match load {
                Load::Packet(Width::Byte, k) => {
                    // This is how an IP header's length is computed for a later `sub x`.
                    Op::FieldByte(k, field)
                }
                Load::Indexed(Width::Byte, k) => Op::IndexedFieldByte(k, field),
                _ => {
                    self.code.ops.extend([load.plain(), Op::Field(field)]);
                    return Some(after);
                }
            };
            self.code.ops.push(op);
            return Some(after);
        }
        self.code.ops.push(load.plain());
        if let Load::Nowhere = load { None } else { Some(next) }
    }

    /// A load and a test as one operation, where there is one for both.
    fn fuse(&mut self, load: Load, test: Test) -> Option<usize> {
        let op = match load {
            Load::Nr => Op::TestNr(test),
            Load::Arch => Op::TestArch(test),
            Load::Arg(arg, shift) => Op::TestArg(arg, shift, test),
            Load::Packet(width, offset) => return self.probe(width, offset, false, test),
            Load::Indexed(width, offset) => return self.probe(width, offset, true, test),
            Load::Ip(_) | Load::Special(..) | Load::Nowhere => {
                self.code.ops.push(load.plain());
                Op::Test(test)
            }
        };
        self.code.ops.push(op);
        None
    }

    /// A load from the packet, or again what A holds, and a test; the length of a header
    /// that was loaded into X right before goes with it, and so does a second test of the same value.
    fn probe(&mut self, width: Width, offset: u32, indexed: bool, mut test: Test) -> Option<usize> {
        let (mut other, mut other_yes) = (0, test.no);
        let next = usize::from(test.no);
        if let Some(insn) = self.insn(next)
            && insn.op == Bpf::JeqK
            && !indexed
            && let Some(load) = self.flow.loaded(next)
            && load.k == offset
            && width_of(load.op) == width
        {
            other = insn.k;
            (other_yes, test.no) = self.sides(next, insn);
        }
        let plain = Probe {
            header: Probe::NO_HEADER,
            offset,
            indexed: if indexed { u32::MAX } else { 0 },
            shift: 32 - 8 * width.bytes() as u8,
            yes_is_next: false,
            no_is_next: false,
            test,
            other,
            other_yes,
        };
        // It takes the place of the load of X. Whoever jumps here gets code without that.
        if let Some(last) = self.code.ops.last_mut()
            && let Op::Msh(header) = *last
        {
            *last = Op::Probe(self.code.probes.len() as Target);
            self.code.probes.push(Probe { header, ..plain });
            self.forget_places_behind(self.code.ops.len() - 1);
            return None;
        }
        self.code.ops.push(Op::Probe(self.code.probes.len() as Target));
        self.code.probes.push(plain);
        None
    }

    /// `ld M[k]`, with a computation by X behind it.
    fn scratch_load(&mut self, at: usize, k: u32) -> Option<usize> {
        let next = self.next(at);
        if let Some(following) = self.insn(next)
            && let Some((operation, by_constant)) = alu(following.op)
            && by_constant != following.op
        {
            self.code.ops.push(Op::AluMemX(operation, k as u8));
            return Some(self.next(next));
        }
        self.code.ops.push(Op::Mem(k as u8));
        Some(next)
    }

    /// `and #mask` and a shift, in either order, as bits taken out of A; where it goes on.
    fn field(&self, at: usize) -> Option<(Field, usize)> {
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
    fn masked_branch(&self, at: usize) -> Option<(u32, usize)> {
        let insn = self.insn(at)?;
        let branch = self.next(at);
        let op = self.insn(branch)?.op;
        let fits = insn.op == Bpf::AndK && is_constant_branch(op);
        (fits && !self.flow.is_read_after(branch, A)).then_some((insn.k, branch))
    }

    /// Lets nobody jump behind an operation, which took the place of what was there: whoever wants to
    /// gets code of its own.
    fn forget_places_behind(&mut self, operation: usize) {
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
    fn sides(&mut self, at: usize, insn: Insn) -> (Target, Target) {
        let yes = self.want(at + 1 + usize::from(insn.jt));
        let no = self.want(at + 1 + usize::from(insn.jf));
        if self.insn(usize::from(no)).is_some_and(|insn| insn.op.is_return()) {
            self.wanted.push(usize::from(yes));
        }
        (yes, no)
    }

    fn test(&mut self, at: usize, mask: u32) -> Option<Test> {
        let insn = self.insn(at)?;
        let k = insn.k;
        let (mask, lo, span) = match comparison(insn.op)? {
            Cmp::Eq => (mask, k, 0),
            // What never holds was folded away, unless there is a mask.
            Cmp::Gt if k == u32::MAX => (0, 1, 0),
            Cmp::Gt => (mask, k + 1, u32::MAX - (k + 1)),
            Cmp::Ge => (mask, k, u32::MAX - k),
            Cmp::Set => (mask & k, 1, u32::MAX - 1),
        };
        let (yes, no) = self.sides(at, insn);
        Some(Test { mask, lo, span, yes, no })
    }

    /// Comparisons of A: a table, or one of them.
    fn compare(&mut self, at: usize) {
        if let Some(pieces) = self.spread(at) {
            self.table(&pieces, false);
        } else if let Some(test) = self.test(at, u32::MAX) {
            // What A holds may be loaded again at the same time.
            match self.flow.loaded(at).map(|load| self.absolute(load)) {
                Some(load) => {
                    self.fuse(load, test);
                }
                None => self.code.ops.push(Op::Test(test)),
            }
        }
    }

    fn spread(&mut self, at: usize) -> Option<Vec<Piece>> {
        let pieces = spread(self.flow, at, &mut self.work)?;
        if pieces.len() < 2 {
            return None;
        }
        Some(pieces)
    }
}

impl Load {
    /// The load alone.
    fn plain(self) -> Op {
        match self {
            Load::Nr => Op::LoadNr,
            Load::Arch => Op::LoadArch,
            Load::Arg(arg, shift) => Op::LoadArg(arg, shift),
            Load::Ip(shift) => Op::LoadIp(shift),
            Load::Packet(Width::Byte, k) => Op::LoadByte(k),
            Load::Packet(Width::Half, k) => Op::LoadHalf(k),
            Load::Packet(Width::Word, k) => Op::LoadWord(k),
            Load::Indexed(Width::Byte, k) => Op::IndexedByte(k),
            Load::Indexed(Width::Half, k) => Op::IndexedHalf(k),
            Load::Indexed(Width::Word, k) => Op::IndexedWord(k),
            Load::Special(width, k) => Op::Special(width, k),
            Load::Nowhere => Op::Ret(0),
        }
    }
}

fn width_of(load: Bpf) -> Width {
    match load {
        Bpf::LdWordAbs | Bpf::LdWordInd => Width::Word,
        Bpf::LdHalfAbs | Bpf::LdHalfInd => Width::Half,
        _ => Width::Byte,
    }
}
