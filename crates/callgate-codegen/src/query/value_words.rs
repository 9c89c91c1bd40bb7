//! The text of a set of values of an argument, as people say it: `any family except AF_ALG and AF_VSOCK`.
//!
//! A text means exactly its set of values. Of several texts, the one with the fewest names is chosen:
//!
//! | values | text |
//! |---|---|
//! | few | `family == AF_UNIX`, `cmd in {TIOCSTI, TIOCLINUX}` |
//! | all but few | `any family except AF_ALG and AF_VSOCK`, in a sentence `family not in {AF_ALG, AF_VSOCK}` |
//! | all with some flags | `no flags other than MAP_PRIVATE, MAP_FIXED are set` |
//! | some values, with any of some flags | `op == FUTEX_WAKE, with or without FUTEX_PRIVATE_FLAG` |
//! | some flags decide | `CLONE_NEWUSER is not set`, `any of O_CREAT, O_TRUNC is set` |
//! | others | `1024 <= count <= 4096`, `flags & 0x7 == 2` |
//!
//! Flags "are set" in an argument; a constant of several bits is never said to be set or not, because a part of it may
//! be.

use std::collections::BTreeSet;

use callgate_bpf::constants::Family;
use callgate_bpf::syscalls::facts;
use callgate_core::Arch;

use super::arguments::as_text;
use super::condition::{ArgPart, ValueSet};

/// The largest number of names that is easier to read than ranges.
pub(super) const MAX_NAMES: u64 = 16;

/// The largest number of values that are tried as some values with any of some flags.
const MAX_VALUES: u64 = 1024;

/// A condition in words.
pub(super) struct Phrase {
    pub(super) text: String,
    /// The same after "if", where the text cannot stand there: `any family except AF_ALG and AF_VSOCK`.
    pub(super) in_sentence: Option<String>,
}

impl Phrase {
    /// The condition as a sentence, as after "if".
    pub(super) fn sentence(self) -> String {
        self.in_sentence.unwrap_or(self.text)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Phrase {
        Phrase { text, in_sentence: None }
    }
}

/// The name of an argument in a syscall, if it is known; without an index, of the instruction pointer.
pub(super) fn name_of(arg: Option<u8>, syscall: Option<&str>) -> String {
    let Some(arg) = arg else { return "instruction_pointer".to_owned() };
    let named = syscall.and_then(facts).and_then(|facts| facts.args.get(usize::from(arg)));
    named.map_or_else(|| format!("args[{arg}]"), |named| named.name.to_string())
}

impl ArgPart {
    /// The name of this part of an argument.
    pub(super) fn of(self, name: &str) -> String {
        match self {
            ArgPart::Whole => name.to_owned(),
            ArgPart::Low => format!("{name}.low"),
            ArgPart::High => format!("{name}.high"),
        }
    }
}

/// What the text of a set of values depends on.
pub(super) struct Words {
    /// The name of the argument.
    pub(super) name: String,
    pub(super) part: ArgPart,
    /// The largest value.
    pub(super) max: u64,
    /// The constants of the argument.
    pub(super) family: Option<(Family, Arch)>,
}

impl Words {
    /// The name of the tested part.
    fn name(&self) -> String {
        self.part.of(&self.name)
    }

    /// The text of a set.
    pub(super) fn of(mut self, values: &ValueSet) -> Phrase {
        let name = self.name();
        match *values {
            ValueSet::Ranges(ref ranges) => self.ranges(ranges),
            ValueSet::Masked { mask, wanted } if mask == self.max => self.equal(wanted).into(),
            ValueSet::Masked { mask, wanted } => {
                let low = u64::from(u32::MAX);
                if let Some(text) = self.cube(mask, wanted) {
                    return text.into();
                }
                // Bits of the low half, which a filter may compare alone.
                if self.part == ArgPart::Whole && self.max != low && mask & !low == 0 {
                    self.part = ArgPart::Low;
                    self.max = low;
                    return match self.cube(mask, wanted) {
                        Some(text) => text.into(),
                        None => self.masked(&name, mask, "==", wanted).into(),
                    };
                }
                self.masked(&name, mask, "==", wanted).into()
            }
            ValueSet::NotMasked { mask, wanted } => match self.not_cube(mask, wanted) {
                Some(text) => text.into(),
                None => self.masked(&name, mask, "!=", wanted).into(),
            },
            ValueSet::Compared { relation, arg, part } => {
                as_text(&name, relation, &part.of(&name_of(arg, None))).into()
            }
            ValueSet::Many(count) => format!("{name} is one of {count} values").into(),
        }
    }

    /// A value that the argument is compared with.
    fn one(&self, value: u64) -> String {
        self.name_of(value).unwrap_or_else(|| number(value))
    }

    fn equal(&self, value: u64) -> String {
        format!("{} == {}", self.name(), self.one(value))
    }

    /// The name of a value. Of a negative constant, all 64 bits have the name if all are compared; else it would not tell
    /// `dfd == 0xffffff9c` from `dfd == -100`.
    fn name_of(&self, value: u64) -> Option<String> {
        let (family, arch) = self.family?;
        let is_wide = self.max == u64::MAX && arch.has_wide_registers();
        let extended = u32::try_from(value).map_or(value, |low| low as i32 as i64 as u64);
        let name = family.name(arch, value)?;
        (!is_wide || extended == value || family.name(arch, extended).as_ref() != Some(&name))
            .then_some(name)
    }

    fn ranges(&self, ranges: &[(u64, u64)]) -> Phrase {
        if let [(first, last)] = ranges {
            if first == last {
                return self.equal(*first).into();
            }
        }
        let name = self.name();
        let all = listed(ranges, MAX_VALUES);
        let by_flags = all.as_deref().and_then(|values| self.values_with_flags(values));
        let few = all.filter(|values| values.len() as u64 <= MAX_NAMES);
        let names: Option<Vec<String>> = few
            .as_ref()
            .and_then(|values| values.iter().map(|value| self.name_of(*value)).collect());
        let singles = ranges.iter().all(|(first, last)| first == last);
        let names = names.or_else(|| {
            singles.then(|| ranges.iter().map(|(value, _)| self.one(*value)).collect())
        });
        let names = names.map(|names| format!("{name} in {{{}}}", names.join(", ")));
        if let Some(text) = by_flags.into_iter().chain(names).min_by_key(String::len) {
            return text.into();
        }
        if let Some(phrase) = self.exceptions(ranges) {
            return phrase;
        }
        let range = |range: &(u64, u64)| match *range {
            (first, last) if first == last => format!("{name} == {}", self.one(first)),
            (0, last) => format!("{name} <= {}", number(last)),
            (first, last) if last == self.max => format!("{name} >= {}", number(first)),
            (first, last) => format!("{} <= {name} <= {}", number(first), number(last)),
        };
        ranges.iter().map(range).collect::<Vec<String>>().join(" or ").into()
    }

    /// All values but few.
    fn exceptions(&self, ranges: &[(u64, u64)]) -> Option<Phrase> {
        let others = listed(&complement(ranges, self.max), MAX_NAMES)?;
        let names: Option<Vec<String>> = others.iter().map(|value| self.name_of(*value)).collect();
        let is_short = others.len() <= ranges.len();
        let names = match names {
            Some(names) => names,
            None if is_short => others.iter().map(|value| self.one(*value)).collect(),
            None => return None,
        };
        let name = self.name();
        let text = match names.as_slice() {
            [] => return None,
            [only] => return Some(format!("{name} != {only}").into()),
            [first @ .., last] => {
                format!("any {name} except {} and {last}", first.join(", "))
            }
        };
        Some(Phrase { text, in_sentence: Some(format!("{name} not in {{{}}}", names.join(", "))) })
    }

    /// Some values, each with any of some flags.
    fn values_with_flags(&self, all: &[u64]) -> Option<String> {
        let (family, arch) = self.family?;
        let bits = family.value_bits(arch)?;
        let flags = all.iter().fold(0, |flags, value| flags | value & !bits);
        let values: BTreeSet<u64> = all.iter().map(|value| value & bits).collect();
        let is_product =
            flags != 0 && (values.len() as u64) << flags.count_ones().min(32) == all.len() as u64;
        if is_product && values.len() as u64 <= MAX_NAMES {
            let values: Vec<u64> = values.into_iter().collect();
            if let Some(text) = self.some_with(&values, flags) {
                return Some(text);
            }
        }
        // Perhaps any of some bits, of which some are those of values.
        let any = all.iter().fold(0, |any, value| any | value);
        let is_cube = 1u64.checked_shl(any.count_ones()) == Some(all.len() as u64);
        if is_cube { self.only(any) } else { None }
    }

    /// The values without bits in `mask`, or with `wanted` there.
    fn cube(&self, mask: u64, wanted: u64) -> Option<String> {
        let (family, arch) = self.family?;
        let bits = family.value_bits(arch)?;
        if let Some(text) = self.tested_flags(mask, wanted) {
            return Some(text);
        }
        if wanted & !bits != 0 {
            return None;
        }
        let free = !mask & self.max;
        let of_values = free & bits & self.max;
        if of_values.count_ones() <= 4 {
            let values: Vec<u64> = subsets(of_values).map(|value| value | wanted).collect();
            if let Some(text) = self.some_with(&values, free & !bits) {
                return Some(text);
            }
        }
        if wanted == 0 { self.only(free) } else { None }
    }

    /// One of these values, with any of these flags.
    fn some_with(&self, values: &[u64], flags: u64) -> Option<String> {
        let (family, arch) = self.family?;
        if flags == 0 {
            return None;
        }
        if values == [0] && family.value_bits(arch) == Some(0) {
            return self.only(flags);
        }
        let names = family.constants_of(arch, flags)?;
        let values: Vec<String> =
            values.iter().map(|value| self.name_of(*value)).collect::<Option<_>>()?;
        let name = self.name();
        let text = match values.as_slice() {
            [only] => format!("{name} == {only}"),
            _ => format!("{name} in {{{}}}", values.join(", ")),
        };
        let with = match names.as_slice() {
            [(only, _)] => format!("with or without {only}"),
            _ => format!("with no flags other than {}", joined(&names)),
        };
        Some(format!("{text}, {with}"))
    }

    /// The values that have only these bits, some of them flags.
    fn only(&self, bits: u64) -> Option<String> {
        let (family, arch) = self.family?;
        let of_values = bits & family.value_bits(arch)?;
        let has_flags = bits != of_values;
        let names = family.constants_of(arch, bits).filter(|_| has_flags)?;
        // A value is not a set of flags: all that the bits can hold must have a name.
        let is_named = |value: u64| value == 0 || names.iter().any(|(_, one)| *one == value);
        if of_values.count_ones() > 4 || !subsets(of_values).all(is_named) {
            return None;
        }
        if names.len() as u64 > MAX_NAMES {
            return None;
        }
        let kind = if self.name.ends_with("flags") { "" } else { " flags" };
        let half = if self.part == ArgPart::Low { " in its low half" } else { "" };
        Some(format!("no {}{kind} other than {} are set{half}", self.name, joined(&names)))
    }

    /// A test of flags of one bit each.
    fn tested_flags(&self, mask: u64, wanted: u64) -> Option<String> {
        let names = self.flags(mask)?;
        let text = match (names.as_slice(), wanted) {
            ([(only, _)], 0) => format!("{only} is not set"),
            ([(only, _)], _) => format!("{only} is set"),
            (names, 0) => format!("none of {} is set", joined(names)),
            (names, _) if wanted == mask => format!("all of {} are set", joined(names)),
            _ => return None,
        };
        Some(text)
    }

    fn not_cube(&self, mask: u64, wanted: u64) -> Option<String> {
        if mask == self.max {
            return Some(format!("{} != {}", self.name(), self.one(wanted)));
        }
        if let Some(names) = self.flags(mask) {
            let text = match (names.as_slice(), wanted) {
                ([_], _) => return self.tested_flags(mask, !wanted & mask),
                (names, 0) => format!("any of {} is set", joined(names)),
                (names, _) if wanted == mask => format!("not all of {} are set", joined(names)),
                _ => return None,
            };
            return Some(text);
        }
        let text = self.only(!mask & self.max).filter(|_| wanted == 0)?;
        text.strip_prefix("no ").map(|rest| format!("any {rest}"))
    }

    /// The flags of these bits, if each has one bit.
    fn flags(&self, bits: u64) -> Option<Vec<(&'static str, u64)>> {
        let (family, arch) = self.family?;
        let is_of_flags = family.value_bits(arch)? & bits == 0;
        let names = family.constants_of(arch, bits).filter(|_| is_of_flags)?;
        let each_has_one = names.iter().all(|(_, value)| value.is_power_of_two());
        (each_has_one && !names.is_empty()).then_some(names)
    }

    /// A comparison of some bits.
    fn masked(&self, name: &str, mask: u64, relation: &str, wanted: u64) -> String {
        let named = |text: Option<String>, plain: String| match text {
            Some(text) if text.contains('|') => format!("({})", text.replace('|', " | ")),
            text => text.unwrap_or(plain),
        };
        let (mut tested, mut of_value) = (format!("{mask:#x}"), number(wanted));
        if let Some((family, arch)) = self.family {
            tested = named(family.name_mask(arch, mask), tested);
            of_value = named(family.name_masked(arch, mask, wanted), of_value);
        }
        format!("{name} & {tested} {relation} {of_value}")
    }
}

/// The largest value of a part of an argument.
pub(super) fn largest(part: ArgPart, arch: Option<Arch>) -> u64 {
    match part == ArgPart::Whole && arch.is_none_or(Arch::has_wide_registers) {
        true => u64::MAX,
        false => u64::from(u32::MAX),
    }
}

fn joined(names: &[(&str, u64)]) -> String {
    names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The values of ranges, if there are at most `most`.
pub(super) fn listed(ranges: &[(u64, u64)], most: u64) -> Option<Vec<u64>> {
    let count = ranges
        .iter()
        .try_fold(0, |sum: u64, (first, last)| sum.checked_add(last - first)?.checked_add(1))?;
    (count <= most).then(|| ranges.iter().flat_map(|(first, last)| *first..=*last).collect())
}

/// The values up to `max` that are not in sorted ranges.
pub(super) fn complement(ranges: &[(u64, u64)], max: u64) -> Vec<(u64, u64)> {
    let (mut gaps, mut from) = (Vec::new(), Some(0));
    for (first, last) in ranges {
        match from {
            Some(from) if from < *first => gaps.push((from, first - 1)),
            _ => {}
        }
        from = last.checked_add(1);
    }
    gaps.extend(from.filter(|from| *from <= max).map(|from| (from, max)));
    gaps
}

/// All numbers whose bits are among these, in order.
fn subsets(bits: u64) -> impl Iterator<Item = u64> {
    let mut next = Some(0_u64);
    std::iter::from_fn(move || {
        let own = next?;
        next = Some(own.wrapping_sub(bits) & bits).filter(|following| *following != 0);
        Some(own)
    })
}

/// Numbers less than 4096 in decimal, others in hexadecimal.
fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
}

#[cfg(test)]
mod tests {
    use super::super::condition::ValueCondition;
    use super::*;

    fn x86(syscall: &str, arg: u8, values: ValueSet) -> String {
        let condition = ValueCondition { arg: Some(arg), part: ArgPart::Whole, values };
        condition.describe_on(Arch::X86_64, Some(syscall))
    }

    fn ranges(ranges: &[(u64, u64)]) -> ValueSet {
        ValueSet::Ranges(ranges.to_vec())
    }

    #[test]
    fn masks_of_flags_are_sentences() {
        let high = 0xffff_ffff_0000_0000;
        let masked = |mask, wanted| ValueSet::Masked { mask, wanted };
        let not = |mask, wanted| ValueSet::NotMasked { mask, wanted };
        let private = !0x4032_u64;
        let flags = "flags other than MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS, MAP_NORESERVE are set";
        assert_eq!(x86("mmap", 3, masked(private, 0)), format!("no {flags}"));
        assert_eq!(x86("mmap", 3, not(private, 0)), format!("any {flags}"));
        assert_eq!(
            x86("mmap", 3, masked(private & !high, 0)),
            format!("no {flags} in its low half"),
            "the high half may be anything"
        );
        assert_eq!(x86("mmap", 2, masked(4, 0)), "PROT_EXEC is not set");
        assert_eq!(x86("mmap", 2, masked(4, 4)), "PROT_EXEC is set");
        assert_eq!(x86("mmap", 2, not(4, 0)), "PROT_EXEC is set");
        assert_eq!(x86("mmap", 2, not(4, 4)), "PROT_EXEC is not set");
        assert_eq!(x86("mmap", 2, masked(6, 0)), "none of PROT_WRITE, PROT_EXEC is set");
        assert_eq!(x86("mmap", 2, not(6, 0)), "any of PROT_WRITE, PROT_EXEC is set");
        assert_eq!(x86("mmap", 2, masked(6, 6)), "all of PROT_WRITE, PROT_EXEC are set");
        assert_eq!(x86("mmap", 2, not(6, 6)), "not all of PROT_WRITE, PROT_EXEC are set");
        assert_eq!(x86("mmap", 2, masked(6, 4)), "prot & (PROT_WRITE | PROT_EXEC) == PROT_EXEC");
        assert_eq!(
            x86("mmap", 2, masked(!7, 0)),
            "no prot flags other than PROT_READ, PROT_WRITE, PROT_EXEC are set"
        );
        // A part of O_SYNC may be set.
        assert_eq!(x86("openat", 2, masked(0x10_1000, 0)), "flags & O_SYNC == 0");
        assert_eq!(x86("openat", 2, masked(3, 2)), "flags & 0x3 == O_RDWR");
        assert_eq!(
            x86("openat", 2, masked(!0x8_0000, 0)),
            "flags == O_RDONLY, with or without O_CLOEXEC"
        );
        assert_eq!(x86("write", 2, masked(!7, 0)), "count & 0xfffffffffffffff8 == 0");
    }

    #[test]
    fn some_values_with_any_of_some_flags() {
        let listed = |values: &[u64]| ranges(&values.iter().map(|v| (*v, *v)).collect::<Vec<_>>());
        let futex = |values| x86("futex", 1, values);
        let both = "with no flags other than FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME";
        assert_eq!(
            futex(ranges(&[(0, 1), (128, 129), (256, 257), (384, 385)])),
            format!("op in {{FUTEX_WAIT, FUTEX_WAKE}}, {both}")
        );
        assert_eq!(futex(listed(&[1, 129, 257, 385])), format!("op == FUTEX_WAKE, {both}"));
        assert_eq!(
            futex(ranges(&[(0, 1), (128, 129)])),
            "op in {FUTEX_WAIT, FUTEX_WAKE}, with or without FUTEX_PRIVATE_FLAG"
        );
        assert_eq!(
            futex(listed(&[1, 128, 129])),
            "op in {FUTEX_WAKE, FUTEX_WAIT|FUTEX_PRIVATE_FLAG, FUTEX_WAKE|FUTEX_PRIVATE_FLAG}"
        );
        let both: Vec<u64> = subsets(0x4032).collect();
        assert_eq!(
            x86("mmap", 3, listed(&both)),
            "no flags other than MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS, MAP_NORESERVE are set"
        );
        assert_eq!(x86("socket", 1, ranges(&[(0, 3)])), "type <= 3", "types are values, not flags");
        let types = x86("socket", 1, ValueSet::Masked { mask: !0x80f, wanted: 0 });
        assert_eq!(
            types, "type & 0xfffffffffffff7f0 == 0",
            "SOCK_NONBLOCK and types without a name"
        );
        assert_eq!(
            x86("mprotect", 2, ranges(&[(0, 3)])),
            "no prot flags other than PROT_READ, PROT_WRITE are set"
        );
    }

    /// Each text that has names is compared with what the values are, bit by bit.
    #[test]
    fn texts_of_flags_are_exact() {
        let mmap = Family::of(Arch::X86_64, "mmap", 3).unwrap();
        let mut seen = 0;
        for bits in (0..0x8_0000_u64).step_by(499) {
            let text = x86("mmap", 3, ValueSet::Masked { mask: !bits, wanted: 0 });
            let Some(names) = text
                .strip_prefix("no flags other than ")
                .and_then(|rest| rest.strip_suffix(" are set"))
            else {
                continue;
            };
            let value = |name| callgate_bpf::constants::value(Arch::X86_64, name).unwrap();
            let all = names.split(", ").map(value).fold(0, |all, value| all | value);
            assert_eq!(all, bits, "{text}");
            assert!(mmap.constants_of(Arch::X86_64, bits).is_some());
            seen += 1;
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn gaps_and_subsets() {
        assert_eq!(complement(&[(0, 3), (5, 6)], 9), [(4, 4), (7, 9)]);
        assert_eq!(complement(&[(0, u64::MAX)], u64::MAX), []);
        assert_eq!(complement(&[], 3), [(0, 3)]);
        assert_eq!(subsets(0b101).collect::<Vec<_>>(), [0, 1, 4, 5]);
        assert_eq!(subsets(0).collect::<Vec<_>>(), [0]);
        assert_eq!(listed(&[(0, u64::MAX)], 16), None);
    }
}
