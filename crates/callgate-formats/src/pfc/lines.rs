//! The lines of a text, each by itself.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Verdict;
use callgate_core::policy::Cmp;

use crate::diagnostics::positions::Positions;
use crate::diagnostics::quote::shorten;

/// What the comment before the first architecture says.
const START: &str = "# pseudo filter code start";

/// What the last comment says.
const END: &str = "# pseudo filter code end";

/// How many columns a tab advances to, as in terminals.
const TAB: usize = 8;

/// A line that is not empty.
#[derive(Clone, Copy)]
pub(super) struct Line<'t> {
    /// The byte offset of its first character after the indentation.
    pub(super) at: usize,
    /// The number of columns before it.
    pub(super) indent: usize,
    pub(super) kind: Kind<'t>,
}

/// What a line is.
#[derive(Clone, Copy)]
pub(super) enum Kind<'t> {
    If(Comparison),
    Else,
    Action(Verdict),
    /// `# filter for arch NAME (…)`
    ArchComment(&'t str),
    /// `# filter for syscall "NAME" (…)`
    SyscallComment(&'t str),
    Comment,
}

/// The comparison of an `if`: `left & mask cmp value`.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub(super) left: Left,
    pub(super) mask: u32,
    pub(super) cmp: Cmp,
    pub(super) value: u32,
}

/// What an `if` compares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Arch,
    Syscall,
    Word(Word),
}

/// A word of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) arg: u8,
    pub(super) half: Half,
}

/// Which word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    High,
    Low,
    /// The only one that programs for a 32-bit architecture read.
    Only,
}

/// Whether a line, without indentation, begins the text.
pub(super) fn is_start(line: &[u8]) -> bool {
    line == START.as_bytes()
}

/// Whether a line, without indentation, begins the filter of an architecture, or a part of one.
pub(super) fn begins(line: &[u8]) -> bool {
    let starts = [&b"if ($arch == "[..], b"if ($syscall == ", b"if ($syscall > "];
    let number = starts.iter().find_map(|start| line.strip_prefix(*start));
    number.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
        || line.starts_with(b"# filter for arch ")
}

/// Passes the lines of the filter in a text to `each`, and returns warnings about what is around it.
///
/// # Errors
/// The first line that is none, a text without a filter, or with two; the first error of `each`.
pub(super) fn read_lines<'t>(
    text: &'t str,
    positions: &Positions<'t>,
    mut each: impl FnMut(Line<'t>) -> Result<(), Diagnostic>,
) -> Result<Vec<Diagnostic>, Diagnostic> {
    let has_start = text.split('\n').any(|line| is_start(line.trim().as_bytes()));
    let is_first = |line: &str| {
        let line = line.trim().as_bytes();
        if has_start { is_start(line) } else { begins(line) }
    };
    let is_text = |line: &str| !matches!(line.trim(), "" | "#" | "```");
    let at = |start| Some(positions.of(start));
    let (mut warnings, mut before) = (Vec::new(), None);
    let (mut has_begun, mut has_ended, mut next) = (false, false, 0);
    for line in text.split('\n') {
        let start = next;
        next += line.len() + 1;
        if !has_begun && !is_first(line) {
            before = before.or_else(|| is_text(line).then_some(start));
            continue;
        }
        let (indent, content) = indentation(line);
        let content_at = start + (line.len() - content.len());
        let content = content.trim_end();
        if has_begun && is_start(content.as_bytes()) {
            return Err(Diagnostic::error(at(content_at), "a second filter begins here")
                .help("give one of them, in a file of its own"));
        }
        has_begun = true;
        if has_ended {
            if warnings.is_empty() && is_text(line) {
                let message = "the text after the filter is not read";
                warnings.push(Diagnostic::warning(at(start), message));
            }
            continue;
        }
        has_ended = content == END;
        if content.is_empty() {
            continue;
        }
        let kind = kind(content)
            .map_err(|wrong| Diagnostic::error(at(content_at), wrong.message).help(wrong.help))?;
        if !matches!(kind, Kind::Comment) {
            each(Line { at: content_at, indent, kind })?;
        }
    }
    if !has_begun {
        return Err(Diagnostic::error(None, "the text has no pseudo filter code")
            .help("it begins with `# pseudo filter code start`, or `if ($arch == 3221225534)`"));
    }
    if let Some(start) = before {
        let message = "the text before the filter is not read";
        warnings.insert(0, Diagnostic::warning(at(start), message));
    }
    Ok(warnings)
}

/// The columns of the indentation, and the rest.
fn indentation(line: &str) -> (usize, &str) {
    let content = line.trim_start_matches([' ', '\t']);
    let blanks = line.get(..line.len() - content.len()).unwrap_or_default();
    let columns = blanks.chars().fold(0, |column: usize, blank| match blank {
        '\t' => (column / TAB + 1) * TAB,
        _ => column + 1,
    });
    (columns, content)
}

/// Why a line is not read, and what to do.
struct Wrong {
    message: String,
    help: &'static str,
}

fn kind(line: &str) -> Result<Kind<'_>, Wrong> {
    if let Some(comment) = line.strip_prefix('#') {
        return Ok(comment_of(comment.trim_start()));
    }
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with('#');
    if line.strip_prefix("else").map(str::trim_start).is_some_and(is_end) {
        return Ok(Kind::Else);
    }
    if let Some(action) = line.strip_prefix("action ").and_then(|rest| rest.strip_suffix(';')) {
        return verdict(action.trim()).map(Kind::Action);
    }
    let test = line.strip_prefix("if (").and_then(|rest| rest.strip_suffix(')'));
    match test {
        Some(test) => comparison(test).map(Kind::If),
        None => Err(Wrong {
            message: format!(
                "expected `if (…)`, `else` or `action …;`, but found `{}`",
                shorten(line)
            ),
            help: "give the text as seccomp_export_pfc writes it",
        }),
    }
}

fn comment_of(comment: &str) -> Kind<'_> {
    if let Some(rest) = comment.strip_prefix("filter for arch ") {
        return Kind::ArchComment(rest.split(' ').next().unwrap_or_default());
    }
    let name = comment.strip_prefix("filter for syscall \"").and_then(|rest| rest.split_once('"'));
    name.map_or(Kind::Comment, |(name, _)| Kind::SyscallComment(name))
}

fn verdict(action: &str) -> Result<Verdict, Wrong> {
    let (name, data) = match action.split_once('(') {
        Some((name, data)) => (name, data.strip_suffix(')').map(str::parse::<u16>)),
        None => (action, None),
    };
    let raw = action.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    Ok(match (name, data) {
        ("KILL_PROCESS", None) => Verdict::KILL_PROCESS,
        ("KILL", None) => Verdict::KILL_THREAD,
        ("TRAP", None) => Verdict::trap(0),
        ("TRAP", Some(Ok(data))) => Verdict::trap(data),
        ("ERRNO", Some(Ok(errno))) => Verdict::errno(errno),
        ("TRACE", Some(Ok(data))) => Verdict::trace(data),
        ("LOG", None) => Verdict::LOG,
        ("ALLOW", None) => Verdict::ALLOW,
        // libseccomp has no name for SCMP_ACT_NOTIFY.
        _ => match raw {
            Some(raw) => Verdict(raw),
            None => {
                return Err(Wrong {
                    message: format!("`{}` is not an action", shorten(action)),
                    help: "the actions are KILL_PROCESS, KILL, TRAP(0), ERRNO(1), TRACE(1), LOG, ALLOW, or a number in \
                           hexadecimal, such as 0x7fc00000 for a notification",
                });
            }
        },
    })
}

fn comparison(test: &str) -> Result<Comparison, Wrong> {
    let words: Vec<&str> = test.split_ascii_whitespace().collect();
    let wrong = |help| Wrong { message: format!("`{}` is not a comparison", shorten(test)), help };
    let form = "comparisons are `$syscall == 1`, `$a0.lo32 > 5` or `$a0.lo32 & 0x0000000f == 5`";
    let (left, mask, cmp, value) = match words.as_slice() {
        [_, "???", _] => {
            return Err(wrong("libseccomp could not write this one: export a program instead"));
        }
        [left, "&", mask, "==", value] => (left, number(mask), Cmp::Eq, value),
        [left, "==", value] => (left, Some(u32::MAX), Cmp::Eq, value),
        [left, ">", value] => (left, Some(u32::MAX), Cmp::Gt, value),
        [left, ">=", value] => (left, Some(u32::MAX), Cmp::Ge, value),
        _ => return Err(wrong(form)),
    };
    let left = match *left {
        "$arch" => Some(Left::Arch),
        "$syscall" => Some(Left::Syscall),
        word => argument(word).map(Left::Word),
    };
    match (left, mask, number(value)) {
        (Some(left), Some(mask), Some(value)) => Ok(Comparison { left, mask, cmp, value }),
        _ => Err(wrong(form)),
    }
}

fn argument(word: &str) -> Option<Word> {
    let (name, half) = match word.split_once('.') {
        None => (word, Half::Only),
        Some((name, "hi32")) => (name, Half::High),
        Some((name, "lo32")) => (name, Half::Low),
        Some(_) => return None,
    };
    let arg: u8 = name.strip_prefix("$a")?.parse().ok()?;
    (arg < 6 && name.len() == 3).then_some(Word { arg, half })
}

/// A number of 32 bits: decimal, hexadecimal, or negative.
fn number(word: &str) -> Option<u32> {
    match (word.strip_prefix("0x"), word.strip_prefix('-')) {
        (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
        (None, Some(_)) => word.parse::<i32>().ok().map(|number| number as u32),
        (None, None) => word.parse().ok(),
    }
}
