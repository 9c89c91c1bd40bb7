//! Times of the phases of a compilation.

use std::time::{Duration, Instant};

use callgate::compile::Phase;

/// Measures a compilation that begins when it is made.
pub(crate) struct Stopwatch {
    last: Instant,
    /// From the description to a program that is not checked yet.
    pub(crate) compile: Duration,
    /// All checks of the program.
    pub(crate) prove: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { last: Instant::now(), compile: Duration::ZERO, prove: Duration::ZERO }
    }

    /// A phase has ended.
    pub(crate) fn note(&mut self, phase: Phase) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut self.last, now);
        match phase {
            Phase::Generated => self.compile += took,
            Phase::Proved => self.prove += took,
            // A phase that this command does not report.
            _ => {}
        }
    }
}
