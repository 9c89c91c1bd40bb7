//! The lines of a log: bytes that arrive in pieces are split, and reports that somebody wrapped are joined.

use crate::logs::audit::Record;
use crate::logs::lines::MAX_LINE;
use crate::logs::markers::reported;

/// Splits bytes that arrive in pieces into lines. Unlike [`LineSplitter`](crate::logs::lines::LineSplitter), it takes any bytes and
/// any number of lines: a log of denials contains what programs print.
#[derive(Default)]
pub(super) struct Pieces {
    /// The start of a line that is not complete.
    begun: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
}

impl Pieces {
    /// Adds a piece. Calls `each` with the lines that are complete now, and with `None` for one longer than [`MAX_LINE`].
    pub(super) fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Option<&[u8]>)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = part.ends_with(b"\n");
            if self.is_skipping {
                self.is_skipping = !is_end;
            } else if self.begun.len() + part.len() > MAX_LINE {
                self.begun = Vec::new();
                self.is_skipping = !is_end;
                each(None);
            } else if is_end && self.begun.is_empty() {
                each(Some(part));
            } else {
                self.begun.extend_from_slice(part);
                if is_end {
                    each(Some(&self.begun));
                    self.begun.clear();
                }
            }
        }
    }

    /// Ends the text; calls `each` with a line without a line break.
    pub(super) fn finish(self, each: &mut dyn FnMut(Option<&[u8]>)) {
        if !self.begun.is_empty() {
            each(Some(&self.begun));
        }
    }
}

/// A wrapped report has at most this many lines and bytes.
const MAX_LINES: u64 = 8;
const MAX_BYTES: usize = 4096;

/// A report of `SIGSYS` that an e-mail or a tracker wrapped: the lines so far, which are joined.
pub(super) struct Wrapped {
    /// The number of the first line.
    pub(super) first: u64,
    /// The lines so far.
    pub(super) text: String,
    lines: u64,
    /// Whether it is an audit record.
    is_record: bool,
}

/// A line without the marks of a quotation in an e-mail.
fn unquoted(line: &str) -> &str {
    let text = line.trim_start();
    if text.starts_with('>') { text.trim_start_matches(['>', ' ']) } else { line }
}

/// Whether a word is a field of an audit record, or the mode of an AppArmor profile in one.
fn is_field(word: &str) -> bool {
    const KEYS: [&str; 14] = [
        "auid", "uid", "gid", "ses", "subj", "pid", "comm", "exe", "sig", "arch", "syscall",
        "compat", "ip", "code",
    ];
    let key = word.split_once('=').map(|(key, _)| key);
    key.is_some_and(|key| KEYS.contains(&key)) || ["(enforce)", "(complain)"].contains(&word)
}

impl Wrapped {
    /// What such a report has in its first line.
    pub(super) const START: &'static str = "{si_signo=SIGSYS";

    /// A report that starts in this line: `{si_signo=SIGSYS, …` without the closing bracket.
    pub(super) fn begin(line: &str, number: u64) -> Option<Wrapped> {
        let (_, rest) = line.split_once(Wrapped::START)?;
        let is_wrapped = !rest.contains('}') && line.len() <= MAX_BYTES;
        let text = || unquoted(line).trim_end().to_owned();
        is_wrapped.then(|| Wrapped { first: number, text: text(), lines: 1, is_record: false })
    }

    /// An audit record without its last field: `type=SECCOMP msg=audit(…): auid=0 uid=0`.
    pub(super) fn begin_record(line: &str, number: u64) -> Option<Wrapped> {
        const TYPES: [&str; 4] = ["type=SECCOMP ", "type=1326 ", "SECCOMP auid=", "UNKNOWN[1326] "];
        // With its end, without which a line is taken for a truncated one.
        let line = unquoted(line);
        // Almost every record has its last field.
        let is_wrapped = !line.contains(" code=")
            && TYPES.iter().any(|name| line.contains(name))
            && !line.starts_with('{')
            && line.len() <= MAX_BYTES;
        let wrapped =
            || Wrapped { first: number, text: line.to_owned(), lines: 1, is_record: true };
        is_wrapped.then(wrapped)
    }

    /// Whether a line does not belong to the report before it.
    pub(super) fn ends_before(&self, line: &str) -> bool {
        // The rest of a record has its fields only.
        if self.is_record {
            let mut words = unquoted(line).split_ascii_whitespace().peekable();
            return words.peek().is_none() || !words.all(is_field);
        }
        line.contains("audit(")
            || line.contains(Wrapped::START)
            || Record::parse(line).is_some()
            || reported(line).is_some()
    }

    /// Adds the next line; returns whether the report is complete, or too long.
    pub(super) fn add(&mut self, line: &str) -> bool {
        self.text.truncate(self.text.trim_end().len());
        self.text.push(' ');
        self.text.push_str(unquoted(line).trim());
        self.lines += 1;
        let is_end = if self.is_record { line.contains("code=") } else { line.contains('}') };
        let is_whole =
            is_end || self.lines >= MAX_LINES || self.text.len() + line.len() > MAX_BYTES;
        if is_whole {
            self.text.push('\n');
        }
        is_whole
    }
}
