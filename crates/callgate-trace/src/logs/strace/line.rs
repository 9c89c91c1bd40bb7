//! What a line of a log says, and of which process.

/// How strace ends the first line of a call that another process interrupts.
pub(super) const UNFINISHED: &str = "<unfinished ...>";

/// What a line says.
pub(super) struct Line<'t> {
    pub(super) process: Option<u32>,
    /// Where in the line it says it.
    pub(super) at: usize,
    pub(super) what: What<'t>,
}

pub(super) enum What<'t> {
    /// The name, and what stands behind the parenthesis.
    Call(&'t str, &'t str),
    /// The name, and what stands behind `resumed>`.
    Resumed(&'t str, &'t str),
    /// The rest of a call, when a notice stood within it.
    Rest(&'t str),
    /// strace follows a process from here on.
    Attached(u32),
    /// A process uses another interface.
    Mode(u32, &'t str),
    /// A process goes on as this thread of it, which executes a program.
    Superseded(u32),
    /// The end of a process.
    Ended,
    /// A signal, a notice, an empty line.
    Nothing,
    /// The first line of a table of counts.
    Table,
    Other,
}

impl<'t> Line<'t> {
    pub(super) fn of(line: &'t str) -> Line<'t> {
        let mut process = None;
        let mut rest = after_blanks(line);
        // At most a process, a time, a difference of times, and two pairs of brackets.
        for _ in 0..5 {
            let Some((prefix, behind)) = prefix(rest) else { break };
            if let Prefix::Process(number) = prefix {
                process = process.or(Some(number).filter(|number| *number <= MAX_PROCESS));
            }
            rest = behind;
        }
        Line { process, at: line.len() - rest.len(), what: What::of(rest) }
    }
}

impl<'t> What<'t> {
    pub(super) fn of(rest: &'t str) -> What<'t> {
        // No other line begins with a word and a parenthesis.
        if let Some((name, args)) = call(rest) {
            return What::Call(name, args);
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((name, args)) = resumed.split_once(" resumed>") else { return What::Other };
            return What::Resumed(name, args);
        }
        let notice = rest.strip_prefix("strace: ");
        // Notices say whose they are, or not: that depends on the version.
        let text = notice.unwrap_or(rest);
        if let Some(process) = text.strip_prefix("[ Process PID=") {
            let mode = leading_number(process).and_then(|(number, mode)| {
                Some((number, mode.strip_prefix(" runs in ")?.split_once(" mode")?.0))
            });
            let mode = mode.filter(|(number, _)| *number <= MAX_PROCESS);
            return mode.map_or(What::Nothing, |(number, mode)| What::Mode(number, mode));
        }
        if let Some(process) = text.strip_prefix("Process ")
            && let Some((number, rest)) = leading_number(process)
            && rest.starts_with(" attached")
            && number <= MAX_PROCESS
        {
            return What::Attached(number);
        }
        if let Some(by) = rest.strip_prefix("+++ superseded by execve in pid ") {
            let by = leading_number(by).filter(|(by, _)| *by <= MAX_PROCESS);
            return by.map_or(What::Nothing, |(by, _)| What::Superseded(by));
        }
        if rest.starts_with("+++ exited") || rest.starts_with("+++ killed") {
            return What::Ended;
        }
        let skipped = ["---", "+++", "> ", UNFINISHED];
        if notice.is_some()
            || rest.is_empty()
            || skipped.iter().any(|start| rest.starts_with(start))
        {
            return What::Nothing;
        }
        if rest.starts_with([')', ',']) {
            return What::Rest(rest);
        }
        if rest.starts_with("% time") {
            return What::Table;
        }
        What::Other
    }
}

/// The name of a call, and what stands behind the parenthesis.
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

/// What may stand in front of a call, and the text behind it.
fn prefix(text: &str) -> Option<(Prefix, &str)> {
    if !matches!(text.as_bytes().first()?, b'[' | b'(' | b'+' | b'0'..=b'9') {
        return None;
    }
    if let Some(inner) = text.strip_prefix('[') {
        if inner.starts_with(" Process PID=") {
            return None;
        }
        // A name of a process may have a bracket in it.
        let (inner, rest) = inner.split_once("] ")?;
        let process = inner.strip_prefix("pid ").and_then(|text| leading_number(text.trim_start()));
        return Some((
            process.map_or(Prefix::Other, |(number, _)| Prefix::Process(number)),
            after_blanks(rest),
        ));
    }
    // `-r` beside another time: `20:36:23 (+     0.000000)`.
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

/// The largest number of a process (`PID_MAX_LIMIT` in `include/linux/threads.h`).
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

/// The text behind white space, of which there is one blank in most places.
fn after_blanks(text: &str) -> &str {
    let rest = text.strip_prefix(' ').unwrap_or(text);
    if rest.bytes().next().is_some_and(|byte| byte.is_ascii_graphic()) {
        rest
    } else {
        rest.trim_start()
    }
}
