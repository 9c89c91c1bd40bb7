//! Recognizes JSON by its first characters.

/// The start of a text that may be JSON.
#[derive(Default)]
pub(super) struct TextStart {
    pub(super) bytes: Vec<u8>,
    /// How many bytes were examined.
    seen: usize,
    /// Whether they contain an opening bracket.
    pub(super) is_list: bool,
}

impl TextStart {
    /// Whether the text is JSON; `None` while this is not known. A list of objects is JSON too, and an error is reported
    /// for it later. Lines of logs may start with a bracket and a word or a number: `[pid 12]`, `[   12.345678]`.
    pub(super) fn is_json(&mut self) -> Option<bool> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        loop {
            let rest = self.bytes.get(self.seen..).unwrap_or_default();
            self.seen += match rest.first()? {
                byte if byte.is_ascii_whitespace() => 1,
                _ if rest.starts_with(MARK) => MARK.len(),
                _ if MARK.starts_with(rest) => return None,
                b'{' => return Some(true),
                b'[' if !self.is_list => {
                    self.is_list = true;
                    1
                }
                first => return Some(self.is_list && matches!(first, b'[' | b'"' | b']')),
            };
        }
    }
}
