//! Packets that a proof finds, as text that `--packet` reads, and as JSON.

use std::fmt::Write;

use callgate_core::PacketHead;
use callgate_requests::json::Json;

/// Bytes in hexadecimal, with a blank after every fourth.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let blank = if index > 0 && index % 4 == 0 { " " } else { "" };
        let _ = write!(text, "{blank}{byte:02x}");
    }
    text
}

/// `14 bytes: 00000000 …`. If it is longer than what is known of it, all others are 0.
pub(crate) fn packet_text(head: &PacketHead) -> String {
    let (len, mut bytes) = (head.len() as usize, head.bytes());
    let unit = if len == 1 { "byte" } else { "bytes" };
    if len > bytes.len() {
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(end);
    }
    match (bytes.len(), len - bytes.len()) {
        (0, 0) => format!("0 {unit}"),
        (0, _) => format!("{len} {unit}, all 0"),
        (_, 0) => format!("{len} {unit}: {}", hexadecimal(&bytes)),
        (_, zeros) => format!("{len} {unit}: {}, then {zeros} bytes 0", hexadecimal(&bytes)),
    }
}

/// Its length, and its first bytes; the others are 0.
pub(crate) fn packet_json(head: &PacketHead) -> Json {
    Json::Object(vec![
        ("length", (head.len() as usize).into()),
        ("bytes", hexadecimal(&head.bytes()).replace(' ', "").into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_known_are_counted() {
        let of = |packet: &[u8]| packet_text(&PacketHead::of(packet));
        assert_eq!(of(&[]), "0 bytes");
        assert_eq!(of(&[8]), "1 byte: 08");
        assert_eq!(of(&[1, 2, 3, 4, 0xff]), "5 bytes: 01020304 ff");
        assert_eq!(of(&[0; 95]), "95 bytes, all 0");
        let mut long = [0; 95];
        long[4] = 7;
        assert_eq!(of(&long), "95 bytes: 00000000 07, then 90 bytes 0");
    }
}
