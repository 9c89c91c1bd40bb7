//! Names in all text forms: the words of `struct seccomp_data` and of io_uring requests, and actions.

use callgate_core::io_uring::{IoUringRequest, Member, MemberPlace, OPCODE};
use callgate_core::{Endian, FilterInput, Verdict, Word};

/// The name of a word in listings: `nr`, `arch`, `args[0].high`.
pub(super) fn word(word: Word) -> &'static str {
    const NAMES: &str = "arch nr instruction_pointer.high instruction_pointer.low \
        args[0].high args[0].low args[1].high args[1].low args[2].high args[2].low \
        args[3].high args[3].low args[4].high args[4].low args[5].high args[5].low";
    NAMES.split(' ').nth(word.index()).unwrap_or_default()
}

/// The action with a name of `seccomp(2)`, case-insensitive, with or without `SECCOMP_RET_`. `KILL` is the
/// old name of `KILL_THREAD`.
pub(super) fn action(name: &str) -> Option<Verdict> {
    let name = name.to_ascii_uppercase();
    let name = name.strip_prefix("SECCOMP_RET_").unwrap_or(&name);
    Some(match name {
        "KILL_PROCESS" => Verdict::KILL_PROCESS,
        "KILL_THREAD" | "KILL" => Verdict::KILL_THREAD,
        "TRAP" => Verdict::trap(0),
        "ERRNO" => Verdict::errno(0),
        "USER_NOTIF" => Verdict::user_notif(0),
        "TRACE" => Verdict::trace(0),
        "LOG" => Verdict::LOG,
        "ALLOW" => Verdict::ALLOW,
        _ => return None,
    })
}

/// The offset of a word.
fn place_of(word: Word, endian: Endian) -> Option<u32> {
    IoUringRequest::layout(endian).place(word, endian).map(|place| place.offset)
}

/// The members of io_uring requests that are a whole loaded word, or whose half is one, with the offset and the name: `socket.family`,
/// `open.flags.low`.
fn named(endian: Endian) -> impl Iterator<Item = (u32, String)> {
    let of_member = move |member: &Member| {
        let MemberPlace { low, bits, .. } = member.place(endian);
        let high = low.index().checked_sub(1).and_then(Word::from_index);
        let words = match bits {
            64 => [(Some(low), ".low"), (high, ".high")],
            32 => [(Some(low), ""), (None, "")],
            _ => [(None, ""); 2],
        };
        let name = member.name();
        let named =
            words.map(|(word, half)| Some((place_of(word?, endian)?, format!("{name}{half}"))));
        named.into_iter().flatten()
    };
    Member::ALL.iter().flat_map(of_member)
}

/// What a program for io_uring requests loads at an offset, for comments: `socket.family, open.flags.low`. The word with the
/// opcode, the flags, the size of the payload and a byte of padding has no name of its own.
pub(super) fn loaded_of_request(offset: u32, endian: Endian) -> String {
    if place_of(OPCODE, endian) == Some(offset) {
        return "opcode, sqe_flags, pdu_size".to_owned();
    }
    let names: Vec<String> =
        named(endian).filter(|(at, _)| *at == offset).map(|(_, name)| name).collect();
    names.join(", ")
}

/// The offset of the word of an io_uring request with a name.
pub(super) fn offset_of_request(name: &str, endian: Endian) -> Option<u32> {
    named(endian).find(|(_, known)| known == name).map(|(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_the_names_of_the_man_page() {
        for (name, verdict) in [
            ("KILL_PROCESS", 0x8000_0000),
            ("KILL_THREAD", 0),
            ("KILL", 0),
            ("TRAP", 0x0003_0000),
            ("ERRNO", 0x0005_0000),
            ("USER_NOTIF", 0x7fc0_0000),
            ("TRACE", 0x7ff0_0000),
            ("LOG", 0x7ffc_0000),
            ("ALLOW", 0x7fff_0000),
        ] {
            let spellings = [name.to_owned(), name.to_lowercase(), format!("SECCOMP_RET_{name}")];
            assert_eq!(spellings.map(|name| action(&name)), [Some(Verdict(verdict)); 3], "{name}");
        }
        for name in ["", "DENY", "SECCOMP_RET_", "SECCOMP_RET_DATA"] {
            assert_eq!(action(name), None, "{name}");
        }
    }

    #[test]
    fn words_have_the_names_of_all_members_of_the_union() {
        let little =
            [0, 4, 8, 12, 16, 20, 24, 28, 32, 36].map(|at| loaded_of_request(at, Endian::Little));
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
        assert_eq!(loaded_of_request(16, Endian::Big), "socket.family, open.flags.high");
    }

    #[test]
    fn names_and_offsets_are_inverse() {
        for endian in [Endian::Little, Endian::Big] {
            let names: Vec<(u32, String)> = named(endian).collect();
            assert_eq!(names.len(), 11);
            for (offset, name) in names {
                assert_eq!(offset_of_request(&name, endian), Some(offset), "{name}");
            }
        }
        assert_eq!(offset_of_request("opcode", Endian::Little), None);
    }
}
