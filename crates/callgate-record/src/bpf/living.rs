//! Finds out when the last recorded thread has ended.
//!
//! The programs count the threads that start and end, and remove the entry of a thread that ends. The kernel skips a
//! program that would interrupt itself, so the end of a thread may be missed; its entry then remains.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::layout::session;
use super::session::Session;
use crate::tracer;

/// How long no thread is seen before entries of threads that have disappeared are removed. A thread that executes a
/// program takes over the number of the main thread: while the kernel loads the program, the old number has ended and the
/// new one has no entry yet. Threads of other recorders may also hide ours in the map temporarily.
const UNCERTAIN: Duration = Duration::from_secs(2);

/// The recorded threads that have not ended.
pub(super) struct Living {
    /// How many were added by the recorder, and not by a program.
    added: u64,
    /// Since when no thread seems to be left.
    unsure_since: Option<Instant>,
    /// Threads whose end the programs did not see.
    pub(super) unseen_ends: u64,
}

impl Living {
    /// `added`: how many threads the recorder added itself.
    pub(super) fn new(added: u64) -> Living {
        Living { added, unsure_since: None, unseen_ends: 0 }
    }

    /// How many threads were recorded so far.
    pub(super) fn begun(&self, session: &Session) -> io::Result<u64> {
        Ok(self.begun_by(&session.words()?))
    }

    fn begun_by(&self, words: &[u64; session::ALL]) -> u64 {
        self.added.saturating_add(words[session::THREADS as usize])
    }

    /// How many of them have not ended; 0 only if this is certain.
    pub(super) fn count(&mut self, session: &Session) -> io::Result<u64> {
        loop {
            let words = session.words()?;
            let ended = words[session::UNSEEN as usize]
                .saturating_add(words[session::ENDED as usize])
                .saturating_add(self.unseen_ends);
            let left = self.begun_by(&words).saturating_sub(ended);
            // Elsewhere it cannot be checked whether a thread has disappeared.
            if left == 0 && !in_first_namespace() {
                return Ok(0);
            }
            let thread = session.thread()?;
            if thread.as_ref().is_some_and(|thread| !is_gone(thread)) {
                self.unsure_since = None;
                return Ok(left.max(1));
            }
            let since = self.unsure_since.get_or_insert_with(Instant::now);
            let is_certain = since.elapsed() >= UNCERTAIN;
            match thread {
                None if left == 0 => return Ok(0),
                None if is_certain => self.unseen_ends += left,
                Some(gone) if is_certain => self.unseen_ends += u64::from(session.forget(&gone)?),
                _ => return Ok(left.max(1)),
            }
        }
    }
}

/// Whether a recorded thread has disappeared. Its number belongs to the initial PID namespace; in another one this
/// cannot be checked, and the result is false.
pub(super) fn is_gone(key: &[u8]) -> bool {
    let Ok(thread) = key.try_into().map(i32::from_ne_bytes) else { return false };
    in_first_namespace() && !tracer::exists(thread)
}

/// Whether this process is in the initial PID namespace, so that process IDs are those that eBPF programs see
/// (`PROC_PID_INIT_INO` of `include/linux/proc_ns.h`).
pub(super) fn in_first_namespace() -> bool {
    const FIRST: u64 = 0xefff_fffc;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == FIRST)
}
