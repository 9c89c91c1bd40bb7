//! Names of syscalls in a log: resolved once, then found by one look-up.

use super::super::syscalls::SyscallIndex;
use callgate_bpf::syscalls::Args;
use callgate_core::Arch;
use rustc_hash::FxHashMap;

/// How many bytes of a name are kept. The longest name in the kernel is `sched_rr_get_interval_time64`.
pub(super) const MAX_NAME: usize = 64;

/// The part of a name that is kept.
pub(super) fn shortened(name: &str) -> &str {
    name.get(..MAX_NAME).unwrap_or(name)
}

/// A syscall that a name stands for.
#[derive(Clone, Copy)]
pub(super) struct ResolvedName {
    /// Where the syscall is counted; `None` if it is lost, because there are too many different ones.
    pub(super) index: Option<SyscallIndex>,
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
