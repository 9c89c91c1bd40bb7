//! What a group of differences is about.

use std::collections::BTreeSet;

use callgate::explain::Outcome;
use callgate::purposes::danger;
use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_codegen::query::Difference;
use callgate_core::{SyscallSet, X32_SYSCALL_BIT};

use crate::outcome::{self, argument_names};
use crate::text::counted;
use callgate_requests::differences::{Compared, Differences, Side};
use callgate_requests::syscall;

/// What the differences are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Titles {
    /// Changes from A to B.
    Changes,
    /// What A allows and B does not.
    Excess,
}

/// How B changes what A allows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    More,
    Less,
    /// More for some arguments, less for others.
    Both,
    /// A denied syscall gets another verdict.
    Other,
}

impl Change {
    /// What matters most comes first: what B allows, or what A allows and B does not.
    pub(super) fn order(titles: Titles) -> [Change; 4] {
        match titles {
            Titles::Changes => [Change::More, Change::Both, Change::Less, Change::Other],
            Titles::Excess => [Change::Less, Change::Both, Change::More, Change::Other],
        }
    }

    pub(super) fn of(gains: [bool; 2]) -> Change {
        match gains {
            [false, true] => Change::More,
            [true, false] => Change::Less,
            [true, true] => Change::Both,
            [false, false] => Change::Other,
        }
    }
}

/// The differences with what they change, what matters most first.
pub(super) fn by_change<'d>(
    differences: impl IntoIterator<Item = &'d Difference>,
    compared: &Compared<'_>,
    titles: Titles,
) -> Vec<(Change, &'d Difference)> {
    let change = |one: &Difference| Change::of(compared.gains(one));
    let mut all: Vec<(Change, &Difference)> =
        differences.into_iter().map(|one| (change(one), one)).collect();
    all.sort_by_key(|(change, _)| Change::order(titles).iter().position(|one| one == change));
    all
}

/// The differences in a few sentences: which syscalls are newly allowed and denied, and which of them are dangerous. They
/// count all differences, also those beyond the limit.
pub(super) fn summary(
    differences: &Differences,
    compared: &Compared<'_>,
    names: [&str; 2],
    titles: Titles,
) -> String {
    let changes = by_change(differences.all(), compared, titles);
    match titles {
        Titles::Changes => changed(&changes, compared, names),
        Titles::Excess => exceeding(&changes, compared, names),
    }
}

/// The names of the syscalls of some kinds of changes.
fn names_of(changes: &[(Change, &Difference)], kinds: &[Change]) -> BTreeSet<&'static str> {
    let own = changes.iter().filter(|(change, _)| kinds.contains(change));
    let of_group = own.flat_map(|(_, one)| {
        let named = Arch::with_token(one.data.arch).flat_map(Arch::syscalls);
        named.filter(|(nr, _)| one.syscalls.contains(*nr)).map(|(_, name)| name)
    });
    of_group.collect()
}

/// How many numbers without a name changes of some kinds are about, as text; `None` if they are about none.
fn unnamed(changes: &[(Change, &Difference)], kinds: &[Change]) -> Option<String> {
    /// A larger number says little: it is almost the whole range.
    const MOST: u64 = 999;
    let of_group = |one: &Difference| {
        let ranges = one.syscalls.ranges().iter();
        let all: u64 = ranges.map(|(first, last)| u64::from(last - first) + 1).sum();
        let named = Arch::with_token(one.data.arch).flat_map(Arch::syscalls);
        let named: BTreeSet<u32> =
            named.map(|(nr, _)| nr).filter(|nr| one.syscalls.contains(*nr)).collect();
        all.saturating_sub(named.len() as u64)
    };
    let own = changes.iter().filter(|(change, _)| kinds.contains(change));
    match own.map(|(_, one)| of_group(one)).sum() {
        0 => None,
        count @ 1..=MOST => Some(format!("{} without a name", counted(count, "number"))),
        _ => Some("numbers without a name".to_owned()),
    }
}

/// The first names of a list, and how many there are more.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    /// The most names that are listed.
    const MOST: usize = 6;
    let names: Vec<&str> = names.into_iter().collect();
    match names.split_at_checked(MOST) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// The dangerous ones of these syscalls.
fn dangerous(
    changes: &[(Change, &Difference)],
    compared: &Compared<'_>,
    titles: Titles,
) -> BTreeSet<&'static str> {
    let found = changes.iter().flat_map(|(change, one)| dangers(one, titles, *change, compared));
    found.flat_map(|(_, names)| names).collect()
}

/// Syscalls with their number and names, the dangerous ones first: `3 syscalls, 1 of them dangerous: DANGER ptrace; …`.
fn named(names: &BTreeSet<&'static str>, dangerous: &BTreeSet<&'static str>) -> (String, String) {
    let count = counted(names.len() as u64, "syscall");
    let others = names.difference(dangerous).copied();
    let which = match (dangerous.len(), names.len()) {
        (0, _) => format!(": {}", listed(names.iter().copied())),
        (1, 1) => format!(", and it is dangerous: {}", listed(dangerous.iter().copied())),
        (some, all) if some == all => {
            format!(", and all are dangerous: {}", listed(dangerous.iter().copied()))
        }
        (some, _) => format!(
            ", {some} of them dangerous: {}; the {}: {}",
            listed(dangerous.iter().copied()),
            if names.len() - some == 1 { "other" } else { "others" },
            listed(others)
        ),
    };
    (count, which)
}

/// Whether one of the filters decides about some syscalls of these kinds of changes by their arguments.
fn depends(
    changes: &[(Change, &Difference)],
    kinds: &[Change],
    compared: &Compared<'_>,
) -> &'static str {
    let is_whole = |side: Side, one: &Difference| {
        matches!(compared.common_outcome(side, one), Some(Outcome::Always(_)))
    };
    let mut own = changes.iter().filter(|(change, _)| kinds.contains(change));
    let found = own.any(|(_, one)| !is_whole(Side::A, one) || !is_whole(Side::B, one));
    if found { ", at least with some arguments" } else { "" }
}

/// What A allows and B does not, and what both deny, A with a less strict action.
fn exceeding(
    changes: &[(Change, &Difference)],
    compared: &Compared<'_>,
    [a, b]: [&str; 2],
) -> String {
    let kinds = [Change::Less, Change::Both];
    let allowed = names_of(changes, &kinds);
    let others = names_of(changes, &[Change::Other, Change::More]);
    let mut sentences = Vec::new();
    if !allowed.is_empty() {
        let (count, which) = named(&allowed, &dangerous(changes, compared, Titles::Excess));
        let some = depends(changes, &kinds, compared);
        sentences.push(format!("{a} allows {count} that {b} denies{some}{which}."));
    }
    // With another architecture, the same name may be denied by both.
    let others = others.difference(&allowed).count();
    if others > 0 {
        let calls = counted(others as u64, "syscall");
        let more = if sentences.is_empty() { calls } else { format!("{others} more") };
        let who = if sentences.is_empty() { a } else { "It" };
        sentences.push(format!("{who} denies {more} with a less strict action."));
    }
    if sentences.is_empty() {
        return format!("{a} is looser than {b} only for numbers without a name.");
    }
    if let Some(numbers) = unnamed(changes, &kinds) {
        sentences.push(match allowed.is_empty() {
            true => format!("It allows {numbers} that {b} denies."),
            false => format!("It also allows {numbers}."),
        });
    }
    sentences.join(" ")
}

/// What B allows and A does not, and what A allows and B does not: a sentence each, and one about numbers without a name
/// where these are not all.
fn changed(
    changes: &[(Change, &Difference)],
    compared: &Compared<'_>,
    [a, b]: [&str; 2],
) -> String {
    let (of_more, of_less) = ([Change::More, Change::Both], [Change::Less, Change::Both]);
    let (more, less) = (names_of(changes, &of_more), names_of(changes, &of_less));
    let other = names_of(changes, &[Change::Other]);
    let numbers = [unnamed(changes, &of_more), unnamed(changes, &of_less)];
    let [more_numbers, less_numbers] = &numbers;
    if more.is_empty() && less.is_empty() && numbers.iter().all(Option::is_none) {
        let what = match other.len() {
            0 => "They differ only for numbers without a name.".to_owned(),
            count => {
                let calls = counted(count as u64, "syscall");
                format!("{calls} that both deny get another error or action.")
            }
        };
        return format!("{b} allows exactly what {a} allows. {what}");
    }
    let first = match (more.is_empty(), more_numbers) {
        (true, None) => format!("{b} allows nothing that {a} denies."),
        (true, Some(numbers)) => {
            let some = depends(changes, &of_more, compared);
            format!("{b} allows {numbers} that {a} denies{some}.")
        }
        (false, numbers) => {
            let (count, which) = named(&more, &dangerous(changes, compared, Titles::Changes));
            let some = depends(changes, &of_more, compared);
            let also = numbers.as_ref().map(|numbers| format!(" It also allows {numbers}."));
            format!("{b} allows {count} that {a} denies{some}{which}.{}", also.unwrap_or_default())
        }
    };
    let second = match (less.is_empty(), less_numbers) {
        (true, None) => format!("It allows all that {a} allows."),
        (true, Some(numbers)) => {
            let some = depends(changes, &of_less, compared);
            format!("It denies {numbers} that {a} allows{some}.")
        }
        (false, numbers) => {
            let (count, which) = named(&less, &BTreeSet::new());
            let some = depends(changes, &of_less, compared);
            let also = numbers.as_ref().map(|numbers| format!(" It also denies {numbers}."));
            format!("It denies {count} that {a} allows{some}{which}.{}", also.unwrap_or_default())
        }
    };
    format!("{first} {second}")
}

/// The syscalls of a group by their ABI, that of the example first: x86-64 and x32 have one arch token, and the same
/// names.
pub(super) fn by_abi(arch: Option<Arch>, group: &Difference) -> Vec<(&'static str, SyscallSet)> {
    // Other numbers with the bit belong to neither.
    let (first, last) = (X32_SYSCALL_BIT, 2 * X32_SYSCALL_BIT - 1);
    let part = |parts: &[(u32, u32)]| {
        let ranges = parts.iter().flat_map(|(first, last)| {
            let cut = |(from, to): &(u32, u32)| (*from.max(first), *to.min(last));
            group.syscalls.ranges().iter().map(cut)
        });
        SyscallSet::from_ranges(ranges.filter(|(from, to)| from <= to))
    };
    let (x32, others) = (part(&[(first, last)]), part(&[(0, first - 1), (last + 1, u32::MAX)]));
    match arch {
        Some(Arch::X86_64) => vec![("also", others), ("also on x32", x32)],
        Some(Arch::X32) => vec![("also", x32), ("also on x86_64", others)],
        _ => vec![("also", group.syscalls.clone())],
    }
}

/// What the filters do with the syscalls of a group.
pub(super) struct Sides {
    /// Of each filter with all arguments: `ALLOW if family == AF_UNIX, else ERRNO(EPERM)`.
    pub(super) all: [String; 2],
    /// With the arguments of the example, if one of the filters decides by arguments.
    pub(super) example: Option<[Verdict; 2]>,
}

impl Sides {
    pub(super) fn of(compared: &Compared<'_>, arch: Option<Arch>, group: &Difference) -> Sides {
        let verdicts = [group.left, group.right];
        let of_side = |side| arch.and_then(|arch| conditions(compared, side, arch, group));
        let conditions = [Side::A, Side::B].map(of_side);
        let example = conditions.iter().any(Option::is_some).then_some(verdicts);
        let [a, b] = conditions;
        let of = |conditions: Option<String>, verdict: Verdict| {
            conditions.unwrap_or_else(|| outcome::colored(verdict))
        };
        Sides { all: [of(a, group.left), of(b, group.right)], example }
    }
}

/// What a filter does with the syscalls of a group, if it decides by their arguments, and in the same way for all.
fn conditions(
    compared: &Compared<'_>,
    side: Side,
    arch: Arch,
    group: &Difference,
) -> Option<String> {
    let outcome = compared.common_outcome(side, group)?;
    if let Outcome::Always(_) = outcome {
        return None;
    }
    let named: Vec<(u32, &str)> =
        arch.syscalls().filter(|(nr, _)| group.syscalls.contains(*nr)).collect();
    Some(outcome::lines(outcome, arch, argument_names(&named, arch)).join("; "))
}

/// The dangerous syscalls of a group that one filter grants, and the other one does not or with fewer arguments, by reason.
pub(super) fn dangers(
    difference: &Difference,
    titles: Titles,
    change: Change,
    compared: &Compared<'_>,
) -> Vec<(&'static str, Vec<&'static str>)> {
    let granted = match (titles, change) {
        (Titles::Excess, _) => Some(Side::A),
        (Titles::Changes, Change::More | Change::Both) => Some(Side::B),
        (Titles::Changes, Change::Less | Change::Other) => None,
    };
    let (Some(arch), Some(side)) = (syscall::arch_of(&difference.data), granted) else {
        return Vec::new();
    };
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (nr, name) in arch.syscalls().filter(|(nr, _)| difference.syscalls.contains(*nr)) {
        let Some(danger) = danger(name) else { continue };
        if !compared.is_further_danger(side, arch, nr, danger) {
            continue;
        }
        match found.iter_mut().find(|(reason, _)| *reason == danger.reason) {
            Some((_, names)) => names.push(name),
            None => found.push((danger.reason, vec![name])),
        }
    }
    found
}
