//! The words of `struct io_uring_bpf_ctx`.
//!
//! The opcode comes first, because rules are selected by it. Then come the flags and the payload. The number that the
//! program gives to a request (`user_data`) and the padding rarely matter, so they come last. Opcode, flags, size of the
//! payload and the first byte of the padding are bytes of the same loaded word.

use crate::{Endian, Place, Word};

/// Size of `struct io_uring_bpf_ctx` in bytes; also what `ld len` yields in an io_uring filter.
pub const IO_URING_CONTEXT_SIZE: u32 = 40;

/// The number of words.
pub const WORDS: usize = 13;

/// The number of opcodes of Linux 7.0 (`IORING_OP_LAST`). Later kernels may have more, up to 256.
pub const OPCODES: u32 = 65;

/// The opcode of the request.
pub const OPCODE: Word = Word::ranked(0);

/// The flags of the submission queue entry, `IOSQE_*`.
pub const SQE_FLAGS: Word = Word::ranked(1);

/// The size of the payload in bytes.
pub const PDU_SIZE: Word = Word::ranked(2);

/// The high half of the first number of the payload; the others follow, high half before low half.
pub(super) const PAYLOAD: usize = 3;

pub(super) const USER_DATA_HIGH: Word = Word::ranked(9);
pub(super) const USER_DATA_LOW: Word = Word::ranked(10);

/// The first byte of the padding, which is in the loaded word of the opcode.
pub(super) const PADDING_BYTE: Word = Word::ranked(11);

/// The rest of the padding.
pub(super) const PADDING_WORD: Word = Word::ranked(12);

/// The offset of the word with the opcode, the flags, the size of the payload, and the first byte of the padding.
pub(super) const HEAD_OFFSET: u32 = 8;

/// Where a word is.
pub(crate) const fn place(word: Word, endian: Endian) -> Option<Place> {
    let index = word.index();
    Some(match index {
        0..3 => Place { offset: HEAD_OFFSET, mask: 0xff << shift(index as u32, endian) },
        3..9 => Place { offset: half_offset(16, index - PAYLOAD, endian), mask: u32::MAX },
        9 | 10 => Place { offset: half_offset(0, index - 9, endian), mask: u32::MAX },
        11 => Place { offset: HEAD_OFFSET, mask: 0xff << shift(3, endian) },
        12 => Place { offset: 12, mask: u32::MAX },
        _ => return None,
    })
}

/// The number of bits below a byte of a loaded word, by its offset in the word.
pub(super) const fn shift(byte: u32, endian: Endian) -> u32 {
    match endian {
        Endian::Little => 8 * byte,
        Endian::Big => 24 - 8 * byte,
    }
}

/// The offset of a half of a number of 64 bits, of several from `start` on. Even halves are high halves.
const fn half_offset(start: u32, half: usize, endian: Endian) -> u32 {
    let is_first = matches!(endian, Endian::Big) == (half % 2 == 0);
    start + (half as u32 / 2) * 8 + if is_first { 0 } else { 4 }
}
