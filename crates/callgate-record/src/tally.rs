//! Counters of syscalls, bounded in number.

use std::collections::BTreeMap;

use callgate::Arch;
use callgate_trace::recording::{ArgValues, Recording, SyscallId};

/// How many different syscalls a recording holds: more than any ABI has. A program that uses random syscall
/// numbers exceeds the limit; then the rest is counted as lost. The tracepoint method uses 0.9 MB of kernel memory
/// per processor for them.
pub const MAX_SYSCALLS: usize = 512;

/// How many threads the tracepoint method records at a time, those of all recorders that share the eBPF programs
/// together.
pub const MAX_THREADS: u32 = 1 << 16;

/// How many executables are counted apart; the others are counted together.
pub const MAX_EXECUTABLES: usize = 256;

/// The longest path of an executable in bytes; longer ones are cut.
pub(super) const MAX_PATH: usize = 239;

/// A recording with at most [`MAX_SYSCALLS`] different syscalls.
#[derive(Clone, Default)]
pub(super) struct Tally {
    pub(super) recording: Recording,
    /// How many syscalls are not in the recording.
    pub(super) lost: u64,
}

impl Tally {
    fn has_room_for(&self, syscall: SyscallId) -> bool {
        self.recording.get(syscall).is_some() || self.recording.syscalls().len() < MAX_SYSCALLS
    }

    /// Counts one syscall with its arguments.
    pub(super) fn count(&mut self, syscall: SyscallId, args: &[u64; 6]) {
        if self.has_room_for(syscall) {
            self.recording.observe(syscall, args);
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Adds syscalls that were counted elsewhere.
    pub(super) fn add(
        &mut self,
        syscall: SyscallId,
        count: u64,
        args: impl IntoIterator<Item = ArgValues>,
    ) {
        if self.has_room_for(syscall) {
            self.recording.add(syscall, count, args);
        } else {
            self.lost = self.lost.saturating_add(count);
        }
    }

    /// Whether the recording has a syscall of this name.
    pub(super) fn called(&self, name: &str) -> bool {
        self.recording.syscalls().any(|(syscall, _)| syscall.name() == Some(name))
    }
}

/// Counters of everything and, on demand, of each executable.
#[derive(Clone, Default)]
pub(super) struct Tallies {
    pub(super) whole: Tally,
    pub(super) processes: u64,
    pub(super) threads: u64,
    /// The number of threads beyond [`MAX_THREADS`], which were not recorded.
    pub(super) without_room: u64,
    /// The number of syscalls that are known to be denied by a filter.
    pub(super) denied: u64,
    /// By the path that was executed; empty for all beyond [`MAX_EXECUTABLES`], and for those that are not known. `None`
    /// if they are not counted apart.
    pub(super) executables: Option<BTreeMap<Vec<u8>, Tally>>,
    /// The number of syscalls that no executable has, because there were too many counters.
    pub(super) unsplit: u64,
}

impl Tallies {
    /// Those of one process that has not executed its program yet; whether executables are counted apart.
    pub(super) fn new(splits: bool) -> Tallies {
        let executables = splits.then(BTreeMap::new);
        Tallies { executables, processes: 1, threads: 1, ..Tallies::default() }
    }

    /// The counters of an executable, if they are counted apart.
    pub(super) fn executable(&mut self, path: &[u8]) -> Option<&mut Tally> {
        let executables = self.executables.as_mut()?;
        let named = executables.len() - usize::from(executables.contains_key(&b""[..]));
        let has_room = named < MAX_EXECUTABLES || executables.contains_key(path);
        let path = if has_room { path } else { b"" };
        if !executables.contains_key(path) {
            executables.insert(path.to_owned(), Tally::default());
        }
        executables.get_mut(path)
    }

    /// Counts one syscall of a thread that executes this; `None` before its first `execve`.
    pub(super) fn count(&mut self, path: Option<&[u8]>, syscall: SyscallId, args: &[u64; 6]) {
        self.whole.count(syscall, args);
        if let Some(tally) = path.and_then(|path| self.executable(path)) {
            tally.count(syscall, args);
        }
    }

    /// Counts `execve` of an executable for this executable: its recording starts with it, as the whole recording does.
    /// In the whole, the program that called it has counted it already.
    pub(super) fn executed(&mut self, path: &[u8], times: u64) {
        let Some(native) = Arch::native() else { return };
        let execve = SyscallId::new(native, libc::SYS_execve as u32);
        if let Some(tally) = self.executable(path) {
            tally.add(execve, times, []);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_beyond_the_limit_are_one() {
        let mut tallies = Tallies::new(true);
        let syscall = SyscallId::new(Arch::X86_64, 1);
        tallies.count(Some(b""), syscall, &[0; 6]);
        for number in 0..MAX_EXECUTABLES + 3 {
            tallies.count(Some(number.to_string().as_bytes()), syscall, &[0; 6]);
        }
        tallies.count(Some(b"0"), syscall, &[0; 6]);
        let executables = tallies.executables.unwrap();
        assert_eq!(executables.len(), MAX_EXECUTABLES + 1);
        let count = |path: &[u8]| executables[path].recording.total();
        assert_eq!((count(b""), count(b"0"), count(b"255")), (4, 2, 1));
        let mut whole = Tallies::new(false);
        whole.count(Some(b"0"), syscall, &[0; 6]);
        assert!(whole.executables.is_none());
    }
}
