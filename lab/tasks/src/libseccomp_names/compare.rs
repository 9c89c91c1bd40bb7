//! Compares the answers for one architecture.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use callgate::Arch;
use callgate_bpf::syscalls::known_names;
use seccomp::names::{self, PSEUDO_NUMBERS};

use callgate_experiments::libseccomp::Library;

/// The numbers whose names are compared: pseudo numbers, ordinary ones, Arm's private ones, and those around the offset of
/// x32. The ordinary ones include those of MIPS, up to twice the offset.
const NUMBERS: &[RangeInclusive<i32>] = &[
    i32::MIN..=i32::MIN + 100,
    -12_000..=14_000,
    0xf_0000..=0xf_0010,
    0x3fff_ff00..=0x4000_1000,
    i32::MAX - 100..=i32::MAX,
];

/// Names that no syscall has.
const UNKNOWN: &[&str] = &["", "no_such_syscall", "READ", "read ", "sys_read", "osf_wait4"];

/// How the answers of both differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Callgate has the number of a syscall that the library takes for absent or unknown.
    OnlyCallgate,
    /// The library has the number of a syscall that Callgate takes for absent or unknown.
    OnlyLibrary,
    /// Both have a number, or a name, but not the same.
    Contradiction,
}

/// A difference for the name of a syscall.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    pub(super) class: Class,
    pub(super) arch: &'static str,
    pub(super) question: String,
    pub(super) callgate: String,
    pub(super) library: String,
}

/// The number of compared answers, and the differences. A name of a number differs as a consequence if the number of this
/// name differs, and is not a difference of its own.
pub(super) fn compare(library: &Library, arch: Arch) -> (usize, Vec<Difference>) {
    let Some(token) = library.token(arch.name()) else { return (0, Vec::new()) };
    let (mut asked, mut differences) = (0, Vec::new());
    let mut different_names = BTreeSet::new();
    let pseudo = PSEUDO_NUMBERS.iter().map(|(name, _)| *name);
    let all: BTreeSet<&str> = known_names().chain(pseudo).chain(UNKNOWN.iter().copied()).collect();
    for name in all {
        asked += 2;
        let answers = [
            ("", names::number(arch, name), library.number(token, name)),
            (" (rewritten)", names::rewritten(arch, name), library.rewritten(token, name)),
        ];
        for (kind, ours, theirs) in answers {
            if let Some(class) = class(ours, theirs) {
                different_names.insert(name);
                differences.push(Difference {
                    class,
                    arch: arch.name(),
                    question: format!("{name}{kind}"),
                    callgate: show(ours),
                    library: show(theirs),
                });
            }
        }
    }
    for number in NUMBERS.iter().cloned().flatten() {
        asked += 1;
        let (ours, theirs) = (names::name(arch, number), library.name(token, number));
        let both = [ours, theirs.as_deref()];
        let is_consequence = both.iter().flatten().any(|name| different_names.contains(name));
        if ours != theirs.as_deref() && !is_consequence {
            let class = match both {
                [_, None] => Class::OnlyCallgate,
                [None, _] => Class::OnlyLibrary,
                _ => Class::Contradiction,
            };
            differences.push(Difference {
                class,
                arch: arch.name(),
                question: number.to_string(),
                callgate: show(ours),
                library: show(theirs),
            });
        }
    }
    (asked, differences)
}

/// How two numbers of a syscall differ, if they do.
fn class(ours: Option<i32>, theirs: Option<i32>) -> Option<Class> {
    let is_real = |number: Option<i32>| number.is_some_and(|number| number >= 0);
    match (is_real(ours), is_real(theirs)) {
        _ if ours == theirs => None,
        (true, false) => Some(Class::OnlyCallgate),
        (false, true) => Some(Class::OnlyLibrary),
        (false, false) if theirs.is_none() => Some(Class::OnlyCallgate),
        (false, false) if ours.is_none() => Some(Class::OnlyLibrary),
        _ => Some(Class::Contradiction),
    }
}

fn show(answer: Option<impl ToString>) -> String {
    answer.map_or_else(|| "unknown".to_owned(), |answer| answer.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_classified_by_who_knows_the_syscall() {
        assert_eq!(class(Some(3), Some(3)), None);
        assert_eq!(class(None, None), None);
        assert_eq!(class(Some(3), Some(-10_001)), Some(Class::OnlyCallgate));
        assert_eq!(class(Some(-10_001), None), Some(Class::OnlyCallgate));
        assert_eq!(class(Some(-10_001), Some(0)), Some(Class::OnlyLibrary));
        assert_eq!(class(None, Some(-10_001)), Some(Class::OnlyLibrary));
        assert_eq!(class(Some(3), Some(4)), Some(Class::Contradiction));
        assert_eq!(class(Some(-101), Some(-102)), Some(Class::Contradiction));
    }
}
