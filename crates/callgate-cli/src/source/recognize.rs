//! Recognizes inputs that are not filters, to say in one line what they are and what to do.

use callgate_requests::source::explained;

use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};
use crate::text::printable;

/// The first bytes of compressed files (gzip, RFC 1952; Zstandard, RFC 8878; xz; bzip2), and the program that
/// decompresses them.
const COMPRESSED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
];

/// The first bytes of programs and libraries, which look like the raw instructions of a filter.
const ELF: &[u8] = b"\x7fELF";

/// Fails for inputs whose encoding is not read: compressed files, and text in UTF-16. No program begins like them.
pub(super) fn check_encoding(place: &Place, bytes: &[u8]) -> Result<()> {
    let name = || match place {
        Place::Stdin => "-".to_owned(),
        Place::File(path) => printable(&path.display().to_string()).to_string(),
    };
    let refuse = |what: String, help: String| Err(Failure::about(place.name(), what).help(help));
    if let Some((_, program)) = COMPRESSED.iter().find(|(start, _)| bytes.starts_with(start)) {
        return refuse(
            format!("this is a file compressed with {program}"),
            format!("decompress it: {program} -dc {} | callgate … -", name()),
        );
    }
    let is_character = |pair: &[u8], low: usize| {
        pair.get(1 - low) == Some(&0)
            && pair
                .get(low)
                .is_some_and(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    };
    let start = bytes.get(..8).unwrap_or_default();
    let is_ascii = |low| !start.is_empty() && start.chunks(2).all(|pair| is_character(pair, low));
    if bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || is_ascii(0)
        || is_ascii(1)
    {
        return refuse(
            "this is text in UTF-16".to_owned(),
            format!("convert it: iconv -f UTF-16 -t UTF-8 {} | callgate … -", name()),
        );
    }
    Ok(())
}

/// The message about an input that could not be read as a filter: what it is instead, if that is known.
pub(super) fn explain_input(
    failure: Failure,
    place: &Place,
    bytes: &[u8],
    options: &SourceOptions,
) -> Failure {
    // A message about the whole is not about its content.
    if failure.line().is_none() && !bytes.starts_with(ELF) {
        return failure;
    }
    let machine = options.arch.first().copied().or_else(callgate::Arch::native);
    match explained(bytes, machine) {
        Some(error) => Failure::of(place.name(), vec![error]),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_and_utf_16_are_refused() {
        let utf_16 = |text: &str, from: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(from).collect()
        };
        let check = |bytes: &[u8]| check_encoding(&Place::Stdin, bytes).is_err();
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
