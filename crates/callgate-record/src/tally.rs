//! Counters of syscalls, bounded in number.

use callgate::recording::{ArgValues, Recording, SyscallId};

/// How many different syscalls a recording holds: more than any ABI has. A program that uses random syscall
/// numbers exceeds the limit; then the rest is counted as lost. The tracepoint method uses 0.9 MB of kernel memory
/// per processor for them.
pub const MAX_SYSCALLS: usize = 512;

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
