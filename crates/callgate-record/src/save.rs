//! Results of recording, and how they are saved: parts while the command runs, and the whole at its end.
//!
//! A recorder that is killed (SIGKILL) loses what it has not saved. So it saves the recording so far after a
//! second, after another second, and then at intervals that double up to a minute. An interval is at least 100
//! times as long as saving took. What is lost is at most the second half of the run, and at most the last
//! minute (or 100 times the time that saving takes). Who wants rates instead may ask for parts at a fixed interval.

use std::time::{Duration, Instant};

use callgate_trace::recording::{Caveat, Recording, RecordingMethod, Run};
use libc::c_int;

use crate::signals::Signals;
use crate::tally::{Tallies, Tally};
use crate::{Note, RecordMethod};

/// Receives recordings and saves them.
pub trait Save {
    /// Whether [`part`](Save::part) is called.
    fn wants_parts(&self) -> bool {
        false
    }

    /// A fixed interval between parts, however long saving takes, so that their differences are the syscalls of windows of
    /// equal length; `None` for intervals that double. Running processes are looked after 20 times per second, so the intervals vary by 50 ms.
    fn part_interval(&self) -> Option<Duration> {
        None
    }

    /// Whether executables are counted apart.
    fn wants_executables(&self) -> bool {
        false
    }

    /// Whether the recording of a running process has its arguments, which may be passwords, and not only its name.
    fn keeps_arguments(&self) -> bool {
        false
    }

    /// Saves the recording so far, and those of executables if they are wanted. Their runs have no status, and at least
    /// one syscall counts as lost.
    fn part(&mut self, _whole: &Recording, _executables: &[ExecutableRecording]) {}

    /// A recorder has attached to running processes with this many threads, and records them from now on.
    fn attached(&mut self, _threads: u64) {}

    /// Called several times per second while running processes are recorded, with the time since then.
    fn waits(&mut self, _time: Duration) {}

    /// Saves the whole recording. Signals that would end this process have no effect until this returns, for at
    /// most 10 seconds.
    fn whole(&mut self, whole: &Recording, executables: &[ExecutableRecording]);
}

/// What all threads did while they executed one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutableRecording {
    /// The path that was given to `execve`; for a script, the path of the script. At most 239 bytes are kept. Backslashes are
    /// doubled, and bytes that are not UTF-8 are written as `\xff`, so different paths stay different. Empty for all
    /// executables beyond [`MAX_EXECUTABLES`](crate::MAX_EXECUTABLES).
    pub path: String,
    /// Its syscalls: the first is the `execve` that started it. Its run has the label `executable`, and no numbers of
    /// processes and threads.
    pub recording: Recording,
}

/// Saves nothing: for [`record`](super::record), which returns the recording.
pub(super) struct Nowhere;

impl Save for Nowhere {
    fn whole(&mut self, _: &Recording, _: &[ExecutableRecording]) {}
}

/// The first interval.
const FIRST: Duration = Duration::from_secs(1);
/// The longest interval, unless saving takes long.
const LONGEST: Duration = Duration::from_secs(60);
/// An interval is at least this many times as long as saving took.
const SHARE: u32 = 100;

/// What is known about a run before it ends.
#[derive(Clone)]
pub(super) struct RunDescription {
    pub(super) method: RecordMethod,
    pub(super) command: Vec<String>,
    /// Running processes, and since when they are recorded; `None` for a command.
    pub(super) attached: Option<(String, Instant)>,
}

impl RunDescription {
    /// The recording of everything, and those of executables.
    pub(super) fn recordings(
        &self,
        tallies: Tallies,
        status: Option<u8>,
        caveats: &[Caveat],
    ) -> (Recording, Vec<ExecutableRecording>) {
        let Tallies { whole, processes, threads, executables, unsplit, .. } = tallies;
        let Tally { recording: mut whole, lost } = whole;
        let run = Run { lost, ..self.run(status, caveats.to_vec()) };
        let of_executable = |(path, tally): (Vec<u8>, Tally)| {
            let path = escaped(&path);
            let mut recording = tally.recording;
            let labels = Some(path.clone()).filter(|path| !path.is_empty());
            let labels = labels.map(|path| ("executable".to_owned(), path)).into_iter().collect();
            // Of which executable these syscalls are, is not known.
            let lost = lost.saturating_add(unsplit).saturating_add(tally.lost);
            recording.push_run(Run { lost, labels, ..run.clone() });
            ExecutableRecording { path, recording }
        };
        let executables = executables.into_iter().flatten().map(of_executable).collect();
        whole.push_run(Run { processes: Some(processes), threads: Some(threads), ..run });
        (whole, executables)
    }

    /// The run, without counters.
    fn run(&self, status: Option<u8>, mut caveats: Vec<Caveat>) -> Run {
        let attached = self.attached.as_ref();
        caveats.extend(attached.map(|(to, since)| Caveat::attached(to, since.elapsed())));
        Run {
            method: match self.method {
                RecordMethod::Tracepoint => RecordingMethod::Tracepoint,
                RecordMethod::Listener | RecordMethod::Stops => RecordingMethod::Ptrace,
            },
            command: self.command.clone(),
            from_execve: self.attached.is_none(),
            status,
            kernel: callgate_linux::kernel::release().ok(),
            callgate: Some(env!("CARGO_PKG_VERSION").to_owned()),
            caveats,
            ..Run::default()
        }
    }
}

/// A path as text that no other path has.
fn escaped(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        text += &chunk.valid().replace('\\', "\\\\");
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

/// Saves parts at intervals.
pub(super) struct Parts<'s> {
    save: &'s mut dyn Save,
    description: RunDescription,
    /// When the next part is due; `None` if no parts are wanted.
    next: Option<Instant>,
    pause: Duration,
    /// Whether the pause remains the same.
    is_fixed: bool,
}

impl<'s> Parts<'s> {
    /// For a run that starts now.
    pub(super) fn new(save: &'s mut dyn Save, description: RunDescription) -> Parts<'s> {
        let interval = save.part_interval();
        let pause = interval.unwrap_or(FIRST);
        let next = save.wants_parts().then(|| Instant::now() + pause);
        Parts { save, description, next, pause, is_fixed: interval.is_some() }
    }

    /// No parts, for tests.
    #[cfg(test)]
    pub(super) fn none(nowhere: &'s mut Nowhere) -> Parts<'s> {
        let method = RecordMethod::Tracepoint;
        Parts::new(nowhere, RunDescription { method, command: Vec::new(), attached: None })
    }

    /// Reports that running processes with this many threads are recorded from now on.
    pub(super) fn attached(&mut self, threads: u64) {
        self.save.attached(threads);
    }

    /// Reports that running processes were recorded for this long.
    pub(super) fn waits(&mut self, time: Duration) {
        self.save.waits(time);
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.next.is_some()
    }

    /// Whether it is time to save one.
    pub(super) fn is_due(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    pub(super) fn save(&mut self, mut tallies: Tallies) {
        let start = Instant::now();
        // At least the syscall that ends the command is missing.
        tallies.whole.lost = tallies.whole.lost.saturating_add(1);
        let (whole, executables) =
            self.description.recordings(tallies, None, &[Caveat::unfinished()]);
        self.save.part(&whole, &executables);
        self.saved(start.elapsed());
    }

    fn pause_after(&mut self, took: Duration) -> Duration {
        let pause = self.pause.max(took * SHARE);
        self.pause = (self.pause * 2).min(LONGEST);
        pause
    }

    /// Schedules the next part, also if there was nothing to save.
    pub(super) fn saved(&mut self, took: Duration) {
        let now = Instant::now();
        self.next = match (self.next, self.is_fixed) {
            // Without the delay of this one, so that delays do not add up.
            (Some(due), true) => Some((due + self.pause).max(now)),
            (Some(_), false) => Some(now + self.pause_after(took)),
            (None, _) => None,
        };
    }
}

/// A recording, and how it was made.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The syscalls, with one run.
    pub recording: Recording,
    /// The recordings of executables, in the order of their paths, if [`Save::wants_executables`] is true.
    ///
    /// [`Save::wants_executables`]: crate::Save::wants_executables
    pub executables: Vec<ExecutableRecording>,
    /// The method that worked.
    pub method: RecordMethod,
    /// Why the tracepoint method was not used, if it was tried first.
    pub why_not_tracepoint: Option<String>,
    /// How the command ended, as reported by `waitpid(2)`; 0 with [`Note::UnknownStatus`].
    pub status: i32,
    /// From the start of the command to the end of its last process.
    pub time: Duration,
    /// How much recording added to the cheapest syscall, measured before the command started. If another recorder
    /// already used the tracepoint, how much this one added to that.
    pub cost_per_syscall: Duration,
    /// Remarks on the run.
    pub notes: Vec<Note>,
}

/// The exit status that a shell reports for a status of `waitpid(2)`: 128 plus the signal number for a signal.
pub fn exit_status(status: i32) -> u8 {
    ended_by(status).map_or(libc::WEXITSTATUS(status) as u8, |signal| 128 + signal as u8)
}

/// The signal that ended a process, if one did, from a status of `waitpid(2)`.
pub fn ended_by(status: i32) -> Option<i32> {
    libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
}

/// The result of one method.
pub(super) struct Outcome {
    pub(super) tallies: Tallies,
    /// `None` if the status of the command is unknown.
    pub(super) status: Option<c_int>,
    pub(super) time: Duration,
    pub(super) cost: Duration,
    pub(super) notes: Vec<Note>,
    /// Held until the recording is saved; `None` if the caller holds them.
    pub(super) signals: Option<Signals>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_paths_have_different_texts() {
        assert_eq!(escaped("/bin/é".as_bytes()), "/bin/é");
        assert_eq!(escaped(b"x\xff\xfe"), r"x\xff\xfe");
        assert_eq!(escaped(br"x\xff"), r"x\\xff");
    }

    #[test]
    fn intervals_double_up_to_a_minute_and_saving_takes_a_hundredth() {
        let mut nowhere = Nowhere;
        let mut parts = Parts::none(&mut nowhere);
        let pauses = [0, 0, 0, 0, 0, 0, 0, 0, 2, 0]
            .map(|took| parts.pause_after(Duration::from_secs(took)).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 200, 60]);
        assert!(!parts.are_wanted() && !parts.is_due());
    }

    #[test]
    fn fixed_intervals_do_not_drift() {
        /// Wants parts at an interval that no test waits for.
        struct Fixed;

        impl Save for Fixed {
            fn wants_parts(&self) -> bool {
                true
            }

            fn part_interval(&self) -> Option<Duration> {
                Some(Duration::from_secs(600))
            }

            fn whole(&mut self, _: &Recording, _: &[ExecutableRecording]) {}
        }
        let mut fixed = Fixed;
        let description = RunDescription {
            method: RecordMethod::Tracepoint,
            command: Vec::new(),
            attached: None,
        };
        let mut parts = Parts::new(&mut fixed, description);
        let first = parts.next.unwrap();
        for number in 1..4 {
            parts.saved(Duration::from_millis(1));
            assert_eq!(parts.next, Some(first + Duration::from_secs(600) * number));
        }
    }
}
