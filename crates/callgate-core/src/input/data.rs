//! The input of a seccomp filter: `struct seccomp_data` and its sixteen 32-bit words.
//!
//! Source: `include/uapi/linux/seccomp.h`, `struct seccomp_data`, and `seccomp(2)`.

/// Size of `struct seccomp_data` in bytes; also what `ld len` yields in a seccomp filter.
pub const SECCOMP_DATA_SIZE: u32 = 64;

/// One syscall as a filter sees it (`struct seccomp_data`), with the kernel's memory layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SeccompData {
    /// The syscall number. The kernel's field is an `int`; filters compare it unsigned.
    pub nr: u32,
    /// The `AUDIT_ARCH_*` token of the calling convention.
    pub arch: u32,
    /// The instruction pointer at the syscall.
    pub instruction_pointer: u64,
    /// The six arguments: all 64 bits of the registers.
    pub args: [u64; 6],
}

impl SeccompData {
    /// Reads the structure in this byte order.
    ///
    /// ```
    /// use callgate_core::{Endian, SeccompData};
    ///
    /// let data = SeccompData { nr: 59, args: [7; 6], ..SeccompData::default() };
    /// let bytes = data.to_bytes(Endian::Big);
    /// assert_eq!((bytes[3], bytes[23]), (59, 7));
    /// assert_eq!(SeccompData::from_bytes(&bytes, Endian::Big), data);
    /// ```
    pub fn from_bytes(bytes: &[u8; SECCOMP_DATA_SIZE as usize], endian: Endian) -> SeccompData {
        let mut data = SeccompData::default();
        for (offset, chunk) in (0..).step_by(4).zip(bytes.chunks_exact(4)) {
            let word = Word::from_offset(offset, endian);
            if let (Some(word), Some(&chunk)) = (word, chunk.first_chunk()) {
                data.set_word(word, endian.word(chunk));
            }
        }
        data
    }

    /// The bytes of the structure in this byte order.
    pub fn to_bytes(&self, endian: Endian) -> [u8; SECCOMP_DATA_SIZE as usize] {
        let mut bytes = [0; SECCOMP_DATA_SIZE as usize];
        for (offset, chunk) in (0..).step_by(4).zip(bytes.chunks_exact_mut(4)) {
            if let Some(word) = Word::from_offset(offset, endian) {
                chunk.copy_from_slice(&endian.bytes(self.word(word)));
            }
        }
        bytes
    }

    /// The value of one word.
    pub fn word(&self, word: Word) -> u32 {
        match word {
            Word::ARCH => self.arch,
            Word::NR => self.nr,
            Word::IP_HIGH => (self.instruction_pointer >> 32) as u32,
            Word::IP_LOW => self.instruction_pointer as u32,
            Word(w) => {
                // A packet has more words.
                let arg = self.args.get(usize::from(w - 4) / 2).copied().unwrap_or(0);
                if w % 2 == 0 { (arg >> 32) as u32 } else { arg as u32 }
            }
        }
    }

    /// Sets the value of one word.
    pub fn set_word(&mut self, word: Word, value: u32) {
        fn put(field: &mut u64, high: bool, value: u32) {
            *field = if high {
                (*field & 0xffff_ffff) | (u64::from(value) << 32)
            } else {
                (*field & !0xffff_ffff) | u64::from(value)
            };
        }
        match word {
            Word::ARCH => self.arch = value,
            Word::NR => self.nr = value,
            Word::IP_HIGH => put(&mut self.instruction_pointer, true, value),
            Word::IP_LOW => put(&mut self.instruction_pointer, false, value),
            Word(w) => {
                if let Some(arg) = self.args.get_mut(usize::from(w - 4) / 2) {
                    put(arg, w % 2 == 0, value);
                }
            }
        }
    }
}

/// One of at most sixteen words of the structure that a filter reads, or of the 24 words of a packet, by its rank in the order
/// of the diagram. Which word that is depends on the [layout](crate::Layout).
///
/// The named words and offsets are those of `struct seccomp_data`: arch, nr, then the instruction pointer and the
/// arguments, high word before low. [`Layout::place`](crate::Layout::place) has the offsets for every layout.
///
/// The number inside is always below [`Word::COUNT`], but for words of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(u8);

impl Word {
    /// The number of words of `struct seccomp_data`, and the maximum of all structures.
    pub const COUNT: usize = 16;
    /// The number of words of a packet, which take all variables of a diagram. Structures have fewer words, so
    /// filters with [variables](crate::template) have comparisons there.
    pub(crate) const MOST: usize = 24;
    /// The `AUDIT_ARCH_*` token.
    pub const ARCH: Word = Word(0);
    /// The syscall number.
    pub const NR: Word = Word(1);
    /// The high half of the instruction pointer.
    pub const IP_HIGH: Word = Word(2);
    /// The low half of the instruction pointer.
    pub const IP_LOW: Word = Word(3);

    /// The high half of argument `arg`; `None` unless `arg` is 0 to 5.
    pub const fn arg_high(arg: u8) -> Option<Word> {
        if arg < 6 { Some(Word(4 + 2 * arg)) } else { None }
    }

    /// The low half of argument `arg`; `None` unless `arg` is 0 to 5.
    pub const fn arg_low(arg: u8) -> Option<Word> {
        if arg < 6 { Some(Word(5 + 2 * arg)) } else { None }
    }

    /// The word with the given rank in diagram order, 0–15.
    pub const fn from_index(index: usize) -> Option<Word> {
        if index < Word::COUNT { Some(Word(index as u8)) } else { None }
    }

    /// The word with this rank modulo [`Word::COUNT`], for ranks that are constants.
    pub(crate) const fn ranked(rank: usize) -> Word {
        Word((rank % Word::COUNT) as u8)
    }

    /// The word of a packet with this rank modulo [`Word::MOST`].
    pub(crate) const fn of_packet(rank: usize) -> Word {
        Word((rank % Word::MOST) as u8)
    }

    /// The rank in diagram order: 0–15, or up to 23 in a packet.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// All words in diagram order.
    pub fn all() -> impl DoubleEndedIterator<Item = Word> {
        (0..Word::COUNT as u8).map(Word)
    }

    /// For a word of an argument: which argument, and whether it is the high half.
    pub const fn argument(self) -> Option<(u8, bool)> {
        if self.0 >= 4 && self.index() < Word::COUNT {
            Some(((self.0 - 4) / 2, self.0 % 2 == 0))
        } else {
            None
        }
    }

    /// Byte offset in `struct seccomp_data` on a machine of the given byte order: the `k` of the
    /// `ld [k]` that loads this word.
    #[inline]
    pub const fn offset(self, endian: Endian) -> u32 {
        let w = self.0 as u32;
        match w {
            0 => 4,
            1 => 0,
            _ => {
                let high = w % 2 == 0;
                let first = matches!(endian, Endian::Big) == high;
                (w / 2) * 8 + if first { 0 } else { 4 }
            }
        }
    }

    /// The word at a byte offset; `None` unless that is a multiple of four below 64.
    #[inline]
    pub const fn from_offset(offset: u32, endian: Endian) -> Option<Word> {
        if offset >= SECCOMP_DATA_SIZE || offset % 4 != 0 {
            return None;
        }
        Some(match offset {
            0 => Word::NR,
            4 => Word::ARCH,
            _ => {
                let first = offset % 8 == 0;
                let high = matches!(endian, Endian::Big) == first;
                Word(((offset / 8) * 2) as u8 + if high { 0 } else { 1 })
            }
        })
    }
}

/// The byte order of the machine that runs a filter: it decides at which offset each half of an argument
/// is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Endian {
    /// Low half first (x86, arm, riscv, ppc64le, …).
    #[default]
    Little,
    /// High half first (s390x, ppc64, mips, …).
    Big,
}

impl Endian {
    /// The byte order of the compilation target.
    pub const NATIVE: Endian =
        if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// The number of 32 bits that a machine of this byte order loads from these bytes.
    pub(crate) const fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    /// The bytes that a machine of this byte order stores for a number of 32 bits.
    pub(crate) const fn bytes(self, word: u32) -> [u8; 4] {
        match self {
            Endian::Little => word.to_le_bytes(),
            Endian::Big => word.to_be_bytes(),
        }
    }
}

/// Where a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The byte offset of the loaded word: the `k` of the `ld [k]` that loads it.
    pub offset: u32,
    /// The bits of the loaded word that belong to the word.
    pub mask: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_words_are_inverse() {
        for endian in [Endian::Little, Endian::Big] {
            for word in Word::all() {
                assert_eq!(Word::from_offset(word.offset(endian), endian), Some(word));
            }
            assert_eq!(Word::from_offset(64, endian), None);
            assert_eq!(Word::from_offset(2, endian), None);
        }
    }

    #[test]
    fn argument_halves_have_the_kernels_offsets() {
        let low = Word::arg_low(0).unwrap();
        let high = Word::arg_high(0).unwrap();
        assert_eq!((low.offset(Endian::Little), high.offset(Endian::Little)), (16, 20));
        assert_eq!((low.offset(Endian::Big), high.offset(Endian::Big)), (20, 16));
        assert_eq!(Word::IP_LOW.offset(Endian::Little), 8);
        for (arg, offset) in (0..6).zip((16..).step_by(8)) {
            let halves = [Word::arg_low(arg), Word::arg_high(arg)].map(Option::unwrap);
            assert_eq!(halves.map(|half| half.offset(Endian::Little)), [offset, offset + 4]);
            assert_eq!(halves.map(Word::argument), [Some((arg, false)), Some((arg, true))]);
        }
        assert_eq!((Word::arg_low(6), Word::arg_high(6)), (None, None));
        assert_eq!(
            [Word::ARCH, Word::NR, Word::IP_HIGH, Word::IP_LOW].map(Word::argument),
            [None; 4]
        );
    }

    #[test]
    fn words_have_the_indices_0_to_15() {
        for (index, word) in Word::all().enumerate() {
            assert_eq!((Word::from_index(index), word.index()), (Some(word), index));
        }
        assert_eq!(Word::from_index(16), None);
        assert_eq!(Word::all().count(), 16);
    }

    #[test]
    fn the_structure_is_laid_out_as_the_kernel_does() {
        assert_eq!(size_of::<SeccompData>(), SECCOMP_DATA_SIZE as usize);
        assert_eq!(std::mem::offset_of!(SeccompData, nr), 0);
        assert_eq!(std::mem::offset_of!(SeccompData, arch), 4);
        assert_eq!(std::mem::offset_of!(SeccompData, instruction_pointer), 8);
        assert_eq!(std::mem::offset_of!(SeccompData, args), 16);
    }

    #[test]
    fn bytes_hold_every_word_at_its_offset() {
        let bytes: [u8; 64] = std::array::from_fn(|at| at as u8);
        for endian in [Endian::Little, Endian::Big] {
            let data = SeccompData::from_bytes(&bytes, endian);
            assert_eq!(data.to_bytes(endian), bytes);
            let second = data.args[1].to_le_bytes();
            let mut expected: [u8; 8] = std::array::from_fn(|at| 24 + at as u8);
            if endian == Endian::Big {
                expected.reverse();
            }
            assert_eq!(second, expected);
        }
    }

    #[test]
    fn words_read_back_what_was_set() {
        let mut data = SeccompData::default();
        for word in Word::all() {
            data.set_word(word, 0x1000 + word.index() as u32);
        }
        for word in Word::all() {
            assert_eq!(data.word(word), 0x1000 + word.index() as u32);
        }
        assert_eq!(data.args[5], 0x0000_100e_0000_100f);
    }
}
