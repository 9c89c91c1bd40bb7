//! Where a word is in the structure that a filter reads.

/// Where a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The byte offset of the loaded word: the `k` of the `ld [k]` that loads it.
    pub offset: u32,
    /// The bits of the loaded word that belong to the word.
    pub mask: u32,
}
