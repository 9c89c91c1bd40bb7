//! The structures that filters read, as types.
//!
//! A program has one of them as its type parameter, so that a filter for one structure cannot be used as one for another. The
//! trait is sealed: what a layout is, and whether the kernel accepts a program for it, is trusted. A packet is an input of diagrams
//! as well, but not of a [`Program`](crate::Program): it is not a structure of words.

use std::fmt::Debug;
use std::hash::Hash;

use crate::{Endian, Layout, SeccompData, Verdict, Word};

/// The structure that a filter reads, as a type: [`SeccompData`] or
/// [`IoUringRequest`](crate::io_uring::IoUringRequest); or a [`PacketHead`](crate::PacketHead).
pub trait FilterInput: Copy + Debug + Default + Eq + Hash + sealed::Sealed + 'static {
    /// The meaning of a returned value.
    type Verdict: Copy + Debug + Eq;

    /// The layout on machines of this byte order.
    fn layout(endian: Endian) -> Layout;

    /// What it means that a filter returns this value.
    fn verdict(value: u32) -> Self::Verdict;

    /// The value of a word, whose bits outside of its [place](Layout::place) are 0. 0 for a word that the layout does not
    /// have.
    fn get(&self, word: Word, endian: Endian) -> u32;

    /// Sets the value of a word. Bits outside of its place are ignored.
    fn set(&mut self, word: Word, endian: Endian, value: u32);

    /// What `ld [offset]` loads; `None` unless the offset is a multiple of four inside the structure.
    fn load(&self, offset: u32, endian: Endian) -> Option<u32>;
}

pub(crate) mod sealed {
    pub trait Sealed {
        /// Whether programs load aligned words of it only, so that `Program` has it as a type parameter.
        const IS_STRUCTURE: bool = true;
    }
}

impl sealed::Sealed for SeccompData {}

impl FilterInput for SeccompData {
    type Verdict = Verdict;

    #[inline]
    fn layout(_: Endian) -> Layout {
        Layout::Seccomp
    }

    #[inline]
    fn verdict(value: u32) -> Self::Verdict {
        Verdict(value)
    }

    #[inline]
    fn get(&self, word: Word, _: Endian) -> u32 {
        self.word(word)
    }

    #[inline]
    fn set(&mut self, word: Word, _: Endian, value: u32) {
        self.set_word(word, value);
    }

    #[inline]
    fn load(&self, offset: u32, endian: Endian) -> Option<u32> {
        Word::from_offset(offset, endian).map(|word| self.word(word))
    }
}
