//! Names in all text forms: the words of `struct seccomp_data`, and actions.

use crate::data::Word;
use crate::verdict::Verdict;

/// The name of a word in listings: `nr`, `arch`, `args[0].high`.
pub(super) fn word(word: Word) -> &'static str {
    const NAMES: [&str; Word::COUNT] = [
        "arch",
        "nr",
        "instruction_pointer.high",
        "instruction_pointer.low",
        "args[0].high",
        "args[0].low",
        "args[1].high",
        "args[1].low",
        "args[2].high",
        "args[2].low",
        "args[3].high",
        "args[3].low",
        "args[4].high",
        "args[4].low",
        "args[5].high",
        "args[5].low",
    ];
    NAMES.get(word.index()).copied().unwrap_or_default()
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
