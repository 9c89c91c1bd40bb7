//! The words of a packet.

use crate::Word;

/// The number of words with bytes of a packet.
pub(super) const DATA_WORDS: usize = Word::MOST - 1;

/// The number of bytes at the start of a packet that the proof knows.
pub const PACKET_BYTES: u32 = 4 * DATA_WORDS as u32;

/// The word with the length of the packet.
pub(crate) const LENGTH: Word = Word::of_packet(DATA_WORDS);

/// The place of a word; `None` for the length, which is not in the packet.
pub(crate) const fn offset(word: Word) -> Option<u32> {
    if word.index() < DATA_WORDS { Some(4 * word.index() as u32) } else { None }
}

/// The word with a byte of a packet, and the number of bits below that byte in the word. `None` from [`PACKET_BYTES`] on.
pub(crate) const fn place_of_byte(offset: u32) -> Option<(Word, u32)> {
    if offset < PACKET_BYTES {
        Some((Word::of_packet(offset as usize / 4), 24 - 8 * (offset % 4)))
    } else {
        None
    }
}
