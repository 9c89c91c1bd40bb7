//! Records a command: from the check that the programs see it to the counts of its syscalls.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate::Arch;
use callgate_linux::{Command, error_text};
use callgate_trace::recording::{ArgValues, Bounds, SyscallId};

use super::error::BpfError;
use super::layout::{
    ARG_WORDS, CALL_WORDS, COUNTER_KEY, NO_EXECUTABLE, OTHERS, SLOTS, session, state,
};
use super::living::Living;
use super::session::{Executable, Session};
use super::set::{Plan, Set, SharedSet, look_up_types};
use crate::error::RecordErrorKind;
use crate::save::{Outcome, Parts};
use crate::signals::{Signals, WaitTimer};
use crate::start::{Mark, Started, time_of_a_syscall};
use crate::tally::Tallies;
use crate::{Note, RecordError, tracer};

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
        let open = |set| Session::new(set, &plan, splits).ok();
        let mut last = SharedSet::lock();
        if let Some(session) = last.get().and_then(open) {
            return Ok(Recorder { plan, session, is_shared: true, unrecorded });
        }
        let find = || Set::find(&plan).map(Arc::new).and_then(open);
        let joined = find();
        let (session, is_shared) = match joined {
            Some(session) => (session, true),
            None => {
                let own = Arc::new(Set::load(&plan)?);
                match find() {
                    Some(session) => (session, true),
                    None => (Session::new(own, &plan, splits).map_err(BpfError::Map)?, false),
                }
            }
        };
        last.remember(&session.set);
        Ok(Recorder { plan, session, is_shared, unrecorded })
    }

    /// Uses programs of its own.
    fn of(own: Set, plan: Plan, unrecorded: Duration, splits: bool) -> Result<Recorder, BpfError> {
        let session = Session::new(Arc::new(own), &plan, splits).map_err(BpfError::Map)?;
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
        let before = Tallies::new(session.splits);
        let signals = Signals::forward_to(started.pid);
        let start = Instant::now();
        started.release();
        // Interrupts the wait, so that parts are saved.
        let timer = parts.are_wanted().then(WaitTimer::start).flatten();
        let status = loop {
            if parts.is_due() {
                recorder.save(&mut parts, &before);
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
        let mut pause = Duration::from_micros(200);
        let mut living = Living::new(1);
        let watched = loop {
            let left = match living.count(session) {
                Ok(0) => break Ok(true),
                Ok(left) => left,
                Err(why) => break Err(why),
            };
            if signals.interrupted() {
                notes.push(Note::LeftOthers(left as usize));
                break Ok(false);
            }
            if parts.is_due() {
                recorder.save(&mut parts, &before);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let (time, cost) = (start.elapsed(), started.cost());
        let tallies = recorder.finish(before, watched, &living, &mut notes);
        Ok(Outcome { tallies, status, time, cost, notes, signals: Some(signals) })
    }

    /// Stops counting, and adds what the programs counted to what was counted `before`. An error does not discard a
    /// recording: a note says that it is incomplete. `watched`: whether no thread is left that could be counted.
    pub(super) fn finish(
        &self,
        before: Tallies,
        watched: io::Result<bool>,
        living: &Living,
        notes: &mut Vec<Note>,
    ) -> Tallies {
        let stopped = match watched {
            Ok(true) => Ok(()),
            _ => self.session.stop(),
        };
        let (counted, read) = self.read(before);
        if living.unseen_ends > 0 {
            notes.push(Note::UnseenEnds(living.unseen_ends as usize));
        }
        if counted.without_room > 0 {
            notes.push(Note::WithoutRoom(counted.without_room));
        }
        if counted.denied > 0 {
            // A syscall whose start was missed counts as denied, so the number is uncertain.
            let exactly = (counted.whole.lost == 0).then_some(counted.denied);
            notes.push(Note::Denied(exactly));
        }
        if let Err(why) = watched.map(drop).and(stopped).and(read) {
            notes.push(Note::Unreadable(error_text(&why)));
        }
        counted
    }

    /// Saves the recording so far, with what was counted `before`.
    pub(super) fn save(&self, parts: &mut Parts<'_>, before: &Tallies) {
        let start = Instant::now();
        match self.read(before.clone()) {
            (counted, Ok(())) => parts.save(counted),
            // This may succeed at the end.
            (_, Err(_)) => parts.saved(start.elapsed()),
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

    /// Reads the maps, and adds them to what was counted before. While the programs run, values may be slightly older than
    /// counts. If a map cannot be read, the others are added all the same.
    fn read(&self, mut counted: Tallies) -> (Tallies, io::Result<()>) {
        let mut paths = BTreeMap::new();
        let named = self.read_executables(&mut counted, &mut paths);
        let syscalls = self.read_syscalls(&mut counted, &paths);
        let words = self.read_words(&mut counted);
        (counted, named.and(syscalls).and(words))
    }

    /// Adds the `execve` of each executable, and the paths of executables by their numbers.
    fn read_executables(
        &self,
        tallies: &mut Tallies,
        paths: &mut BTreeMap<u64, Vec<u8>>,
    ) -> io::Result<()> {
        if self.session.splits {
            for Executable { number, executions, path } in self.session.executables()? {
                if number != OTHERS as u64 || executions > 0 {
                    tallies.executed(&path, executions);
                }
                paths.insert(number, path);
            }
        }
        Ok(())
    }

    fn read_syscalls(
        &self,
        tallies: &mut Tallies,
        paths: &BTreeMap<u64, Vec<u8>>,
    ) -> io::Result<()> {
        let session = &self.session;
        let mut key = None;
        // Keys are not removed, so each occurs once; bounded in any case.
        for _ in 0..session.capacity {
            key = session.syscalls.next_key(key.as_deref())?;
            let Some(key) = &key else { break };
            if let Some(values) = session.syscalls.get(key)? {
                add(tallies, key, &values, session.key, paths);
            }
        }
        Ok(())
    }

    fn read_words(&self, tallies: &mut Tallies) -> io::Result<()> {
        let (words, misses) = (self.session.words()?, self.session.misses()?);
        let word = |word: i16| words[word as usize];
        let without_room = word(session::UNSEEN).saturating_add(word(session::UNJOINED));
        tallies.without_room = tallies.without_room.saturating_add(without_room);
        // At least one syscall of each of these threads is missing.
        let lost = [word(session::LOST), without_room, misses];
        tallies.whole.lost = lost.into_iter().fold(tallies.whole.lost, u64::saturating_add);
        tallies.unsplit = word(session::UNSPLIT);
        tallies.denied += word(session::DENIED);
        tallies.processes += word(session::PROCESSES);
        tallies.threads += word(session::THREADS);
        Ok(())
    }
}

/// The key of a counter.
struct CounterKey {
    syscall: SyscallId,
    /// The number of the executable.
    executable: u64,
}

impl CounterKey {
    fn new(key: &[u8]) -> Option<CounterKey> {
        let word = |at: usize| key.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let arch = if word(0)? == 0 { Arch::X86_64 } else { Arch::X86 };
        let syscall = SyscallId::of(arch.token(), word(4)?)?;
        let executable = key.get(8..16)?.try_into().ok().map(u64::from_ne_bytes)?;
        Some(CounterKey { syscall, executable })
    }
}

/// Adds the counts of all processors for one syscall. `paths` are those of executables, by number.
pub(super) fn add(
    tallies: &mut Tallies,
    key: &[u8],
    values: &[u64],
    values_key: u64,
    paths: &BTreeMap<u64, Vec<u8>>,
) {
    let Some(CounterKey { syscall, executable }) = CounterKey::new(key) else { return };
    for value in values.chunks_exact(CALL_WORDS as usize) {
        let Some((count, args)) = value.split_first() else { continue };
        let args = args.chunks_exact(ARG_WORDS as usize).map(|arg| seen(*count, arg, values_key));
        let args: Vec<ArgValues> = args.collect();
        // An entry is inserted before it is counted; without an executable, there is none.
        if let Some(tally) = paths.get(&executable).and_then(|path| tallies.executable(path)) {
            tally.add(syscall, *count, args.iter().cloned());
        }
        tallies.whole.add(syscall, *count, args);
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
    use crate::bpf::living::{in_first_namespace, is_gone};
    use crate::save::Nowhere;

    use super::*;

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
        let outcome = recorder.record(&command, Parts::none(&mut Nowhere)).unwrap();
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
