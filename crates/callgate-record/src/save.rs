//! Saving a recording: parts of one that goes on, and the whole.
//!
//! A recorder that is killed (SIGKILL) loses what was not saved. So what was recorded is saved after a second,
//! after a second more, and then after pauses that double up to a minute; a pause is at least a hundred times as long as saving took.
//! What is lost is at most what was recorded in the second half of the run, and in the last minute (or in the
//! hundredfold of the time that saving takes).

use std::time::{Duration, Instant};

use callgate::recording::{Caveat, Recording, RecordingMethod, Run};

use super::{Tally, Way};

/// Where a recording goes.
pub trait Save {
    /// Whether parts are wanted.
    fn wants_parts(&self) -> bool {
        false
    }

    /// What was recorded so far. Its run has no status, and at least one call counts as lost.
    fn part(&mut self, _recording: &Recording) {}

    /// All of it. A signal that would end this process does nothing until this returns, or for ten seconds.
    fn whole(&mut self, recording: &Recording);
}

/// For those who take what [`record`](super::record) returns.
pub(super) struct Nowhere;

impl Save for Nowhere {
    fn whole(&mut self, _: &Recording) {}
}

/// The first pause.
const FIRST: Duration = Duration::from_secs(1);
/// The longest, unless saving takes long.
const LONGEST: Duration = Duration::from_secs(60);
/// How many times as long as saving a pause is at least.
const SHARE: u32 = 100;

/// What is known of a run before it ends.
#[derive(Clone)]
pub(super) struct Facts {
    pub(super) way: Way,
    pub(super) command: Vec<String>,
}

impl Facts {
    /// The run, once the rest is known.
    pub(super) fn run(&self, counts: Counts, status: Option<u8>, caveats: Vec<Caveat>) -> Run {
        Run {
            method: match self.way {
                Way::Tracepoint => RecordingMethod::Tracepoint,
                Way::Listener | Way::Stops => RecordingMethod::Ptrace,
            },
            command: self.command.clone(),
            from_execve: true,
            processes: Some(counts.processes),
            threads: Some(counts.threads),
            lost: counts.lost,
            status,
            kernel: callgate_linux::kernel::release().ok(),
            callgate: Some(env!("CARGO_PKG_VERSION").to_owned()),
            caveats,
        }
    }
}

/// What is counted beside calls.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) processes: u64,
    pub(super) threads: u64,
    pub(super) lost: u64,
}

/// Parts that are saved now and then.
pub(super) struct Parts<'s> {
    save: &'s mut dyn Save,
    facts: Facts,
    /// `None` when no parts are wanted.
    next: Option<Instant>,
    pause: Duration,
}

impl<'s> Parts<'s> {
    /// For a run that starts now.
    pub(super) fn new(save: &'s mut dyn Save, facts: Facts) -> Parts<'s> {
        let next = save.wants_parts().then(|| Instant::now() + FIRST);
        Parts { save, facts, next, pause: FIRST }
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.next.is_some()
    }

    /// Whether it is time to save one.
    pub(super) fn is_due(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    pub(super) fn save(&mut self, tally: Tally, processes: u64, threads: u64) {
        let start = Instant::now();
        let mut recording = tally.recording;
        // Of what comes next nothing is known: at least the end of the command.
        let lost = tally.lost.saturating_add(1);
        let caveats = vec![Caveat::unfinished()];
        recording.push_run(self.facts.run(Counts { processes, threads, lost }, None, caveats));
        self.save.part(&recording);
        self.saved(start.elapsed());
    }

    fn pause_after(&mut self, took: Duration) -> Duration {
        let pause = self.pause.max(took * SHARE);
        self.pause = (self.pause * 2).min(LONGEST);
        pause
    }

    /// Plans the next one. Also when there was nothing to save.
    pub(super) fn saved(&mut self, took: Duration) {
        let pause = self.pause_after(took);
        self.next = self.next.map(|_| Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_cost_a_hundredth() {
        let facts = Facts { way: Way::Stops, command: Vec::new() };
        let mut nowhere = Nowhere;
        let mut parts = Parts::new(&mut nowhere, facts);
        let pauses = [0, 0, 0, 0, 0, 0, 0, 0, 2, 0]
            .map(|took| parts.pause_after(Duration::from_secs(took)).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 200, 60]);
        assert!(!parts.are_wanted() && !parts.is_due());
    }
}
