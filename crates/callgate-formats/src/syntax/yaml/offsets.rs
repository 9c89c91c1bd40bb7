//! Byte offsets of characters: the parser counts characters, the tree counts bytes.

/// Distance in characters between known offsets, and so the maximum number of characters to count per question.
const STEP: usize = 64;

/// The byte offsets of the characters of a text.
pub(super) struct Offsets<'t> {
    text: &'t str,
    /// The byte offset of every [`STEP`]th character.
    steps: Vec<usize>,
}

impl<'t> Offsets<'t> {
    pub(super) fn new(text: &'t str) -> Offsets<'t> {
        let steps = text.char_indices().step_by(STEP).map(|(at, _)| at).collect();
        Offsets { text, steps }
    }

    /// The byte offset of the character with this index; past the end, the length of the text.
    pub(super) fn byte(&self, index: usize) -> usize {
        let Some(step) = self.steps.get(index / STEP) else { return self.text.len() };
        let rest = self.text.get(*step..).unwrap_or_default();
        match rest.char_indices().nth(index % STEP) {
            Some((at, _)) => step + at,
            None => self.text.len(),
        }
    }
}
