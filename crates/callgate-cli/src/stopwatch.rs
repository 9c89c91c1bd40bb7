//! Times of the phases of a compilation.

use std::time::{Duration, Instant};

use callgate::compile::Phase;

/// Measures a compilation that starts with [`Stopwatch::start`].
pub(crate) struct Stopwatch {
    last: Instant,
    /// The time from the description to an unchecked program.
    pub(crate) compile: Duration,
    /// The time of all checks of the program.
    pub(crate) prove: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { last: Instant::now(), compile: Duration::ZERO, prove: Duration::ZERO }
    }

    /// Notes the end of a phase.
    pub(crate) fn note(&mut self, phase: Phase) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut self.last, now);
        match phase {
            Phase::Generated => self.compile += took,
            Phase::Proved => self.prove += took,
            // Other phases are not reported.
            _ => {}
        }
    }
}
