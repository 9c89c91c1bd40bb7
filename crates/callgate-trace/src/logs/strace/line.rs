//! Parses a line of a log: the process, and the event.

/// The end of the first line of a syscall that another process interrupts.
pub(super) const UNFINISHED: &str = "<unfinished ...>";

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
    Call(&'t str, &'t str),
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
        // No other line starts with a word and a parenthesis.
        if let Some((name, args)) = call(rest) {
            return Event::Call(name, args);
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((name, args)) = resumed.split_once(" resumed>") else { return Event::Other };
            return Event::Resumed(name, args);
        }
        let notice = rest.strip_prefix("strace: ");
        // Whether notices start with the name of strace depends on its version.
        let text = notice.unwrap_or(rest);
        if let Some(process) = text.strip_prefix("[ Process PID=") {
            let mode = leading_number(process).and_then(|(number, mode)| {
                Some((number, mode.strip_prefix(" runs in ")?.split_once(" mode")?.0))
            });
            let mode = mode.filter(|(number, _)| *number <= MAX_PROCESS);
            return mode.map_or(Event::Nothing, |(number, mode)| Event::Mode(number, mode));
        }
        let attached = text
            .strip_prefix("Process ")
            .and_then(leading_number)
            .filter(|(number, rest)| rest.starts_with(" attached") && *number <= MAX_PROCESS);
        if let Some((number, _)) = attached {
            return Event::Attached(number);
        }
        if let Some(by) = rest.strip_prefix("+++ superseded by execve in pid ") {
            let by = leading_number(by).filter(|(by, _)| *by <= MAX_PROCESS);
            return by.map_or(Event::Nothing, |(by, _)| Event::Superseded(by));
        }
        if rest.starts_with("+++ exited") || rest.starts_with("+++ killed") {
            return Event::Exited;
        }
        let skipped = ["---", "+++", "> ", UNFINISHED];
        if notice.is_some()
            || rest.is_empty()
            || skipped.iter().any(|start| rest.starts_with(start))
        {
            return Event::Nothing;
        }
        if rest.starts_with([')', ',']) {
            return Event::Rest(rest);
        }
        if rest.starts_with("% time") {
            return Event::Table;
        }
        Event::Other
    }
}

/// The name of a syscall, and the text after the opening parenthesis.
fn call(text: &str) -> Option<(&str, &str)> {
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
    if !matches!(text.as_bytes().first()?, b'[' | b'(' | b'+' | b'0'..=b'9') {
        return None;
    }
    if let Some(inner) = text.strip_prefix('[') {
        if inner.starts_with(" Process PID=") {
            return None;
        }
        // The name of a process may contain a bracket.
        let (inner, rest) = inner.split_once("] ")?;
        let process = inner.strip_prefix("pid ").and_then(|text| leading_number(text.trim_start()));
        return Some((
            process.map_or(Prefix::Other, |(number, _)| Prefix::Process(number)),
            after_blanks(rest),
        ));
    }
    // `-r` together with another time: `20:36:23 (+     0.000000)`.
    if let Some(inner) = text.strip_prefix("(+") {
        let (difference, rest) = inner.split_once(") ")?;
        let is_time = difference.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        return is_time.then(|| (Prefix::Other, after_blanks(rest)));
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
            return Some((Prefix::Process(number), after_blanks(rest)));
        }
        if rest.starts_with(' ') {
            return Some((Prefix::Process(number), after_blanks(rest)));
        }
    }
    let (word, rest) = text.split_once(' ')?;
    plain(word).then(|| (Prefix::Other, after_blanks(rest)))
}

/// The largest process number (`PID_MAX_LIMIT` in `include/linux/threads.h`).
pub(super) const MAX_PROCESS: u32 = 4 << 20;

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let mut number = 0_u64;
    let mut end = 0;
    for byte in text.bytes() {
        let digit = byte.wrapping_sub(b'0');
        if digit >= 10 {
            break;
        }
        number = number.saturating_mul(10).saturating_add(digit.into());
        end += 1;
    }
    let number = u32::try_from(number).ok().filter(|_| end > 0)?;
    Some((number, text.get(end..)?))
}

/// The text after white space, which is one blank in most places.
fn after_blanks(text: &str) -> &str {
    let rest = text.strip_prefix(' ').unwrap_or(text);
    if rest.bytes().next().is_some_and(|byte| byte.is_ascii_graphic()) {
        rest
    } else {
        rest.trim_start()
    }
}
