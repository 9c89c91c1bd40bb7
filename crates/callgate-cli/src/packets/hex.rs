//! Packets in hexadecimal.

use callgate::diagnostic::{Diagnostic, Position};

use super::packet::{MAX_PACKETS, Packet};

/// How many lines with mistakes are shown.
const SHOWN: usize = 5;

/// A packet: pairs of digits, between them blanks or colons as one likes.
pub(super) fn packet(text: &str) -> Result<Packet, String> {
    bytes(text).map(Packet).map_err(|(column, why)| format!("column {column}: {why}"))
}

/// A packet per line; nothing behind one more than [`MAX_PACKETS`] is read.
pub(super) fn packets(text: &str) -> Result<Vec<Packet>, Vec<Diagnostic>> {
    let (mut packets, mut errors, mut more) = (Vec::new(), Vec::new(), 0u64);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        match bytes(line) {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(_) if packets.len() > MAX_PACKETS => break,
            Ok(bytes) => packets.push(Packet(bytes)),
            Err(_) if errors.len() == SHOWN => more += 1,
            Err((column, why)) => {
                let position = Position { line: index as u32 + 1, column: column as u32 };
                errors.push(Diagnostic::error(Some(position), why));
            }
        }
    }
    if errors.is_empty() {
        return Ok(packets);
    }
    if more > 0 {
        let lines = if more == 1 { "line" } else { "lines" };
        errors.push(Diagnostic::error(None, format!("and {more} more {lines}")));
    }
    if let Some(last) = errors.last_mut() {
        last.help = "a packet per line, two digits for a byte: 45 00 00 1c, or 4500001c".to_owned();
    }
    Err(errors)
}

/// The bytes, or the column of a mistake, from 1, and what it is.
fn bytes(text: &str) -> Result<Vec<u8>, (usize, String)> {
    let (mut bytes, mut half) = (Vec::new(), None);
    for (column, c) in (1..).zip(text.chars()) {
        match (c.to_digit(16), half) {
            (Some(digit), None) => half = Some((digit, column)),
            (Some(digit), Some((first, _))) => {
                bytes.push((first << 4 | digit) as u8);
                half = None;
            }
            (None, None) if c == ':' || c.is_whitespace() => {}
            (None, Some((_, at))) if c == ':' || c.is_whitespace() => return Err(half_a_byte(at)),
            (None, _) => return Err((column, format!("\"{c}\" is no hexadecimal digit"))),
        }
    }
    half.map_or(Ok(bytes), |(_, at)| Err(half_a_byte(at)))
}

fn half_a_byte(column: usize) -> (usize, String) {
    (column, "half a byte: a byte has two hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_with_blanks_and_colons_or_without() {
        for text in ["45000A", "45 00 0a", "45:00:0a", " 4500\t0a "] {
            assert_eq!(packet(text), Ok(Packet(vec![0x45, 0, 10])), "{text}");
        }
        assert_eq!(packet(""), Ok(Packet(Vec::new())));
    }

    #[test]
    fn a_line_is_a_packet_and_a_comment_none() {
        for text in ["# two packets\n0102 # the first\n\n  \n03\n", "\u{feff}0102\r\n03"] {
            assert_eq!(packets(text).unwrap(), [Packet(vec![1, 2]), Packet(vec![3])]);
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_place() {
        let errors = packets("01\n0x02\n1 23\n").unwrap_err();
        let of = |index: usize| {
            let error: &Diagnostic = &errors[index];
            (error.position.map(|at| (at.line, at.column)), error.message.clone())
        };
        assert_eq!(of(0), (Some((2, 2)), "\"x\" is no hexadecimal digit".to_owned()));
        assert_eq!(of(1).0, Some((3, 1)));
        assert!(of(1).1.contains("half a byte"));
        let many = packets(&"z\n".repeat(9)).unwrap_err();
        assert_eq!((many.len(), &*many[5].message), (6, "and 4 more lines"));
        let many = packets(&"z\n".repeat(6)).unwrap_err();
        assert_eq!(&*many[5].message, "and 1 more line");
        assert!(packet("01 2").unwrap_err().starts_with("column 4: half a byte"));
    }
}
