//! Names of loaded words in text forms.
//!
//! A loaded word is named after the member, or the half of a member, that it is. The word with the opcode, the flags, the size
//! of the payload and a byte of padding has no name of its own.

use callgate_core::io_uring::{IoUringRequest, Member, MemberPlace, OPCODE};
use callgate_core::{Endian, FilterInput, Word};

/// The offset of a word.
fn place_of(word: Word, endian: Endian) -> Option<u32> {
    IoUringRequest::layout(endian).place(word, endian).map(|place| place.offset)
}

/// The members that are a whole loaded word, or whose half is one, with the offset and the name: `socket.family`,
/// `open.flags.low`.
fn named(endian: Endian) -> impl Iterator<Item = (u32, String)> {
    let of_member = move |member: &Member| {
        let MemberPlace { low, bits, .. } = member.place(endian);
        let offset = |word: Word| place_of(word, endian);
        let name = member.name();
        let names = match bits {
            64 => {
                let high = low.index().checked_sub(1).and_then(Word::from_index);
                [
                    Some((offset(low), format!("{name}.low"))),
                    high.map(|high| (offset(high), format!("{name}.high"))),
                ]
            }
            32 => [Some((offset(low), name.to_owned())), None],
            _ => [None, None],
        };
        names.into_iter().flatten().filter_map(|(offset, name)| Some((offset?, name)))
    };
    Member::ALL.iter().flat_map(of_member)
}

/// What is loaded at an offset, for comments: `socket.family, open.flags.low`.
pub(crate) fn loaded(offset: u32, endian: Endian) -> String {
    if place_of(OPCODE, endian) == Some(offset) {
        return "opcode, sqe_flags, pdu_size".to_owned();
    }
    let names: Vec<String> =
        named(endian).filter(|(at, _)| *at == offset).map(|(_, name)| name).collect();
    names.join(", ")
}

/// The offset of the word with a name.
pub(crate) fn offset_of(name: &str, endian: Endian) -> Option<u32> {
    named(endian).find(|(_, known)| known == name).map(|(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_names_of_all_members_of_the_union() {
        let little = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36].map(|at| loaded(at, Endian::Little));
        assert_eq!(
            little,
            [
                "user_data.low",
                "user_data.high",
                "opcode, sqe_flags, pdu_size",
                "",
                "socket.family, open.flags.low",
                "socket.type, open.flags.high",
                "socket.protocol, open.mode.low",
                "open.mode.high",
                "open.resolve.low",
                "open.resolve.high",
            ]
        );
        assert_eq!(loaded(16, Endian::Big), "socket.family, open.flags.high");
    }

    #[test]
    fn names_and_offsets_are_inverse() {
        for endian in [Endian::Little, Endian::Big] {
            let names: Vec<(u32, String)> = named(endian).collect();
            assert_eq!(names.len(), 11);
            for (offset, name) in names {
                assert_eq!(offset_of(&name, endian), Some(offset), "{name}");
            }
        }
        assert_eq!(offset_of("opcode", Endian::Little), None);
    }
}
