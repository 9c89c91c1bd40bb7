//! The parts of a list of syscalls, in the order that is asked for.

use rustc_hash::FxHashMap as HashMap;

use crate::explain::{ArchExplanation, Explanation, Group, Outcome, Permission};
use crate::purposes::Purpose;

use super::options::Order;

/// Syscalls under a heading.
pub struct Part {
    /// `None` if the list has no headings.
    pub heading: Option<Heading>,
    /// The syscalls by outcome.
    pub groups: Vec<Group>,
}

/// What the syscalls of a part have in common, and how many are allowed.
pub struct Heading {
    /// What they are for.
    pub title: &'static str,
    /// Those that are allowed for some arguments count.
    pub allowed: usize,
    /// All of them.
    pub all: usize,
}

/// The syscalls of an architecture in parts. By name, each group is one syscall.
pub fn parts(arch: &ArchExplanation, order: Order) -> Vec<Part> {
    match order {
        Order::Verdict => vec![Part { heading: None, groups: arch.groups.clone() }],
        Order::Name => {
            let groups = arch.groups.iter();
            let mut groups: Vec<Group> = groups
                .flat_map(|group| {
                    let of = |call| Group { outcome: group.outcome.clone(), syscalls: vec![call] };
                    group.syscalls.iter().copied().map(of)
                })
                .collect();
            groups.sort_by_key(|group| group.syscalls.first().map(|(nr, name)| (*name, *nr)));
            vec![Part { heading: None, groups }]
        }
        Order::Group => {
            let purposes = Purpose::ALL.into_iter().map(Some).chain([None]);
            purposes
                .map(|purpose| of_purpose(arch, purpose))
                .filter(|part| !part.groups.is_empty())
                .collect()
        }
    }
}

fn of_purpose(arch: &ArchExplanation, purpose: Option<Purpose>) -> Part {
    let mut groups = arch.groups.clone();
    for group in &mut groups {
        group.syscalls.retain(|(_, name)| Purpose::of(name) == purpose);
    }
    groups.retain(|group| !group.syscalls.is_empty());
    let count = |of: fn(&&Group) -> bool| groups.iter().filter(of).map(|g| g.syscalls.len()).sum();
    let heading = Heading {
        title: purpose.map_or("Others", Purpose::title),
        allowed: count(|group| Permission::of(&group.outcome) >= Permission::Sometimes),
        all: count(|_| true),
    };
    Part { heading: Some(heading), groups }
}

/// What is listed of each architecture: of the first, everything; of each other, the differences from the first, unless
/// these are most of its syscalls.
pub enum Listed<'e> {
    /// Everything.
    Whole(&'e ArchExplanation),
    /// The differences from the first architecture.
    Differences {
        /// The first architecture.
        first: &'e ArchExplanation,
        /// What differs.
        others: ArchExplanation,
    },
}

/// What is listed of each architecture.
pub fn listed(explanation: &Explanation) -> Vec<Listed<'_>> {
    let first = explanation.arches.first();
    let is_first = |arch| first.is_some_and(|first| std::ptr::eq(first, arch));
    explanation
        .arches
        .iter()
        .map(|arch| {
            let first = first.filter(|_| !is_first(arch));
            match first.and_then(|first| Some((first, beside(first, arch)?))) {
                Some((first, others)) => Listed::Differences { first, others },
                None => Listed::Whole(arch),
            }
        })
        .collect()
}

/// The syscalls of an architecture whose outcome differs from the first architecture; `None` if these are most of
/// them.
fn beside(first: &ArchExplanation, arch: &ArchExplanation) -> Option<ArchExplanation> {
    let of =
        |arch: &ArchExplanation| -> usize { arch.groups.iter().map(|g| g.syscalls.len()).sum() };
    let known: HashMap<&str, &Outcome> = first
        .groups
        .iter()
        .flat_map(|group| group.syscalls.iter().map(|(_, name)| (*name, &group.outcome)))
        .collect();
    let mut others = arch.clone();
    for group in &mut others.groups {
        group.syscalls.retain(|(_, name)| known.get(name) != Some(&&group.outcome));
    }
    others.groups.retain(|group| !group.syscalls.is_empty());
    if first.arch.token() == arch.arch.token() {
        others.unnamed.clear();
    }
    (of(&others) * 2 < of(arch)).then_some(others)
}
