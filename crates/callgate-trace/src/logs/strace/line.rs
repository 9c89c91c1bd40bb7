//! Parses a line of a log: the process, and the event.

use super::args::{ParsedArgs, split_once};

/// The end of the first line of a syscall that another process interrupts.
pub(super) const UNFINISHED: &str = "<unfinished ...>";

/// The start of the second line of such a syscall.
const RESUMED: &str = "<... ";

/// The text before [`UNFINISHED`] at the end of a line; `None` for other lines.
pub(super) fn before_unfinished(text: &str) -> Option<&str> {
    // Most lines end with a result.
    let last = text.strip_suffix('\n').unwrap_or(text).bytes().next_back()?;
    if last.is_ascii_graphic() && last != b'>' {
        return None;
    }
    text.trim_end().strip_suffix(UNFINISHED)
}

/// A line of a log, as far as it can be parsed without the other lines.
pub(crate) struct ParsedLine {
    pub(super) process: Option<u32>,
    /// The byte offset of the event in the line.
    at: u32,
    pub(super) event: Event,
}

/// What a line is about.
pub(super) enum Event {
    /// A syscall, or the first half of one, whose arguments are not parsed.
    Syscall(SyscallText, ParsedArgs),
    /// The second half of a syscall.
    Resumed(SyscallText),
    /// The rest of a syscall that a notice interrupted.
    Rest,
    /// strace starts to trace a process.
    Attached(u32),
    /// A process changes to another ABI.
    Changed(u32, Mode),
    /// This thread of the process executed a program, and takes over the number of the process.
    Superseded(u32),
    /// A process exited.
    Exited,
    /// A signal, a notice, an empty line.
    Nothing,
    /// The first line of a table of counts.
    Table,
    Other,
}

/// Where a syscall is in a line: byte offsets of its name, and of its arguments, which extend to the end of the line.
#[derive(Clone, Copy)]
pub(super) struct SyscallText {
    name: (u32, u32),
    args: u32,
}

impl SyscallText {
    /// The name.
    pub(super) fn name(self, line: &str) -> &str {
        let (start, end) = self.name;
        line.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The arguments, without the opening parenthesis.
    pub(super) fn args(self, line: &str) -> &str {
        line.get(self.args as usize..).unwrap_or_default()
    }
}

/// An ABI in the words of strace.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    X32,
    /// 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
}

impl Mode {
    fn of(text: &str) -> Mode {
        match text {
            "x32" => Mode::X32,
            _ if text.starts_with("32") => Mode::Narrow,
            _ => Mode::Wide,
        }
    }
}

impl ParsedLine {
    pub(crate) fn of(line: &str) -> ParsedLine {
        let mut process = None;
        let mut rest = after_blanks(line);
        // At most a process, a time, a time difference, and two pairs of brackets.
        for _ in 0..5 {
            let Some((prefix, behind)) = prefix(rest) else { break };
            if let Prefix::Process(number) = prefix {
                process = process.or(Some(number).filter(|number| *number <= MAX_PROCESS));
            }
            rest = behind;
        }
        let at = line.len() - rest.len();
        ParsedLine { process, at: offset(at), event: Event::of(rest, at) }
    }

    /// The byte offset of the event in the line.
    pub(super) fn at(&self) -> usize {
        self.at as usize
    }
}

/// An offset in a line, of which [`MAX_LINE`](super::super::lines::MAX_LINE) limits the length.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Event {
    /// Parses the rest of a line from the offset `at` on.
    fn of(rest: &str, at: usize) -> Event {
        let skipped_or_other = |is_skipped| if is_skipped { Event::Nothing } else { Event::Other };
        match rest.as_bytes().first() {
            None => Event::Nothing,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                // No other line starts with a word and a parenthesis.
                if let Some((name, args)) = syscall(rest) {
                    let end = at + name.len();
                    let text =
                        SyscallText { name: (offset(at), offset(end)), args: offset(end + 1) };
                    // Those of an unfinished syscall are parsed with the second half.
                    let is_unfinished = before_unfinished(args).is_some();
                    let args =
                        if is_unfinished { ParsedArgs::default() } else { ParsedArgs::of(args) };
                    return Event::Syscall(text, args);
                }
                // Whether notices start with the name of strace depends on its version.
                match rest.strip_prefix("strace: ") {
                    Some(notice) => Event::of_notice(notice).unwrap_or(Event::Nothing),
                    None => Event::of_notice(rest).unwrap_or(Event::Other),
                }
            }
            Some(b'[') => Event::of_notice(rest).unwrap_or(Event::Other),
            Some(b'<') => match rest.strip_prefix(RESUMED) {
                Some(resumed) => {
                    split_once(resumed, b" resumed>").map_or(Event::Other, |(name, args)| {
                        let start = at + RESUMED.len();
                        let name = (offset(start), offset(start + name.len()));
                        let args = offset(at + rest.len() - args.len());
                        Event::Resumed(SyscallText { name, args })
                    })
                }
                None => skipped_or_other(rest.starts_with(UNFINISHED)),
            },
            Some(b'+') => {
                if let Some(by) = rest.strip_prefix("+++ superseded by execve in pid ") {
                    let by = leading_number(by).filter(|(by, _)| *by <= MAX_PROCESS);
                    return by.map_or(Event::Nothing, |(by, _)| Event::Superseded(by));
                }
                if rest.starts_with("+++ exited") || rest.starts_with("+++ killed") {
                    return Event::Exited;
                }
                skipped_or_other(rest.starts_with("+++"))
            }
            Some(b'-') => skipped_or_other(rest.starts_with("---")),
            Some(b'>') => skipped_or_other(rest.starts_with("> ")),
            Some(b')' | b',') => Event::Rest,
            Some(b'%') if rest.starts_with("% time") => Event::Table,
            Some(_) => Event::Other,
        }
    }

    /// A notice about a process that changes to another ABI, or is traced from now on.
    fn of_notice(text: &str) -> Option<Event> {
        if let Some(process) = text.strip_prefix("[ Process PID=") {
            let mode = leading_number(process).and_then(|(number, mode)| {
                Some((number, mode.strip_prefix(" runs in ")?.split_once(" mode")?.0))
            });
            let mode = mode.filter(|(number, _)| *number <= MAX_PROCESS);
            return Some(
                mode.map_or(Event::Nothing, |(number, mode)| {
                    Event::Changed(number, Mode::of(mode))
                }),
            );
        }
        attached(text).map(Event::Attached)
    }
}

/// The process in a notice that strace starts to trace it.
pub(super) fn attached(notice: &str) -> Option<u32> {
    let notice = notice.strip_prefix("strace: ").unwrap_or(notice);
    let (number, rest) = leading_number(notice.strip_prefix("Process ")?)?;
    (rest.starts_with(" attached") && number <= MAX_PROCESS).then_some(number)
}

/// The name of a syscall, and the text after the opening parenthesis.
fn syscall(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    if !matches!(bytes.first()?, b'a'..=b'z' | b'A'..=b'Z' | b'_') {
        return None;
    }
    let is_of_name = |byte: &u8| matches!(byte, b'a'..=b'z' | b'_' | b'0'..=b'9' | b'A'..=b'Z');
    let end = bytes.iter().position(|byte| !is_of_name(byte))?;
    let (name, rest) = text.split_at_checked(end)?;
    Some((name, rest.strip_prefix('(')?))
}

enum Prefix {
    Process(u32),
    Other,
}

/// A prefix of a syscall, and the text after it.
fn prefix(text: &str) -> Option<(Prefix, &str)> {
    let (prefix, rest) = match text.as_bytes().first()? {
        b'0'..=b'9' => process(text).or_else(|| time(text))?,
        b'+' => time(text)?,
        b'[' => in_brackets(text.get(1..)?)?,
        b'(' => time_difference(text)?,
        _ => return None,
    };
    Some((prefix, after_blanks(rest)))
}

/// A process: `1234`, `1234<comm>`.
fn process(text: &str) -> Option<(Prefix, &str)> {
    let (number, rest) = leading_number(text)?;
    let rest = match rest.as_bytes().first()? {
        b' ' => rest,
        b'<' => split_once(rest, b"> ")?.1,
        _ => return None,
    };
    Some((Prefix::Process(number), rest))
}

/// A time, or a time difference with `-r`: `20:36:23.5`, `+0.5`.
fn time(text: &str) -> Option<(Prefix, &str)> {
    if !text.strip_prefix('+').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (word, rest) = text.split_once(' ')?;
    let is_of_time = |byte| matches!(byte, b'0'..=b'9' | b':' | b'.' | b'+' | b'-' | b'T');
    word.bytes().all(is_of_time).then_some((Prefix::Other, rest))
}

/// A time difference with `-r` after another time: `20:36:23 (+     0.000000)`.
fn time_difference(text: &str) -> Option<(Prefix, &str)> {
    let (difference, rest) = split_once(text.strip_prefix("(+")?, b") ")?;
    let is_time = difference.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_time.then_some((Prefix::Other, rest))
}

/// Text in brackets, after the opening one: the process (`pid 1234`, `pid 1234<comm>`), or what `-n` and `-i` print.
fn in_brackets(text: &str) -> Option<(Prefix, &str)> {
    if text.starts_with(" Process PID=") {
        return None;
    }
    // The name of a process may contain a bracket.
    let (inner, rest) = split_once(text, b"] ")?;
    let process = inner.strip_prefix("pid ").and_then(|text| leading_number(text.trim_start()));
    Some((process.map_or(Prefix::Other, |(number, _)| Prefix::Process(number)), rest))
}

/// The largest process number (`PID_MAX_LIMIT` in `include/linux/threads.h`).
pub(super) const MAX_PROCESS: u32 = 4 << 20;

/// The number at the start of a text, if it has at most 32 bits, and the text after it.
fn leading_number(text: &str) -> Option<(u32, &str)> {
    const TOO_LARGE: u64 = 1 << 32;
    let mut number = 0_u64;
    let mut end = 0;
    for byte in text.bytes() {
        let digit = byte.wrapping_sub(b'0');
        if digit >= 10 {
            break;
        }
        number = (number * 10 + u64::from(digit)).min(TOO_LARGE);
        end += 1;
    }
    let number = u32::try_from(number).ok().filter(|_| end > 0)?;
    Some((number, text.get(end..)?))
}

/// The text after white space.
fn after_blanks(text: &str) -> &str {
    let blanks = text.bytes().take_while(|byte| *byte == b' ').count();
    let rest = text.get(blanks..).unwrap_or_default();
    // White space other than blanks is rare.
    if rest.bytes().next().is_some_and(|byte| byte.is_ascii_graphic()) {
        rest
    } else {
        rest.trim_start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blanks_are_those_of_the_standard_library(text in "[] a>é\t\u{a0}]{0,12}") {
            prop_assert_eq!(after_blanks(&text), text.trim_start());
        }

        #[test]
        fn unfinished_syscalls_end_with_a_mark(end in "(<unfinished \\.\\.\\.>)?[>x\\s\u{a0}]{0,3}") {
            let text = format!("3, {end}");
            prop_assert_eq!(before_unfinished(&text), text.trim_end().strip_suffix(UNFINISHED));
        }
    }
}
