//! The lines of a text with their offsets.

/// The lines of a text that begins at this offset, each with its own offset and without the line feed.
pub(crate) fn lines(text: &str, at: usize) -> impl Iterator<Item = (&str, usize)> {
    let mut offset = at;
    text.split_inclusive('\n').map(move |line| {
        let start = offset;
        offset += line.len();
        (line.strip_suffix('\n').unwrap_or(line), start)
    })
}
