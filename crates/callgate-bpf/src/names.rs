//! Names in all text forms: the words of `struct seccomp_data`, and actions.

use callgate_core::{Verdict, Word};

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
}
