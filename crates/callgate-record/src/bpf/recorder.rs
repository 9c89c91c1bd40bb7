//! Records a command: from the check that the programs see it to the counts of its syscalls.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use callgate_linux::Command;

use super::counted::{Counted, add};
use super::error::BpfError;
use super::executables::Executable;
use super::layout::{CALL_WORDS, COUNTER_KEY, NO_EXECUTABLE, OTHERS, session, state};
use super::namespace::is_gone;
use super::session::Session;
use super::set::{Plan, Set};
use super::tracepoints::look_up_types;
use crate::error::RecordErrorKind;
use crate::outcome::Outcome;
use crate::save::Parts;
use crate::signals::Signals;
use crate::start::{Mark, Started, time_of_a_syscall};
use crate::tally::Tallies;
use crate::tracer;
use crate::wait_timer::WaitTimer;
use crate::{Note, RecordError};

/// A thread that executes a program takes over the number of the main thread. While the kernel loads the program,
/// the old number has ended and the new one has no entry yet; this is the limit for that.
const EXECUTES: Duration = Duration::from_millis(300);

/// How long threads of other recorders may hide ours in the map.
const HIDDEN: Duration = Duration::from_secs(2);

/// Programs and maps for one recording.
pub(crate) struct Recorder {
    plan: Plan,
    pub(super) session: Session,
    /// The programs may belong to another recorder.
    is_shared: bool,
    /// The time per syscall before this recorder used them.
    pub(super) unrecorded: Duration,
}

impl Recorder {
    /// Joins the programs of another recorder, or loads its own. Nothing is recorded yet. `splits`: executables are
    /// counted apart.
    pub(crate) fn new(splits: bool) -> Result<Recorder, BpfError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(BpfError::Machine);
        }
        let unrecorded = time_of_a_syscall();
        let (offsets, targets) = look_up_types()?;
        let plan = Plan::new(offsets, targets);
        // Fails if the set has too many sessions.
        let join = || Set::find(&plan).and_then(|set| Session::new(set, &plan, splits).ok());
        if let Some(session) = join() {
            return Ok(Recorder { plan, session, is_shared: true, unrecorded });
        }
        let own = Set::load(&plan)?;
        match join() {
            Some(session) => Ok(Recorder { plan, session, is_shared: true, unrecorded }),
            None => Recorder::of(own, plan, unrecorded, splits),
        }
    }

    /// Uses programs of its own.
    fn of(own: Set, plan: Plan, unrecorded: Duration, splits: bool) -> Result<Recorder, BpfError> {
        let session = Session::new(own, &plan, splits).map_err(BpfError::Map)?;
        Ok(Recorder { plan, session, is_shared: false, unrecorded })
    }

    /// Replaces shared programs by its own. A thread that is already recorded cannot have another session in the same
    /// set.
    pub(super) fn with_own_programs(self) -> Result<Recorder, BpfError> {
        let own = Set::load(&self.plan)?;
        Recorder::of(own, self.plan, self.unrecorded, self.session.splits)
    }

    /// Starts the child, and verifies that it is recorded.
    fn start(self, command: &Command) -> Result<(Recorder, Started), RecordErrorKind> {
        let mark = Mark::Cookie(self.session.cookie());
        let started =
            Started::new(command, mark, self.unrecorded).map_err(RecordErrorKind::Start)?;
        match self.check(&started) {
            Ok(()) => Ok((self, started)),
            Err(why) => {
                started.kill();
                // This process may be recorded, and so its child.
                if !self.is_shared {
                    return Err(RecordErrorKind::Tracepoint(why));
                }
                let own = self.with_own_programs().map_err(RecordErrorKind::Tracepoint)?;
                own.start(command)
            }
        }
    }

    /// Records a command; returns when all of its processes have ended.
    pub(crate) fn record(
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
        let counted = recorder.read(Tallies::new(session.splits)).map_err(read)?;
        if counted.denied > 0 {
            // A syscall whose start was missed counts as denied, so the number is uncertain.
            let exactly = (counted.tallies.whole.lost == 0).then_some(counted.denied);
            notes.push(Note::Denied(exactly));
        }
        Ok(Outcome {
            tallies: counted.tallies,
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
        match self.read(Tallies::new(self.session.splits)) {
            Ok(Counted { tallies, processes, threads, .. }) => {
                parts.save(tallies, 1 + processes, 1 + threads);
            }
            // This may succeed at the end.
            Err(_) => parts.saved(start.elapsed()),
        }
    }

    /// Waits for the syscalls of the child before its `execve`, and discards them.
    fn check(&self, started: &Started) -> Result<(), BpfError> {
        const PATIENCE: Duration = Duration::from_secs(10);
        if !started.wait_until_recorded() || self.count(libc::SYS_getppid)? == 0 {
            return Err(BpfError::NotSeen);
        }
        let start = Instant::now();
        while self.count(libc::SYS_futex)? < 2 {
            if start.elapsed() > PATIENCE {
                return Err(BpfError::NotSeen);
            }
            std::thread::yield_now();
        }
        // The child waits. Syscalls that a signal handler makes before the `execve` do not count.
        let child = self.session.thread().map_err(BpfError::Map)?.ok_or(BpfError::NotSeen)?;
        self.session
            .set_state(&child, state::BEFORE_EXECVE as u64, NO_EXECUTABLE as u64)
            .map_err(BpfError::Map)?;
        self.session.clear().map_err(BpfError::Map)
    }

    /// How often a syscall of the native ABI was counted so far.
    pub(super) fn count(&self, nr: libc::c_long) -> Result<u64, BpfError> {
        let mut key = [0; COUNTER_KEY];
        key[4..8].copy_from_slice(&(nr as u32).to_ne_bytes());
        let values = self.session.syscalls.get(&key).map_err(BpfError::Map)?;
        let values = values.unwrap_or_default();
        Ok(values.chunks_exact(CALL_WORDS as usize).filter_map(<[u64]>::first).sum())
    }

    /// Reads the maps, and adds them to `tallies`. While the programs run, values may be slightly older than counts.
    pub(super) fn read(&self, mut tallies: Tallies) -> io::Result<Counted> {
        let session = &self.session;
        let mut paths = BTreeMap::new();
        if session.splits {
            for Executable { number, executions, path } in session.executables()? {
                if number != OTHERS as u64 || executions > 0 {
                    tallies.executed(&path, executions);
                }
                paths.insert(number, path);
            }
        }
        let mut key = None;
        // Keys are not removed, so each occurs once; bounded in any case.
        for _ in 0..session.capacity {
            key = session.syscalls.next_key(key.as_deref())?;
            let Some(key) = &key else { break };
            if let Some(values) = session.syscalls.get(key)? {
                add(&mut tallies, key, &values, session.key, &paths);
            }
        }
        let words = session.words()?;
        let word = |word: i16| words[word as usize];
        // At least one syscall of each thread that was not seen is missing.
        let lost = [word(session::LOST), word(session::UNSEEN), session.misses()?];
        let whole = &mut tallies.whole;
        whole.lost = lost.into_iter().fold(whole.lost, u64::saturating_add);
        tallies.unsplit = word(session::UNSPLIT);
        Ok(Counted {
            tallies,
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

#[cfg(test)]
mod tests {
    use super::super::namespace::in_first_namespace;
    use super::*;
    use crate::RecordMethod;
    use crate::save::{Facts, Nowhere};

    /// The kernel skips the exit program when it would interrupt itself, which a test cannot provoke. So this inserts
    /// a thread that has ended into the map before the command runs.
    #[test]
    #[ignore = "needs root: loads eBPF programs, and must run in the initial PID namespace"]
    fn a_thread_whose_end_was_not_seen_is_not_waited_for() {
        let recorder = Recorder::new(false).unwrap();
        assert!(in_first_namespace(), "not in the initial PID namespace");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let key = (child.id() as i32).to_ne_bytes();
        assert!(!is_gone(&key));
        child.wait().unwrap();
        recorder.session.set_state(&key, 0, 0).unwrap();
        let mut words = recorder.session.words().unwrap();
        words[session::THREADS as usize] += 1;
        recorder.session.set_words(words);
        let command = Command::find(&["true".into()]).unwrap();
        let facts = Facts { method: RecordMethod::Tracepoint, command: Vec::new(), attached: None };
        let outcome = recorder.record(&command, Parts::new(&mut Nowhere, facts)).unwrap();
        assert_eq!(outcome.notes, [Note::UnseenEnds(1)]);
    }
}
