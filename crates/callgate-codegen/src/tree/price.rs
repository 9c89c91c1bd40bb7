//! Prices of tests, and the limits of the search for trees.

use crate::Instructions;
use crate::code::AnyBit;
use crate::cost::Aim;

/// The maximum number of intervals of an argument whose tree is searched for in little time.
pub(crate) const ARGUMENT_WHOLE: usize = 48;

/// The maximum number of intervals in the dynamic program over ranges.
pub(super) const MAX_WHOLE: usize = 256;

/// The price of tests, and which tests there are besides comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    /// The price of one more instruction in the program, in executed instructions.
    pub(crate) size: f64,
    /// Whether tests of masks are allowed.
    pub(crate) masks: bool,
    /// The number of instructions of a test of a mask.
    pub(crate) mask_insns: u32,
    /// Whether masks are also searched for in larger ranges, after equality tests of single values.
    pub(crate) masks_after_singles: bool,
    /// Whether bitset tests are allowed. The kernel does not recognize constant allow on a path with such a test.
    pub(crate) bitset_tests: bool,
    /// The maximum length of a chain of equality tests.
    pub(crate) chain: usize,
    /// The maximum number of intervals for which order tests are tried at all of them, in O(n³).
    pub(crate) whole: usize,
    /// In such a range, the number of consecutive intervals for which trees are optimal, in O(n · 2^near).
    pub(crate) near: usize,
    /// Whether trees are built without a search, of more than a few intervals.
    pub(crate) is_quick: bool,
}

impl Price {
    /// The cost of the further instructions of a test of a mask, in a part of the tree with this weight.
    pub(super) fn of_mask_above_comparison(&self, weight: f64) -> f64 {
        f64::from(self.mask_insns - 1) * (weight + self.size)
    }

    /// For arch and number. The maximum length of a chain is far above what is ever worthwhile.
    pub(crate) fn of_number(aim: Aim, instructions: Instructions) -> Price {
        Price {
            size: aim.size_price(),
            masks: true,
            mask_insns: AnyBit::max_insns(instructions),
            masks_after_singles: true,
            bitset_tests: false,
            chain: 48,
            whole: 96,
            near: 5,
            is_quick: aim == Aim::Quick,
        }
    }

    /// For an argument. It is tested for one syscall only, which may be rare, so an instruction has a higher price
    /// than among the numbers. Even so, long lists of values become trees, not chains, unless the aim is size.
    pub(crate) fn of_argument(aim: Aim, instructions: Instructions) -> Price {
        let (size, chain, whole) = match aim {
            Aim::Speed | Aim::Quick => (1.0, 8, 64),
            Aim::Size => (aim.size_price(), 1024, 96),
        };
        let bitset_tests = instructions.allows_bitset_tests();
        let price = Price::of_number(aim, instructions);
        Price { size, masks_after_singles: false, bitset_tests, chain, whole, ..price }
    }
}
