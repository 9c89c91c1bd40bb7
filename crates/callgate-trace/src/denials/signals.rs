//! Reports of `SIGSYS` that do not name the syscall.

/// How many lines may be between such a report and one with the syscall: gdb prints the place before `$_siginfo`, and
/// Android the registers before the cause.
const WINDOW: u64 = 20;

/// The lines of reports that no report with the syscall followed yet.
#[derive(Default)]
pub(super) struct PendingSignals {
    lines: Vec<u64>,
}

impl PendingSignals {
    /// Adds a report.
    pub(super) fn add(&mut self, line: u64) {
        self.lines.push(line);
    }

    /// A report with the syscall: those shortly before it are about the same one.
    pub(super) fn explain(&mut self) {
        self.lines.clear();
    }

    /// Removes and returns the reports that no line from `line` on can explain.
    pub(super) fn unexplained(&mut self, line: u64) -> impl Iterator<Item = u64> + use<> {
        let count = self.lines.iter().take_while(|at| **at + WINDOW < line).count();
        self.lines.drain(..count).collect::<Vec<_>>().into_iter()
    }
}
