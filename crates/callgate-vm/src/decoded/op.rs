//! The internal form: fused operations with absolute targets, jump tables, binary searches and probes; and the loads and steps that
//! they are made from.

use callgate_core::{Alu, Relation, Width};

/// Makes the compiler expect that the path with this call is seldom executed: `std::hint::cold_path`, which Rust has since 1.95.
#[cold]
#[inline(always)]
pub(super) fn cold_path() {}

/// A place in the code: an index into the concatenation of [`Code::probes`], [`Code::ops`] and [`Code::returns`].
///
/// During translation it is an index of the program's instructions.
pub(super) type Target = u16;

/// The place of what was not emitted yet.
pub(super) const NOWHERE: Target = Target::MAX;

/// A comparison with constants: `lo <= (value & mask) <= lo + span`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) mask: u32,
    pub(super) lo: u32,
    pub(super) span: u32,
    /// The targets if it holds, and otherwise.
    pub(super) yes: Target,
    pub(super) no: Target,
}

impl Test {
    #[inline(always)]
    pub(super) fn holds(&self, value: u32) -> bool {
        (value & self.mask).wrapping_sub(self.lo) <= self.span
    }

    /// The next target.
    #[inline(always)]
    pub(super) fn target(&self, value: u32) -> Target {
        if self.holds(value) {
            self.yes
        } else {
            cold_path();
            self.no
        }
    }
}

/// A jump table for the values from `base` on; all others go to `otherwise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dense {
    pub(super) base: u32,
    /// The index of its first target in [`Code::targets`].
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) otherwise: Target,
}

/// A binary search in `len` ordered bounds, with `len + 1` targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// The index of its first bound in [`Code::bounds`].
    pub(super) bounds: u32,
    /// The index of its first target in [`Code::targets`].
    pub(super) targets: u32,
    pub(super) len: u32,
}

/// A comparison of both halves of an argument: `argument & mask == value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// Low half first, as in `value`.
    pub(super) mask: [u32; 2],
    pub(super) value: [u32; 2],
    pub(super) arg: u8,
    pub(super) yes: Target,
    pub(super) no: Target,
}

impl Whole {
    #[inline(always)]
    pub(super) fn target(&self, argument: u64) -> Target {
        let whole = |[low, high]: [u32; 2]| u64::from(high) << 32 | u64::from(low);
        if argument & whole(self.mask) == whole(self.value) {
            self.yes
        } else {
            cold_path();
            self.no
        }
    }
}

/// `A = (A & mask) << left >> right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) mask: u32,
    pub(super) left: u8,
    pub(super) right: u8,
}

impl Field {
    #[inline(always)]
    pub(super) fn of(self, value: u32) -> u32 {
        (value & self.mask).wrapping_shl(self.left.into()).wrapping_shr(self.right.into())
    }
}

/// One operation. Operations without a target continue with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) enum Op {
    Ret(u32),
    RetA,
    Jump(Target),

    // Syscalls. Tests and tables set A to the value that they load.
    LoadNr,
    LoadArch,
    /// A half of an argument: its index, and the shift (0 or 32).
    LoadArg(u8, u8),
    /// The same of the instruction pointer.
    LoadIp(u8),
    TestNr(Test),
    TestArch(Test),
    TestArg(u8, u8, Test),
    DenseNr(Dense),
    // Fused pairs (`link`).
    /// A is dead afterwards.
    TestWhole(Whole),
    /// The table if this is the arch, otherwise the target.
    ArchDenseNr(u32, Target, Dense),

    // Packets, at offsets below 2^31 from the start of the packet.
    LoadByte(u32),
    LoadHalf(u32),
    LoadWord(u32),
    /// Jumps to a probe.
    Probe(Target),
    FieldByte(u32, Field),
    TestByte(u32, Test),
    TestHalf(u32, Test),
    TestWord(u32, Test),
    /// A = half word at the offset - X: the length of the payload behind a header.
    HalfMinusX(u32),
    /// And M[k] = A.
    KeepHalfMinusX(u32, u8),
    // Relative to X.
    IndexedByte(u32),
    IndexedHalf(u32),
    IndexedWord(u32),
    IndexedFieldByte(u32, Field),
    /// X = the field, A = M[k]; branches on A == X.
    IndexedFieldEq(u32, Field, u8, Target, Target),
    TestIndexed(Width, u32, Test),
    /// At offsets of 2^31 and more: ancillary words, and offsets relative to a header.
    Special(Width, u32),
    SpecialMsh(u32),
    Len,
    LenX,
    Msh(u32),

    // Syscalls and packets.
    Imm(u32),
    ImmX(u32),
    Mem(u8),
    MemX(u8),
    Store(u8),
    StoreX(u8),
    AluK(Alu, u32),
    AluX(Alu),
    /// A = M[k] op X.
    AluMemX(Alu, u8),
    /// X = A, then A = M[k]; branches on A == X.
    SwapEqX(u8, Target, Target),
    Field(Field),
    Neg,
    Tax,
    Txa,
    Test(Test),
    TestX(Relation, Target, Target),
    Dense(Dense),
    Search(Search),
}

impl Op {
    /// The targets that the operation itself holds.
    pub(super) fn targets_mut(&mut self) -> [Option<&mut Target>; 2] {
        match self {
            Op::TestNr(test)
            | Op::TestArch(test)
            | Op::TestArg(_, _, test)
            | Op::TestByte(_, test)
            | Op::TestHalf(_, test)
            | Op::TestWord(_, test)
            | Op::TestIndexed(_, _, test)
            | Op::Test(test) => [Some(&mut test.yes), Some(&mut test.no)],
            Op::TestX(_, yes, no) | Op::SwapEqX(_, yes, no) => [Some(yes), Some(no)],
            Op::Jump(target) => [Some(target), None],
            Op::Dense(dense) | Op::DenseNr(dense) => [Some(&mut dense.otherwise), None],
            _ => [None, None],
        }
    }
}

/// A program in the internal form. Targets only go forward in the order of the original instructions, so
/// execution ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub(super) probes: Vec<Probe>,
    /// The distinct values that the program returns.
    pub(super) returns: Vec<u32>,
    pub(super) ops: Vec<Op>,
    pub(super) entry: Target,
    pub(super) targets: Vec<Target>,
    pub(super) bounds: Vec<u32>,
}

impl Code {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Op>() * self.ops.len()
            + size_of::<Probe>() * self.probes.len()
            + size_of::<Target>() * self.targets.len()
            + size_of::<u32>() * (self.bounds.len() + self.returns.len())
    }

    /// The operation at a place; `None` if it is a probe or a return.
    #[inline(always)]
    pub(super) fn operation(&self, at: usize) -> Option<&Op> {
        self.ops.get(at.wrapping_sub(self.probes.len()))
    }

    /// The value that is returned at a place; `None` if it is not a return.
    #[inline(always)]
    pub(super) fn returned(&self, at: usize) -> Option<u32> {
        self.returns.get(at.wrapping_sub(self.probes.len() + self.ops.len())).copied()
    }

    /// The target of a value in a jump table.
    #[inline(always)]
    pub(super) fn dense(&self, dense: &Dense, value: u32) -> Target {
        let at = value.wrapping_sub(dense.base);
        if at < dense.len
            && let Some(&target) = self.targets.get(dense.start as usize + at as usize)
        {
            target
        } else {
            dense.otherwise
        }
    }

    /// The last value with the same target of a binary search as this one.
    pub(super) fn search_until(&self, search: &Search, value: u32) -> u32 {
        let (from, len) = (search.bounds as usize, search.len as usize);
        let bounds = self.bounds.get(from..from + len).unwrap_or_default();
        let above = bounds.iter().find(|bound| **bound > value);
        above.map_or(u32::MAX, |bound| bound - 1)
    }

    /// The target of a value, by binary search.
    #[inline(never)]
    pub(super) fn search(&self, search: &Search, value: u32) -> Target {
        let Search { bounds, targets, len } = *search;
        let (bounds, targets) = (bounds as usize, targets as usize);
        let below = self
            .bounds
            .get(bounds..bounds + len as usize)
            .map_or(0, |bounds| bounds.partition_point(|&bound| bound <= value));
        self.targets.get(targets + below).copied().unwrap_or(Target::MAX)
    }
}

/// The number of cases of a probe.
pub(super) const CASES: usize = 4;

/// Comparisons of neighbouring bytes of a packet, executed one after the other without dispatch. Packet filters spend most of
/// their time here.
///
/// A probe loads four bytes in memory order and compares them with up to four values at once, under masks that were put into
/// memory order at translation time; the first case that holds decides. So several loads from neighbouring bytes and the
/// comparisons of what they load are one load and one comparison ([`super::window`] finds them). A does not hold the loaded
/// value afterwards; it is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Probe {
    /// Case k holds when `bytes & masks[k] == values[k]`.
    pub(super) masks: [u32; CASES],
    pub(super) values: [u32; CASES],
    /// What `offset`, where the load is, is relative to.
    pub(super) base: Base,
    pub(super) offset: u32,
    /// The targets of the cases, and last, the target if no case holds.
    pub(super) to: [Target; CASES + 1],
    /// The same comparisons load by load, for packets that end before the four bytes do.
    pub(super) slow: Target,
    /// Bit k: `to[k]` is the likely target.
    pub(super) likely: u8,
    /// The likely target; [`Probe::NEXT`] is the next place, which saves loading it.
    pub(super) likely_to: Target,
}

/// What the offset of a load is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Start,
    X,
    /// X, which becomes four times the low half of the byte here.
    Header(u32),
}

impl Probe {
    /// Not a valid place, because code is not that long.
    const NEXT: Target = Target::MAX;

    /// Chooses the likely target, after target resolution: the next place, otherwise one for which
    /// `continues` holds (not a return).
    pub(super) fn foresee(&mut self, at: usize, continues: impl Fn(Target) -> bool) {
        let next = |to: Target| usize::from(to) == at + 1;
        let likely = self.to.iter().find(|to| next(**to));
        let likely = likely.or_else(|| self.to.iter().find(|to| continues(**to))).copied();
        let Some(likely) = likely else { return };
        for (case, to) in self.to.iter().enumerate() {
            self.likely |= u8::from(*to == likely) << case;
        }
        self.likely_to = if next(likely) { Probe::NEXT } else { likely };
    }

    /// The next place, if this probe is at place `at`. The processor predicts the branch to the likely
    /// target and continues there speculatively. The choice among the other targets is a table lookup, not
    /// a branch, so it cannot be mispredicted.
    ///
    /// The packet must be shorter than 2^31 bytes: larger offsets are relative to headers.
    #[inline(always)]
    pub(super) fn target(&self, at: usize, packet: &[u8], x: &mut u32) -> usize {
        let start = match self.base {
            Base::Start => self.offset,
            Base::X => self.offset.wrapping_add(*x),
            Base::Header(offset) => {
                let Some(&byte) = packet.get(offset as usize) else {
                    cold_path();
                    return usize::from(self.slow);
                };
                *x = u32::from(byte & 0xf) << 2;
                self.offset.wrapping_add(*x)
            }
        };
        let start = start as usize;
        let Some(&bytes) = packet.get(start..start + 4).and_then(|bytes| bytes.first_chunk())
        else {
            cold_path();
            return usize::from(self.slow);
        };
        let cases = self.holding(u32::from_ne_bytes(bytes)) | 1 << CASES;
        let first = cases.trailing_zeros();
        if self.likely >> first & 1 != 0 {
            if self.likely_to == Probe::NEXT {
                at + 1
            } else {
                cold_path();
                usize::from(self.likely_to)
            }
        } else {
            cold_path();
            usize::from(self.to[first as usize])
        }
    }

    /// A mask of the cases that hold.
    #[inline(always)]
    fn holding(&self, bytes: u32) -> u32 {
        let mut all = [0; CASES];
        for (k, holds) in all.iter_mut().enumerate() {
            *holds = u32::from(bytes & self.masks[k] == self.values[k]) << k;
        }
        all.iter().fold(0, |all, case| all | case)
    }
}

/// A resolved load: from `seccomp_data` by field, from a packet by offset.
#[derive(Clone, Copy)]
pub(super) enum Load {
    Nr,
    Arch,
    /// A half of an argument: its index, and the shift (0 or 32).
    Arg(u8, u8),
    Ip(u8),
    /// At an offset below 2^31.
    Packet(Width, u32),
    /// Relative to X.
    Indexed(Width, u32),
    /// An ancillary word, or at an offset relative to a header.
    Special(Width, u32),
    /// A load that never succeeds.
    Nowhere,
}

impl Load {
    /// The load as an operation of its own.
    pub(super) fn plain(self) -> Op {
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

/// A load, a mask, and the comparison after them.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) load: Load,
    pub(super) mask: u32,
    pub(super) branch: usize,
}

/// A step to be executed by itself for packets that are too short for the probe.
pub(super) struct Slow {
    /// The target of the probe.
    pub(super) place: Target,
    pub(super) header: Option<u32>,
    pub(super) step: Step,
}
