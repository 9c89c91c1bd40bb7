//! A limit of one argument: the bits that are compared, and the allowed values.

use std::collections::BTreeSet;
use std::fmt;

use crate::recording::{ArgValues, Bounds};
use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};
use callgate_core::Arch;
use callgate_formats::ruleset::{Comparison, Op};

/// A limit of an argument: masked, it must be one of a set of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgLimit {
    /// Which argument, 0–5.
    pub arg: u8,
    /// Its name in the kernel's definition of the syscall.
    pub name: &'static str,
    /// The bits that are compared.
    pub mask: u64,
    /// Why it is limited.
    pub why: &'static str,
    allowed: AllowedValues,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedValues {
    /// Values of the compared bits, sorted.
    Listed(Vec<u64>),
    /// Only bits that were set in some value, and all bits that were set in every value.
    Bits { ever: u64, always: u64 },
}

/// The set of values with `value & mask == wanted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cube {
    /// The bits that are compared.
    pub mask: u64,
    /// Their required values.
    pub wanted: u64,
}

impl ArgLimit {
    /// A limit to the recorded values, in the bits of `mask`. `None` if there are no values, or if only bounds are known
    /// that would not limit anything.
    pub(super) fn of(
        arg: u8,
        name: &'static str,
        mask: u64,
        why: &'static str,
        values: &ArgValues,
    ) -> Option<ArgLimit> {
        let allowed = match (values.all(), values.bounds()?) {
            (Some(all), _) => values_of(all.iter().map(|value| value & mask)),
            (None, Bounds { ever, always, .. }) if mask & !ever != 0 && is_flags(mask) => {
                AllowedValues::Bits { ever: ever & mask, always: always & mask }
            }
            (None, _) => return None,
        };
        Some(ArgLimit { arg, name, mask, why, allowed })
    }

    /// Allows these values as well.
    pub(super) fn widen(&mut self, values: &[u64]) {
        let mask = self.mask;
        let more = values.iter().map(|value| value & mask);
        self.allowed = match &self.allowed {
            AllowedValues::Listed(known) => values_of(known.iter().copied().chain(more)),
            AllowedValues::Bits { ever, always } => {
                let (ever, always) = more
                    .fold((*ever, *always), |(ever, always), value| (ever | value, always & value));
                AllowedValues::Bits { ever, always }
            }
        };
    }

    /// The bits that some allowed value has.
    pub(super) fn possible_bits(&self) -> u64 {
        !self.mask
            | match &self.allowed {
                AllowedValues::Listed(values) => values.iter().fold(0, |all, value| all | value),
                AllowedValues::Bits { ever, .. } => *ever,
            }
    }

    /// Whether every value is allowed.
    pub(super) fn allows_all(&self) -> bool {
        self.cubes().iter().any(|cube| cube.mask == 0)
    }

    /// The allowed values as the union of a few cubes.
    pub fn cubes(&self) -> Vec<Cube> {
        match &self.allowed {
            AllowedValues::Bits { ever, always } => {
                vec![Cube { mask: self.mask & (!ever | always), wanted: *always }]
            }
            AllowedValues::Listed(values) => {
                let points = values.iter().map(|wanted| Cube { mask: self.mask, wanted: *wanted });
                join(points.collect())
            }
        }
    }

    /// The limit as people say it, with the names of values and flags on an architecture: `family in {AF_UNIX, AF_INET}`, `none of
    /// PROT_WRITE, PROT_EXEC is set`.
    pub fn in_words(&self, arch: Arch, syscall: &str) -> String {
        const LOW: u64 = 0xffff_ffff;
        let single = |value: u64| (value, value);
        let values = match &self.allowed {
            AllowedValues::Bits { ever, always } => {
                ValueSet::Masked { mask: self.mask & (!ever | always), wanted: *always }
            }
            AllowedValues::Listed(values) if self.mask & LOW == LOW => {
                ValueSet::Ranges(values.iter().copied().map(single).collect())
            }
            AllowedValues::Listed(values) => match values.as_slice() {
                [wanted] => ValueSet::Masked { mask: self.mask, wanted: *wanted },
                _ => match self.with_free_bits(values) {
                    Some(all) => ValueSet::Ranges(all.into_iter().map(single).collect()),
                    None => return self.to_string(),
                },
            },
        };
        let condition = ValueCondition { arg: Some(self.arg), part: ArgPart::Whole, values };
        condition.describe_on(arch, Some(syscall))
    }

    /// These values of the compared bits with any others of the low half, sorted; `None` if they are too many to be listed.
    fn with_free_bits(&self, values: &[u64]) -> Option<BTreeSet<u64>> {
        const MOST_BITS: u32 = 4;
        let free: Vec<u64> =
            (0..32).map(|bit| 1 << bit).filter(|bit| self.mask & bit == 0).collect();
        let has_few = free.len() as u32 <= MOST_BITS;
        has_few.then(|| {
            let mut all: BTreeSet<u64> = values.iter().copied().collect();
            for bit in free {
                let with: Vec<u64> = all.iter().map(|value| value | bit).collect();
                all.extend(with);
            }
            all
        })
    }

    /// A cube of this argument as a comparison; `None` if it allows everything.
    pub(super) fn comparison(&self, cube: Cube) -> Option<Comparison> {
        let op = match cube.mask {
            0 => return None,
            u64::MAX => Op::Eq,
            mask => Op::MaskedEq(mask),
        };
        Comparison::new(self.arg, op, cube.wanted)
    }
}

/// Whether a mask selects individual bits, as for flags, and not a whole word or its low half.
fn is_flags(mask: u64) -> bool {
    mask.count_ones() <= 16
}

fn values_of(values: impl Iterator<Item = u64>) -> AllowedValues {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    AllowedValues::Listed(values)
}

/// Joins cubes that differ in one bit until there are no such cubes; the union remains the same.
fn join(mut cubes: Vec<Cube>) -> Vec<Cube> {
    loop {
        let pair = cubes.iter().enumerate().find_map(|(i, a)| {
            let later = cubes.iter().enumerate().skip(i + 1);
            let partner = later.filter(|(_, b)| b.mask == a.mask).find_map(|(j, b)| {
                let bit = a.wanted ^ b.wanted;
                bit.is_power_of_two().then_some((j, bit))
            });
            partner.map(|(j, bit)| (i, j, bit))
        });
        let Some((i, j, bit)) = pair else {
            cubes.sort_unstable();
            return cubes;
        };
        cubes.remove(j);
        if let Some(cube) = cubes.get_mut(i) {
            *cube = Cube { mask: cube.mask & !bit, wanted: cube.wanted & !bit };
        }
    }
}

impl fmt::Display for ArgLimit {
    /// For example `family in {1, 2}` or `prot & 0x6 == 0`. A mask of all bits, or of the low half, is omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = |f: &mut fmt::Formatter<'_>, mask: u64| match mask {
            u64::MAX | 0xffff_ffff => write!(f, "{}", self.name),
            mask => write!(f, "{} & {mask:#x}", self.name),
        };
        match &self.allowed {
            AllowedValues::Bits { ever, always } => {
                masked(f, self.mask & (!ever | always))?;
                write!(f, " == {}", ReadableNumber(*always))
            }
            AllowedValues::Listed(values) => {
                masked(f, self.mask)?;
                if let [only] = values.as_slice() {
                    return write!(f, " == {}", ReadableNumber(*only));
                }
                f.write_str(" in {")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { ", " } else { "" }, ReadableNumber(*value))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Small numbers in decimal, others in hexadecimal.
struct ReadableNumber(u64);

impl fmt::Display for ReadableNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 4096 { write!(f, "{}", self.0) } else { write!(f, "{:#x}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limit(mask: u64, values: &[u64]) -> ArgLimit {
        let values = ArgValues::from_values(values.len() as u64, values.iter().copied());
        ArgLimit::of(0, "x", mask, "", &values).unwrap()
    }

    #[test]
    fn values_that_differ_in_one_bit_become_one_comparison() {
        let commands = limit(0xffff_ffff, &[0, 1, 0x80, 0x81]);
        assert_eq!(commands.cubes(), [Cube { mask: 0xffff_ff7e, wanted: 0 }]);
        assert_eq!(commands.to_string(), "x in {0, 1, 128, 129}");
        assert_eq!(limit(6, &[1, 3, 5]).to_string(), "x & 0x6 in {0, 2, 4}");
        assert_eq!(limit(6, &[1]).to_string(), "x & 0x6 == 0");
    }

    #[test]
    fn limits_in_words_have_names() {
        let words = |syscall: &str, arg, mask, values: &[u64]| {
            let values = ArgValues::from_values(values.len() as u64, values.iter().copied());
            let limit = ArgLimit::of(arg, "x", mask, "", &values).unwrap();
            limit.in_words(Arch::X86_64, syscall)
        };
        let low = 0xffff_ffff;
        assert_eq!(words("socket", 0, low, &[1, 2]), "family in {AF_UNIX, AF_INET}");
        assert_eq!(words("socket", 0, u64::MAX, &[16]), "family == AF_NETLINK");
        assert_eq!(words("mmap", 2, 6, &[1]), "none of PROT_WRITE, PROT_EXEC is set");
        assert_eq!(words("mmap", 2, 6, &[3]), "prot & (PROT_WRITE | PROT_EXEC) == PROT_WRITE");
        // FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME are not compared.
        assert_eq!(
            words("futex", 1, low & !0x180, &[0, 1]),
            "op in {FUTEX_WAIT, FUTEX_WAKE}, with no flags other than FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME"
        );
        assert_eq!(words("write", 2, 6, &[0, 2]), "x & 0x6 in {0, 2}", "without names");
    }

    #[test]
    fn bounds_limit_flags_only() {
        let values =
            ArgValues::from_bounds(99, Bounds { min: 4, max: 0x104, ever: 0x1fc, always: 4 });
        let flags = ArgLimit::of(0, "x", 0xff0f, "", &values).unwrap();
        assert_eq!(flags.cubes(), [Cube { mask: 0xfe07, wanted: 4 }]);
        assert_eq!(flags.to_string(), "x & 0xfe07 == 4");
        assert_eq!(ArgLimit::of(0, "x", u64::MAX, "", &values), None);
        assert_eq!(ArgLimit::of(0, "x", 0x1f0, "", &values), None);
    }

    proptest! {
        #[test]
        fn cubes_are_exactly_the_allowed_values(
            values in proptest::collection::btree_set(0_u64..64, 1..20),
            mask in 1_u64..64,
            widen in 0_u64..64,
        ) {
            let values: Vec<u64> = values.into_iter().collect();
            let mut limit = limit(mask, &values);
            limit.widen(&[widen]);
            let cubes = limit.cubes();
            for value in 0..64 {
                let wanted = values.iter().chain([&widen]).any(|v| v & mask == value & mask);
                let given = cubes.iter().any(|cube| value & cube.mask == cube.wanted);
                prop_assert_eq!(wanted, given, "{}", value);
            }
        }
    }
}
