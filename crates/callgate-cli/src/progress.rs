//! Progress line for long operations at a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::report;
use crate::text::printable;

/// A line that is updated in place.
pub(crate) struct Progress {
    start: Instant,
    last: Instant,
    is_shown: bool,
    is_terminal: bool,
}

impl Progress {
    pub(crate) fn new(start: Instant) -> Progress {
        Progress { start, last: start, is_shown: false, is_terminal: io::stderr().is_terminal() }
    }

    /// Shows a text, at most ten times per second.
    pub(crate) fn tell(&mut self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        let is_long = now - self.start > Duration::from_secs(1);
        if self.is_terminal && is_long && now - self.last > Duration::from_millis(100) {
            self.last = now;
            self.is_shown = true;
            report::note(&format!("\r{}\u{1b}[K", printable(&text())));
        }
    }

    /// Erases the line.
    pub(crate) fn clear(&self) {
        if self.is_shown {
            report::note("\r\u{1b}[K");
        }
    }
}
