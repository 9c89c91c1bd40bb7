//! Splits bytes that arrive in pieces into lines.
//!
//! Unlike [`LineSplitter`](crate::logs::lines::LineSplitter), it takes any bytes and any number of lines: a log of denials
//! contains what programs print.

use crate::logs::lines::MAX_LINE;

/// Splits bytes into lines.
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
