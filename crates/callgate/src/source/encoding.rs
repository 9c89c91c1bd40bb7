//! Text from bytes; files whose encoding is not read: compressed ones, and text in UTF-16.

use callgate_bpf::diagnostic::{Diagnostic, Position};

/// The first bytes of compressed files (gzip, RFC 1952; Zstandard, RFC 8878; xz; bzip2), and the program that
/// decompresses them.
const COMPRESSED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
];

/// An error for a file whose encoding is not read. No program begins like such a file. `converted` is how a command is
/// applied to the file.
pub(super) fn unread_encoding(
    bytes: &[u8],
    converted: &dyn Fn(&str) -> String,
) -> Option<Diagnostic> {
    if let Some((_, program)) = COMPRESSED.iter().find(|(start, _)| bytes.starts_with(start)) {
        let message = format!("this is a file compressed with {program}");
        let help = format!("decompress it: {}", converted(&format!("{program} -dc")));
        return Some(Diagnostic::error(None, message).help(help));
    }
    let is_character = |pair: &[u8], low: usize| {
        pair.get(1 - low) == Some(&0)
            && pair
                .get(low)
                .is_some_and(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    };
    let start = bytes.get(..8).unwrap_or_default();
    let is_ascii = |low| !start.is_empty() && start.chunks(2).all(|pair| is_character(pair, low));
    let has_mark = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    (has_mark || is_ascii(0) || is_ascii(1)).then(|| {
        let help = format!("convert it: {}", converted("iconv -f UTF-16 -t UTF-8"));
        Diagnostic::error(None, "this is text in UTF-16").help(help)
    })
}

/// Bytes as text. `what` begins the message about bytes that are not UTF-8, and gives it their place; `help` is its help.
///
/// # Errors
/// About the first byte that is not text.
pub fn utf8<'t>(bytes: &'t [u8], what: &str, help: &str) -> Result<&'t str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let valid = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default());
        let position = Position::of(&valid, valid.len());
        let message = match what {
            "" => "invalid UTF-8".to_owned(),
            what => format!("{what}invalid UTF-8 at byte {at}"),
        };
        Diagnostic::error(Some(position), message).help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_and_utf_16_are_refused() {
        let utf_16 = |text: &str, from: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(from).collect()
        };
        let check = |bytes: &[u8]| unread_encoding(bytes, &|command| command.to_owned()).is_some();
        for bytes in [
            b"\x1f\x8b\x08\0".to_vec(),
            b"\x28\xb5\x2f\xfd\0".to_vec(),
            b"\xfd7zXZ\0\0".to_vec(),
            utf_16("\u{feff}{}", u16::to_le_bytes),
            utf_16("\u{feff}{}", u16::to_be_bytes),
            utf_16("{ \"defaultAction\"", u16::to_le_bytes),
            utf_16("POLICY a", u16::to_be_bytes),
        ] {
            assert!(check(&bytes), "{bytes:?}");
        }
        for bytes in [
            &b""[..],
            b"{",
            b"{}",
            b"\xef\xbb\xbf{}",
            &[6, 0, 0, 0, 0, 0, 0xff, 0x7f],
            &[0x20, 0, 0, 0, 4, 0, 0, 0],
        ] {
            assert!(!check(bytes), "{bytes:?}");
        }
    }
}
