//! Reads pcap captures of either byte order, with microseconds or nanoseconds.
//!
//! A header of 24 bytes, then for each packet a header of 16 (seconds, fraction, captured length,
//! original length) and its bytes. Times and the link type are ignored; the filter must have been written for the
//! link type.
//!
//! Source: pcap-savefile(5).

use callgate::Endian;

use super::hex::{MAX_PACKETS, Packet};

/// The first bytes of pcapng, in either byte order: the type of a section header block.
pub(super) const NEXT_GENERATION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// The magic numbers: with microseconds, and with nanoseconds.
const MAGIC: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];

const HEADER: usize = 24;
const RECORD: usize = 16;

/// The maximum length of a packet (libpcap's `MAXIMUM_SNAPLEN`).
const MAX_PACKET: u32 = 262_144;

/// The byte order of a capture; `None` for anything else.
pub(super) fn order(bytes: &[u8]) -> Option<Endian> {
    let first = bytes.first_chunk()?;
    [Endian::Little, Endian::Big].into_iter().find(|order| MAGIC.contains(&word(*order, first)))
}

fn word(order: Endian, bytes: &[u8; 4]) -> u32 {
    match order {
        Endian::Little => u32::from_le_bytes(*bytes),
        Endian::Big => u32::from_be_bytes(*bytes),
    }
}

/// The packets of a capture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Capture {
    pub(super) packets: Vec<Packet>,
    /// The number of packets that were truncated.
    pub(super) cut: usize,
}

/// An error in a capture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaptureError {
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Reads a capture of this byte order; stops after one packet more than [`MAX_PACKETS`].
pub(super) fn read(bytes: &[u8], order: Endian) -> Result<Capture, CaptureError> {
    let damaged = |message: String, help| Err(CaptureError { message, help });
    let incomplete = "if it is still being written, tcpdump -U writes each packet at once";
    let Some(mut rest) = bytes.get(HEADER..) else {
        let message =
            format!("truncated capture: it has {} bytes, its header {HEADER}", bytes.len());
        return damaged(message, incomplete);
    };
    let mut capture = Capture { packets: Vec::new(), cut: 0 };
    while !rest.is_empty() && capture.packets.len() <= MAX_PACKETS {
        let number = capture.packets.len() + 1;
        let at = bytes.len() - rest.len();
        let Some((record, behind)) = rest.split_first_chunk::<RECORD>() else {
            let message = format!(
                "the header of packet {number}, at byte {at}, ends after {} of {RECORD} bytes",
                rest.len()
            );
            return damaged(message, incomplete);
        };
        let (words, _) = record.as_chunks::<4>();
        let [_, _, here, there] = [0, 1, 2, 3].map(|index| word(order, &words[index]));
        if here > MAX_PACKET {
            let message = format!(
                "packet {number}, at byte {at}, has a length of {here} bytes; the limit is {MAX_PACKET}"
            );
            return damaged(message, "the capture is corrupted; capture again");
        }
        let Some((packet, next)) = behind.split_at_checked(here as usize) else {
            let message = format!(
                "packet {number}, at byte {at}, ends after {} of its {here} bytes",
                behind.len()
            );
            return damaged(message, incomplete);
        };
        capture.packets.push(Packet(packet.to_vec()));
        capture.cut += usize::from(there > here);
        rest = next;
    }
    Ok(capture)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of packets with their original lengths.
    fn capture(magic: u32, word: fn(u32) -> [u8; 4], packets: &[(&[u8], u32)]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [magic, 0x0004_0002, 0, 0, 262_144, 1].map(word).concat();
        for (packet, length) in packets {
            bytes.extend([7, 8, packet.len() as u32, *length].map(word).concat());
            bytes.extend(*packet);
        }
        bytes
    }

    #[test]
    fn every_byte_order_and_resolution_is_read() {
        let packets: [(&[u8], u32); 3] = [(&[1, 2, 3], 3), (&[], 0), (&[4], 1500)];
        for magic in MAGIC {
            for word in [u32::to_le_bytes, u32::to_be_bytes] {
                let bytes = capture(magic, word, &packets);
                let read = read(&bytes, order(&bytes).unwrap()).unwrap();
                assert_eq!(read.packets, packets.map(|(packet, _)| Packet(packet.to_vec())));
                assert_eq!(read.cut, 1);
            }
        }
        assert_eq!(order(&NEXT_GENERATION), None);
        assert_eq!(order(&[0xd4, 0xc3, 0xb2]), None);
    }

    /// Every prefix is a capture of fewer packets, or an error with the position of its end.
    #[test]
    fn truncation_is_reported_with_its_position() {
        let whole = capture(MAGIC[0], u32::to_le_bytes, &[(&[1, 2], 2), (&[3; 5], 5)]);
        for length in 4..whole.len() {
            let bytes = &whole[..length];
            let result = read(bytes, order(bytes).unwrap());
            match length {
                24 | 42 => assert!(result.is_ok(), "{length}"),
                _ => assert!(result.is_err(), "{length}"),
            }
        }
        let message = |length: usize| read(&whole[..length], Endian::Little).unwrap_err().message;
        assert_eq!(message(20), "truncated capture: it has 20 bytes, its header 24");
        assert_eq!(message(30), "the header of packet 1, at byte 24, ends after 6 of 16 bytes");
        assert_eq!(message(60), "packet 2, at byte 42, ends after 2 of its 5 bytes");
    }

    #[test]
    fn the_length_of_a_packet_is_limited() {
        let mut bytes = capture(MAGIC[1], u32::to_be_bytes, &[(&[1], 1)]);
        bytes[32..36].copy_from_slice(&[0xff; 4]);
        let error = read(&bytes, Endian::Big).unwrap_err();
        assert!(error.message.contains("4294967295 bytes; the limit is 262144"), "{error:?}");
    }
}
