//! Parses the arguments of a syscall as strace prints them.

use super::line::UNFINISHED;
use callgate_bpf::syscalls::{Arch, ArgFacts};
use memchr::memchr2;

/// The values of the arguments of one syscall, if known.
pub(super) type KnownValues = [Option<u64>; 6];

/// The values of the arguments in `text`, which starts after the opening parenthesis.
pub(super) fn values(arch: Arch, facts: &[ArgFacts], text: &str) -> KnownValues {
    let args = ParsedArgs::read(facts, text);
    // strace prints 64-bit arguments of 32-bit ABIs as one, and those of clone in another order.
    let exact = arch.is_64bit() && !args.has_name;
    if exact || args.is_raw { args.known } else { KnownValues::default() }
}

/// Whether an argument is printed with its name, as in `flags=CLONE_VM`.
fn is_named(arg: &str) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let name = arg.bytes().position(|byte| !is_of_name(&byte));
    name.is_some_and(|end| end > 0 && arg.as_bytes().get(end) == Some(&b'='))
}

/// The arguments of a syscall.
struct ParsedArgs<'f> {
    facts: &'f [ArgFacts],
    /// The number of arguments, at most one more than [`ParsedArgs::MAX`].
    count: usize,
    /// The values of the first six, where each is a number.
    known: KnownValues,
    /// Whether an argument is printed with its name.
    has_name: bool,
    /// Whether all arguments are printed as by `strace -e raw=all`.
    is_raw: bool,
    /// Whether the closing parenthesis is there.
    is_closed: bool,
}

impl<'f> ParsedArgs<'f> {
    /// How many are parsed besides the last one: more than strace prints for any syscall.
    const MAX: usize = 16;

    /// Reads the arguments at the top level, up to the closing parenthesis. All delimiters are ASCII, so this works
    /// on bytes.
    fn read(facts: &'f [ArgFacts], text: &str) -> ParsedArgs<'f> {
        let mut args = ParsedArgs {
            facts,
            count: 0,
            known: KnownValues::default(),
            has_name: false,
            is_raw: true,
            is_closed: false,
        };
        let bytes = text.as_bytes();
        let (mut depth, mut start, mut at) = (0_usize, 0, 0);
        // The offset after the last `<` or the text in its brackets.
        let mut after_last_bracket = usize::MAX;
        let mut end = bytes.len();
        while let Some(byte) = bytes.get(at).copied() {
            let here = at;
            at += 1;
            if !is_special(byte) {
                continue;
            }
            match byte {
                b'"' => at = after_string(bytes, at),
                b'/' if bytes.get(at) == Some(&b'*') => at = after_comment(bytes, at),
                b'<' => {
                    // Text that `-y` adds to a descriptor; not a shift or an arrow.
                    if after_last_bracket != here && bytes.get(at) != Some(&b'<') {
                        at = after_bracket(bytes, at);
                    }
                    after_last_bracket = at;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' if depth == 0 => {
                    (end, args.is_closed) = (here, true);
                    break;
                }
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    if args.count < ParsedArgs::MAX {
                        args.add(trimmed(text.get(start..here).unwrap_or_default()));
                    }
                    start = at;
                }
                _ => {}
            }
        }
        let last = trimmed(text.get(start..end).unwrap_or_default());
        if !last.is_empty() {
            args.add(last);
        }
        args
    }

    fn add(&mut self, arg: &str) {
        match arg.as_bytes() {
            [b'0'] | [b'0', b'x', ..] => {}
            [b'0'..=b'9', ..] => self.is_raw = false,
            _ => {
                self.has_name |= is_named(arg);
                self.is_raw = false;
            }
        }
        if let Some(known) = self.known.get_mut(self.count) {
            *known = value(arg, self.facts.get(self.count).map(|arg| arg.bits));
        }
        self.count += 1;
    }
}

/// Whether a byte may separate or group arguments.
fn is_special(byte: u8) -> bool {
    const SPECIAL: [bool; 256] = {
        let (mut special, mut index) = ([false; 256], 0);
        while index < 256 {
            special[index] = matches!(
                index as u8,
                b'"' | b'/' | b'<' | b'(' | b'[' | b'{' | b')' | b']' | b'}' | b','
            );
            index += 1;
        }
        special
    };
    SPECIAL[usize::from(byte)]
}

/// Removes blanks around an argument; most arguments have at most one.
fn trimmed(arg: &str) -> &str {
    let arg = arg.strip_prefix(' ').unwrap_or(arg);
    let is_graphic = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let bytes = arg.as_bytes();
    if is_graphic(bytes.first()) && is_graphic(bytes.last()) { arg } else { arg.trim() }
}

/// The offset after a string whose opening quote is before `at`.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        // An escape has at least one more character; its other characters are never quotes.
        at += 1;
    }
    bytes.len()
}

/// The offset after a comment; `at` is that of its first asterisk.
fn after_comment(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    // `/*/` is a complete comment.
    rest.windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |end| at + end + 2)
}

/// The offset after a pair of angle brackets that opens before `at`; `->` does not close it.
fn after_bracket(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut dash = false;
    let end = rest.iter().position(|byte| {
        let is_end = *byte == b'>' && !dash;
        dash = *byte == b'-';
        is_end
    });
    end.map_or(bytes.len(), |end| at + end + 1)
}

/// Whether the arguments are complete, or end because another process interrupted the syscall.
pub(super) fn is_closed(text: &str) -> bool {
    ParsedArgs::read(&[], text).is_closed || text.trim_end().ends_with(UNFINISHED)
}

/// The value of an argument that is printed as a number.
fn value(arg: &str, bits: Option<u8>) -> Option<u64> {
    match arg.as_bytes() {
        [b'0', b'x', digits @ ..] if matches!(digits.len(), 1..=16) => {
            if let Some(value) = hexadecimal(digits) {
                return Some(value);
            }
        }
        [b'0'..=b'9' | b'-' | b'N', ..] => {}
        _ => return None,
    }
    let arg = arg.split_once(" /*").map_or(arg, |(arg, _)| arg.trim_end());
    // A descriptor with the text that `-y` adds.
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
        // The kernel ignores the high word of a 32-bit argument, so -1 may stand for two values.
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

/// The value of hexadecimal digits; `None` if one of them is not a digit.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for digit in digits {
        let decimal = digit.wrapping_sub(b'0');
        let letter = (digit | 0x20).wrapping_sub(b'a');
        let digit = match (decimal, letter) {
            (0..10, _) => decimal,
            (_, 0..6) => letter + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some(value)
}
