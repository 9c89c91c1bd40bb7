//! Audit records of denials.

use std::borrow::Cow;

use callgate_bpf::verdict::Verdict;
use callgate_formats::diagnostics::quote::shorten;

use super::line::Parsed;
use super::model::{Evidence, LoggedCall};
use super::tally::Origin;
use crate::logs::audit::{Record, Unreadable};

/// A line as an audit record of seccomp; `None` for other lines.
pub(super) fn record(line: &str) -> Option<Parsed<'_>> {
    let record = Record::parse(line)?;
    let syscall = match record.syscall() {
        Ok(syscall) => syscall,
        Err(Unreadable::Missing) => {
            return Some(Parsed::Unread("missing or truncated arch or syscall".to_owned()));
        }
        Err(Unreadable::Arch(_, arch)) => {
            return Some(Parsed::Unread(format!("unknown architecture \"{}\"", shorten(arch))));
        }
        Err(Unreadable::NotOnArch(_, arch, name)) => {
            return Some(Parsed::Unread(format!("{arch} has no syscall \"{}\"", shorten(name))));
        }
        Err(Unreadable::Syscall(_, name)) => {
            return Some(Parsed::Unread(format!("unknown syscall \"{}\"", shorten(name))));
        }
    };
    // The last one counts: the name of the program precedes it, which `ausearch -i` prints without escapes.
    let is_executed = match fields(line, "code").last() {
        Some("allow" | "log") => true,
        Some(code) => code
            .strip_prefix("0x")
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .is_some_and(|code| Verdict(code).permits()),
        None => false,
    };
    if is_executed {
        return Some(Parsed::Logged);
    }
    let program = fields(line, "comm").next().or_else(|| fields(line, "exe").next());
    let program = program.map(|name| decoded(name, record.is_raw()));
    let origin = if record.is_of_journal { Origin::Journal } else { Origin::Other };
    let call = LoggedCall { syscall, args: [None; 6], evidence: Evidence::Filter };
    Some(Parsed::Denial(call, program, origin))
}

/// The values of a key: in quotes, or up to a blank.
fn fields<'t>(line: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    line.match_indices(key).filter_map(move |(at, _)| {
        let before = line.get(..at)?;
        let starts = before.is_empty() || before.ends_with(char::is_whitespace);
        let value = line.get(at + key.len()..)?.strip_prefix('=').filter(|_| starts)?;
        if value.starts_with('"') {
            let end = value.get(1..)?.find('"')? + 2;
            return value.get(..end);
        }
        value.split([' ', '\n', '\r', '\u{1d}']).next().filter(|value| !value.is_empty())
    })
}

/// A value that the kernel quotes, or writes in hexadecimal if it has unusual characters (`audit_log_untrustedstring`);
/// `ausearch -i` decodes it.
fn decoded(value: &str, is_raw: bool) -> Cow<'_, str> {
    if let Some(inner) = value.strip_prefix('"') {
        return Cow::Borrowed(inner.strip_suffix('"').unwrap_or(inner));
    }
    let is_hex = is_raw
        && value.len() >= 2
        && value.len() % 2 == 0
        && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    if !is_hex {
        return Cow::Borrowed(value);
    }
    let bytes = value.as_bytes().chunks(2).filter_map(|pair| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    Cow::Owned(String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned())
}
