//! Records running processes: from the check that the programs count to the counts of their syscalls. `unsafe`
//! code: the number of this thread.

use std::io;
use std::time::{Duration, Instant};

use super::counted::Counted;
use super::error::BpfError;
use super::layout::{NO_EXECUTABLE, session};
use super::namespace::{in_first_namespace, is_gone};
use super::recorder::Recorder;
use super::seed::{SeedError, Seeded, seed};
use super::session::Adopted;
use crate::Note;
use crate::error::RecordErrorKind;
use crate::outcome::Outcome;
use crate::running::{AttachTarget, Cgroup};
use crate::save::Parts;
use crate::signals::Signals;
use crate::start::time_of_a_syscall;
use crate::wake_event;

/// How often the recorder checks whether the last thread has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// A thread that executes a program takes over the number of the main thread. While the kernel loads the program,
/// the old number has ended and the new one has no entry yet; this is the limit for that, and for threads of other
/// recorders that hide ours in the map.
const UNCERTAIN: Duration = Duration::from_secs(2);

/// How many sets of programs are tried. A recorder that starts at the same time may join a new set, and add the same
/// threads first.
const ATTEMPTS: u32 = 16;

/// A recorder of running processes.
pub(crate) struct Attached {
    recorder: Recorder,
    target: AttachTarget,
    seeded: Seeded,
    /// How much recording adds to the cheapest syscall.
    cost: Duration,
    /// Since when no thread seems to be left.
    unsure_since: Option<Instant>,
    /// Threads whose end the programs did not see.
    unseen_ends: usize,
}

impl Attached {
    /// Starts to record the threads of a target, and everything that they start. `splits`: executables are counted
    /// apart.
    pub(crate) fn new(target: &AttachTarget, splits: bool) -> Result<Attached, RecordErrorKind> {
        let mut recorder = Recorder::new(splits).map_err(RecordErrorKind::Attach)?;
        if !in_first_namespace() {
            return Err(RecordErrorKind::OtherNamespace);
        }
        for _ in 0..ATTEMPTS {
            match Attached::with(recorder, target)? {
                Ok(attached) if attached.seeded.threads == 0 && !target.is_starting() => {
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
        match seed(&mut recorder.session, target) {
            Ok(seeded) => Ok(Ok(Attached {
                recorder,
                target: target.clone(),
                seeded,
                cost,
                unsure_since: None,
                unseen_ends: 0,
            })),
            Err(SeedError::Taken) => Ok(Err(Taken(recorder))),
            Err(SeedError::Map(why)) => Err(map(why)),
            Err(SeedError::List(why)) => Err(RecordErrorKind::Unlisted(target.to_string(), why)),
        }
    }

    /// Records until the time is over, a signal arrives, or the last thread has ended.
    pub(crate) fn record(
        mut self,
        limit: Option<Duration>,
        mut parts: Parts<'_>,
        signals: Signals,
    ) -> Result<Outcome, RecordErrorKind> {
        let failed = |why| RecordErrorKind::Attach(BpfError::Map(why));
        let start = Instant::now();
        parts.receiver().attached(self.seeded.threads);
        loop {
            let left = limit.map(|limit| limit.saturating_sub(start.elapsed()));
            let is_over = left.is_some_and(|left| left.is_zero()) || signals.interrupted();
            if is_over || self.has_ended().map_err(failed)? {
                break;
            }
            if parts.is_due() {
                self.save(&mut parts);
            }
            parts.receiver().waits(start.elapsed());
            wake_event::wait(left.map_or(PAUSE, |left| left.min(PAUSE)));
        }
        let time = start.elapsed();
        self.recorder.session.stop().map_err(failed)?;
        let left = self.living().map_err(failed)?;
        let Counted { tallies, denied, processes, threads } = self.read().map_err(failed)?;
        let mut notes = Vec::new();
        if self.target.is_starting() && left > 0 {
            notes.push(Note::Stopped(left));
        }
        if self.seeded.unread > 0 {
            notes.push(Note::UnreadWaits(self.seeded.unread));
        }
        if self.unseen_ends > 0 {
            notes.push(Note::UnseenEnds(self.unseen_ends));
        }
        if denied > 0 {
            notes.push(Note::Denied((tallies.whole.lost == 0).then_some(denied)));
        }
        let cost = self.cost;
        Ok(Outcome { tallies, status: None, processes, threads, time, cost, notes, signals })
    }

    /// Whether no thread is left.
    fn has_ended(&mut self) -> io::Result<bool> {
        let session = &self.recorder.session;
        let thread = session.thread()?;
        if thread.as_ref().is_some_and(|thread| !is_gone(thread)) {
            self.unsure_since = None;
            return Ok(false);
        }
        let is_certain = self.unsure_since.get_or_insert_with(Instant::now).elapsed() >= UNCERTAIN;
        match thread {
            Some(gone) if is_certain => {
                self.unseen_ends += usize::from(session.forget(&gone)?);
                Ok(false)
            }
            Some(_) => Ok(false),
            // The first process has not executed its program yet.
            None if self.begun()? == 0 => {
                Ok(!self.target.cgroup().is_some_and(Cgroup::is_populated))
            }
            None => Ok(is_certain || self.living()? == 0),
        }
    }

    fn word(&self, word: i16) -> io::Result<u64> {
        Ok(self.recorder.session.words()?.get(word as usize).copied().unwrap_or(0))
    }

    /// How many threads were recorded so far.
    fn begun(&self) -> io::Result<u64> {
        Ok(self.seeded.threads.saturating_add(self.word(session::THREADS)?))
    }

    /// How many of them have not ended, by the counters.
    fn living(&self) -> io::Result<u64> {
        let ended = self.word(session::UNSEEN)?.saturating_add(self.word(session::ENDED)?);
        Ok(self.begun()?.saturating_sub(ended))
    }

    /// Saves the recording so far.
    fn save(&self, parts: &mut Parts<'_>) {
        let start = Instant::now();
        match self.read() {
            Ok(Counted { tallies, processes, threads, .. }) => {
                parts.save(tallies, processes, threads);
            }
            // This may succeed at the end.
            Err(_) => parts.saved(start.elapsed()),
        }
    }

    fn read(&self) -> io::Result<Counted> {
        let mut counted = self.recorder.read(self.seeded.waiting.clone())?;
        counted.processes += self.seeded.processes;
        counted.threads += self.seeded.threads;
        Ok(counted)
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
