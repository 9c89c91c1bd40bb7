//! Parses a line of a log: the process, and the event.

/// The end of the first line of a syscall that another process interrupts.
pub(super) const UNFINISHED: &str = "<unfinished ...>";

/// The text before [`UNFINISHED`] at the end of a line; `None` for other lines.
pub(super) fn before_unfinished(text: &str) -> Option<&str> {
    // Most lines end with a result.
    let last = text.strip_suffix('\n').unwrap_or(text).bytes().next_back()?;
    if last.is_ascii_graphic() && last != b'>' {
        return None;
    }
    text.trim_end().strip_suffix(UNFINISHED)
}

/// A line of a log.
pub(super) struct ParsedLine<'t> {
    pub(super) process: Option<u32>,
    /// The byte offset of the event in the line.
    pub(super) at: usize,
    pub(super) event: Event<'t>,
}

/// What a line is about.
pub(super) enum Event<'t> {
    /// A syscall: the name, and the text after the opening parenthesis.
    Syscall(&'t str, &'t str),
    /// The second half of a syscall: the name, and the text after `resumed>`.
    Resumed(&'t str, &'t str),
    /// The rest of a syscall that a notice interrupted.
    Rest(&'t str),
    /// strace starts to trace a process.
    Attached(u32),
    /// A process changes to another ABI.
    Mode(u32, &'t str),
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

impl<'t> ParsedLine<'t> {
    pub(super) fn of(line: &'t str) -> ParsedLine<'t> {
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
        ParsedLine { process, at: line.len() - rest.len(), event: Event::of(rest) }
    }
}

impl<'t> Event<'t> {
    pub(super) fn of(rest: &'t str) -> Event<'t> {
        let skipped_or_other = |is_skipped| if is_skipped { Event::Nothing } else { Event::Other };
        match rest.as_bytes().first() {
            None => Event::Nothing,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                // No other line starts with a word and a parenthesis.
                if let Some((name, args)) = syscall(rest) {
                    return Event::Syscall(name, args);
                }
                // Whether notices start with the name of strace depends on its version.
                match rest.strip_prefix("strace: ") {
                    Some(notice) => Event::of_notice(notice).unwrap_or(Event::Nothing),
                    None => Event::of_notice(rest).unwrap_or(Event::Other),
                }
            }
            Some(b'[') => Event::of_notice(rest).unwrap_or(Event::Other),
            Some(b'<') => match rest.strip_prefix("<... ") {
                Some(resumed) => split_once(resumed, b" resumed>")
                    .map_or(Event::Other, |(name, args)| Event::Resumed(name, args)),
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
            Some(b')' | b',') => Event::Rest(rest),
            Some(b'%') if rest.starts_with("% time") => Event::Table,
            Some(_) => Event::Other,
        }
    }

    /// A notice about a process that changes to another ABI, or is traced from now on.
    fn of_notice(text: &'t str) -> Option<Event<'t>> {
        if let Some(process) = text.strip_prefix("[ Process PID=") {
            let mode = leading_number(process).and_then(|(number, mode)| {
                Some((number, mode.strip_prefix(" runs in ")?.split_once(" mode")?.0))
            });
            let mode = mode.filter(|(number, _)| *number <= MAX_PROCESS);
            return Some(mode.map_or(Event::Nothing, |(number, mode)| Event::Mode(number, mode)));
        }
        let (number, rest) = leading_number(text.strip_prefix("Process ")?)?;
        (rest.starts_with(" attached") && number <= MAX_PROCESS).then_some(Event::Attached(number))
    }
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

/// Splits a text at the first occurrence of an ASCII delimiter. Unlike `str::split_once`, it prepares nothing, so it is
/// fast for short texts.
fn split_once<'t, const N: usize>(
    text: &'t str,
    delimiter: &[u8; N],
) -> Option<(&'t str, &'t str)> {
    let at = text.as_bytes().windows(N).position(|window| window == delimiter)?;
    Some((text.get(..at)?, text.get(at + N..)?))
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
        fn texts_are_split_as_by_the_standard_library(text in "[] a>é\t\u{a0}]{0,12}") {
            prop_assert_eq!(split_once(&text, b"] "), text.split_once("] "));
            prop_assert_eq!(split_once(&text, b" a>"), text.split_once(" a>"));
            prop_assert_eq!(after_blanks(&text), text.trim_start());
        }

        #[test]
        fn unfinished_syscalls_end_with_a_mark(end in "(<unfinished \\.\\.\\.>)?[>x\\s\u{a0}]{0,3}") {
            let text = format!("3, {end}");
            prop_assert_eq!(before_unfinished(&text), text.trim_end().strip_suffix(UNFINISHED));
        }
    }
}
