//! One request.

use super::decision::Decision;
use super::words::{
    IO_URING_CONTEXT_SIZE, OPCODE, PADDING_BYTE, PADDING_WORD, PAYLOAD, PDU_SIZE, SQE_FLAGS,
    USER_DATA_HIGH, USER_DATA_LOW, shift,
};
use crate::input::{FilterInput, sealed};
use crate::{Endian, Layout, Word};

/// One request as a filter sees it (`struct io_uring_bpf_ctx`), with the kernel's memory layout.
///
/// The payload depends on the opcode, and has the meaning of a C union. It is three numbers of 64 bits here, as the machine
/// would load them; [`Member`](super::Member) has its members for either byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct IoUringRequest {
    /// The number that the program gives to the request.
    pub user_data: u64,
    /// The opcode, `IORING_OP_*`.
    pub opcode: u8,
    /// The flags of the submission queue entry, `IOSQE_*`.
    pub sqe_flags: u8,
    /// The size of the payload in bytes; 0 if the opcode has none.
    pub pdu_size: u8,
    /// Padding. The kernel sets it to 0.
    pub pad: [u8; 5],
    /// The payload. The kernel sets what is beyond [`pdu_size`](Self::pdu_size) to 0.
    pub payload: [u64; 3],
}

/// The payload of `IORING_OP_SOCKET`: the arguments of `socket`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SocketPayload {
    /// The address family, `AF_*`.
    pub family: u32,
    /// The type, `SOCK_*`, with its flags.
    pub kind: u32,
    /// The protocol.
    pub protocol: u32,
}

impl IoUringRequest {
    /// A request of this opcode without a payload.
    pub fn new(opcode: u8) -> IoUringRequest {
        IoUringRequest { opcode, ..IoUringRequest::default() }
    }

    /// `IORING_OP_SOCKET`, on a machine of this byte order (`io_socket_bpf_populate` in `io_uring/net.c`).
    pub fn socket(payload: SocketPayload, endian: Endian) -> IoUringRequest {
        const IORING_OP_SOCKET: u8 = 45;
        let SocketPayload { family, kind, protocol } = payload;
        let pair = |first: u32, second: u32| {
            let (high, low) = match endian {
                Endian::Little => (second, first),
                Endian::Big => (first, second),
            };
            u64::from(high) << 32 | u64::from(low)
        };
        let payload = [pair(family, kind), pair(protocol, 0), 0];
        IoUringRequest { pdu_size: 12, payload, ..IoUringRequest::new(IORING_OP_SOCKET) }
    }

    /// `IORING_OP_OPENAT2` with the members of `struct open_how` (`io_openat_bpf_populate` in `io_uring/openclose.c`).
    /// `IORING_OP_OPENAT` has the same payload, with `resolve` 0.
    pub fn openat2(flags: u64, mode: u64, resolve: u64) -> IoUringRequest {
        const IORING_OP_OPENAT2: u8 = 28;
        let payload = [flags, mode, resolve];
        IoUringRequest { pdu_size: 24, payload, ..IoUringRequest::new(IORING_OP_OPENAT2) }
    }

    /// The bytes of the structure in this byte order.
    pub fn to_bytes(&self, endian: Endian) -> [u8; IO_URING_CONTEXT_SIZE as usize] {
        let mut bytes = [0; IO_URING_CONTEXT_SIZE as usize];
        let number = |number: u64| match endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        };
        let head = [self.opcode, self.sqe_flags, self.pdu_size];
        let all = number(self.user_data)
            .into_iter()
            .chain(head)
            .chain(self.pad)
            .chain(self.payload.into_iter().flat_map(number));
        for (to, from) in bytes.iter_mut().zip(all) {
            *to = from;
        }
        bytes
    }
}

/// The half of a number of 64 bits.
fn half(number: u64, high: bool) -> u32 {
    (if high { number >> 32 } else { number }) as u32
}

fn set_half(number: &mut u64, high: bool, value: u32) {
    let (shift, value) = (if high { 32 } else { 0 }, u64::from(value));
    *number = *number & !(0xffff_ffff << shift) | value << shift;
}

/// Which number of the payload, and whether its high half.
fn payload_half(word: Word) -> Option<(usize, bool)> {
    let half = word.index().checked_sub(PAYLOAD).filter(|half| *half < 6)?;
    Some((half / 2, half % 2 == 0))
}

impl sealed::Sealed for IoUringRequest {}

impl FilterInput for IoUringRequest {
    type Verdict = Decision;

    fn layout(endian: Endian) -> Layout {
        Layout::IoUring(endian)
    }

    fn verdict(value: u32) -> Decision {
        Decision::of(value)
    }

    fn get(&self, word: Word, endian: Endian) -> u32 {
        let [first, rest @ ..] = self.pad;
        let byte = |value: u8, at| u32::from(value) << shift(at, endian);
        match word {
            OPCODE => byte(self.opcode, 0),
            SQE_FLAGS => byte(self.sqe_flags, 1),
            PDU_SIZE => byte(self.pdu_size, 2),
            PADDING_BYTE => byte(first, 3),
            PADDING_WORD => endian.word(rest),
            USER_DATA_HIGH => half(self.user_data, true),
            USER_DATA_LOW => half(self.user_data, false),
            _ => match payload_half(word) {
                Some((at, high)) => self.payload.get(at).map_or(0, |number| half(*number, high)),
                None => 0,
            },
        }
    }

    fn set(&mut self, word: Word, endian: Endian, value: u32) {
        let byte = |at| (value >> shift(at, endian)) as u8;
        let [first, rest @ ..] = &mut self.pad;
        match word {
            OPCODE => self.opcode = byte(0),
            SQE_FLAGS => self.sqe_flags = byte(1),
            PDU_SIZE => self.pdu_size = byte(2),
            PADDING_BYTE => *first = byte(3),
            PADDING_WORD => *rest = endian.bytes(value),
            USER_DATA_HIGH => set_half(&mut self.user_data, true, value),
            USER_DATA_LOW => set_half(&mut self.user_data, false, value),
            _ => {
                let to = payload_half(word)
                    .and_then(|(at, high)| Some((self.payload.get_mut(at)?, high)));
                if let Some((number, high)) = to {
                    set_half(number, high, value);
                }
            }
        }
    }

    fn load(&self, offset: u32, endian: Endian) -> Option<u32> {
        if offset % 4 != 0 {
            return None;
        }
        let bytes = self.to_bytes(endian);
        Some(endian.word(*bytes.get(offset as usize..)?.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_structure_is_laid_out_as_the_kernel_does() {
        assert_eq!(size_of::<IoUringRequest>(), IO_URING_CONTEXT_SIZE as usize);
        assert_eq!(offset_of!(IoUringRequest, user_data), 0);
        assert_eq!(offset_of!(IoUringRequest, opcode), 8);
        assert_eq!(offset_of!(IoUringRequest, sqe_flags), 9);
        assert_eq!(offset_of!(IoUringRequest, pdu_size), 10);
        assert_eq!(offset_of!(IoUringRequest, pad), 11);
        assert_eq!(offset_of!(IoUringRequest, payload), 16);
    }

    #[test]
    fn loads_are_in_the_byte_order_of_the_machine() {
        let request = IoUringRequest {
            user_data: 0x0102_0304_0506_0708,
            opcode: 0x11,
            sqe_flags: 0x12,
            pdu_size: 0x13,
            pad: [0x14, 0x15, 0x16, 0x17, 0x18],
            payload: [0x2122_2324_2526_2728, 0, 0x3132_3334_3536_3738],
        };
        let load = |offset, endian| request.load(offset, endian).unwrap();
        assert_eq!(load(0, Endian::Little), 0x0506_0708);
        assert_eq!(load(0, Endian::Big), 0x0102_0304);
        assert_eq!(load(8, Endian::Little), 0x1413_1211);
        assert_eq!(load(8, Endian::Big), 0x1112_1314);
        assert_eq!(load(12, Endian::Little), 0x1817_1615);
        assert_eq!(load(16, Endian::Little), 0x2526_2728);
        assert_eq!(load(36, Endian::Big), 0x3536_3738);
        for offset in [1, 2, 38, 40, 44, 60, u32::MAX, u32::MAX - 3] {
            assert_eq!(request.load(offset, Endian::Little), None, "{offset}");
        }
    }

    #[test]
    fn a_socket_payload_is_three_loaded_words() {
        let payload = SocketPayload { family: 10, kind: 0x80001, protocol: 6 };
        for endian in [Endian::Little, Endian::Big] {
            let request = IoUringRequest::socket(payload, endian);
            let loaded = [16, 20, 24, 28].map(|offset| request.load(offset, endian).unwrap());
            assert_eq!(loaded, [10, 0x80001, 6, 0]);
            assert_eq!((request.opcode, request.pdu_size), (45, 12));
        }
    }

    #[test]
    fn words_that_the_layout_does_not_have_are_zero() {
        let mut request = IoUringRequest::openat2(1, 2, 3);
        let beyond = Word::from_index(super::super::WORDS).unwrap();
        request.set(beyond, Endian::Little, 7);
        assert_eq!(request, IoUringRequest::openat2(1, 2, 3));
        assert_eq!(request.get(beyond, Endian::Little), 0);
    }
}
