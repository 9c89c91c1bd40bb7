//! The text of conditions and of clauses, with the names of arguments and constants.
//!
//! All of explanations, comparisons and reports use it. [`value_words`](super::value_words) has the text of one set of values.

use std::fmt;

use callgate_bpf::constants::Family;
use callgate_core::Arch;

use super::arguments::as_text;
use super::condition::{ArgPart, Clause, ValueCondition, ValueSet};
use super::value_words::{MAX_NAMES, Phrase, Words, complement, largest, listed, name_of};

impl ValueCondition {
    /// The text of the condition, with the name of the argument in this syscall if it is known. Values are numbers.
    pub fn describe(&self, syscall: Option<&str>) -> String {
        self.phrase(syscall, None).sentence()
    }

    /// Like [`describe`](ValueCondition::describe), with the names of values and flags on this architecture:
    /// `family == AF_ALG`.
    pub fn describe_on(&self, arch: Arch, syscall: Option<&str>) -> String {
        self.phrase(syscall, Some(arch)).sentence()
    }

    fn phrase(&self, syscall: Option<&str>, arch: Option<Arch>) -> Phrase {
        let index = self.arg.filter(|_| self.part != ArgPart::High);
        let family = arch.and_then(|arch| Some((Family::of(arch, syscall?, index?)?, arch)));
        let name = name_of(self.arg, syscall);
        if let ValueSet::Compared { relation, arg, part } = self.values {
            let (left, right) = (self.part.of(&name), part.of(&name_of(arg, syscall)));
            return as_text(&left, relation, &right).into();
        }
        Words { name, part: self.part, max: largest(self.part, arch), family }.of(&self.values)
    }
}

impl fmt::Display for ValueCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(None))
    }
}

impl Clause {
    /// The text of the conditions in one line, with the names of the arguments in this syscall if they are known.
    /// Values are numbers.
    pub fn describe(&self, syscall: Option<&str>) -> String {
        self.join(syscall, None).sentence()
    }

    /// Like [`describe`](Clause::describe), with the names of values and flags on this architecture.
    pub fn describe_on(&self, arch: Arch, syscall: Option<&str>) -> String {
        self.join(syscall, Some(arch)).sentence()
    }

    /// The conditions after a verdict: `if cmd == TIOCSTI`, `for any family except AF_ALG and AF_VSOCK`.
    pub fn when_on(&self, arch: Arch, syscall: Option<&str>) -> String {
        let Phrase { text, in_sentence } = self.join(syscall, Some(arch));
        format!("{} {text}", if in_sentence.is_some() { "for" } else { "if" })
    }

    /// When the clause does not apply, if that is said in few names: `for any family except AF_ALG and AF_VSOCK`.
    pub fn unless_on(&self, arch: Arch, syscall: Option<&str>) -> Option<String> {
        let [ValueCondition { arg, part, values: ValueSet::Ranges(ranges) }] =
            self.conditions.as_slice()
        else {
            return None;
        };
        Family::of(arch, syscall?, (*arg)?).filter(|family| family.is_enumeration())?;
        listed(ranges, MAX_NAMES)?;
        let values = ValueSet::Ranges(complement(ranges, largest(*part, Some(arch))));
        let others = ValueCondition { arg: *arg, part: *part, values }.phrase(syscall, Some(arch));
        others.in_sentence.map(|_| format!("for {}", others.text))
    }

    /// When the clause does not apply, in words; `None` if it has several conditions, or values that cannot be listed.
    pub fn otherwise_on(&self, arch: Arch, syscall: Option<&str>) -> Option<String> {
        let [ValueCondition { arg, part, values }] = self.conditions.as_slice() else {
            return None;
        };
        let values = match *values {
            ValueSet::Ranges(ref ranges) => {
                ValueSet::Ranges(complement(ranges, largest(*part, Some(arch))))
            }
            ValueSet::Masked { mask, wanted } => ValueSet::NotMasked { mask, wanted },
            ValueSet::NotMasked { mask, wanted } => ValueSet::Masked { mask, wanted },
            ValueSet::Compared { relation, arg, part } => {
                ValueSet::Compared { relation: relation.negated(), arg, part }
            }
            ValueSet::Many(_) => return None,
        };
        Some(ValueCondition { arg: *arg, part: *part, values }.describe_on(arch, syscall))
    }

    fn join(&self, syscall: Option<&str>, arch: Option<Arch>) -> Phrase {
        if let [only] = self.conditions.as_slice() {
            return only.phrase(syscall, arch);
        }
        let sentence = |condition: &ValueCondition| {
            let text = condition.phrase(syscall, arch).sentence();
            let is_list = text.contains(" {") && !text.contains("}, ");
            let is_ambiguous = text.contains(" or ") || text.contains(", ") && !is_list;
            if is_ambiguous { format!("({text})") } else { text }
        };
        let parts: Vec<String> = self.conditions.iter().map(sentence).collect();
        parts.join(" and ").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Verdict;

    fn condition(arg: u8, part: ArgPart, values: ValueSet) -> ValueCondition {
        ValueCondition { arg: Some(arg), part, values }
    }

    fn text(arch: Arch, syscall: &str, arg: u8, values: ValueSet) -> String {
        condition(arg, ArgPart::Whole, values).describe_on(arch, Some(syscall))
    }

    fn x86(syscall: &str, arg: u8, values: ValueSet) -> String {
        text(Arch::X86_64, syscall, arg, values)
    }

    fn ranges(ranges: &[(u64, u64)]) -> ValueSet {
        ValueSet::Ranges(ranges.to_vec())
    }

    #[test]
    fn conditions_of_different_widths_have_different_texts() {
        let text = |arch, part, value| {
            condition(0, part, ranges(&[(value, value)])).describe_on(arch, Some("openat"))
        };
        let (wide, low) = (0xffff_ffff_ffff_ff9c, 0xffff_ff9c);
        assert_eq!(text(Arch::X86_64, ArgPart::Whole, wide), "dfd == AT_FDCWD");
        assert_eq!(text(Arch::X86_64, ArgPart::Whole, low), "dfd == 0xffffff9c");
        assert_eq!(text(Arch::X86_64, ArgPart::Low, low), "dfd.low == AT_FDCWD");
        assert_eq!(text(Arch::X86, ArgPart::Whole, low), "dfd == AT_FDCWD");
    }

    #[test]
    fn all_but_few_values_are_exceptions() {
        let except = ranges(&[(0, 37), (39, 39), (41, u64::MAX)]);
        assert_eq!(x86("socket", 0, except.clone()), "family not in {AF_ALG, AF_VSOCK}");
        assert_eq!(x86("socket", 0, ranges(&[(0, 37), (39, u64::MAX)])), "family != AF_ALG");
        assert_eq!(
            x86("socket", 0, ranges(&[(3, u64::MAX)])),
            "family not in {AF_UNSPEC, AF_UNIX, AF_INET}"
        );
        assert_eq!(x86("socket", 0, ranges(&[(0, 37)])), "family <= 37", "38 and more have gaps");
        assert_eq!(x86("write", 2, ranges(&[(0, 4), (6, u64::MAX)])), "count != 5");
        assert_eq!(x86("write", 2, ranges(&[(4, u64::MAX)])), "count >= 4");
        // 32-bit registers end earlier.
        let narrow = ranges(&[(0, 37), (39, 39), (41, 0xffff_ffff)]);
        assert_eq!(
            text(Arch::X86, "socketpair", 0, narrow.clone()),
            "family not in {AF_ALG, AF_VSOCK}"
        );
        assert_eq!(
            x86("socket", 0, narrow),
            "family <= 37 or family == AF_NFC or 41 <= family <= 0xffffffff"
        );
        let clause = |conditions| Clause { conditions, verdict: Verdict::ALLOW };
        let family = condition(0, ArgPart::Whole, except);
        let kind = condition(1, ArgPart::Whole, ranges(&[(1, 1)]));
        let on = |clause: Clause| clause.when_on(Arch::X86_64, Some("socket"));
        assert_eq!(on(clause(vec![family.clone()])), "for any family except AF_ALG and AF_VSOCK");
        assert_eq!(
            on(clause(vec![family, kind.clone()])),
            "if family not in {AF_ALG, AF_VSOCK} and type == SOCK_STREAM"
        );
        assert_eq!(on(clause(vec![kind])), "if type == SOCK_STREAM");
    }

    #[test]
    fn what_is_not_denied_is_said_if_it_is_short() {
        let unless = |arch, syscall, values| {
            let clause = Clause {
                conditions: vec![condition(0, ArgPart::Whole, values)],
                verdict: Verdict::errno(1),
            };
            clause.unless_on(arch, Some(syscall))
        };
        let two = ranges(&[(38, 38), (40, 40)]);
        let except = Some("for any family except AF_ALG and AF_VSOCK".to_owned());
        assert_eq!(unless(Arch::X86_64, "socket", two.clone()), except);
        assert_eq!(unless(Arch::X86, "socketpair", two.clone()), except);
        assert_eq!(
            unless(Arch::X86_64, "socket", ranges(&[(38, 38)])),
            None,
            "equality is as short"
        );
        assert_eq!(unless(Arch::X86_64, "socket", ranges(&[(38, 900)])), None);
        assert_eq!(unless(Arch::X86_64, "read", two), None, "no constants");
        let otherwise = |values| {
            let conditions = vec![condition(0, ArgPart::Whole, values)];
            let clause = Clause { conditions, verdict: Verdict::ALLOW };
            clause.otherwise_on(Arch::X86_64, Some("socket"))
        };
        assert_eq!(otherwise(ranges(&[(0, 40)])).as_deref(), Some("family >= 41"));
        let masked = ValueSet::Masked { mask: 7, wanted: 1 };
        assert_eq!(otherwise(masked).as_deref(), Some("family & 0x7 != 1"));
        assert_eq!(otherwise(ValueSet::Many(9)), None);
    }
}
