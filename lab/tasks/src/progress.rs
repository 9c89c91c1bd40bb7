//! Progress of measurements on standard error: a line that is rewritten at a terminal, and a line now and then elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Shorter measurements show nothing.
const SILENT: Duration = Duration::from_secs(1);

/// The shortest time between two lines, at a terminal and elsewhere.
const AT_TERMINAL: Duration = Duration::from_millis(200);
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Shows the share of measurements that is done.
pub(crate) struct Progress {
    what: String,
    start: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
    /// The time of the parts before the present one, of that one, and of all.
    done: Duration,
    part: Duration,
    all: Duration,
}

impl Progress {
    /// For measurements that take about this time together.
    pub(crate) fn new(what: impl Into<String>, all: Duration) -> Progress {
        Progress {
            what: what.into(),
            start: Instant::now(),
            shown: None,
            is_terminal: stderr().is_terminal(),
            done: Duration::ZERO,
            part: Duration::ZERO,
            all,
        }
    }

    /// The next measurement begins, which takes about this time.
    pub(crate) fn part(&mut self, time: Duration) {
        self.done += std::mem::replace(&mut self.part, time);
    }

    /// This share of the present measurement is done.
    pub(crate) fn at(&mut self, share: f64) {
        let between = if self.is_terminal { AT_TERMINAL } else { ELSEWHERE };
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= between);
        if self.start.elapsed() < SILENT || !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let line = format!("{}: {:.0} %", self.what, self.percent(share));
        // That nobody reads it is not a reason to stop.
        let _ = match self.is_terminal {
            true => write!(stderr(), "\r\x1b[K{line}"),
            false => writeln!(stderr(), "{line}"),
        };
    }

    fn percent(&self, share: f64) -> f64 {
        let done = self.done + self.part.mul_f64(share.clamp(0.0, 1.0));
        (done.as_secs_f64() / self.all.as_secs_f64().max(1e-9)).min(1.0) * 100.0
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal && self.shown.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut progress = Progress::new("x", Duration::from_secs(20));
        assert_eq!(progress.percent(0.0), 0.0);
        progress.part(Duration::from_secs(15));
        assert_eq!((progress.percent(0.0), progress.percent(0.2)), (0.0, 15.0));
        progress.part(Duration::from_secs(5));
        assert_eq!((progress.percent(0.0), progress.percent(1.0)), (75.0, 100.0));
        assert_eq!(progress.percent(7.0), 100.0);
    }
}
