//! Names of calls that were counted before, so that a call is found by one look-up.

use crate::logs::calls::Place;
use callgate_bpf::syscalls::{Arch, ArgFacts};
use rustc_hash::FxHashMap;

/// What is known of a name.
#[derive(Clone, Copy)]
pub(super) struct Name {
    /// Where the call is counted.
    pub(super) place: Place,
    /// Its arguments.
    pub(super) facts: &'static [ArgFacts],
}

/// The names of each architecture of the log, of which there are few. Only names of the tables of calls are
/// kept, so their number is bounded, and no log can make their hashes collide.
#[derive(Default)]
pub(super) struct Names {
    of: Vec<(Arch, FxHashMap<String, Name>)>,
}

impl Names {
    pub(super) fn get(&self, arch: Arch, name: &str) -> Option<Name> {
        let (_, names) = self.of.iter().find(|(of, _)| *of == arch)?;
        names.get(name).copied()
    }

    pub(super) fn insert(&mut self, arch: Arch, name: &str, found: Name) {
        if let Some((_, names)) = self.of.iter_mut().find(|(of, _)| *of == arch) {
            names.insert(name.to_owned(), found);
        } else {
            self.of.push((arch, FxHashMap::from_iter([(name.to_owned(), found)])));
        }
    }
}
