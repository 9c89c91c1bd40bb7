//! Functions of one word that distinguish at most 128 cases: the values of six bits, each with and without higher bits.
//!
//! Bit 6 of a *small value* stands for all bits from bit 6 on: it is set if any of them is. This loses nothing. If a
//! program has fewer than 26 comparisons, then for one bit `b` of the 26 no constant of a comparison has exactly the
//! higher bits `1 << b`. On the values below 64 and those with the higher bits `1 << b`, the program does what a program
//! for small values does, with the same instructions: `jge #k` compares with at most 64, `jeq #k` with less than 64, and
//! masks contain bit 6 if they contained `b`. So no program for 32 bits is better than the best one for small values.
//! Conversely [`wide_mask`] makes of each program for small values one for 32 bits.

/// The number of small values.
pub(super) const VALUES: usize = 128;

/// The small values with higher bits.
pub(super) const HIGHER: u8 = 64;

/// All bits of small values.
pub(super) const ALL_BITS: u8 = 127;

/// The maximum number of classes.
pub(super) const MAX_CLASSES: usize = 3;

/// A function from small values to classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Function {
    /// By small value.
    pub(super) classes: [u8; VALUES],
}

impl Function {
    pub(super) fn new(class: impl Fn(u8) -> u8) -> Function {
        let mut classes = [0; VALUES];
        for (value, of) in (0..).zip(&mut classes) {
            *of = class(value);
        }
        Function { classes }
    }

    pub(super) fn class(&self, value: u8) -> u8 {
        self.classes.get(usize::from(value)).copied().unwrap_or(0)
    }

    /// The first and the last value of each interval of values with the same class.
    pub(super) fn intervals(&self) -> Vec<(u8, u8)> {
        let mut intervals: Vec<(u8, u8)> = Vec::new();
        for value in 0..VALUES as u8 {
            match intervals.last_mut() {
                Some((_, last)) if self.class(*last) == self.class(value) => *last = value,
                _ => intervals.push((value, value)),
            }
        }
        intervals
    }

    /// The number of classes that occur.
    pub(super) fn class_count(&self) -> usize {
        (0..MAX_CLASSES as u8).filter(|class| self.classes.contains(class)).count()
    }
}

/// The mask of 32-bit words for a mask of small values.
pub(super) fn wide_mask(mask: u8) -> u32 {
    let low = u32::from(mask) & 63;
    if mask & HIGHER != 0 { low | !63 } else { low }
}

/// A 32-bit word for a small value.
pub(super) fn wide_value(value: u8) -> u32 {
    let low = u32::from(value) & 63;
    if value & HIGHER != 0 { low | 1 << 31 } else { low }
}
