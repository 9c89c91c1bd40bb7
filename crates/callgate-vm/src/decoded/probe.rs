//! Probes: comparisons of neighbouring bytes of a packet, executed one after the other without dispatch.
//! Packet filters spend most of their time here.
//!
//! A probe loads four bytes in memory order and compares them with up to four values at once, under
//! masks that were put into memory order at translation time. So several loads from neighbouring bytes
//! and the comparisons of what they load are one load and one comparison ([`super::window`] finds
//! them). A does not hold the loaded value afterwards; it is dead.

use super::cold::cold_path;

use super::target::Target;

/// The number of cases of a probe.
pub(super) const CASES: usize = 4;

/// A load of four bytes, and the targets: the first case that holds decides.
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
