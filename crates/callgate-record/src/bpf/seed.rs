//! Adds the threads of running processes to a session, with the syscalls in which they wait.
//!
//! The programs run already, so threads that a recorded thread starts are added by the kernel. The list of threads in
//! `/proc` is read again until nothing new appears: a thread that was started by one that was not recorded yet was
//! in the list before the latter was added, so the next list has it. A process of a recorded cgroup may also join by
//! its `execve` meanwhile.
//!
//! A thread may wait in a syscall whose start the programs have not seen, perhaps forever, as a server waits for
//! requests. `/proc/TID/syscall` has that syscall, and it counts if the thread's state shows that it was in it when it
//! was added.
//!
//! The kernel reads it without stopping the thread, and only while that is off the processor
//! (`proc_pid_syscall` in `fs/proc/base.c`). Needs the permission to trace the thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate_trace::recording::SyscallId;

use super::layout::{NO_EXECUTABLE, state};
use super::session::{Adopted, Session};
use crate::running::{AttachTarget, Image, Thread, executed_path, is_ending};
use crate::tally::Tallies;

/// How long processes may start threads faster than they are added.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many lists without a new thread end the search: a thread that ends may hide the next one in a list.
const QUIET: u32 = 3;

/// How often a thread is added again because it has executed a program meanwhile.
const MOST_EXECUTIONS: u32 = 16;

/// The threads that were added.
pub(super) struct Seeded {
    /// How many of them did not end meanwhile.
    pub(super) added: u64,
    /// Their number, and the syscalls in which they waited.
    pub(super) before: Tallies,
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
    let mut added: Vec<(Thread, Option<Vec<u8>>)> = Vec::new();
    // How many were added, but had ended or got another number before that was checked. The programs have seen that.
    let mut passed = 0;
    let mut without_room = BTreeSet::new();
    // A thread that has ended may have started another one, which no list has had yet.
    let mut ended = BTreeSet::new();
    let (start, mut quiet) = (Instant::now(), 0);
    let splits = session.splits;
    let mut executed: BTreeMap<u32, u32> = BTreeMap::new();
    while quiet < QUIET && start.elapsed() < PATIENCE {
        let before = (added.len(), ended.len(), executed.clone());
        for thread in target.threads().map_err(SeedError::List)? {
            let key = thread.id.to_ne_bytes();
            let image = splits.then(|| Image::of(thread.process));
            let path = if splits { executed_path(thread.process) } else { None };
            match adopt(session, &key, path.as_deref()).map_err(SeedError::Map)? {
                Adopted::New => {
                    let times = executed.get(&thread.id).copied().unwrap_or(0);
                    // The program at its end may have run before, and would not remove it.
                    if is_ending(thread.id) {
                        ended.insert(thread.id);
                    // It may have executed a program since its path was read. The next list has it again.
                    } else if image.is_some_and(|image| image != Image::of(thread.process))
                        && times < MOST_EXECUTIONS
                    {
                        executed.insert(thread.id, times + 1);
                    } else {
                        added.push((thread, path));
                        continue;
                    }
                    passed += u64::from(!session.forget(&key).map_err(SeedError::Map)?);
                }
                Adopted::Known => {}
                Adopted::Taken => return Err(SeedError::Taken),
                Adopted::Full => drop(without_room.insert(thread.id)),
            }
        }
        let is_quiet = before == (added.len(), ended.len(), executed.clone());
        quiet = if is_quiet { quiet + 1 } else { 0 };
    }
    let (mut tallies, mut unread) = (Tallies::new(splits), 0);
    for (thread, path) in &added {
        // Read before the state.
        let found = waiting_syscall(*thread);
        let is_unseen = session.state(&thread.id.to_ne_bytes()).map_err(SeedError::Map)?
            == Some(state::ATTACHED as u64);
        match found {
            Waiting::In(syscall, args) if is_unseen => {
                tallies.count(path.as_deref(), syscall, &args);
            }
            Waiting::Denied if is_unseen => unread += 1,
            _ => {}
        }
    }
    // Of each of these threads, at least one syscall is missing; of a list that never ends, too.
    tallies.without_room = without_room.len() as u64;
    tallies.whole.lost = tallies.without_room + u64::from(quiet < QUIET);
    let processes: BTreeSet<u32> = added.iter().map(|(thread, _)| thread.process).collect();
    let added = added.len() as u64;
    (tallies.processes, tallies.threads) = (processes.len() as u64, added + passed);
    Ok(Seeded { added, before: tallies, unread })
}

/// Adds a thread that executes this.
fn adopt(session: &mut Session, thread: &[u8], path: Option<&[u8]>) -> io::Result<Adopted> {
    let executable = match path {
        Some(path) => session.number_of(path)?,
        None => NO_EXECUTABLE as u64,
    };
    session.adopt(thread, executable)
}

/// Whether a thread waits in a syscall.
pub(super) enum Waiting {
    /// In this one, with these arguments.
    In(SyscallId, [u64; 6]),
    /// It runs, waits elsewhere, or has ended.
    Elsewhere,
    /// This process has no permission to know.
    Denied,
}

fn waiting_syscall(thread: Thread) -> Waiting {
    let id = thread.id;
    let text = match fs::read_to_string(format!("/proc/{id}/task/{id}/syscall")) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => return Waiting::Denied,
        Err(_) => return Waiting::Elsewhere,
    };
    let Some((nr, args)) = parse(&text) else { return Waiting::Elsewhere };
    let arch = if is_32_bit(id).unwrap_or(false) { Arch::X86 } else { Arch::X86_64 };
    SyscallId::of(arch.token(), nr).map_or(Waiting::Elsewhere, |syscall| Waiting::In(syscall, args))
}

/// Whether a thread executes a 32-bit program. The file does not have the ABI of the syscall.
fn is_32_bit(thread: u32) -> io::Result<bool> {
    let mut header = [0; 20];
    fs::File::open(format!("/proc/{thread}/exe"))?.read_exact(&mut header)?;
    Ok(header.starts_with(b"\x7fELF\x01") && header.get(18) == Some(&EM_386))
}

/// `EM_386` of `elf.h`.
const EM_386: u8 = 3;

/// `NR ARG… SP PC`; `running`; or `-1 SP PC` outside of a syscall.
fn parse(text: &str) -> Option<(u32, [u64; 6])> {
    let mut words = text.split_ascii_whitespace();
    let nr = words.next()?.parse().ok()?;
    let mut args = [0; 6];
    for arg in &mut args {
        *arg = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((nr, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_in_a_syscall_have_one() {
        let text = "232 0x5 0x7ffd 0x200 0xffffffffffffffff 0x0 0x8 0x7ffd1 0x7f2c\n";
        assert_eq!(parse(text), Some((232, [5, 0x7ffd, 0x200, u64::MAX, 0, 8])));
        for text in ["running\n", "-1 0x7ffd1 0x7f2c\n", "", "232 0x5\n", "1 2 3 4 5 6 7\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
