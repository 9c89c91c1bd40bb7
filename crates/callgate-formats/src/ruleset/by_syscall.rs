//! Map from the syscalls of an architecture to indices.
//!
//! Numbers near the first one of the architecture, which are nearly all that rules are for, are places in a list, and so
//! are the syscalls that the architecture does not have. A search tree has all others.

use std::collections::BTreeMap;

use callgate_bpf::syscalls::KnownSyscall;
use callgate_core::Arch;

/// The syscall that a rule is for. libseccomp also keeps rules for syscalls that the architecture does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Number(u32),
    Missing(KnownSyscall),
    /// A negative number, which libseccomp assigns to syscalls that an architecture does not have.
    Pseudo(i32),
}

impl Target {
    /// The number, if the architecture has the syscall.
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Target::Number(nr) => Some(nr),
            Target::Missing(_) | Target::Pseudo(_) => None,
        }
    }
}

/// The number of numbers that are near the first one: more than any architecture has in a row.
const NEAR: u32 = 1024;

/// Map from syscalls to indices. A place without an index is the same as no place.
#[derive(Clone, Debug)]
pub(super) struct BySyscall {
    first: u32,
    /// The places of the numbers from `first` on.
    near: Vec<Option<u32>>,
    /// The places of the syscalls that the architecture does not have.
    missing: Vec<Option<u32>>,
    /// The places of all other numbers.
    far: BTreeMap<Target, Option<u32>>,
}

impl BySyscall {
    /// An empty map for the syscalls of an architecture.
    pub(super) fn new(arch: Arch) -> BySyscall {
        let first = arch.first_number();
        BySyscall { first, near: Vec::new(), missing: Vec::new(), far: BTreeMap::new() }
    }

    /// The position of a number in `near`, if it has one.
    fn position(&self, nr: u32) -> Option<usize> {
        let position = nr.checked_sub(self.first)?;
        (position < NEAR).then_some(position as usize)
    }

    /// The index of a syscall.
    pub(super) fn get(&self, syscall: Target) -> Option<usize> {
        let place = match syscall {
            Target::Number(nr) => match self.position(nr) {
                Some(position) => self.near.get(position),
                None => self.far.get(&syscall),
            },
            Target::Missing(known) => self.missing.get(known.index()),
            Target::Pseudo(_) => self.far.get(&syscall),
        };
        place.copied().flatten().map(|index| index as usize)
    }

    /// The place for the index of a syscall.
    pub(super) fn place(&mut self, syscall: Target) -> &mut Option<u32> {
        let place = match syscall {
            Target::Number(nr) => match self.position(nr) {
                Some(position) => place_in(&mut self.near, position),
                None => None,
            },
            Target::Missing(known) => place_in(&mut self.missing, known.index()),
            Target::Pseudo(_) => None,
        };
        match place {
            Some(place) => place,
            None => self.far.entry(syscall).or_default(),
        }
    }

    /// All numbers with an index, in their order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (u32, usize)> {
        let first = Target::Number(self.first);
        let near = (self.first..).zip(self.near.iter().copied());
        let number = |(syscall, place): (&Target, &Option<u32>)| Some((syscall.number()?, *place));
        let below = self.far.range(..first).filter_map(number);
        let above = self.far.range(first..).filter_map(number);
        let places = below.chain(near).chain(above);
        places.filter_map(|(nr, place)| Some((nr, place? as usize)))
    }
}

/// A place in a list, which is extended if necessary.
fn place_in(list: &mut Vec<Option<u32>>, position: usize) -> Option<&mut Option<u32>> {
    if position >= list.len() {
        // Few steps, and little memory for few rules.
        list.resize((position + 1).next_power_of_two().max(64), None);
    }
    list.get_mut(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers near the first one of an architecture, below it and far above, and syscalls that it does not have.
    #[test]
    fn every_syscall_has_its_own_place() {
        for arch in [Arch::X86_64, Arch::Mips64, Arch::Arm] {
            let first = arch.first_number();
            let numbers = [first, first + 1, first + NEAR - 1, first + NEAR, u32::MAX];
            let below = first.checked_sub(1);
            let numbers = numbers.into_iter().chain(below).map(Target::Number);
            let missing = ["arm_sync_file_range", "spu_run"].map(KnownSyscall::named);
            let missing = missing.into_iter().flatten().map(Target::Missing);
            let targets: Vec<Target> =
                numbers.chain(missing).chain([-1, -10].map(Target::Pseudo)).collect();
            let mut map = BySyscall::new(arch);
            assert!(targets.iter().all(|target| map.get(*target).is_none()));
            for (index, target) in (0..).zip(&targets) {
                *map.place(*target) = Some(index);
            }
            for (index, target) in targets.iter().enumerate() {
                assert_eq!(map.get(*target), Some(index), "{target:?}");
            }
            let mut sorted: Vec<u32> =
                targets.iter().filter_map(|target| target.number()).collect();
            sorted.sort_unstable();
            let found: Vec<u32> = map.numbers().map(|(nr, _)| nr).collect();
            assert_eq!(found, sorted);
            *map.place(targets[0]) = None;
            assert_eq!(map.get(targets[0]), None);
            assert_eq!(map.numbers().count(), sorted.len() - 1);
        }
    }
}
