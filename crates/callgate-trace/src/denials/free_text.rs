//! Reports of denials in words of their own: the syscall and the architecture of a line that has no known form.
//!
//! What is found stands behind a word for a syscall (`syscall=165`, `system call number 0xa5`, `"syscallName": "mount"`), directly
//! before it (`the clone3 syscall`), or is a name by itself (`__NR_mount`, `SYS_mount`). The line must say that a seccomp filter, or
//! something that words it alike, denied a syscall, or have the two fields of an audit record. Whatever makes it doubtful that it
//! does, or which syscall it means, ends in no answer: a negation, a question, a line about rules or about what a program
//! does next, other names of syscalls, a count, source code. `logs/markers.rs` says which lines may not pass as "no denial" even
//! so.
//!
//! A log has lines that others chose, such as names of users and addresses of pages. So only markers, which such
//! lines rarely have, let a line of a log be read this way; without one, it must be given by itself ([`Trust`]).

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::name_in_constant;
use callgate_core::Arch;
use callgate_formats::diagnostics::quote::shorten;

use crate::recording::SyscallId;

/// The maximum length of a line in bytes: longer ones are not sentences.
const MAX_LINE: usize = 4096;

/// What a line says about who denied something, in lower case.
const FILTERS: [&str; 3] = ["seccomp", "sigsys", "ad system call"];

/// What was done to a syscall, in lower case.
const DENIALS: [&str; 15] = [
    "denied",
    "blocked",
    "disallowed",
    "forbidden",
    "prohibited",
    "violation",
    "killed",
    "rejected",
    "prevented",
    "not permitted",
    "ad syscall",
    "ad system call",
    "sigsys",
    "trapped",
    "illegal",
];

/// What is directly before a word for a syscall, or behind its value, in a line that does not say who denied it.
const ADJACENT: [&str; 12] = [
    "denied",
    "blocked",
    "disallowed",
    "forbidden",
    "prohibited",
    "illegal",
    "offending",
    "bad",
    "banned",
    "unauthorized",
    "unauthorised",
    "rejected",
];

/// Words of lines that do not report this denial, in lower case.
const DOUBTS: [&str; 45] = [
    "rule",
    "adding",
    "to add",
    "loading",
    "loaded",
    "libseccomp",
    "unknown syscall",
    "unknown system call",
    "unrecognized",
    "supported",
    "not implemented",
    "ignor",
    "allow",
    "list",
    "polic",
    "process\"",
    "processing",
    "handling",
    "emulat",
    "config",
    "needs ",
    "requires",
    "not blocked",
    "not denied",
    "not killed",
    "n't ",
    "no syscall",
    "no system call",
    "never",
    "expected",
    "should",
    "would",
    "will be",
    "is now",
    "disabled",
    "succeeded",
    "fall",
    "retry",
    "instead",
    "last good",
    "after ",
    "eacces",
    "permission denied",
    "blocked in",
    "capsicum",
];

/// What a line found: the syscall, and whether it does not name the architecture.
pub(super) struct Reported {
    pub(super) syscall: SyscallId,
    pub(super) is_arch_assumed: bool,
}

/// What is known about a line besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It has a marker of a denial.
    Marked,
    /// It was given by itself, as a report of a denial.
    Given,
}

/// A line as a report; `arch` is the architecture of one that does not name it. `None` if it does not name a syscall.
pub(super) fn report(line: &str, arch: Arch, trust: Trust) -> Option<Result<Reported, String>> {
    if line.len() > MAX_LINE {
        return None;
    }
    let words = words(line);
    let found = Machine::find(&words);
    let named = named(&words);
    if named.is_empty() || !is_denial(line, &words, &found, trust) {
        return None;
    }
    if has_another_name(&words, &named) {
        return Some(Err("several syscalls in one line".to_owned()));
    }
    let is_arch_assumed = matches!(found, Machine::Missing);
    let ids: Result<Vec<SyscallId>, String> = match found {
        Machine::Token(token) => named.iter().map(|named| named.of_token(token)).collect(),
        Machine::Arch(arch) => named.iter().map(|named| named.of(arch)).collect(),
        Machine::Missing => named.iter().map(|named| named.of(arch)).collect(),
        Machine::Unknown(name) => Err(format!("unknown architecture \"{}\"", shorten(name))),
        Machine::Several => Err("several architectures in one line".to_owned()),
    };
    Some(ids.and_then(|mut ids| {
        ids.sort_unstable();
        ids.dedup();
        match ids.as_slice() {
            [syscall] => Ok(Reported { syscall: *syscall, is_arch_assumed }),
            _ => Err("several syscalls in one line".to_owned()),
        }
    }))
}

/// Whether a line reports a denial.
fn is_denial(line: &str, words: &[Word<'_>], machine: &Machine<'_>, trust: Trust) -> bool {
    let text = line.to_ascii_lowercase().replace("disallowed", "denied");
    let text = text.replace("not allowed", "denied");
    let has = |texts: &[&str]| texts.iter().any(|one| text.contains(one));
    // Source code, comments in it, items of lists and questions.
    let start = text.trim_start();
    let is_other = ["//", "/*", "* ", "- ", "#", "ok "].iter().any(|one| start.starts_with(one))
        || text.trim_end().ends_with(['?', ';', '{'])
        || has(&["syscall(", "/*", "://", "\" http/"]);
    // An audit record that was copied from its middle on. Records of syscalls that were executed have a result.
    let is_record = matches!(machine, Machine::Token(_))
        && text.contains("arch=")
        && text.contains("syscall=")
        && !has(&["success=", "exit="])
        && trust == Trust::Given;
    let says_who = has(&FILTERS) && has(&DENIALS) || trust == Trust::Marked;
    (is_record || says_who || is_adjacent(words)) && !is_other && !has(&DOUBTS)
}

/// Whether what was done to a syscall is directly before the word for it, or behind its value: `blocked syscall: mount`, `syscall mount
/// was blocked`, `system call 165 is not allowed`.
fn is_adjacent(words: &[Word<'_>]) -> bool {
    let plain = |at: usize| words.get(at).map(Word::plain).unwrap_or_default();
    let is_denied = |at: usize| {
        words.get(at).is_some_and(|word| joins(word.before))
            && (ADJACENT.contains(&plain(at).as_str())
                || plain(at) == "not" && ["allowed", "permitted"].contains(&plain(at + 1).as_str()))
    };
    (0..words.len()).any(|at| {
        let start = match (plain(at).as_str(), at.checked_sub(1)) {
            ("syscall", _) => at,
            ("call", Some(before)) if plain(before) == "system" => before,
            _ => return false,
        };
        let value = value_behind(words, at).map_or(at, |(value, _)| value);
        let is_verb = ["was", "is"].contains(&plain(value + 1).as_str());
        start.checked_sub(1).is_some_and(is_denied)
            || is_denied(value + if is_verb { 2 } else { 1 })
    })
}

/// Whether a line has names of other syscalls than those that were found. Of names that are words of English as well, it
/// does not matter which is meant.
fn has_another_name(words: &[Word<'_>], named: &[Named<'_>]) -> bool {
    let is_found = |name: &str| named.contains(&Named::Name(name));
    let mut others =
        words.iter().map(|word| constant(word.text).unwrap_or(word.text)).filter(|name| {
            let is_name = Arch::ALL.iter().any(|arch| arch.number(name).is_some());
            is_name && !["seccomp", "syscall"].contains(name) && !is_found(name)
        });
    let numbers_only = named.iter().all(|one| matches!(one, Named::Number(_)));
    // The name of the number may stand elsewhere in the line.
    if numbers_only { others.clone().count() > 1 } else { others.next().is_some() }
}

/// A word of letters, digits and underscores.
#[derive(Clone, Copy)]
struct Word<'l> {
    text: &'l str,
    /// What is between it and the word before.
    before: &'l str,
    /// The rest of the line.
    after: &'l str,
}

impl Word<'_> {
    /// Without underscores, in lower case.
    fn plain(&self) -> String {
        self.text.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
    }
}

fn words(line: &str) -> Vec<Word<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let (text, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        words.push(Word { text, before, after });
        rest = after;
    }
    words
}

/// The word that is the value of a key, in the same phrase: there may be up to three words such as `number` before it.
fn value_behind<'w, 'l>(words: &'w [Word<'l>], key: usize) -> Option<(usize, &'w Word<'l>)> {
    const FILLERS: [&str; 20] = [
        "number",
        "num",
        "nr",
        "no",
        "name",
        "id",
        "is",
        "was",
        "called",
        "named",
        "to",
        "the",
        "token",
        "caught",
        "blocked",
        "denied",
        "attempt",
        "attempted",
        "invoked",
        "prevented",
    ];
    let behind = words.iter().enumerate().skip(key + 1).take(4);
    let mut behind = behind.take_while(|(_, word)| joins(word.before));
    behind.find(|(_, word)| !FILLERS.contains(&word.plain().as_str()))
}

/// Whether two words belong to one phrase: no mark ends it, and no column of blanks, as a shell prints before the command that was
/// killed.
fn joins(between: &str) -> bool {
    const MARKS: &str = " \t=:\"'`()[]{<>#*\\";
    between.chars().all(|c| MARKS.contains(c)) && !between.contains("  ")
}

/// A syscall as a line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named<'l> {
    Name(&'l str),
    Number(u32),
}

impl<'l> Named<'l> {
    /// The value behind a word for a syscall.
    fn value(word: &Word<'l>) -> Option<Named<'l>> {
        const UNITS: [&str; 9] =
            ["time", "times", "call", "calls", "syscalls", "denials", "s", "ms", "seconds"];
        match number(word.text) {
            Some(nr) => {
                let next = word.after.trim_start();
                let unit = next.split(|c: char| !c.is_ascii_alphanumeric()).next();
                let is_count = unit.is_some_and(|unit| UNITS.contains(&unit) || unit == "of");
                let has_fraction = word.after.starts_with(['.', ','])
                    && word
                        .after
                        .get(1..2)
                        .is_some_and(|next| next.bytes().all(|byte| byte.is_ascii_digit()));
                (!is_count && !has_fraction).then_some(Named::Number(nr))
            }
            None => Named::name(word.text),
        }
    }

    /// The name of a syscall, with or without the prefix of its constant.
    fn name(text: &'l str) -> Option<Named<'l>> {
        let name = constant(text).unwrap_or(text);
        Arch::ALL.iter().any(|arch| arch.number(name).is_some()).then_some(Named::Name(name))
    }

    /// The same syscall in the other way, which may follow: `mount (165)`, `mount, number 165`, `165 (mount)`.
    fn again(self, words: &[Word<'l>], at: usize) -> Option<Named<'l>> {
        let (next, word) = value_behind(words, at)?;
        let other = Named::value(word)?;
        let is_other = matches!(self, Named::Name(_)) != matches!(other, Named::Name(_));
        let is_in_brackets = word.before.ends_with('(') && word.after.starts_with(')');
        (is_other && (is_in_brackets || next > at + 1)).then_some(other)
    }

    fn of(self, arch: Arch) -> Result<SyscallId, String> {
        self.of_token(arch.token()).or_else(|why| match self {
            // Another ABI of the token may have the name.
            Named::Name(name) => arch
                .number(name)
                .map(|nr| SyscallId::new(arch, nr))
                .ok_or_else(|| format!("{arch} has no syscall \"{}\"", shorten(name))),
            Named::Number(_) => Err(why),
        })
    }

    fn of_token(self, token: u32) -> Result<SyscallId, String> {
        match self {
            Named::Number(nr) => {
                SyscallId::of(token, nr).ok_or_else(|| format!("unknown architecture {token:#x}"))
            }
            Named::Name(name) => Arch::with_token(token)
                .find_map(|arch| arch.number(name).map(|nr| SyscallId::new(arch, nr)))
                .ok_or_else(|| format!("unknown syscall \"{}\"", shorten(name))),
        }
    }
}

/// The name in a constant or in the name of the kernel's function: `__NR_mount`, `__x64_sys_mount`.
fn constant(text: &str) -> Option<&str> {
    const FUNCTIONS: [&str; 4] = ["sys_", "__x64_sys_", "__arm64_sys_", "__ia32_sys_"];
    let of_function = || FUNCTIONS.iter().find_map(|prefix| text.strip_prefix(prefix));
    name_in_constant(text).or_else(of_function)
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The syscalls that a line names.
fn named<'l>(words: &[Word<'l>]) -> Vec<Named<'l>> {
    const KEYS: [&str; 10] = [
        "syscall",
        "syscallname",
        "syscallid",
        "syscallnr",
        "syscallno",
        "syscallnum",
        "syscallnumber",
        "sysno",
        "sysnr",
        "scno",
    ];
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let plain = word.plain();
        let before = |by: usize| at.checked_sub(by).and_then(|at| words.get(at));
        let is_call = plain == "call" && before(1).is_some_and(|word| word.plain() == "system");
        if is_call || KEYS.contains(&plain.as_str()) {
            // `the clone3 syscall`, `"mount" system call`, `mount(2) syscall`.
            let (name, next) =
                if is_call { (before(2), before(1)) } else { (before(1), Some(word)) };
            let is_close = |c: char| " \"'`()2".contains(c);
            let is_joined = next.is_some_and(|next| next.before.chars().all(is_close));
            // `by the seccomp syscall filter` names no syscall.
            let name = name.filter(|name| is_joined && name.text != "seccomp");
            found.extend(name.and_then(|name| Named::name(name.text)));
            if let Some((at, value)) = value_behind(words, at) {
                let value = Named::value(value);
                found.extend(value);
                found.extend(value.and_then(|value| value.again(words, at)));
            }
        } else if constant(word.text).is_some() {
            found.extend(Named::name(word.text));
        }
    }
    found
}

/// The architecture that a line names.
enum Machine<'l> {
    Missing,
    Arch(Arch),
    Token(u32),
    /// The value of a key.
    Unknown(&'l str),
    Several,
}

impl<'l> Machine<'l> {
    /// The value of a key such as `arch`, else a name that has no other meaning.
    fn find(words: &[Word<'l>]) -> Machine<'l> {
        const KEYS: [&str; 5] = ["arch", "architecture", "siarch", "sigarch", "syscallarch"];
        let keys =
            words.iter().enumerate().filter(|(_, word)| KEYS.contains(&word.plain().as_str()));
        let mut of_keys = keys.filter_map(|(at, _)| value_behind(words, at));
        if let Some((_, value)) = of_keys.next() {
            return Machine::value(value.text);
        }
        const NAMES: [&str; 9] =
            ["x86_64", "amd64", "aarch64", "arm64", "riscv64", "ppc64le", "s390x", "i386", "i686"];
        // In a path or the name of a package, it is that of a file.
        let is_alone = |word: &Word<'_>| {
            let is_mark = |c: char| "/-.".contains(c);
            !word.before.ends_with(is_mark) && !word.after.starts_with(|c| "/-".contains(c))
        };
        let mut found = None;
        for word in words.iter().filter(|word| is_alone(word)) {
            let named = Arch::ALL.iter().copied().find(|arch| arch.audit_name() == word.text);
            let named = named.or_else(|| {
                NAMES.contains(&word.text).then(|| Arch::from_name(word.text)).flatten()
            });
            match (named, found) {
                (Some(arch), Some(other)) if arch != other => return Machine::Several,
                (Some(arch), _) => found = Some(arch),
                (None, _) => {}
            }
        }
        found.map_or(Machine::Missing, Machine::Arch)
    }

    /// A token in hexadecimal, with or without the prefix, or in decimal; or a name.
    fn value(text: &'l str) -> Machine<'l> {
        let named = Arch::ALL.iter().copied().find(|arch| arch.audit_name() == text);
        if let Some(arch) = named.or_else(|| Arch::from_name(text)) {
            return Machine::Arch(arch);
        }
        let hexadecimal = || u32::from_str_radix(text, 16).ok();
        let tokens = [hexadecimal(), number(text)];
        let known = |token: &u32| Arch::with_token(*token).next().is_some();
        tokens.into_iter().flatten().find(known).map_or(Machine::Unknown(text), Machine::Token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Result<(String, bool), String>> {
        let found = report(line, Arch::X86_64, Trust::Given)?;
        Some(found.map(|Reported { syscall, is_arch_assumed }| {
            let name = syscall.name().unwrap_or("?");
            (format!("{} {name}", syscall.arch), is_arch_assumed)
        }))
    }

    #[test]
    fn the_syscall_and_the_architecture_are_found_wherever_they_are() {
        for (line, expected, is_assumed) in [
            ("arch=c000003e syscall=165", "x86_64 mount", false),
            ("comm=\"app\" arch=c00000b7 syscall=40 compat=0 ip=0x1", "aarch64 mount", false),
            ("arch=40000003 syscall=224 per=8", "x86 gettid", false),
            ("app: blocked by seccomp: **syscall=165**", "x86_64 mount", true),
            ("Attempted banned syscall number [165], see the manual", "x86_64 mount", true),
            ("The clone3 syscall was blocked by seccomp", "x86_64 clone3", true),
            ("the \"clone3\" system call is not permitted (seccomp)", "x86_64 clone3", true),
            ("SIGSYS in system call number 0xa5", "x86_64 mount", true),
            ("seccomp: syscall 434 not permitted on arch aarch64", "aarch64 pidfd_open", false),
            ("seccomp killed app: system call mount, arm64", "aarch64 mount", false),
            (
                "seccomp denied {\"syscallName\": \"mount\", \"syscallID\": 165}",
                "x86_64 mount",
                true,
            ),
            ("seccomp denied \"syscallName\"=\"mount\" \"arch\"=\"arm64\"", "aarch64 mount", false),
            ("seccomp: call to __NR_mount prevented", "x86_64 mount", true),
            ("seccomp violation: sysno 165 (AUDIT_ARCH_X86_64)", "x86_64 mount", false),
            ("blocked syscall #165, arch: 3221225534", "x86_64 mount", false),
            ("Disallowed syscall: mount", "x86_64 mount", true),
            ("syscall mount is not allowed in this sandbox", "x86_64 mount", true),
            ("system call mount was blocked", "x86_64 mount", true),
            ("Illegal system call: 165", "x86_64 mount", true),
            ("Offending syscall number: 16 (arch: 0xc000003e, tid: 7)", "x86_64 ioctl", false),
            ("[seccomp] bad syscall (165) at 0x7f0012", "x86_64 mount", true),
        ] {
            let found = read(line).unwrap_or_else(|| panic!("{line}")).unwrap();
            assert_eq!(found, (expected.to_owned(), is_assumed), "{line}");
        }
    }

    #[test]
    fn other_lines_report_nothing() {
        for line in [
            "",
            "syscall 165",
            "run.sh: line 3:    12 Bad system call         sync",
            "run.sh: line 3:    12 Bad system call         (core dumped) mount",
            "zsh: invalid system call  mount",
            "Bad system call (core dumped)",
            "error adding seccomp filter rule for syscall clone3: permission denied",
            "seccomp: unknown syscall futex_waitv ignored",
            "seccomp: allowed syscall mount",
            "seccomp is enabled",
            "blocked by the seccomp syscall filter",
            "pid=7743, SiSyscall: 31, SiCode: 2, SiErrno: 0, SiSigno: 17: a seccomp violation",
            "arch=c000003e syscall=165 success=no exit=-1",
            "denied 12 syscalls",
            "blocked a syscall 12 times",
            "bad syscall. 5 processes were killed",
            "seccomp denied a syscall after 1.5 s",
            "killed: syscall 1.5 s ago",
            "system call 5 of 10 was blocked",
            // Negations, questions, expectations, other things that block.
            "syscall mount not blocked: seccomp is disabled",
            "No syscall was blocked by seccomp: syscall mount",
            "Why is syscall 59 blocked by seccomp?",
            "ok 3 - syscall mount was blocked by seccomp as expected",
            "INFO: task sh blocked in syscall futex for 120 s",
            "the read(2) call blocked for 5 s",
            "policy updated: syscall ptrace is now blocked by seccomp",
            // Errors that any file gives.
            "{ Error: EACCES: permission denied, open '/etc/shadow' errno: -13, syscall: 'open' }",
            "Operation not permitted (syscall=connect)",
            // Runtimes that speak of their filters, and what others chose.
            "Processing \"reject_force_umount  # comment to deny syscall umount2\"",
            "Handling \"mknod\" syscall with seccomp notify, which was blocked",
            "(Sandbox) failed to add open syscall, received libseccomp error -1: denied",
            "1.2.3.4 - - \"GET /blocked?syscall=165 HTTP/1.1\" 403 12",
            "syscall(SYS_mount, 0); /* blocked by seccomp */",
            "// seccomp: syscall mount is blocked",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn lines_of_logs_need_a_marker() {
        let of_log = |line| report(line, Arch::X86_64, Trust::Marked);
        assert!(of_log("seccomp violation: syscall 165").is_some_and(|found| found.is_ok()));
        // An audit record has another form there.
        assert!(of_log("GET /?arch=c000003e&syscall=165&seccomp=://x").is_none());
    }

    #[test]
    fn what_is_ambiguous_or_unknown_is_refused() {
        for (line, why) in [
            ("seccomp denied: syscall mount and syscall umount2", "several syscalls in one line"),
            ("seccomp denied: syscall mount (number 166)", "several syscalls in one line"),
            ("seccomp: blocked clone3, then the clone syscall", "several syscalls in one line"),
            ("SIGSYS in mount, before: syscall read", "several syscalls in one line"),
            (
                "seccomp denied on amd64 and arm64: syscall mount",
                "several architectures in one line",
            ),
            ("seccomp denied: arch=weird syscall=mount", "unknown architecture \"weird\""),
            ("seccomp denied on arm64: syscall mkdir", "aarch64 has no syscall \"mkdir\""),
        ] {
            assert_eq!(read(line).and_then(Result::err).as_deref(), Some(why), "{line}");
        }
    }

    #[test]
    fn long_lines_and_odd_characters_are_no_problem() {
        let long = format!("seccomp denied: syscall 165 {}", "x".repeat(MAX_LINE));
        assert!(read(&long).is_none());
        assert!(read("seccomp denied — syscall „mount“ → ü").is_none_or(|found| found.is_ok()));
        assert!(read("syscall=").is_none() && read("denied syscall").is_none());
    }
}
