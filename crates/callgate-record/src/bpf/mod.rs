//! Records by eBPF: small programs at the kernel's tracepoints count syscalls in maps.
//!
//! The recorder reads the maps at the end, and receives nothing while the command runs, so a busy machine loses
//! nothing. Recording adds about 300 ns to a syscall. Tracepoints belong to the whole machine, so all other
//! syscalls get slower by nearly as much; recorders share their programs ([`set`]), so several cost no more than
//! one. What exceeds a limit is counted as lost: more than [`MAX_CALLS`] different syscalls, more than
//! [`set::MAX_THREADS`] threads at a time.
//!
//! Before the `execve`, the process of the command makes syscalls that must appear in the maps. Otherwise this
//! method does not work on this machine, and the recorder reports that.
//!
//! Limits: x86-64; Linux 5.15 with BTF, CAP_BPF and CAP_PERFMON.

mod asm;
mod btf;
mod error;
mod kernel;
#[cfg(test)]
mod mounted;
mod programs;
mod set;
mod tracepoints;
mod types;

use std::io;
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate::recording::{ArgValues, Bounds, CallId};

use super::save::Parts;
use super::signals::Signals;
use super::start::{Mark, Started, time_of_a_call};
use super::tracer;
use super::wait_timer::WaitTimer;
use crate::error::RecordErrorKind;
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::{MAX_CALLS, Note, RecordError};
use callgate_linux::Command;
use programs::{ARG_WORDS, BEFORE_EXECVE, CALL_WORDS, SLOTS, session};
use set::{Plan, Session, Set};
use tracepoints::look_up_types;

pub(super) use error::BpfError;

/// A thread that executes a program takes over the number of the main thread. While the kernel loads the program,
/// the old number has ended and the new one has no entry yet; this is the limit for that.
const EXECUTES: Duration = Duration::from_millis(300);

/// How long threads of other recorders may hide ours in the map.
const HIDDEN: Duration = Duration::from_secs(2);

/// Programs and maps for one command.
pub(super) struct Recorder {
    plan: Plan,
    session: Session,
    /// The programs may belong to another recorder.
    is_shared: bool,
    /// The time per syscall before this recorder used them.
    unrecorded: Duration,
}

impl Recorder {
    /// Joins the programs of another recorder, or loads its own. Nothing is recorded yet.
    pub(super) fn new() -> Result<Recorder, BpfError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(BpfError::Machine);
        }
        let unrecorded = time_of_a_call();
        let (offsets, targets) = look_up_types()?;
        let plan = Plan::new(offsets, targets);
        // Fails if the set has too many sessions.
        let join = || Set::find(&plan).and_then(|set| Session::new(set, &plan).ok());
        if let Some(session) = join() {
            return Ok(Recorder { plan, session, is_shared: true, unrecorded });
        }
        let own = Set::load(&plan)?;
        match join() {
            Some(session) => Ok(Recorder { plan, session, is_shared: true, unrecorded }),
            None => Recorder::of(own, plan, unrecorded),
        }
    }

    /// Uses programs of its own.
    fn of(own: Set, plan: Plan, unrecorded: Duration) -> Result<Recorder, BpfError> {
        let session = Session::new(own, &plan).map_err(BpfError::Map)?;
        Ok(Recorder { plan, session, is_shared: false, unrecorded })
    }

    /// Starts the child, and verifies that it is recorded.
    fn start(self, command: &Command) -> Result<(Recorder, Started), RecordErrorKind> {
        let unrecorded = self.unrecorded;
        let mark = Mark::Cookie(self.session.cookie());
        let started = Started::new(command, mark, unrecorded).map_err(RecordErrorKind::Start)?;
        match self.check(&started) {
            Ok(()) => Ok((self, started)),
            Err(why) => {
                started.kill();
                // A process that is already recorded, as this one may be, cannot have another session in the same set.
                if !self.is_shared {
                    return Err(RecordErrorKind::Tracepoint(why));
                }
                let own = Set::load(&self.plan).map_err(RecordErrorKind::Tracepoint)?;
                Recorder::of(own, self.plan, unrecorded)
                    .map_err(RecordErrorKind::Tracepoint)?
                    .start(command)
            }
        }
    }

    /// Records a command; returns when all of its processes have ended.
    pub(super) fn record(
        self,
        command: &Command,
        mut parts: Parts<'_>,
    ) -> Result<Outcome, RecordError> {
        let (recorder, started) = self.start(command)?;
        let session = &recorder.session;
        let signals = Signals::forward_to(started.pid);
        let start = Instant::now();
        started.release();
        // Interrupts the wait, so that parts are saved.
        let timer = parts.are_wanted().then(WaitTimer::start).flatten();
        let status = loop {
            if parts.is_due() {
                recorder.save(&mut parts);
            }
            match tracer::wait_for_end(started.pid) {
                Ok(()) => {
                    // Signals must not be forwarded to a process ID that may be in use again.
                    signals.command_ended();
                    break tracer::wait(started.pid).ok().map(|(_, status)| status);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                // Another part of this process reaped it; its syscalls are known all the same.
                Err(why) if why.raw_os_error() == Some(libc::ECHILD) => break None,
                Err(why) => return Err(RecordErrorKind::Wait(why).into()),
            }
        };
        drop(timer);
        signals.command_ended();
        if let Some(stopped) = started.stopped() {
            return Err(RecordErrorKind::of(stopped, command).into());
        }
        let mut notes = Vec::new();
        let read = |why| RecordErrorKind::Tracepoint(BpfError::Map(why));
        let mut pause = Duration::from_micros(200);
        let mut unseen_ends = 0;
        let mut gone: Option<(Option<Vec<u8>>, Instant)> = None;
        loop {
            let living = living(&session.words().map_err(read)?).saturating_sub(unseen_ends);
            if living == 0 {
                break;
            }
            // The program at `sched_process_exit` removes an entry before its thread disappears, if it runs.
            let thread = session.thread().map_err(read)?;
            gone = match gone.take().filter(|(before, _)| *before == thread) {
                _ if thread.as_ref().is_some_and(|thread| !is_gone(thread)) => None,
                Some((Some(thread), since)) if since.elapsed() >= EXECUTES => {
                    unseen_ends += u64::from(session.forget(&thread).map_err(read)?);
                    continue;
                }
                Some((None, since)) if since.elapsed() >= HIDDEN => {
                    unseen_ends += living;
                    break;
                }
                known => known.or_else(|| Some((thread, Instant::now()))),
            };
            if signals.interrupted() {
                notes.push(Note::LeftOthers(living as usize));
                break;
            }
            if parts.is_due() {
                recorder.save(&mut parts);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        if unseen_ends > 0 {
            notes.push(Note::UnseenEnds(unseen_ends as usize));
        }
        let (time, cost) = (start.elapsed(), started.cost());
        session.stop().map_err(read)?;
        let counted = recorder.read().map_err(read)?;
        if counted.denied > 0 {
            // A syscall whose start was missed counts as denied, so the number is uncertain.
            let exactly = (counted.tally.lost == 0).then_some(counted.denied);
            notes.push(Note::Denied(exactly));
        }
        Ok(Outcome {
            tally: counted.tally,
            status,
            processes: 1 + counted.processes,
            threads: 1 + counted.threads,
            time,
            cost,
            notes,
            signals,
        })
    }

    /// Saves the recording so far.
    fn save(&self, parts: &mut Parts<'_>) {
        let start = Instant::now();
        match self.read() {
            Ok(Counted { tally, processes, threads, .. }) => {
                parts.save(tally, 1 + processes, 1 + threads);
            }
            // This may succeed at the end.
            Err(_) => parts.saved(start.elapsed()),
        }
    }

    /// Waits for the syscalls of the child before its `execve`, and discards them.
    fn check(&self, started: &Started) -> Result<(), BpfError> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let key = |nr: libc::c_long| {
            let [a, b, c, d] = 0_u32.to_ne_bytes();
            let [e, f, g, h] = (nr as u32).to_ne_bytes();
            [a, b, c, d, e, f, g, h]
        };
        let count = |nr| {
            let values =
                self.session.calls.get(&key(nr)).map_err(BpfError::Map)?.unwrap_or_default();
            let counts = values.chunks_exact(CALL_WORDS as usize).filter_map(<[u64]>::first);
            Ok(counts.sum::<u64>())
        };
        if !started.wait_until_recorded() || count(libc::SYS_getppid)? == 0 {
            return Err(BpfError::NotSeen);
        }
        let start = Instant::now();
        while count(libc::SYS_futex)? < 2 {
            if start.elapsed() > PATIENCE {
                return Err(BpfError::NotSeen);
            }
            std::thread::yield_now();
        }
        // The child waits. Syscalls that a signal handler makes before the `execve` do not count.
        let child = self.session.thread().map_err(BpfError::Map)?.ok_or(BpfError::NotSeen)?;
        self.session.set_state(&child, BEFORE_EXECVE as u64).map_err(BpfError::Map)?;
        while let Some(key) = self.session.calls.next_key(None).map_err(BpfError::Map)? {
            self.session.calls.remove(&key).map_err(BpfError::Map)?;
        }
        Ok(())
    }

    /// Reads the maps. While the programs run, values may be slightly older than counts.
    fn read(&self) -> io::Result<Counted> {
        let mut tally = Tally::default();
        let session = &self.session;
        let mut key = None;
        // Keys are not removed, so each occurs once; bounded in any case.
        for _ in 0..MAX_CALLS {
            key = session.calls.next_key(key.as_deref())?;
            let Some(key) = &key else { break };
            if let Some(values) = session.calls.get(key)? {
                add(&mut tally, key, &values, session.key);
            }
        }
        let words = session.words()?;
        let word = |word: i16| words[word as usize];
        // At least one syscall of each thread that was not seen is missing.
        let lost = [word(session::LOST), word(session::UNSEEN), session.misses()?];
        tally.lost = lost.into_iter().fold(tally.lost, u64::saturating_add);
        Ok(Counted {
            tally,
            denied: word(session::DENIED),
            processes: word(session::PROCESSES),
            threads: word(session::THREADS),
        })
    }
}

/// The number of recorded threads that have not ended.
fn living(words: &[u64; session::ALL]) -> u64 {
    let word = |word: i16| words[word as usize];
    let begun = 1 + word(session::THREADS);
    begun.saturating_sub(word(session::UNSEEN)).saturating_sub(word(session::ENDED))
}

/// Whether a recorded thread has disappeared. Its number belongs to the initial PID namespace; in another one this
/// cannot be checked, and the result is false.
fn is_gone(key: &[u8]) -> bool {
    let Ok(thread) = key.try_into().map(i32::from_ne_bytes) else { return false };
    in_first_namespace() && !tracer::exists(thread)
}

/// Whether this process is in the initial PID namespace, so that process IDs are those that eBPF programs see
/// (`PROC_PID_INIT_INO` of `include/linux/proc_ns.h`).
fn in_first_namespace() -> bool {
    use std::os::unix::fs::MetadataExt;
    const FIRST: u64 = 0xefff_fffc;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == FIRST)
}

struct Counted {
    tally: Tally,
    denied: u64,
    processes: u64,
    threads: u64,
}

/// Adds the counts of all processors for one syscall.
fn add(tally: &mut Tally, key: &[u8], values: &[u64], values_key: u64) {
    let word = |at: usize| {
        let bytes = key.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let arch = if word(0) == 0 { Arch::X86_64 } else { Arch::X86 };
    let Some(call) = CallId::of(arch.token(), word(4)) else { return };
    for value in values.chunks_exact(CALL_WORDS as usize) {
        let Some((count, args)) = value.split_first() else { continue };
        tally.add(
            call,
            *count,
            args.chunks_exact(ARG_WORDS as usize).map(|arg| seen(*count, arg, values_key)),
        );
    }
}

/// The values of one argument on one processor.
fn seen(count: u64, arg: &[u64], key: u64) -> ArgValues {
    let &[length, min, max, ever, always, ref values @ ..] = arg else {
        return ArgValues::default();
    };
    let first = values.iter().take(length.min(SLOTS as u64) as usize).map(|value| value ^ key);
    if length <= SLOTS as u64 {
        return ArgValues::from_values(count, first);
    }
    // A program that runs right now may not have updated them all.
    let others = Bounds { min, max, ever, always }.unite(Bounds::of(min)).unite(Bounds::of(max));
    ArgValues::from_bounds(count, first.fold(others, |all, value| all.unite(Bounds::of(value))))
}

#[cfg(test)]
mod tests {
    use super::super::RecordMethod;
    use super::super::save::{Facts, Nowhere};
    use super::*;

    /// The kernel skips the exit program when it would interrupt itself, which a test cannot provoke. So this inserts
    /// a thread that has ended into the map before the command runs.
    #[test]
    #[ignore = "needs root: loads eBPF programs, and must run in the initial PID namespace"]
    fn a_thread_whose_end_was_not_seen_is_not_waited_for() {
        let recorder = Recorder::new().unwrap();
        assert!(in_first_namespace(), "not in the initial PID namespace");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let key = (child.id() as i32).to_ne_bytes();
        assert!(!is_gone(&key));
        child.wait().unwrap();
        recorder.session.set_state(&key, 0).unwrap();
        let mut words = recorder.session.words().unwrap();
        words[session::THREADS as usize] += 1;
        recorder.session.set_words(words);
        let command = Command::find(&["true".into()]).unwrap();
        let facts = Facts { method: RecordMethod::Tracepoint, command: Vec::new() };
        let outcome = recorder.record(&command, Parts::new(&mut Nowhere, facts)).unwrap();
        assert_eq!(outcome.notes, [Note::UnseenEnds(1)]);
    }

    #[test]
    fn counts_of_processors_are_added() {
        let mut first = vec![0; ARG_WORDS as usize];
        first[0] = 2;
        first[5..7].copy_from_slice(&[6, 8]);
        assert_eq!(seen(3, &first, 1), ArgValues::from_values(3, [7, 9]));
        let mut second = vec![0; ARG_WORDS as usize];
        second[..5].copy_from_slice(&[33, 0x100, 0x900, 0xf00, 0]);
        for (slot, value) in second[5..].iter_mut().zip(1..) {
            *slot = value;
        }
        let bounds = Bounds { min: 1, max: 0x900, ever: 0xf3f, always: 0 };
        assert_eq!(seen(50, &second, 0), ArgValues::from_bounds(50, bounds));
    }
}
