//! The characters of strings, and where they come from.

/// A text that was put together from strings, and the places of its characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// Offsets in the text, each with the offset in the configuration from which the bytes after it come.
    runs: Vec<(usize, usize)>,
}

impl Decoded {
    /// Adds bytes that are the same in the configuration, from this offset on.
    pub(super) fn push(&mut self, bytes: &[u8], at: usize) {
        self.mark(at);
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the character of an escape at this offset.
    pub(super) fn push_char(&mut self, character: char, at: usize) {
        self.mark(at);
        let mut buffer = [0; 4];
        self.bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }

    /// Adds the byte of an escape at this offset.
    pub(super) fn push_byte(&mut self, byte: u8, at: usize) {
        self.mark(at);
        self.bytes.push(byte);
    }

    /// Adds another text.
    pub(super) fn append(&mut self, other: &Decoded) {
        let start = self.bytes.len();
        self.runs.extend(other.runs.iter().map(|(own, at)| (start + own, *at)));
        self.bytes.extend_from_slice(&other.bytes);
    }

    fn mark(&mut self, at: usize) {
        let own = self.bytes.len();
        // What follows without a gap needs no place of its own.
        let is_next = self.runs.last().is_some_and(|(start, from)| own - start + from == at);
        if !is_next {
            self.runs.push((own, at));
        }
    }

    /// The offset in the configuration from which a byte comes.
    pub(super) fn origin(&self, own: usize) -> usize {
        let after = self.runs.partition_point(|(start, _)| *start <= own);
        let run = after.checked_sub(1).and_then(|index| self.runs.get(index));
        let next = self.runs.get(after).map(|(_, at)| *at);
        // An escape is longer than its character.
        run.map_or(0, |(start, at)| match next {
            Some(next) if *at < next => (at + own - start).min(next - 1),
            _ => at + own - start,
        })
    }
}
