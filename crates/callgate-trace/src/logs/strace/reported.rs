//! Unknown names that were reported.

use std::hash::Hasher;

use callgate_core::Arch;
use rustc_hash::FxHasher;

/// The names that were reported, of which a log may contain each a million times.
///
/// A hash table that compares a name with at most [`PROBES`] others, because a hostile log could contain names whose
/// hashes collide. A name that finds no place is reported each time, and the number of reports is limited.
#[derive(Default)]
pub(super) struct ReportedNames {
    /// [`SLOTS`] slots as soon as there is a name.
    slots: Vec<Option<(Arch, Box<str>)>>,
    count: usize,
}

const SLOTS: usize = 8192;
const PROBES: usize = 16;

/// How many names are kept: more than the number of messages that are kept.
const MAX_REPORTED: usize = 1000;

/// The slots where a name may be.
fn slots_of(arch: Arch, name: &str) -> impl Iterator<Item = usize> {
    let mut hasher = FxHasher::default();
    hasher.write_u8(arch as u8);
    hasher.write(name.as_bytes());
    let first = hasher.finish() as usize;
    (0..PROBES).map(move |probe| first.wrapping_add(probe) % SLOTS)
}

impl ReportedNames {
    pub(super) fn contains(&self, arch: Arch, name: &str) -> bool {
        if self.count == 0 {
            return false;
        }
        let mut names = slots_of(arch, name).map_while(|slot| self.slots.get(slot)?.as_ref());
        names.any(|(of, reported)| **reported == *name && *of == arch)
    }

    /// Adds a name that was not reported before, if there is place for it.
    pub(super) fn insert(&mut self, arch: Arch, name: &str) {
        if self.count >= MAX_REPORTED {
            return;
        }
        self.slots.resize(SLOTS, None);
        for slot in slots_of(arch, name) {
            if let Some(free @ None) = self.slots.get_mut(slot) {
                *free = Some((arch, name.into()));
                self.count += 1;
                return;
            }
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
    fn names_beyond_the_limit_and_without_a_free_slot_are_not_kept() {
        let mut names = ReportedNames::default();
        let name = |index: usize| format!("call{index}");
        (0..2 * MAX_REPORTED).for_each(|index| names.insert(Arch::X86_64, &name(index)));
        let kept = |index: &usize| names.contains(Arch::X86_64, &name(*index));
        assert_eq!((0..2 * MAX_REPORTED).filter(kept).count(), MAX_REPORTED);

        // Names whose hashes collide.
        let first = |name: &str| slots_of(Arch::X86_64, name).next();
        let colliding = |name: &String| first(name) == first("call0");
        let all: Vec<String> = (0..).map(name).filter(colliding).take(PROBES + 3).collect();
        let mut names = ReportedNames::default();
        all.iter().for_each(|name| names.insert(Arch::X86_64, name));
        let kept = all.iter().filter(|name| names.contains(Arch::X86_64, name));
        assert!(kept.eq(&all[..PROBES]));
    }
}
