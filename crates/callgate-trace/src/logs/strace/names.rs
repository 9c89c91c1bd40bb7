//! Names of syscalls in a log: resolved once, then found by one look-up, or reported once.

use callgate_bpf::syscalls::Args;
use callgate_core::Arch;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// How many bytes of a name are kept. The longest name in the kernel is `sched_rr_get_interval_time64`.
const MAX_NAME: usize = 64;

/// The part of a name that is kept.
pub(super) fn shortened(name: &str) -> &str {
    name.get(..MAX_NAME).unwrap_or(name)
}

/// A syscall that a name stands for.
#[derive(Clone, Copy)]
pub(super) struct ResolvedName {
    /// Where the syscall is counted; `None` if it is lost, because there are too many different ones.
    pub(super) index: Option<usize>,
    /// Its arguments.
    pub(super) facts: Args,
}

/// The names per architecture; a log has few architectures. Only names from the syscall tables are kept, so their
/// number is bounded, and a hostile log cannot make their hashes collide.
#[derive(Default)]
pub(super) struct ResolvedNames {
    by_arch: Vec<(Arch, FxHashMap<String, ResolvedName>)>,
}

impl ResolvedNames {
    pub(super) fn get(&self, arch: Arch, name: &str) -> Option<ResolvedName> {
        let (_, names) = self.by_arch.iter().find(|(of, _)| *of == arch)?;
        names.get(name).copied()
    }

    pub(super) fn insert(&mut self, arch: Arch, name: &str, resolved: ResolvedName) {
        if let Some((_, names)) = self.by_arch.iter_mut().find(|(of, _)| *of == arch) {
            names.insert(name.to_owned(), resolved);
        } else {
            self.by_arch.push((arch, FxHashMap::from_iter([(name.to_owned(), resolved)])));
        }
    }
}

/// How many unknown names are kept: more than the number of messages that are kept.
const MAX_REPORTED: usize = 1000;

/// Unknown names that were reported, of which a log may contain each a million times. An ordered map, because a hostile log could
/// contain names whose hashes collide. A name beyond the limit is reported each time, and the number of reports is limited.
#[derive(Default)]
pub(super) struct ReportedNames {
    arches: BTreeMap<Box<str>, BTreeSet<Arch>>,
    count: usize,
}

impl ReportedNames {
    pub(super) fn contains(&self, arch: Arch, name: &str) -> bool {
        self.arches.get(name).is_some_and(|arches| arches.contains(&arch))
    }

    /// Adds a name that was not reported before, if there is place for it.
    pub(super) fn insert(&mut self, arch: Arch, name: &str) {
        if self.count < MAX_REPORTED && name.len() <= MAX_NAME {
            self.arches.entry(name.into()).or_default().insert(arch);
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_per_architecture_after_it_was_reported() {
        let mut names = ReportedNames::default();
        assert!(!names.contains(Arch::X86_64, "reed"));
        names.insert(Arch::X86_64, "reed");
        assert!(names.contains(Arch::X86_64, "reed"));
        assert!(!names.contains(Arch::X86, "reed"));
        assert!(!names.contains(Arch::X86_64, "ree"));
    }

    #[test]
    fn names_beyond_the_limits_are_not_kept() {
        let mut names = ReportedNames::default();
        let name = |index: usize| format!("call{index}");
        (0..2 * MAX_REPORTED).for_each(|index| names.insert(Arch::X86_64, &name(index)));
        let kept = |index: &usize| names.contains(Arch::X86_64, &name(*index));
        assert_eq!((0..2 * MAX_REPORTED).filter(kept).count(), MAX_REPORTED);
        let (mut names, long) = (ReportedNames::default(), "x".repeat(MAX_NAME + 1));
        names.insert(Arch::X86_64, &long);
        assert!(!names.contains(Arch::X86_64, &long));
    }
}
