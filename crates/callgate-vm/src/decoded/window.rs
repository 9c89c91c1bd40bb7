//! Finds [`Probe`]s: loads and comparisons of bytes within a window of four.
//!
//! Equality and bit tests are followed, first along the edges on which no case was found yet:
//!
//! ```text
//! ldb [23]; jeq #6, A; jeq #17, A; drop    case 6 -> A, case 17 -> A, otherwise drop
//! ```
//!
//! and then from each case on, as long as a failed test leads to the default target:
//!
//! ```text
//! A: ldh [20]; jset #0x1fff, drop, B       case 6 and no bits -> B, case 17 and no bits -> B
//! ```
//!
//! The window ends where the last load ends, so a packet that is long enough for the loads is long
//! enough for the window, except for loads from the first four bytes. For shorter packets the loads are
//! executed one by one.

use callgate_core::cfg::{Registers, Successors};
use callgate_core::{Insn, Op as Bpf, Relation, Width};

use super::emit::Emitter;
use super::op::{Base, CASES, Load, NOWHERE, Op, Probe, Slow, Step, Target};
use crate::flow::compares_constant;

/// The width of a window in bytes.
const BYTES: i64 = 4;

/// Neighbouring bytes, all relative to X or all relative to the start of the packet.
#[derive(Clone, Copy)]
struct Window {
    indexed: bool,
    /// The first byte, and the one after the last.
    from: i64,
    to: i64,
    /// Masks and values are kept as parts of a big-endian number of 8 bytes that begins here.
    anchor: i64,
}

/// A case: the masked bytes must have this value; and the instruction that follows.
struct Found {
    mask: u64,
    value: u64,
    to: usize,
}

impl Found {
    /// Whether the two cases exclude each other.
    fn excludes(&self, other: &Found) -> bool {
        (self.value ^ other.value) & self.mask & other.mask != 0
    }
}

/// A step as an equality: if the masked bits have this value, it goes to `matched`.
struct Equality {
    mask: u32,
    value: u32,
    matched: usize,
    rest: usize,
}

impl Window {
    fn new(load: Load) -> Option<Window> {
        let (indexed, offset, width) = load.place()?;
        Some(Window { indexed, from: offset, to: offset + width, anchor: offset - BYTES })
    }

    /// The window extended by a load, if it still fits.
    fn with(self, load: Load) -> Option<Window> {
        let (indexed, offset, width) = load.place()?;
        let (from, to) = (self.from.min(offset), self.to.max(offset + width));
        (indexed == self.indexed && to - from <= BYTES).then_some(Window { from, to, ..self })
    }

    /// The bits of a load as bits of the 8 bytes.
    fn bits(self, load: Load, bits: u32) -> u64 {
        let end = load.place().map_or(0, |(_, offset, width)| offset + width);
        u64::from(bits) << (8 * (self.anchor + 2 * BYTES - end))
    }

    /// The offset of the four bytes.
    fn start(self) -> i64 {
        let start = self.to - BYTES;
        if self.indexed { start } else { start.max(0) }
    }

    /// Bits of the 8 bytes as bits of the four, in memory order.
    fn bytes(self, bits: u64) -> u32 {
        let shift = 8 * (self.anchor + BYTES - self.start());
        u32::from_ne_bytes(((bits >> shift) as u32).to_be_bytes())
    }
}

impl Load {
    /// Whether it is relative to X, its offset and its width; `None` for loads that are not from the
    /// packet itself.
    fn place(self) -> Option<(bool, i64, i64)> {
        match self {
            Load::Packet(width, offset) => Some((false, offset.into(), width.bytes() as i64)),
            // Wrapping addition is the same as adding a signed offset.
            Load::Indexed(width, offset) => {
                Some((true, (offset as i32).into(), width.bytes() as i64))
            }
            _ => None,
        }
    }

    fn width(self) -> Width {
        match self {
            Load::Packet(width, _) | Load::Indexed(width, _) | Load::Special(width, _) => width,
            _ => Width::Word,
        }
    }
}

impl Emitter<'_> {
    /// Emits a probe for the code that begins with this instruction, if possible.
    pub(super) fn probe(&mut self, at: usize) -> Option<()> {
        if self.of_syscalls() {
            return None;
        }
        let first = self.step(at)?;
        let mut window = Window::new(first.load)?;
        let mut found: Vec<Found> = Vec::with_capacity(CASES);
        let mut rest = at;
        while found.len() < CASES
            && let Some((step, wider, equality)) = self.equality(rest, window)
            && !self.needs_a(equality.rest)
        {
            window = wider;
            rest = equality.rest;
            let (mask, value) = (equality.mask, equality.value);
            if value & !mask == 0 {
                let bits = |bits| window.bits(step.load, bits);
                found.push(Found { mask: bits(mask), value: bits(value), to: equality.matched });
            }
        }
        if rest == at {
            return None;
        }
        // A case whose target is the default target is not needed.
        for index in (0..found.len()).rev() {
            let (before, later) = found.split_at(index + 1);
            if let Some(case) = before.last()
                && self.same(case.to, rest)
                && later.iter().all(|other| case.excludes(other))
            {
                found.remove(index);
            }
        }
        for index in 0..found.len() {
            while let Some(wider) = self.narrow(&mut found, index, rest, window) {
                window = wider;
            }
        }
        self.push_probe(first, window, &found, rest);
        Some(())
    }

    /// The load and the comparison at an instruction.
    fn step(&self, at: usize) -> Option<Step> {
        let at = self.flow.dest(at);
        let insn = self.insn(at)?;
        if compares_constant(insn) {
            let load = self.load_of(self.flow.loaded(at)?)?;
            return Some(Step { load, mask: u32::MAX, branch: at });
        }
        let load = self.load_of(insn)?;
        let next = self.next(at);
        if compares_constant(self.insn(next)?) {
            return Some(Step { load, mask: u32::MAX, branch: next });
        }
        let (mask, branch) = self.masked_branch(next)?;
        Some(Step { load, mask, branch })
    }

    /// The step at an instruction as an equality, if its load fits into the window and A is dead if it
    /// matches.
    fn equality(&self, at: usize, window: Window) -> Option<(Step, Window, Equality)> {
        let step = self.step(at)?;
        let window = window.with(step.load)?;
        let insn = self.insn(step.branch)?;
        let k = insn.k;
        let Successors::Branch { taken, otherwise } = insn.successors(step.branch) else {
            return None;
        };
        let (yes, no) = (self.flow.dest(taken), self.flow.dest(otherwise));
        let all = u32::MAX >> (32 - 8 * step.load.width().bytes());
        let mask = step.mask & all;
        let equality = match insn.comparison()?.0 {
            // A value that is too large is never loaded.
            Relation::Equal if k & !all != 0 => {
                Equality { mask: 0, value: 1, matched: yes, rest: no }
            }
            Relation::Equal => Equality { mask, value: k, matched: yes, rest: no },
            Relation::Shares => Equality { mask: mask & k, value: 0, matched: no, rest: yes },
            Relation::Greater | Relation::AtLeast => return None,
        };
        (!self.needs_a(equality.matched)).then_some((step, window, equality))
    }

    /// Whether the code for an instruction reads A. A comparison of a loaded value loads it again.
    fn needs_a(&self, at: usize) -> bool {
        let at = self.flow.dest(at);
        let reloads =
            || self.insn(at).is_some_and(compares_constant) && self.flow.loaded(at).is_some();
        self.flow.live_before(at).intersects(Registers::A) && !reloads()
    }

    /// Extends a case by the next test, if a failed test leads to the default target.
    fn narrow(
        &self,
        found: &mut [Found],
        index: usize,
        rest: usize,
        window: Window,
    ) -> Option<Window> {
        let (before, later) = found.split_at_mut(index + 1);
        let case = before.last_mut()?;
        if !later.iter().all(|other| case.excludes(other)) {
            return None;
        }
        let (step, window, equality) = self.equality(case.to, window)?;
        if !self.same(equality.rest, rest) || equality.value & !equality.mask != 0 {
            return None;
        }
        let bits = |bits| window.bits(step.load, bits);
        let next =
            Found { mask: bits(equality.mask), value: bits(equality.value), to: equality.matched };
        if case.excludes(&next) {
            return None;
        }
        case.mask |= next.mask;
        case.value |= next.value;
        case.to = next.to;
        Some(window)
    }

    /// Whether two targets are the same or return the same value.
    fn same(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.flow.dest(one), self.flow.dest(other));
        let returns = |insn: Insn| insn.op == Bpf::RetK;
        one == other || self.insn(one) == self.insn(other) && self.insn(one).is_some_and(returns)
    }

    fn push_probe(&mut self, first: Step, window: Window, found: &[Found], rest: usize) {
        let rest_to = self.want(rest);
        for case in found {
            self.want(case.to);
        }
        if found.last().is_some_and(|case| self.insn(case.to).is_some_and(|i| i.op.is_return())) {
            self.want(rest);
        }
        // Fused with a load of X right before it. Jumps to this instruction get code without that.
        let header = match self.code.ops.last() {
            Some(&Op::Msh(header)) if window.indexed => {
                self.code.ops.pop();
                self.forget_places_behind(self.code.ops.len());
                Some(header)
            }
            _ => None,
        };
        let base = match header {
            Some(header) => Base::Header(header),
            None if window.indexed => Base::X,
            None => Base::Start,
        };
        let slow = self.place_of(usize::from(NOWHERE));
        self.slow.push(Slow { place: slow, header, step: first });
        // Unused cases never hold.
        let mut probe = Probe {
            masks: [0; CASES],
            values: [u32::MAX; CASES],
            base,
            offset: window.start() as u32,
            to: [rest_to; CASES + 1],
            slow,
            likely: 0,
            likely_to: NOWHERE,
        };
        for (index, case) in found.iter().enumerate() {
            probe.masks[index] = window.bytes(case.mask);
            probe.values[index] = window.bytes(case.value);
            probe.to[index] = Target::try_from(case.to).unwrap_or(NOWHERE);
        }
        self.code.ops.push(Op::Probe(self.code.probes.len() as Target));
        self.code.probes.push(probe);
    }

    /// Emits the code for packets that are too short for a probe.
    pub(super) fn emit_slow(&mut self, Slow { place, header, step }: Slow) {
        let here = Target::try_from(self.code.ops.len()).unwrap_or(NOWHERE);
        if let Some(place) = self.place.get_mut(usize::from(place)) {
            *place = here;
        }
        if let Some(header) = header {
            self.code.ops.push(Op::Msh(header));
        }
        if let Some(test) = self.test(step.branch, step.mask) {
            self.fuse(step.load, test);
        }
    }
}
