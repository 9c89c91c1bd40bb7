//! The members of the structure by name.

use super::words::{OPCODE, PAYLOAD, PDU_SIZE, SQE_FLAGS, USER_DATA_LOW, shift};
use crate::{Endian, Word};

/// A member of `struct io_uring_bpf_ctx`. Those of the payload overlap: which are valid depends on the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// The opcode, 8 bits.
    Opcode,
    /// The flags of the submission queue entry, 8 bits.
    SqeFlags,
    /// The size of the payload, 8 bits.
    PduSize,
    /// The address family of `IORING_OP_SOCKET`, 32 bits.
    SocketFamily,
    /// The type of the socket with its flags, 32 bits.
    SocketType,
    /// The protocol of the socket, 32 bits.
    SocketProtocol,
    /// The flags of `IORING_OP_OPENAT` and `IORING_OP_OPENAT2`, 64 bits.
    OpenFlags,
    /// The mode of the file, 64 bits.
    OpenMode,
    /// The `RESOLVE_*` flags, 64 bits; always 0 for `IORING_OP_OPENAT`.
    OpenResolve,
    /// The number that the program gives to the request, 64 bits.
    UserData,
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPlace {
    /// The word of the low half, or of the whole member.
    pub low: Word,
    /// The number of bits of the word below the member.
    pub shift: u8,
    /// The number of bits: 8, 32 or 64. The high half of 64 bits is the word before `low`.
    pub bits: u8,
}

impl Member {
    /// All members.
    pub const ALL: &'static [Member] = &[
        Member::Opcode,
        Member::SqeFlags,
        Member::PduSize,
        Member::SocketFamily,
        Member::SocketType,
        Member::SocketProtocol,
        Member::OpenFlags,
        Member::OpenMode,
        Member::OpenResolve,
        Member::UserData,
    ];

    /// The name in C: `opcode`, `socket.family`.
    pub const fn name(self) -> &'static str {
        match self {
            Member::Opcode => "opcode",
            Member::SqeFlags => "sqe_flags",
            Member::PduSize => "pdu_size",
            Member::SocketFamily => "socket.family",
            Member::SocketType => "socket.type",
            Member::SocketProtocol => "socket.protocol",
            Member::OpenFlags => "open.flags",
            Member::OpenMode => "open.mode",
            Member::OpenResolve => "open.resolve",
            Member::UserData => "user_data",
        }
    }

    /// Where the member is on machines of this byte order.
    pub const fn place(self, endian: Endian) -> MemberPlace {
        match self {
            Member::Opcode => byte_place(OPCODE, 0, endian),
            Member::SqeFlags => byte_place(SQE_FLAGS, 1, endian),
            Member::PduSize => byte_place(PDU_SIZE, 2, endian),
            Member::SocketFamily => word_place(0, endian),
            Member::SocketType => word_place(1, endian),
            Member::SocketProtocol => word_place(2, endian),
            Member::OpenFlags => number_place(0),
            Member::OpenMode => number_place(1),
            Member::OpenResolve => number_place(2),
            Member::UserData => MemberPlace { low: USER_DATA_LOW, shift: 0, bits: 64 },
        }
    }
}

/// A byte of the word with the opcode.
const fn byte_place(low: Word, at: u32, endian: Endian) -> MemberPlace {
    MemberPlace { low, shift: shift(at, endian) as u8, bits: 8 }
}

/// A number of 32 bits of the payload: half of one of 64 bits.
const fn word_place(at: usize, endian: Endian) -> MemberPlace {
    let half = match endian {
        Endian::Little => at ^ 1,
        Endian::Big => at,
    };
    MemberPlace { low: payload(half), shift: 0, bits: 32 }
}

/// A number of 64 bits of the payload.
const fn number_place(at: usize) -> MemberPlace {
    MemberPlace { low: payload(2 * at + 1), shift: 0, bits: 64 }
}

const fn payload(half: usize) -> Word {
    Word::ranked(PAYLOAD + half)
}

#[cfg(test)]
mod tests {
    use super::super::{IoUringRequest, SocketPayload};
    use super::*;
    use crate::FilterInput;

    fn value(request: &IoUringRequest, member: Member, endian: Endian) -> u64 {
        let MemberPlace { low, shift, bits } = member.place(endian);
        let low_half = u64::from(request.get(low, endian)) >> shift;
        match bits {
            64 => {
                let high = Word::from_index(low.index() - 1).unwrap();
                u64::from(request.get(high, endian)) << 32 | low_half
            }
            _ => low_half & ((1 << bits) - 1),
        }
    }

    #[test]
    fn members_have_the_values_of_the_request() {
        for endian in [Endian::Little, Endian::Big] {
            let socket = SocketPayload { family: 0x8123_4567, kind: 2, protocol: 0x9abc_def0 };
            let of = |member| value(&IoUringRequest::socket(socket, endian), member, endian);
            assert_eq!(of(Member::SocketFamily), 0x8123_4567);
            assert_eq!((of(Member::SocketType), of(Member::SocketProtocol)), (2, 0x9abc_def0));
            assert_eq!((of(Member::Opcode), of(Member::PduSize)), (45, 12));

            let open = IoUringRequest {
                sqe_flags: 0x21,
                user_data: 0xfedc_ba98_7654_3210,
                ..IoUringRequest::openat2(0x1_0000_0241, 0o644, 0x8_0000_0000)
            };
            let of = |member| value(&open, member, endian);
            let numbers = [Member::OpenFlags, Member::OpenMode, Member::OpenResolve].map(of);
            assert_eq!(numbers, [0x1_0000_0241, 0o644, 0x8_0000_0000]);
            assert_eq!((of(Member::SqeFlags), of(Member::UserData)), (0x21, 0xfedc_ba98_7654_3210));
        }
    }

    #[test]
    fn the_offsets_of_members_are_those_of_the_structure() {
        for endian in [Endian::Little, Endian::Big] {
            let layout = IoUringRequest::layout(endian);
            let offset = |member: Member| {
                let MemberPlace { low, bits, .. } = member.place(endian);
                let low = layout.place(low, endian).unwrap().offset;
                if bits == 64 { low & !7 } else { low }
            };
            let offsets: Vec<u32> = Member::ALL.iter().map(|member| offset(*member)).collect();
            assert_eq!(offsets, [8, 8, 8, 16, 20, 24, 16, 24, 32, 0], "{endian:?}");
        }
    }
}
