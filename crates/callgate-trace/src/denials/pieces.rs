//! Splits bytes that arrive in pieces into complete lines.

use memchr::{memchr, memrchr};

/// The longest line that is read.
pub(super) const MAX_LINE: usize = 1 << 20;

/// Blocks of complete lines.
#[derive(Default)]
pub(super) struct Pieces {
    /// The start of a line that is not complete.
    rest: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
}

impl Pieces {
    /// Adds a piece. Calls `each` with complete lines, and `too_long` for each line that is too long.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(&[u8]),
        too_long: &mut dyn FnMut(),
    ) {
        if self.is_skipping {
            let Some(end) = memchr(b'\n', bytes) else { return };
            self.is_skipping = false;
            bytes = bytes.get(end + 1..).unwrap_or_default();
        }
        let end = memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (complete, start) = bytes.split_at(end);
        if !complete.is_empty() {
            if self.rest.is_empty() {
                each(complete);
            } else {
                // Only the first line continues the rest.
                let first = memchr(b'\n', complete).map_or(complete.len(), |at| at + 1);
                let (first, others) = complete.split_at(first);
                self.rest.extend_from_slice(first);
                each(&self.rest);
                self.rest.clear();
                if !others.is_empty() {
                    each(others);
                }
            }
        }
        self.rest.extend_from_slice(start);
        if self.rest.len() > MAX_LINE {
            self.rest.clear();
            self.is_skipping = true;
            too_long();
        }
    }

    /// Ends the text; calls `each` with a line without a line break.
    pub(super) fn finish(self, each: &mut dyn FnMut(&[u8])) {
        if !self.rest.is_empty() {
            each(&self.rest);
        }
    }
}
