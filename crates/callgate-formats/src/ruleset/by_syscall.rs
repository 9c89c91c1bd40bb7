//! Map from the syscalls of an architecture to values.
//!
//! Numbers near the first one of the architecture, which are nearly all that rules are for, are indices of a list, and so
//! are the syscalls that the architecture does not have. A search tree has all others.

use std::collections::BTreeMap;

use callgate_bpf::syscalls::{Arch, KnownSyscall};

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

/// Map from syscalls to values. A place without a value is the same as no place.
#[derive(Clone, Debug)]
pub(super) struct BySyscall<T> {
    first: u32,
    /// The values of the numbers from `first` on.
    near: Vec<Option<T>>,
    /// The values of the syscalls that the architecture does not have.
    missing: Vec<Option<T>>,
    /// The values of all other numbers.
    far: BTreeMap<Target, Option<T>>,
}

impl<T> BySyscall<T> {
    /// An empty map for the syscalls of an architecture.
    pub(super) fn new(arch: Arch) -> BySyscall<T> {
        let first = arch.first_number();
        BySyscall { first, near: Vec::new(), missing: Vec::new(), far: BTreeMap::new() }
    }

    /// The index of a number in `near`, if it has one.
    fn index(&self, nr: u32) -> Option<usize> {
        let index = nr.checked_sub(self.first)?;
        (index < NEAR).then_some(index as usize)
    }

    /// The value of a syscall.
    pub(super) fn get(&self, syscall: Target) -> Option<&T> {
        let place = match syscall {
            Target::Number(nr) => match self.index(nr) {
                Some(index) => self.near.get(index),
                None => self.far.get(&syscall),
            },
            Target::Missing(known) => self.missing.get(known.index()),
            Target::Pseudo(_) => self.far.get(&syscall),
        };
        place?.as_ref()
    }

    /// The place for the value of a syscall.
    pub(super) fn place(&mut self, syscall: Target) -> &mut Option<T> {
        let place = match syscall {
            Target::Number(nr) => match self.index(nr) {
                Some(index) => place_in(&mut self.near, index),
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

    /// The values of all numbers, in the order of the numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (u32, &T)> {
        let first = Target::Number(self.first);
        let below =
            self.far.range(..first).filter_map(|(syscall, place)| Some((syscall.number()?, place)));
        let above =
            self.far.range(first..).filter_map(|(syscall, place)| Some((syscall.number()?, place)));
        let places = below.chain((self.first..).zip(&self.near)).chain(above);
        places.filter_map(|(nr, place)| Some((nr, place.as_ref()?)))
    }
}

/// A place in a list, which is extended if necessary.
fn place_in<T>(list: &mut Vec<Option<T>>, index: usize) -> Option<&mut Option<T>> {
    if index >= list.len() {
        // Few steps, and little memory for few rules.
        list.resize_with((index + 1).next_power_of_two().max(64), || None);
    }
    list.get_mut(index)
}
