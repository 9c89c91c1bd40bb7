//! Reports of `SIGSYS` that an e-mail or a tracker wrapped: the lines are joined.

use crate::logs::audit::Record;
use crate::logs::markers::reported;

/// Such a report has at most this many lines and bytes.
const MAX_LINES: u64 = 8;
const MAX_BYTES: usize = 4096;

/// The lines of a report so far.
pub(super) struct Wrapped {
    /// The number of the first line.
    pub(super) first: u64,
    pub(super) text: String,
    lines: u64,
}

/// What a line is to a report.
pub(super) enum Joined {
    /// More lines follow.
    Begun,
    /// The report is complete, or too long.
    Whole,
}

impl Wrapped {
    /// What such a report has in its first line.
    pub(super) const START: &'static str = "{si_signo=SIGSYS";

    /// A report that starts in this line: `{si_signo=SIGSYS, …` without the closing bracket.
    pub(super) fn begin(line: &str, number: u64) -> Option<Wrapped> {
        let (_, rest) = line.split_once(Wrapped::START)?;
        let is_wrapped = !rest.contains('}') && line.len() <= MAX_BYTES;
        is_wrapped.then(|| Wrapped { first: number, text: line.trim_end().to_owned(), lines: 1 })
    }

    /// Whether a line is no part of the report before it.
    pub(super) fn ends_before(line: &str) -> bool {
        line.contains("audit(")
            || line.contains(Wrapped::START)
            || Record::parse(line).is_some()
            || reported(line).is_some()
    }

    /// Adds the next line.
    pub(super) fn add(&mut self, line: &str) -> Joined {
        self.text.push(' ');
        self.text.push_str(line.trim());
        self.lines += 1;
        let is_begun = !line.contains('}')
            && self.lines < MAX_LINES
            && self.text.len() + line.len() <= MAX_BYTES;
        if is_begun {
            return Joined::Begun;
        }
        self.text.push('\n');
        Joined::Whole
    }
}
