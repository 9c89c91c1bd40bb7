//! Bytes as tools print them: dumps with offsets (`xxd`, `hexdump`, `od`), literals of bytes (Python, Rust) and base64.
//!
//! A dump of words of 16 or 32 bits has them in the byte order of the machine that printed it, for which that of the program
//! stands. Each offset must be the number of bytes before it, so that no line is missing.

use crate::asm::AsmError;
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Position, error};
use crate::token::quote;
use callgate_core::{Endian, RawInsn};
use std::ops::RangeInclusive;

/// The most bytes of a dump: more than any program has. A line of `*` stands for many.
const MAX_BYTES: usize = 1 << 20;

/// The bytes of a text in one of these forms; `None` for other texts.
pub(super) fn bytes(text: &str, endian: Endian) -> Option<std::result::Result<Vec<u8>, AsmError>> {
    let bytes = match () {
        () if is_dump(text) => dump(text, endian),
        () if is_literal(text) => literal(text),
        () => Ok(base64(text)?),
    };
    Some(bytes.map_err(AsmError::from))
}

/// Whether a text is in one of these forms.
pub(super) fn is_dumped(text: &str) -> bool {
    is_dump(text) || is_literal(text) || base64(text).is_some()
}

/// How many digits offsets have.
const OFFSET: RangeInclusive<usize> = 7..=8;

/// A line of a dump.
struct Row<'t> {
    line: u32,
    offset: &'t str,
    /// Whether xxd wrote it: its groups are bytes in their order.
    is_xxd: bool,
    words: Vec<(&'t str, u32)>,
    /// Whether `*` came before: the row before is repeated up to this one.
    repeats: bool,
}

/// Whether the first line of a text begins with an offset of 0, and all lines of a dump have one.
fn is_dump(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let starts = lines.peek().is_some_and(|line| {
        let offset = line.split_whitespace().next().unwrap_or_default();
        let digits = offset.trim_end_matches(':');
        OFFSET.contains(&digits.len())
            && digits.bytes().all(|byte| byte == b'0')
            && line.trim() != offset
    });
    starts
        && lines.all(|line| {
            let first = line.split_whitespace().next().unwrap_or_default();
            let digits = first.strip_suffix(':').unwrap_or(first);
            first == "*" || OFFSET.contains(&digits.len()) && is_hex(digits)
        })
}

fn is_hex(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn dump(text: &str, endian: Endian) -> Result<Vec<u8>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut repeats = false;
    for (line, number) in text.lines().zip(1u32..) {
        match line.trim() {
            "" => {}
            "*" => repeats = true,
            _ => rows.push(Row { repeats: std::mem::take(&mut repeats), ..Row::of(line, number) }),
        }
    }
    // `xxd -e` has words of the machine in the form in which `xxd -g4` has bytes.
    let words = || rows.iter().flat_map(|row| &row.words);
    if rows.first().is_some_and(|row| row.is_xxd) && words().all(|(word, _)| word.len() == 8) {
        return Err(error(
            Position::START,
            "groups of four bytes may be words (xxd -e) or bytes (xxd -g4)",
        )
        .help("dump the bytes alone: xxd -p FILE"));
    }
    // od has octal offsets unless it was asked for others.
    let mut results = [16, 8, 10].map(|radix| assemble(&rows, radix, endian)).into_iter();
    let first = results.next().unwrap_or_else(|| Ok(Vec::new()));
    match (first, results.find(std::result::Result::is_ok)) {
        (Err(_), Some(other)) => other,
        (first, _) => first,
    }
}

impl<'t> Row<'t> {
    fn of(line: &'t str, number: u32) -> Row<'t> {
        let start = line.len() - line.trim_start().len();
        let rest = line.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (offset, rest) = rest.split_at(end);
        // xxd separates the characters from the bytes by two blanks, hexdump and od by a mark as well.
        let skipped = rest.len() - rest.trim_start().len();
        let content = rest.trim_start();
        let is_xxd = offset.ends_with(':');
        let marks: &[&str] = if is_xxd { &["  "] } else { &["  |", "  >"] };
        let stop = marks.iter().filter_map(|mark| content.find(mark)).min();
        let content = content.get(..stop.unwrap_or(content.len())).unwrap_or_default();
        let mut words = Vec::new();
        let mut column = start + offset.len() + skipped;
        for word in content.split(' ') {
            if !word.is_empty() {
                words.push((word, u32::try_from(column + 1).unwrap_or(u32::MAX)));
            }
            column += word.len() + 1;
        }
        let offset = offset.trim_end_matches(':');
        Row { line: number, offset, is_xxd, words, repeats: false }
    }

    fn position(&self, column: u32) -> Position {
        Position { line: self.line, column }
    }
}

/// The bytes of all rows, whose offsets have this radix.
fn assemble(rows: &[Row<'_>], radix: u32, endian: Endian) -> Result<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut last = 0;
    for row in rows {
        let offset = usize::from_str_radix(row.offset, radix).map_err(|_| {
            error(row.position(1), format!("{} is not an offset", quote(row.offset)))
        })?;
        if row.repeats && last > 0 {
            while bytes.len() < offset && bytes.len() <= MAX_BYTES {
                bytes.extend_from_within(bytes.len() - last..);
            }
        }
        if bytes.len() > MAX_BYTES {
            let message = format!("the dump has more than {MAX_BYTES} bytes");
            return Err(error(row.position(1), message).help("no program is that long"));
        }
        if bytes.len() != offset {
            let message = format!(
                "the offset {} is not the number of bytes before it, which is {:#x}",
                quote(row.offset),
                bytes.len()
            );
            return Err(error(row.position(1), message).help("lines are missing or incomplete"));
        }
        for (word, column) in &row.words {
            let value = bytes_of(word, row.is_xxd, endian);
            let value = value.ok_or_else(|| {
                let message = format!("{} is not a group of a dump", quote(word));
                error(row.position(*column), message)
                    .help("groups are bytes or words in hexadecimal, or words in octal")
            })?;
            bytes.extend(value);
        }
        last = bytes.len() - offset;
    }
    Ok(bytes)
}

/// The bytes of a group; `None` if it is none.
fn bytes_of(word: &str, is_xxd: bool, endian: Endian) -> Option<Vec<u8>> {
    if is_xxd {
        let pairs = word.as_bytes().chunks(2);
        return pairs
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect::<Option<Vec<u8>>>()
            .filter(|_| is_hex(word) && word.len() % 2 == 0);
    }
    // The number of digits tells the size of a word, and whether it is octal.
    let (radix, size) = match word.len() {
        2 => (16, 1),
        4 => (16, 2),
        8 => (16, 4),
        16 => (16, 8),
        3 => (8, 1),
        6 => (8, 2),
        11 => (8, 4),
        _ => return None,
    };
    let value = u64::from_str_radix(word, radix).ok().filter(|_| is_hex(word))?;
    let little = value.to_le_bytes();
    let (kept, rest) = little.split_at_checked(size)?;
    if rest.iter().any(|byte| *byte != 0) {
        return None;
    }
    Some(match endian {
        Endian::Little => kept.to_vec(),
        Endian::Big => kept.iter().rev().copied().collect(),
    })
}

/// Whether a text begins with a literal of bytes that has an escape, or with a name for it.
fn is_literal(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let starts = ["b\"", "b'"].iter().filter_map(|start| text.find(start)).min();
    let Some((before, literal)) = starts.and_then(|at| text.split_at_checked(at)) else {
        return false;
    };
    let is_name = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:&[]=(".contains(c);
    let quote = literal.chars().nth(1).unwrap_or('"');
    let first = literal.get(2..).and_then(|rest| rest.split(quote).next()).unwrap_or_default();
    before.chars().all(is_name)
        && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && first.contains("\\x")
}

/// The bytes of literals that follow each other, as Python and Rust join or add them. What is around them may name the value,
/// and no more.
fn literal(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut around = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let quote = chars.peek().map(|(_, next)| *next).filter(|next| matches!(next, '"' | '\''));
        match (c, quote) {
            ('b', Some(quote)) if !around.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                chars.next();
                loop {
                    let Some((at, c)) = chars.next() else {
                        return Err(error(Position::of(text, at), "the literal does not end")
                            .help(format!("expected {quote} at its end")));
                    };
                    match c {
                        _ if c == quote => break,
                        '\\' => {
                            let escaped = escape(&mut chars).ok_or_else(|| {
                                error(
                                    Position::of(text, at),
                                    "unknown escape in a literal of bytes",
                                )
                            })?;
                            bytes.extend(escaped);
                        }
                        _ if c.is_ascii() && c != '\n' => bytes.push(c as u8),
                        _ => {
                            let message =
                                format!("{} is not a byte", crate::token::quote(&c.to_string()));
                            return Err(error(Position::of(text, at), message));
                        }
                    }
                }
            }
            ('#', _) => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            ('"' | '\'', _) => return Err(beside(text, at)),
            _ => around.push(c),
        }
    }
    // Rust's `const F: &[u8] = `, Python's `f = (` and `+ `.
    let (name, rest) = around.split_once('=').unwrap_or(("", &around));
    let is_name = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:&[];".contains(c);
    let is_join = |c: char| c.is_whitespace() || "()+;,\\".contains(c);
    match name.chars().all(is_name) && name.trim().lines().count() <= 1 && rest.chars().all(is_join)
    {
        true => Ok(bytes),
        false => Err(beside(text, 0)),
    }
}

fn beside(text: &str, at: usize) -> Diagnostic {
    error(Position::of(text, at), "this text also has other code than literals of bytes")
        .help("paste the value alone, or what print(value.hex()) prints")
}

/// The byte of an escape; none for a line that continues.
fn escape(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> Option<Option<u8>> {
    let (_, c) = chars.next()?;
    Some(Some(match c {
        'x' => {
            let high = chars.next()?.1.to_digit(16)?;
            let low = chars.next()?.1.to_digit(16)?;
            u8::try_from(high << 4 | low).ok()?
        }
        '0'..='7' => {
            let mut value = c.to_digit(8)?;
            for _ in 0..2 {
                let Some((_, next)) = chars.next_if(|(_, c)| c.is_digit(8)) else { break };
                value = value << 3 | next.to_digit(8)?;
            }
            u8::try_from(value).ok()?
        }
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        '\\' | '\'' | '"' => c as u8,
        '\n' => return Some(None),
        _ => return None,
    }))
}

/// The bytes of base64, if they are whole instructions: one word a line, all lines but the last of one length.
fn base64(text: &str) -> Option<Vec<u8>> {
    /// Three quarters of it are one instruction, so that no word of assembly is taken for it.
    const SHORTEST: usize = 11;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (last, others) = lines.split_last()?;
    let width = others.first().map_or(last.len(), |first| first.len());
    if width < SHORTEST || last.len() > width || others.iter().any(|line| line.len() != width) {
        return None;
    }
    let all: String = lines.concat();
    let digits = all.trim_end_matches('=');
    // Hexadecimal digits are bytes of their own.
    if is_hex(&all) {
        return None;
    }
    if all.len() % 4 != 0 || all.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 3);
    for group in digits.as_bytes().chunks(4) {
        let mut value = 0u32;
        for digit in group {
            value = value << 6 | digit_of(*digit)?;
        }
        value <<= 6 * (4 - group.len());
        let [_, a, b, c] = value.to_be_bytes();
        // Bits beyond the last byte are 0.
        let whole = group.len() - 1;
        if [a, b, c].iter().skip(whole).any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend([a, b, c].iter().take(whole));
    }
    (!bytes.is_empty() && bytes.len() % RawInsn::SIZE == 0).then_some(bytes)
}

fn digit_of(digit: u8) -> Option<u32> {
    Some(match digit {
        b'A'..=b'Z' => u32::from(digit - b'A'),
        b'a'..=b'z' => u32::from(digit - b'a') + 26,
        b'0'..=b'9' => u32::from(digit - b'0') + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    /// `ld [0]`, `jeq #59, 0, 1`, `ret KILL_THREAD`, `ret ALLOW`.
    const PROGRAM: &str = "2000000000000000150000013b0000000600000000000000060000000000ff7f";

    fn expected() -> Vec<RawInsn> {
        parse(PROGRAM, Endian::Little).unwrap()
    }

    #[test]
    fn dumps_of_every_tool_are_the_same_program() {
        for text in [
            // xxd, and with other groups
            "00000000: 2000 0000 0000 0000 1500 0001 3b00 0000   ...........;...\n\
             00000010: 0600 0000 0000 0000 0600 0000 0000 ff7f  ................\n",
            "00000000: 20 00 00 00 00 00 00 00  ab cd ef\n\
             00000008: 15000001 3b000000  ....\n00000010: 0600000000000000 060000000000ff7f\n",
            // hexdump -C
            "00000000  20 00 00 00 00 00 00 00  15 00 00 01 3b 00 00 00  | ...........;...|\n\
             00000010  06 00 00 00 00 00 00 00  06 00 00 00 00 00 ff 7f  |................|\n\
             00000020\n",
            // hexdump
            "0000000 0020 0000 0000 0000 0015 0100 003b 0000\n\
             0000010 0006 0000 0000 0000 0006 0000 0000 7fff\n0000020\n",
            // od, od -b, od -t x1z, od -A d -t x4
            "0000000 000040 000000 000000 000000 000025 000400 000073 000000\n\
             0000020 000006 000000 000000 000000 000006 000000 000000 077777\n0000040\n",
            "0000000 040 000 000 000 000 000 000 000 025 000 000 001 073 000 000 000\n\
             0000020 006 000 000 000 000 000 000 000 006 000 000 000 000 000 377 177\n0000040\n",
            "0000000 20 00 00 00 00 00 00 00 15 00 00 01 3b 00 00 00  > ...........;...<\n\
             0000020 06 00 00 00 00 00 00 00 06 00 00 00 00 00 ff 7f  >................<\n0000040\n",
            "0000000 00000020 00000000 01000015 0000003b\n\
             0000016 00000006 00000000 00000006 7fff0000\n0000032\n",
            // Python, Rust
            "f = (b\"\\x20\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"  # ld\n\
             b'\\x15\\0\\x00\\x01;\\x00\\x00\\x00' +\n\
             b'\\x06\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x06\\x00\\x00\\x00\\x00\\x00\\xff\\x7f')\n",
            "const F: &[u8] = b\"\\x20\\0\\0\\0\\0\\0\\0\\0\\x15\\0\\0\\x01;\\0\\0\\0\\x06\\0\\0\\0\\0\\0\\0\\0\\x06\\0\\0\\0\\0\\0\\xff\\x7f\";",
            // What repr() prints: the first byte is a blank.
            "f = b' \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x15\\x00\\x00\\x01;\\x00\\x00\\x00\\x06\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x06\\x00\\x00\\x00\\x00\\x00\\xff\\x7f'\n",
            // base64, also in lines
            "IAAAAAAAAAAVAAABOwAAAAYAAAAAAAAABgAAAAAA/38=",
            "IAAAAAAAAAAVAAAB\nOwAAAAYAAAAAAAAA\nBgAAAAAA/38=\n",
        ] {
            assert_eq!(parse(text, Endian::Little).ok(), Some(expected()), "{text}");
        }
    }

    #[test]
    fn an_asterisk_stands_for_what_is_repeated() {
        let text = "00000000  06 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00  |................|\n\
                    *\n00000030  06 00 00 00 00 00 ff 7f  |........|\n00000038\n";
        let program = parse(text, Endian::Little).unwrap();
        assert_eq!(program.len(), 7);
        assert_eq!(program.last().map(|insn| insn.k), Some(0x7fff_0000));
        let long = "00000000  06 00\n*\nfffffff0  06 00\n";
        assert!(parse(long, Endian::Little).is_err());
        let never = "00000000  06 00\n00000002\n*\n00000010  06 00\n";
        assert!(parse(never, Endian::Little).is_err());
    }

    #[test]
    fn what_is_missing_is_an_error() {
        let error =
            |text: &str| parse(text, Endian::Little).unwrap_err().diagnostics()[0].to_string();
        for (text, message) in [
            ("00000000: 0600 0000\n00000010: 0000 0000\n", "2:1: the offset"),
            ("00000000: 060 0000\n00000004: 0000 0000\n", "1:11: `060` is not a group"),
            ("0000000 06 00 00 00 00 0x 00 00\n", "1:24: `0x` is not a group"),
            ("f = b'\\x06\\x00", "1:5: the literal does not end"),
            ("f = b'\\x06\\q'", "1:11: unknown escape"),
            ("f = pack(b'\\x06')", "1:1: this text also has"),
            ("f = b'\\x06'\ng = b'\\x06'", "1:1: this text also has"),
            ("f = b'\\x06' \"x\"", "1:13: this text also has"),
            ("00000000: 20000000 00000000\n", "1:1: groups of four bytes"),
            ("f = b'\\x06é'", "1:11: `é` is not a byte"),
        ] {
            let found = error(text);
            assert!(found.contains(message), "{text}: {found}");
        }
    }

    #[test]
    fn other_texts_are_none_of_these() {
        for text in [
            "ret ALLOW\n",
            "taxtxataxret\n",
            "00000000\n",
            "2000000000000000\n",
            "0000: 0x06 0x00 0x00 0x7fff0000\n",
            "0000000000000000 060000000000ff7f\n",
            "# about b\"\\x20 bytes\nBPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ALLOW)\n",
            "; b\"\\x06\nret ALLOW\n",
            "IAAAAAAAAAAVAAABOwAAAAYAAAAAAAAABgAAAAAA/38\n",
            "IAAAAAAAAAAVAAABOwAAAAYAAAAAAAAABgAAAAAA/39=\n",
            "IAAAAAAAAAAVAAABOwAA AAYAAAAAAAAABgAAAAAA/38=\n",
        ] {
            assert!(!is_dumped(text), "{text}");
        }
    }
}
