//! Records running processes: from the check that the programs count to the counts of their syscalls. `unsafe`
//! code: the number of this thread.

use std::io;
use std::time::{Duration, Instant};

use super::error::BpfError;
use super::layout::NO_EXECUTABLE;
use super::living::{Living, in_first_namespace};
use super::recorder::Recorder;
use super::seed::{SeedError, Seeded, seed};
use super::session::Adopted;
use crate::Note;
use crate::error::RecordErrorKind;
use crate::running::{AttachTarget, Population};
use crate::save::{Outcome, Parts};
use crate::signals::{self, Signals};
use crate::start::time_of_a_syscall;

/// How many sets of programs are tried. A recorder that starts at the same time may join a new set, and add the same
/// threads first.
const ATTEMPTS: u32 = 16;

/// A recorder of running processes.
pub(crate) struct Attached {
    recorder: Recorder,
    target: AttachTarget,
    seeded: Seeded,
    /// How many processes run in the cgroup of a starting container that are not its first one.
    others: u64,
    /// How much recording adds to the cheapest syscall.
    cost: Duration,
    living: Living,
    /// Whether the cgroup of a starting container had a process.
    was_populated: bool,
}

impl Attached {
    /// Starts to record the threads of a target, and everything that they start. `splits`: executables are counted
    /// apart.
    pub(crate) fn new(target: &AttachTarget, splits: bool) -> Result<Attached, RecordErrorKind> {
        let mut recorder = Attached::recorder(splits)?;
        for _ in 0..ATTEMPTS {
            match Attached::with(recorder, target)? {
                Ok(attached) if attached.seeded.added == 0 && !target.is_starting() => {
                    return Err(RecordErrorKind::NoProcesses(target.to_string()));
                }
                Ok(attached) => return Ok(attached),
                Err(Taken(before)) => {
                    recorder = before.with_own_programs().map_err(RecordErrorKind::Attach)?;
                }
            }
        }
        Err(RecordErrorKind::Attach(BpfError::NotSeen))
    }

    /// A recorder that records nothing yet; an error if it could not attach to any process here.
    pub(crate) fn recorder(splits: bool) -> Result<Recorder, RecordErrorKind> {
        let recorder = Recorder::new(splits).map_err(RecordErrorKind::Attach)?;
        match in_first_namespace() {
            true => Ok(recorder),
            false => Err(RecordErrorKind::OtherNamespace),
        }
    }

    fn with(
        mut recorder: Recorder,
        target: &AttachTarget,
    ) -> Result<Result<Attached, Taken>, RecordErrorKind> {
        let refused = RecordErrorKind::Attach;
        let map = |why| RecordErrorKind::Attach(BpfError::Map(why));
        let Some(cost) = recorder.record_this_thread().map_err(refused)? else {
            return Ok(Err(Taken(recorder)));
        };
        // Before the list of its threads is read: a process may execute a program between the two.
        if let Some(cgroup) = target.cgroup() {
            if !recorder.session.adopt_cgroup(cgroup.id()).map_err(map)? {
                return Ok(Err(Taken(recorder)));
            }
        }
        let unlisted = |why| RecordErrorKind::Unlisted(target.to_string(), why);
        match seed(&mut recorder.session, target) {
            Ok(seeded) => Ok(Ok(Attached {
                others: target.others().map_err(unlisted)?,
                living: Living::new(seeded.before.threads),
                recorder,
                target: target.clone(),
                seeded,
                cost,
                was_populated: false,
            })),
            Err(SeedError::Taken) => Ok(Err(Taken(recorder))),
            Err(SeedError::Map(why)) => Err(map(why)),
            Err(SeedError::List(why)) => Err(unlisted(why)),
        }
    }

    /// Records until the time is over, a signal arrives, or the last thread has ended, for which it looks after each
    /// `pause`.
    pub(crate) fn record(
        mut self,
        limit: Option<Duration>,
        pause: Duration,
        mut parts: Parts<'_>,
        signals: &Signals,
    ) -> Outcome {
        let (start, mut cut_from) = (Instant::now(), None);
        parts.attached(self.seeded.added);
        let watched = loop {
            let left = limit.map(|limit| limit.saturating_sub(start.elapsed()));
            let is_over = left.is_some_and(|left| left.is_zero());
            if is_over || signals.interrupted() {
                cut_from = limit.filter(|_| !is_over);
                break Ok(false);
            }
            match self.has_ended() {
                Ok(false) => {}
                ended => break ended,
            }
            if parts.is_due() {
                self.recorder.save(&mut parts, &self.seeded.before);
            }
            parts.waits(start.elapsed());
            signals::wait_for_wake(left.map_or(pause, |left| left.min(pause)));
        };
        let (time, cost) = (start.elapsed(), self.cost);
        let mut notes = Vec::new();
        if let AttachTarget::Starting { cgroup, .. } = &self.target {
            let session = &self.recorder.session;
            let left = match self.living.count(session) {
                // The program of the container may not have been executed yet.
                Ok(0) => cgroup.threads().map_or(0, |threads| threads.len() as u64),
                counted => counted.unwrap_or(0),
            };
            if left > 0 && watched.as_ref().is_ok_and(|has_ended| !has_ended) {
                notes.push(Note::Stopped(left));
            }
            if self.living.begun(session).is_ok_and(|begun| begun == 0) {
                notes.push(Note::NothingExecuted);
            }
        }
        if let (Some(limit), false) = (cut_from, self.target.is_starting()) {
            notes.push(Note::CutShort { after: time, limit });
        }
        if self.others > 0 {
            notes.push(Note::RanBefore(self.others));
        }
        if self.seeded.unread > 0 {
            notes.push(Note::UnreadWaits(self.seeded.unread));
        }
        // Another process may join at any time.
        let watched = watched.map(|_| false);
        let tallies = self.recorder.finish(self.seeded.before, watched, &self.living, &mut notes);
        Outcome { tallies, status: None, time, cost, notes, signals: None }
    }

    /// Whether no thread is left, and no process that may execute the program of a starting container.
    fn has_ended(&mut self) -> io::Result<bool> {
        let session = &self.recorder.session;
        if self.living.count(session)? > 0 {
            return Ok(false);
        }
        let AttachTarget::Starting { cgroup, .. } = &self.target else { return Ok(true) };
        match cgroup.population() {
            Population::Populated => {
                self.was_populated = true;
                Ok(false)
            }
            Population::Empty if !self.was_populated && self.living.begun(session)? == 0 => {
                Ok(false)
            }
            // A process may have executed a program and left the cgroup meanwhile.
            Population::Empty | Population::Removed => Ok(self.living.count(session)? == 0),
        }
    }
}

/// Another recorder has a thread or the cgroup. Its programs cannot serve this recorder.
struct Taken(Recorder);

impl Recorder {
    /// Records this thread for a moment: verifies that the programs count, and measures how much they add to the
    /// cheapest syscall. `None` if another recorder records this thread.
    fn record_this_thread(&mut self) -> Result<Option<Duration>, BpfError> {
        // SAFETY: takes nothing.
        let thread = unsafe { libc::gettid() }.to_ne_bytes();
        if self.session.adopt(&thread, NO_EXECUTABLE as u64).map_err(BpfError::Map)? != Adopted::New
        {
            return Ok(None);
        }
        let recorded = time_of_a_syscall();
        self.session.forget(&thread).map_err(BpfError::Map)?;
        if self.count(libc::SYS_getppid)? == 0 {
            return Err(BpfError::NotSeen);
        }
        self.session.clear().map_err(BpfError::Map)?;
        Ok(Some(recorded.saturating_sub(self.unrecorded)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{session, state};
    use super::*;
    use crate::running::RunningProcess;
    use crate::save::Nowhere;
    use crate::tally::MAX_THREADS;

    /// A process that makes no syscalls.
    fn busy_process() -> std::process::Child {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "echo; while :; do :; done"]).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut byte = [0];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        child
    }

    fn end(mut child: std::process::Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The kernel reads maps without errors, so this removes the entry that is read.
    #[test]
    #[ignore = "needs root: loads eBPF programs, and must run in the initial PID namespace"]
    fn counters_that_cannot_be_read_do_not_discard_the_recording() {
        let child = busy_process();
        let target = AttachTarget::Process(RunningProcess::find(child.id()).unwrap());
        let mut attached = Attached::new(&target, false).unwrap();
        let read = callgate_trace::recording::SyscallId::new(callgate::Arch::X86_64, 0);
        attached.seeded.before.count(None, read, &[0; 6]);
        let session = &attached.recorder.session;
        session.set.sessions.remove(&session.id.to_ne_bytes()).unwrap();
        let parts = &mut Nowhere;
        let (pause, signals) = (Duration::from_millis(50), Signals::end_recording());
        let outcome = attached.record(None, pause, Parts::none(parts), &signals);
        end(child);
        assert!(matches!(outcome.notes[..], [Note::Unreadable(_)]), "{:?}", outcome.notes);
        assert_eq!(outcome.tallies.whole.recording.total(), 1);
    }

    #[test]
    #[ignore = "needs root: loads eBPF programs, and must run in the initial PID namespace"]
    fn ends_count_once_and_only_for_threads_that_were_counted() {
        let mut recorder = Recorder::new(false).unwrap();
        let ended =
            |recorder: &Recorder| recorder.session.words().unwrap()[session::ENDED as usize];
        // It is killed in the `execve` by which it joins.
        let child = busy_process();
        let thread = (child.id() as i32).to_ne_bytes();
        recorder.session.set_state(&thread, state::JOINS as u64, 0).unwrap();
        end(child);
        assert_eq!(recorder.session.state(&thread).unwrap(), None);
        assert_eq!(ended(&recorder), 0);
        // Without an entry, its end is not counted either; with one, it is.
        for (is_forgotten, expected) in [(true, 0), (false, 1)] {
            let child = busy_process();
            let thread = (child.id() as i32).to_ne_bytes();
            assert_eq!(recorder.session.adopt(&thread, 0).unwrap(), Adopted::New);
            if is_forgotten {
                assert!(recorder.session.forget(&thread).unwrap());
            }
            end(child);
            assert!(!recorder.session.forget(&thread).unwrap());
            assert_eq!(ended(&recorder), expected);
        }
    }

    /// Threads that run when the recording starts, and threads that are started later.
    #[test]
    #[ignore = "needs root: loads eBPF programs, and must run in the initial PID namespace"]
    fn threads_without_room_are_counted() {
        /// No thread has a larger number (`PID_MAX_LIMIT`).
        const UNUSED: u32 = 1 << 22;
        // While this recorder exists, others use its programs instead of the programs that are loaded next.
        let _older = Recorder::new(false).unwrap();
        let mut recorder = Recorder::new(false).unwrap().with_own_programs().unwrap();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "read line; (exit 3); :"]).stdin(std::process::Stdio::piped());
        let mut starting = command.spawn().unwrap();
        let thread = (starting.id() as i32).to_ne_bytes();
        assert_eq!(recorder.session.adopt(&thread, 0).unwrap(), Adopted::New);
        let unused = (UNUSED + 1..).map(|number| (number as i32).to_ne_bytes());
        let filled =
            unused.take_while(|one| recorder.session.adopt(one, 0).unwrap() == Adopted::New);
        assert_eq!(filled.count() as u32, MAX_THREADS - 1);
        drop(starting.stdin.take());
        starting.wait().unwrap();
        let child = busy_process();
        let target = AttachTarget::Process(RunningProcess::find(child.id()).unwrap());
        // The thread that has ended has made room for one.
        let last = (UNUSED as i32).to_ne_bytes();
        assert_eq!(recorder.session.adopt(&last, 0).unwrap(), Adopted::New);
        let seeded = seed(&mut recorder.session, &target).ok().unwrap();
        end(child);
        assert_eq!((seeded.added, seeded.before.without_room), (0, 1));
        let mut notes = Vec::new();
        let tallies = recorder.finish(seeded.before, Ok(false), &Living::new(1), &mut notes);
        assert_eq!(notes, [Note::WithoutRoom(2)]);
        assert!(tallies.whole.lost >= 2, "{}", tallies.whole.lost);
    }
}
