//! Packets, and their form in hexadecimal.

use callgate_bpf::diagnostic::{Diagnostic, Position};

/// The maximum number of packets.
pub(super) const MAX_PACKETS: usize = 1_000_000;

/// The maximum number of errors that are reported.
const SHOWN: usize = 5;

/// The bytes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet(pub(crate) Vec<u8>);

/// Parses a packet: pairs of hexadecimal digits, with optional blanks or colons between them.
pub(super) fn packet(text: &str) -> Result<Packet, String> {
    bytes(text).map(Packet).map_err(|(column, why)| format!("column {column}: {why}"))
}

/// Parses a packet per line; stops after one more than [`MAX_PACKETS`].
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
        errors.push(Diagnostic::error(None, format!("and {more} more {lines} with errors")));
    }
    if let Some(last) = errors.last_mut() {
        last.help =
            "write a packet per line, two digits per byte: 45 00 00 1c or 4500001c".to_owned();
    }
    Err(errors)
}

/// The bytes, or the column of an error, from 1, and its message.
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
            (None, Some((_, at))) if c == ':' || c.is_whitespace() => {
                return Err(incomplete_byte(at));
            }
            (None, _) => return Err((column, format!("\"{c}\" is not a hexadecimal digit"))),
        }
    }
    half.map_or(Ok(bytes), |(_, at)| Err(incomplete_byte(at)))
}

fn incomplete_byte(column: usize) -> (usize, String) {
    (column, "incomplete byte: a byte has two hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_colons_between_bytes_are_optional() {
        for text in ["45000A", "45 00 0a", "45:00:0a", " 4500\t0a "] {
            assert_eq!(packet(text), Ok(Packet(vec![0x45, 0, 10])), "{text}");
        }
        assert_eq!(packet(""), Ok(Packet(Vec::new())));
    }

    #[test]
    fn each_line_is_a_packet_except_comments() {
        for text in ["# two packets\n0102 # the first\n\n  \n03\n", "\u{feff}0102\r\n03"] {
            assert_eq!(packets(text).unwrap(), [Packet(vec![1, 2]), Packet(vec![3])]);
        }
    }

    #[test]
    fn errors_have_positions() {
        let errors = packets("01\n0x02\n1 23\n").unwrap_err();
        let of = |index: usize| {
            let error: &Diagnostic = &errors[index];
            (error.position.map(|at| (at.line, at.column)), error.message.clone())
        };
        assert_eq!(of(0), (Some((2, 2)), "\"x\" is not a hexadecimal digit".to_owned()));
        assert_eq!(of(1).0, Some((3, 1)));
        assert!(of(1).1.contains("incomplete byte"));
        let many = packets(&"z\n".repeat(9)).unwrap_err();
        assert_eq!((many.len(), &*many[5].message), (6, "and 4 more lines with errors"));
        let many = packets(&"z\n".repeat(6)).unwrap_err();
        assert_eq!(&*many[5].message, "and 1 more line with errors");
        assert!(packet("01 2").unwrap_err().starts_with("column 4: incomplete byte"));
    }
}
