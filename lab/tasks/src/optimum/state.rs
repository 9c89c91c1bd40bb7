//! What is still to be done: instructions that some values reach, and that are not chosen yet.

/// Some of the values that are considered, as a bitmap by index.
pub(super) type Set = u64;

/// What A holds when an instruction is reached: the bits of the value in this mask, or nothing that matters.
///
/// Bits that no value of the set has are in the mask, so that equal contents have the same mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Held(u8);

impl Held {
    /// The whole value.
    pub(super) const ALL: Held = Held(127);
    /// Different bits on different paths: only a load can follow.
    pub(super) const NOTHING: Held = Held(128);

    /// The bits `mask` of values whose bits are `occurring`.
    pub(super) fn new(mask: u8, occurring: u8) -> Held {
        Held((mask | !occurring) & 127)
    }

    pub(super) fn mask(self) -> u8 {
        self.0 & 127
    }

    pub(super) fn is_nothing(self) -> bool {
        self == Held::NOTHING
    }

    /// What A holds where two paths meet, each with the bits that occur in its values.
    pub(super) fn joined(self, bits: u8, other: Held, other_bits: u8) -> Held {
        if self.is_nothing() || other.is_nothing() || (self.0 ^ other.0) & bits & other_bits != 0 {
            return Held::NOTHING;
        }
        Held::new(self.0 & bits | other.0 & other_bits, bits | other_bits)
    }
}

/// An instruction that is reached by values of different classes, and that is not chosen yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) set: Set,
    pub(super) held: Held,
    /// Whether `and` or a load directly precedes it. Another one needs a `ja`.
    pub(super) falls: bool,
    /// Whether it is only reached from an `and`: then another `and` is not useful.
    pub(super) after_and: bool,
    /// Whether a jump from an instruction that is chosen later must lead to it.
    pub(super) waits: bool,
    /// Its number, which does not matter for the search.
    pub(super) id: u8,
}

impl Pending {
    /// What matters for the search.
    pub(super) fn key(&self) -> (Set, u16) {
        let flags =
            u16::from(self.falls) | u16::from(self.after_and) << 1 | u16::from(self.waits) << 2;
        (self.set, u16::from(self.held.0) << 8 | flags)
    }
}

/// The maximum number of instructions that are reached and not chosen.
const MAX_PENDING: usize = 8;

/// All pending instructions, in an order that depends only on what matters for the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    len: usize,
    items: [Pending; MAX_PENDING],
}

impl Frontier {
    pub(super) fn one(pending: Pending) -> Frontier {
        Frontier { len: 1, items: [pending; MAX_PENDING] }
    }

    pub(super) fn items(&self) -> &[Pending] {
        &self.items[..self.len]
    }

    pub(super) fn items_mut(&mut self) -> &mut [Pending] {
        &mut self.items[..self.len]
    }

    /// Removes one; the others keep their order.
    pub(super) fn remove(&mut self, at: usize) {
        self.items.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }

    /// Adds one at the end; false if there are too many.
    #[must_use]
    pub(super) fn push(&mut self, pending: Pending) -> bool {
        match self.items.get_mut(self.len) {
            Some(item) => {
                *item = pending;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Restores the order.
    pub(super) fn sort(&mut self) {
        let len = self.len;
        self.items[..len].sort_unstable_by_key(|pending| {
            (std::cmp::Reverse(pending.set.count_ones()), pending.key())
        });
    }

    pub(super) fn key(&self) -> Box<[(Set, u16)]> {
        self.items().iter().map(Pending::key).collect()
    }
}
