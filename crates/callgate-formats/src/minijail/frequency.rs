//! Files of `@frequency`: lines `name: count`.

use std::collections::BTreeMap;

use super::lexer::{Kind, Lexer, Line};
use super::parse::{Parser, Said, Syntax};
use crate::diagnostics::quote::shorten;
use crate::included::{Reports, Sources};
use callgate_core::Arch;

/// Counts by the name of the syscall.
pub(super) type Frequencies = BTreeMap<&'static str, u64>;

/// Reads a file; equal names are added.
pub(super) fn frequencies(
    source: u16,
    arch: Arch,
    sources: &Sources,
    reports: &mut Reports,
    said: &mut Said,
    counts: &mut Frequencies,
) {
    let Some(text) = sources.get(source).map(|source| source.text.clone()) else { return };
    let mut lexer = Lexer::new(text, source);
    while let Some(line) = lexer.next(reports) {
        // After an error, the next line may have another one.
        if let Ok(Some((name, count))) = frequency(&line, arch, sources, reports, said) {
            let sum = counts.entry(name).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

/// A line. `None` if the syscall is for other architectures.
fn frequency(
    line: &Line,
    arch: Arch,
    sources: &Sources,
    reports: &mut Reports,
    said: &mut Said,
) -> Syntax<Option<(&'static str, u64)>> {
    let mut parser = Parser::new(line, arch, false, sources, reports, said);
    let syscall = parser.syscall()?;
    if !parser.takes(Kind::Sign(":")) {
        return Err(parser.expected("`:`", "a line is `syscall: count`"));
    }
    let Some(token) = parser.peek().filter(|token| token.kind == Kind::Number) else {
        return Err(parser.expected("a count", ""));
    };
    parser.take();
    let text = parser.text(token);
    let Some(count) = count(text) else {
        let message = format!("`{}` is not a count", shorten(text));
        let help = "write a number from 0 to 18446744073709551615 without zeros before it";
        return Err(parser.fail_at(Some(token), message, help));
    };
    if let Some(more) = parser.peek() {
        let message = format!("`{}` after the count has no effect", shorten(parser.text(more)));
        parser.warn(more, message, "remove it");
    }
    Ok(syscall.map(|(_, name)| (name, count)))
}

/// A number as in Python: zeros before it are an error.
fn count(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    let has_zeros =
        text.len() > 1 && text.starts_with('0') && text.bytes().any(|byte| byte != b'0');
    if has_zeros { None } else { text.parse().ok() }
}
