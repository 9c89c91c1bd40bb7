//! Layouts: the structures that the kernel gives to filters, as words of a decision diagram.
//!
//! A classic BPF filter loads aligned words of 32 bits from a structure that the kernel fills in. A [`Layout`] says which
//! structure that is, how its bits are divided into [`Word`]s and in which order a diagram tests these, where each is in
//! memory, and what a returned value means. [`FilterInput`](crate::FilterInput) is the same as a type: programs, which the kernel runs, carry
//! it as a type parameter, so that a filter for one structure cannot be used as one for another.
//!
//! A word of a layout is the loaded word of 32 bits, or a part of it: several fields of one byte share a loaded word, but
//! each is a word of its own here, in its place, with all other bits 0. So each field has its own place in the variable
//! order, and a loaded word is the union of its parts.
//!
//! Invariants, which the tests check: the parts of a layout cover each bit of the structure exactly once; the high half of
//! a number of 64 bits precedes its low half.
//!
//! Sources: `include/uapi/linux/seccomp.h`; `include/uapi/linux/io_uring/bpf_filter.h` of Linux 7.0.

use super::io_uring::words::{self, IO_URING_CONTEXT_SIZE};
use super::packet::words::{self as packet, PACKET_BYTES};
use crate::{Endian, Place, SECCOMP_DATA_SIZE, Word};

/// The structure that a filter reads, or the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// `struct seccomp_data`. Its words are the same for both byte orders; only the offsets of halves differ.
    #[default]
    Seccomp,
    /// `struct io_uring_bpf_ctx` on machines of this byte order, which decides where in a loaded word its bytes are.
    IoUring(Endian),
    /// A packet, in network byte order on every machine. It is not a structure: loads have any width and offset, and may end
    /// the program; no policy is about packets.
    Packet,
}

impl Layout {
    /// The name of the structure.
    pub const fn structure(self) -> &'static str {
        match self {
            Layout::Seccomp => "seccomp_data",
            Layout::IoUring(_) => "io_uring_bpf_ctx",
            Layout::Packet => "packet",
        }
    }

    /// A filter of this layout, for messages: `a seccomp filter`.
    pub const fn a_filter(self) -> &'static str {
        match self {
            Layout::Seccomp => "a seccomp filter",
            Layout::IoUring(_) => "an io_uring filter",
            Layout::Packet => "a socket filter",
        }
    }

    /// The size of the structure in bytes; also what `ld len` yields. Of a packet, the bytes that have words.
    pub const fn size(self) -> u32 {
        match self {
            Layout::Seccomp => SECCOMP_DATA_SIZE,
            Layout::IoUring(_) => IO_URING_CONTEXT_SIZE,
            Layout::Packet => PACKET_BYTES,
        }
    }

    /// The words in diagram order.
    pub fn words(self) -> impl DoubleEndedIterator<Item = Word> + Clone {
        let count = match self {
            Layout::Seccomp => Word::COUNT,
            Layout::IoUring(_) => words::WORDS,
            Layout::Packet => Word::MOST,
        };
        (0..count).filter_map(move |rank| self.word_at(rank))
    }

    /// The word with this rank in a diagram of the layout.
    #[inline]
    pub(crate) const fn word_at(self, rank: usize) -> Option<Word> {
        match self {
            Layout::Packet if rank < Word::MOST => Some(Word::of_packet(rank)),
            _ => Word::from_index(rank),
        }
    }

    /// The word with the number of what the filter decides about: the syscall number or the opcode. Of a packet, the first word.
    #[inline]
    pub const fn number(self) -> Word {
        match self {
            Layout::Seccomp => Word::NR,
            Layout::IoUring(_) => words::OPCODE,
            Layout::Packet => Word::ARCH,
        }
    }

    /// Whether rules are selected by this word: arch and syscall number, or the opcode. These words come first.
    #[inline]
    pub const fn selects(self, word: Word) -> bool {
        word.index() <= self.number().index()
    }

    /// The bits of a loaded word that belong to the word; 0 for a word that the layout does not have.
    #[inline]
    pub const fn mask(self, word: Word) -> u32 {
        let place = match self {
            Layout::Seccomp | Layout::Packet => return u32::MAX,
            Layout::IoUring(endian) => words::place(word, endian),
        };
        match place {
            Some(place) => place.mask,
            None => 0,
        }
    }

    /// Where a word is on machines of this byte order; `None` if the layout has no such word, or is that of the other
    /// byte order; and for the length of a packet.
    #[inline]
    pub const fn place(self, word: Word, endian: Endian) -> Option<Place> {
        match (self, endian) {
            (Layout::Seccomp, _) => Some(Place { offset: word.offset(endian), mask: u32::MAX }),
            (Layout::IoUring(Endian::Little), Endian::Little)
            | (Layout::IoUring(Endian::Big), Endian::Big) => words::place(word, endian),
            (Layout::IoUring(_), _) => None,
            (Layout::Packet, _) => match packet::offset(word) {
                Some(offset) => Some(Place { offset, mask: u32::MAX }),
                None => None,
            },
        }
    }

    /// The words whose union is the loaded word at an offset, with their bits. None unless the offset is a multiple of
    /// four inside the structure.
    pub fn parts(self, offset: u32, endian: Endian) -> impl Iterator<Item = (Word, u32)> {
        let part = move |word| {
            let place = self.place(word, endian).filter(|place| place.offset == offset)?;
            Some((word, place.mask))
        };
        self.words().filter_map(part)
    }

    /// The representative of all values that mean the same to the kernel when a filter returns them. Every seccomp verdict
    /// is its own, also where the kernel ignores its data, and so is every length to which a socket filter truncates packets. io_uring distinguishes 0 from all other values, of which 1 is the
    /// representative.
    #[inline]
    pub const fn result(self, value: u32) -> u32 {
        match self {
            Layout::Seccomp | Layout::Packet => value,
            Layout::IoUring(_) => (value != 0) as u32,
        }
    }
}
