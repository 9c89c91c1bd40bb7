//! The arguments of a call as strace writes them.

use super::line::UNFINISHED;
use crate::recording::Values;
use callgate_bpf::syscalls::{self, Arch};

/// What is known of the arguments of one call.
pub(super) fn values(arch: Arch, name: &str, text: &str) -> Vec<Values> {
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

/// How many arguments are looked at: more than strace writes of any call.
const MOST: usize = 16;

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
                if args.len() < MOST {
                    args.extend(text.get(start..at).map(str::trim));
                }
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
pub(super) fn is_closed(text: &str) -> bool {
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
