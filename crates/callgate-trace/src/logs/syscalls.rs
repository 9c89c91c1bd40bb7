//! The syscalls of a log, with a limit on how many different ones are kept: a log may contain any number as a syscall
//! number.

use crate::recording::limits::MAX_SYSCALLS;
use crate::recording::{Caveat, Recording, Run, SyscallId, SyscallStats};
use callgate_bpf::diagnostic::Position;
use callgate_formats::diagnostics::messages::Messages;

/// A recording of one run. A reader that keeps the index of a syscall needs no further look-up.
pub(super) struct BoundedSyscalls {
    run: Run,
    stats: Vec<(SyscallId, SyscallStats)>,
    /// The [key](key_of) of each syscall, sorted, and its index in the list. Not a hash table, because the numbers are
    /// those of the log, and a hostile log could contain numbers whose hashes collide.
    keys: Vec<u64>,
    indices: Vec<usize>,
    /// A bit for the [hash](hash_of) of each key: most syscalls beyond the limit need no search.
    hashes: Vec<u64>,
    /// The position of the first syscall that exceeded the limit, and the number of such syscalls.
    lost: Option<(Position, u64)>,
}

/// The number of different hashes.
const HASHES: usize = 1 << 18;

/// The hash of a key: the index of a word of bits, and the bit.
fn hash_of(key: u64) -> (usize, u64) {
    let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASHES.ilog2());
    (hash as usize / 64, 1 << (hash % 64))
}

fn key_of(syscall: SyscallId) -> u64 {
    (syscall.arch as u64) << 32 | u64::from(syscall.nr)
}

impl BoundedSyscalls {
    pub(super) fn of(run: Run) -> BoundedSyscalls {
        BoundedSyscalls {
            run,
            stats: Vec::new(),
            keys: Vec::new(),
            indices: Vec::new(),
            hashes: vec![0; HASHES / 64],
            lost: None,
        }
    }

    /// The index of a syscall, in order of first use. Adds it if it is new; `None` if the limit is reached.
    pub(super) fn index(&mut self, syscall: SyscallId) -> Option<usize> {
        let key = key_of(syscall);
        let (word, bit) = hash_of(key);
        let is_full = self.stats.len() >= MAX_SYSCALLS;
        if is_full && self.hashes.get(word).is_some_and(|word| word & bit == 0) {
            return None;
        }
        match self.keys.binary_search(&key) {
            Ok(at) => self.indices.get(at).copied(),
            Err(_) if is_full => None,
            Err(at) => {
                let index = self.stats.len();
                self.stats.push((syscall, SyscallStats::new(syscall)));
                if let Some(word) = self.hashes.get_mut(word) {
                    *word |= bit;
                }
                self.keys.insert(at, key);
                self.indices.insert(at, index);
                Some(index)
            }
        }
    }

    /// The entry of the syscall with this index.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut SyscallStats> {
        self.stats.get_mut(index).map(|(_, stats)| stats)
    }

    /// The entries of all syscalls, in the order of their indices.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut SyscallStats> {
        self.stats.iter_mut().map(|(_, stats)| stats)
    }

    /// Counts a syscall that exceeds the limit, at this position in the text.
    pub(super) fn lose(&mut self, at: impl FnOnce() -> Position) {
        let (_, lost) = self.lost.get_or_insert_with(|| (at(), 0));
        *lost = lost.saturating_add(1);
    }

    /// Adds caveats to the run.
    pub(super) fn add_caveats(&mut self, caveats: impl IntoIterator<Item = Caveat>) {
        self.run.caveats.extend(caveats);
    }

    /// The recording; reports syscalls that exceeded the limit.
    pub(super) fn finish(self, messages: &mut Messages) -> Recording {
        let mut run = self.run;
        if let Some((at, lost)) = self.lost {
            let message = format!(
                "more than {MAX_SYSCALLS} different syscalls, the limit; calls of further ones are counted as lost: {lost}"
            );
            messages.warn(at, message).help =
                "no kernel has that many syscalls; check what was logged".to_owned();
            run.lost = run.lost.saturating_add(lost);
        }
        Recording::of_syscalls(run, self.stats)
    }
}
