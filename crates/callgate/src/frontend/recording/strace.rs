//! Logs of strace: one line for each call, `name(arguments) = result`.
//!
//! In front of the name there may be the process (`1234`, `1234<comm>`, `[pid 1234]`), a time and
//! brackets (`-n`, `-i`). A call during which another process is logged has two lines, which belong
//! together by the process:
//!
//! ```text
//! 12 wait4(-1,  <unfinished ...>
//! 13 exit_group(0)     = ?
//! 12 <... wait4 resumed>NULL, 0, NULL) = 13
//! ```
//!
//! A call counts when it starts, so one that never ends counts too. Lines about signals and the end of
//! processes, stack frames (`-k`) and strace's own notices are skipped; how many others there were is
//! said. Memory is bounded by the number of processes.
//!
//! Sources: strace(1), and the output of strace 6.1.

use std::collections::{BTreeMap, BTreeSet};

use super::not_of;
use crate::diagnostic::Severity;
use crate::frontend::counts::unknown_name;
use crate::frontend::reader::Reader;
use crate::recording::{CallId, How, Recording, Run, Values};
use crate::syscalls::{self, Arch};

const UNFINISHED: &str = "<unfinished ...>";

/// Whether a text is a log: some line is a call with its result, or the first half of one. A table of
/// counts may stand below (`-C`).
pub(super) fn is_log(text: &str) -> bool {
    text.lines().any(|line| match Line::of(line).what {
        What::Call(_, rest) => {
            rest.contains(") = ") || rest.contains(")  ") || rest.trim_end().ends_with(UNFINISHED)
        }
        _ => false,
    })
}

pub(super) fn read(
    text: &str,
    reader: &mut Reader<'_>,
    arch: Arch,
    unknown: Severity,
) -> Recording {
    let recording = Recording::of(Run { how: How::Strace, ..Run::default() });
    let mut log = Log {
        native: arch,
        arches: BTreeMap::new(),
        unfinished: BTreeMap::new(),
        multiplexed: None,
        left_out: BTreeSet::new(),
        recording,
        unknown,
    };
    let (mut skipped, mut first) = (0_u64, None);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let parsed = Line::of(line);
        let at = start + parsed.at;
        match parsed.what {
            What::Call(name, args) if !line.ends_with('\n') && !is_closed(args) => {
                reader.warn(at, "this line is cut off; the call counts, its values do not").help =
                    "check that the log is complete".to_owned();
                log.call(reader, parsed.process, at, name, "");
            }
            What::Call(name, args) => log.call(reader, parsed.process, at, name, args),
            What::Resumed(name, args) => log.resumed(reader, parsed.process, at, name, args),
            What::Mode(process, mode) => log.mode(process, mode),
            What::Superseded(by) => {
                if let Some(call) = log.unfinished.remove(&Some(by)) {
                    log.unfinished.insert(parsed.process, call);
                }
            }
            What::Nothing => {}
            // The table of `strace -C` counts the same calls again.
            What::Table => break,
            What::Other => {
                skipped += 1;
                first = first.or(Some(at));
            }
        }
        start += line.len();
    }
    for (_, call) in std::mem::take(&mut log.unfinished) {
        log.count(reader, call.arch, call.at, &call.name, &call.args);
    }
    if let Some(at) = first {
        let lines = if skipped == 1 {
            "1 line is no call".to_owned()
        } else {
            format!("{skipped} lines are no calls, this is the first")
        };
        reader.warn(at, format!("{lines}; skipped")).help =
            "strace -o FILE keeps the log apart from what the program prints".to_owned();
    }
    if let Some((at, name, of)) = log.multiplexed {
        let message =
            format!("\"{name}\" may have been called by way of {of}, as strace shows both alike");
        reader.warn(at, message).help =
            "record with `callgate record`, which keeps them apart".to_owned();
    }
    log.recording
}

/// A call whose line is not complete.
struct Unfinished {
    arch: Arch,
    at: usize,
    name: String,
    args: String,
}

struct Log {
    native: Arch,
    /// The processes that strace said to use another interface.
    arches: BTreeMap<u32, Arch>,
    unfinished: BTreeMap<Option<u32>, Unfinished>,
    /// The first call that may be one of `socketcall` or `ipc`, and which.
    multiplexed: Option<(usize, String, &'static str)>,
    /// Names that were reported.
    left_out: BTreeSet<(Arch, String)>,
    recording: Recording,
    unknown: Severity,
}

impl Log {
    fn arch(&self, process: Option<u32>) -> Arch {
        process.and_then(|process| self.arches.get(&process)).copied().unwrap_or(self.native)
    }

    fn mode(&mut self, process: u32, mode: &str) {
        let narrow = match self.native {
            Arch::X86_64 => Arch::X86,
            Arch::Aarch64 => Arch::Arm,
            Arch::S390x => Arch::S390,
            Arch::Ppc64 => Arch::Ppc,
            other => other,
        };
        let arch = match mode {
            "32 bit" => narrow,
            "x32" => Arch::X32,
            _ => self.native,
        };
        self.arches.insert(process, arch);
    }

    fn call(
        &mut self,
        reader: &mut Reader<'_>,
        process: Option<u32>,
        at: usize,
        name: &str,
        args: &str,
    ) {
        let arch = self.arch(process);
        // On a terminal, a notice may interrupt a call; the rest of the line is on the next.
        let noticed = args.split_once("strace: Process ").map(|(args, _)| args);
        let Some(args) = args.trim_end().strip_suffix(UNFINISHED).or(noticed) else {
            return self.count(reader, arch, at, name, args);
        };
        let call = Unfinished { arch, at, name: name.to_owned(), args: args.trim_end().to_owned() };
        if let Some(lost) = self.unfinished.insert(process, call) {
            self.count(reader, lost.arch, lost.at, &lost.name, &lost.args);
        }
    }

    fn resumed(
        &mut self,
        reader: &mut Reader<'_>,
        process: Option<u32>,
        at: usize,
        name: &str,
        args: &str,
    ) {
        // The first process has no number until there is a second.
        let call = self.unfinished.remove(&process).or_else(|| self.unfinished.remove(&None));
        match call {
            Some(call) => {
                let args = call.args + args;
                self.count(reader, call.arch, call.at, &call.name, &args);
            }
            // strace came when the call was under way.
            None => self.count(reader, self.arch(process), at, name, ""),
        }
    }

    fn count(&mut self, reader: &mut Reader<'_>, arch: Arch, at: usize, name: &str, args: &str) {
        let unnamed = name.strip_prefix("syscall_0x");
        let nr = match unnamed.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(nr) => Some(nr),
            None => {
                let shared = arch.multiplexed(name);
                if let Some((of, _)) = shared {
                    self.multiplexed.get_or_insert_with(|| (at, name.to_owned(), of));
                }
                arch.number(name).or_else(|| arch.number(shared?.0))
            }
        };
        match nr {
            Some(nr) => self.recording.add(CallId::new(arch, nr), 1, values(arch, name, args)),
            None if !self.is_first(arch, name) => {}
            None if syscalls::is_known_name(name) => {
                not_of(reader, self.unknown, at, arch, name);
            }
            None => unknown_name(reader, self.unknown, at, name),
        }
    }

    /// Whether a name is left out for the first time: a log may have it a million times.
    fn is_first(&mut self, arch: Arch, name: &str) -> bool {
        /// More than there are messages of a text.
        const MOST: usize = 1000;
        self.left_out.len() >= MOST || self.left_out.insert((arch, name.to_owned()))
    }
}

/// What a line says.
struct Line<'t> {
    process: Option<u32>,
    /// Where in the line it says it.
    at: usize,
    what: What<'t>,
}

enum What<'t> {
    /// The name, and what stands behind the parenthesis.
    Call(&'t str, &'t str),
    /// The name, and what stands behind `resumed>`.
    Resumed(&'t str, &'t str),
    /// A process uses another interface.
    Mode(u32, &'t str),
    /// A process goes on as this thread of it, which executes a program.
    Superseded(u32),
    /// A signal, the end of a process, a notice, an empty line.
    Nothing,
    /// The first line of a table of counts.
    Table,
    Other,
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Line<'t> {
        let mut process = None;
        let mut rest = line.trim_start();
        // At most a process, a time, a duration, and two pairs of brackets.
        for _ in 0..5 {
            let Some((prefix, behind)) = prefix(rest) else { break };
            if let Prefix::Process(number) = prefix {
                process = process.or(Some(number));
            }
            rest = behind;
        }
        Line { process, at: line.len() - rest.len(), what: What::of(rest) }
    }
}

impl<'t> What<'t> {
    fn of(rest: &'t str) -> What<'t> {
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((name, args)) = resumed.split_once(" resumed>") else { return What::Other };
            return What::Resumed(name, args);
        }
        let notice = rest.strip_prefix("strace: ");
        if let Some(process) = notice.and_then(|text| text.strip_prefix("[ Process PID=")) {
            let mode = process.split_once(" runs in ").and_then(|(number, mode)| {
                Some((
                    number.parse().ok()?,
                    mode.split_once(" mode").map_or(mode, |(mode, _)| mode),
                ))
            });
            return mode.map_or(What::Nothing, |(number, mode)| What::Mode(number, mode));
        }
        if let Some(by) = rest.strip_prefix("+++ superseded by execve in pid ") {
            return leading_number(by).map_or(What::Nothing, |(by, _)| What::Superseded(by));
        }
        let skipped = ["---", "+++", "> ", UNFINISHED];
        if notice.is_some()
            || rest.is_empty()
            || skipped.iter().any(|start| rest.starts_with(start))
        {
            return What::Nothing;
        }
        if rest.starts_with("% time") {
            return What::Table;
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        match end.and_then(|end| rest.split_at_checked(end)) {
            Some((name, args))
                if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') =>
            {
                args.strip_prefix('(').map_or(What::Other, |args| What::Call(name, args))
            }
            _ => What::Other,
        }
    }
}

enum Prefix {
    Process(u32),
    Other,
}

/// What may stand in front of a call, and the text behind it.
fn prefix(text: &str) -> Option<(Prefix, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        // A name of a process may have a bracket in it.
        let (inner, rest) = inner.split_once("] ")?;
        let process = inner.strip_prefix("pid ").and_then(|text| leading_number(text.trim_start()));
        return Some((
            process.map_or(Prefix::Other, |(number, _)| Prefix::Process(number)),
            rest.trim_start(),
        ));
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b":.+-T".contains(&byte));
    if let Some((number, rest)) = leading_number(text) {
        if let Some(name) = rest.strip_prefix('<') {
            let (_, rest) = name.split_once("> ")?;
            return Some((Prefix::Process(number), rest.trim_start()));
        }
        if rest.starts_with(' ') {
            return Some((Prefix::Process(number), rest.trim_start()));
        }
    }
    let (word, rest) = text.split_once(' ')?;
    plain(word).then(|| (Prefix::Other, rest.trim_start()))
}

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// What is known of the arguments of one call.
fn values(arch: Arch, name: &str, text: &str) -> Vec<Values> {
    let (args, _) = split(text);
    let is_raw = |arg: &&str| *arg == "0" || arg.starts_with("0x");
    // strace joins the halves of wide arguments, and changes the order of those of clone.
    let exact = arch.is_64bit() && !args.iter().any(|arg| is_named(arg));
    if !exact && !args.iter().all(is_raw) {
        return Vec::new();
    }
    let facts = syscalls::facts(name).map(|facts| facts.args).unwrap_or_default();
    let one = |(index, arg): (usize, &&str)| match value(arg, facts.get(index).map(|arg| arg.bits))
    {
        Some(value) => Values::few(1, [value]),
        None => Values::default(),
    };
    args.iter().take(6).enumerate().map(one).collect()
}

/// `flags=CLONE_VM`
fn is_named(arg: &str) -> bool {
    arg.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    })
}

/// The arguments up to the closing parenthesis: those at the top level; and whether there is one.
fn split(text: &str) -> (Vec<&str>, bool) {
    let mut args = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    let mut previous = ' ';
    let mut chars = text.char_indices().peekable();
    let (mut end, mut is_closed) = (text.len(), false);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if text.get(at..).is_some_and(|rest| rest.starts_with("/*")) => {
                let mut star = false;
                for (_, c) in chars.by_ref() {
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            // What `-y` tells about a descriptor, but no shift and no arrow.
            '<' if previous != '<' && chars.peek().is_none_or(|(_, next)| *next != '<') => {
                let mut dash = false;
                for (_, c) in chars.by_ref() {
                    if c == '>' && !dash {
                        break;
                    }
                    dash = c == '-';
                }
            }
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                (end, is_closed) = (at, true);
                break;
            }
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                args.extend(text.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
        previous = c;
    }
    let last = text.get(start..end).map(str::trim).filter(|last| !last.is_empty());
    args.extend(last);
    (args, is_closed)
}

/// Whether the arguments have their end, or are as far as strace writes them before another process.
fn is_closed(text: &str) -> bool {
    split(text).1 || text.trim_end().ends_with(UNFINISHED)
}

/// The value of an argument that is written as a number.
fn value(arg: &str, bits: Option<u8>) -> Option<u64> {
    let arg = arg.split_once(" /*").map_or(arg, |(arg, _)| arg.trim_end());
    // A descriptor with what `-y` tells about it.
    let arg = match arg.find('<') {
        Some(at) if at > 0 && !arg.contains("<<") => arg.get(..at)?,
        _ => arg,
    };
    if arg == "NULL" {
        return Some(0);
    }
    if let Some(digits) = arg.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = arg.strip_prefix('-') {
        // Of a 32-bit argument the kernel ignores the high word, so -1 may be two values.
        let value = digits.parse::<u64>().ok().filter(|value| *value <= 1 << 63)?;
        return (bits == Some(64)).then_some(value.wrapping_neg());
    }
    if !arg.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Modes are octal.
    if arg.len() > 1 && arg.starts_with('0') {
        return u64::from_str_radix(arg, 8).ok();
    }
    arg.parse().ok()
}
