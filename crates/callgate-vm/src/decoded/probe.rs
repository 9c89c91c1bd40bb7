//! Comparisons of bytes of a packet, in a row and without dispatch: it is where packet filters spend
//! their time.
//!
//! A probe loads four bytes as they lie and compares them with up to four values at once, under masks
//! whose bytes were put in that order when the program was translated. So loads that lie close together,
//! and what a program asks of them one after the other, are one load and one comparison
//! ([`super::window`] finds them). A does not hold what was loaded afterwards; nobody reads it.

use std::hint::cold_path;

use super::op::Target;

/// How many cases a probe has.
pub(super) const CASES: usize = 4;

/// A load of four bytes, and where it goes on: with the first case that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Probe {
    /// Case k holds when `bytes & masks[k] == values[k]`.
    pub(super) masks: [u32; CASES],
    pub(super) values: [u32; CASES],
    /// Where the load is: `offset`, and what that is relative to.
    pub(super) base: Base,
    pub(super) offset: u32,
    /// Where the cases go on, and behind them what is no case.
    pub(super) to: [Target; CASES + 1],
    /// Where the same is done load by load, for a packet in which the four bytes do not lie.
    pub(super) slow: Target,
    /// Bit k: `to[k]` is where it most likely goes on.
    pub(super) likely: u8,
    /// And that is here; [`Probe::NEXT`]: at the place behind this one, which need not even be read.
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
    /// No place; code is not that long.
    const NEXT: Target = Target::MAX;

    /// Decides on what is likely, when all targets are places of the code: what is made right behind
    /// this probe, else something that is no return, as `continues` says.
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

    /// Where it goes on when this probe is at that place. Whether that is what is likely is foreseen by the
    /// processor, so what is done there need not wait for the comparison. Among all other places there is
    /// nothing to be foreseen, and nothing that could be foreseen wrongly.
    ///
    /// The packet must be shorter than 2^31 bytes: behind, offsets count from headers.
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

    /// Bit k: case k holds.
    #[inline(always)]
    fn holding(&self, bytes: u32) -> u32 {
        let mut all = [0; CASES];
        for (k, holds) in all.iter_mut().enumerate() {
            *holds = u32::from(bytes & self.masks[k] == self.values[k]) << k;
        }
        all.iter().fold(0, |all, case| all | case)
    }
}
