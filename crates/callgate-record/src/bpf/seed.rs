//! Adds the threads of running processes to a session.
//!
//! The programs run already, so threads that a recorded thread starts are added by the kernel. The list of threads in
//! `/proc` is read again until nothing new appears: a thread that was started by one that was not recorded yet was
//! in the list before the latter was added, so the next list has it. A process of a recorded cgroup may also join by
//! its `execve` meanwhile.
//!
//! A thread may wait in a syscall whose start the programs have not seen, perhaps forever, as a server waits for
//! requests. `/proc/TID/syscall` has that syscall, and it counts if the thread's state shows that it was in it when it
//! was added.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use super::layout::{NO_EXECUTABLE, state};
use super::session::{Adopted, Session};
use super::waiting::{Waiting, waiting_syscall};
use crate::running::{AttachTarget, Thread, executed_path, is_ending};
use crate::tally::Tallies;

/// How long processes may start threads faster than they are added.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many lists without a new thread end the search: a thread that ends may hide the next one in a list.
const QUIET: u32 = 3;

/// The threads that were added.
#[derive(Default)]
pub(super) struct Seeded {
    pub(super) processes: u64,
    pub(super) threads: u64,
    /// The syscalls in which they waited.
    pub(super) waiting: Tallies,
    /// How many of them may have waited in a syscall that could not be read.
    pub(super) unread: u64,
}

/// Why threads were not added.
pub(super) enum SeedError {
    /// Another recorder records one of them by the same programs.
    Taken,
    /// The map of threads cannot be used.
    Map(io::Error),
    /// The list of threads cannot be read.
    List(io::Error),
}

/// Adds the threads of a target.
pub(super) fn seed(session: &mut Session, target: &AttachTarget) -> Result<Seeded, SeedError> {
    let mut added: Vec<Thread> = Vec::new();
    let mut without_room = BTreeSet::new();
    // A thread that has ended may have started another one, which no list has had yet.
    let mut ended = BTreeSet::new();
    let (start, mut quiet) = (Instant::now(), 0);
    let (splits, mut replaced) = (session.splits, 0_u64);
    while quiet < QUIET && start.elapsed() < PATIENCE {
        let before = (added.len(), ended.len(), replaced);
        for thread in target.threads().map_err(SeedError::List)? {
            let key = thread.id.to_ne_bytes();
            let path = if splits { executed_path(thread.process) } else { None };
            match adopt(session, &key, path.as_deref()).map_err(SeedError::Map)? {
                // The program at its end may have run before, and would not remove it.
                Adopted::New if is_ending(thread.id) => {
                    session.forget(&key).map_err(SeedError::Map)?;
                    ended.insert(thread.id);
                }
                // It may have executed a program since its path was read. The next list has it again.
                Adopted::New if splits && executed_path(thread.process) != path => {
                    session.forget(&key).map_err(SeedError::Map)?;
                    replaced += 1;
                }
                Adopted::New => added.push(thread),
                Adopted::Known => {}
                Adopted::Taken => return Err(SeedError::Taken),
                Adopted::Full => drop(without_room.insert(thread.id)),
            }
        }
        let now = (added.len(), ended.len(), replaced);
        quiet = if now == before { quiet + 1 } else { 0 };
    }
    let (mut waiting, mut unread) = (Tallies::new(splits), 0);
    for thread in &added {
        // Read before the state.
        let found = waiting_syscall(*thread);
        let is_unseen = session.state(&thread.id.to_ne_bytes()).map_err(SeedError::Map)?
            == Some(state::ATTACHED as u64);
        match found {
            Waiting::In(syscall, args) if is_unseen => {
                let path = if splits { executed_path(thread.process) } else { None };
                waiting.count(path.as_deref(), syscall, &args);
            }
            Waiting::Denied if is_unseen => unread += 1,
            _ => {}
        }
    }
    // Of each of these threads, at least one syscall is missing; of a list that never ends, too.
    waiting.whole.lost = without_room.len() as u64 + u64::from(quiet < QUIET);
    let processes: BTreeSet<u32> = added.iter().map(|thread| thread.process).collect();
    let (processes, threads) = (processes.len() as u64, added.len() as u64);
    Ok(Seeded { processes, threads, waiting, unread })
}

/// Adds a thread that executes this.
fn adopt(session: &mut Session, thread: &[u8], path: Option<&[u8]>) -> io::Result<Adopted> {
    let executable = match path {
        Some(path) => session.number_of(path)?,
        None => NO_EXECUTABLE as u64,
    };
    session.adopt(thread, executable)
}
