//! The start of a packet.

#[cfg(doc)]
use super::words::PACKET_BYTES;
use super::words::{DATA_WORDS, LENGTH};
use crate::input::{FilterInput, sealed};
use crate::{Endian, Layout, Word};

/// The first [`PACKET_BYTES`] bytes of a packet, and its length in bytes.
///
/// A witness of the proof is one: a packet for which two [`SocketProgram`](crate::SocketProgram)s return different values.
///
/// ```
/// use callgate_core::PacketHead;
///
/// let head = PacketHead::of(&[0x45, 0, 0, 20]);
/// assert_eq!((head.len(), head.bytes()), (4, vec![0x45, 0, 0, 20]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PacketHead {
    words: [u32; DATA_WORDS],
    len: u32,
}

impl PacketHead {
    /// The head of a packet. A packet of 2^32 bytes or more does not exist; its length counts as 2^32 - 1.
    pub fn of(packet: &[u8]) -> PacketHead {
        let len = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let mut head = PacketHead { len, ..PacketHead::default() };
        for (word, bytes) in head.words.iter_mut().zip(packet.chunks(4)) {
            let mut whole = [0; 4];
            for (to, from) in whole.iter_mut().zip(bytes) {
                *to = *from;
            }
            *word = u32::from_be_bytes(whole);
        }
        head
    }

    /// The length of the packet in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// The bytes of the packet that are known: at most [`PACKET_BYTES`], and not more than the packet has.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.words.iter().flat_map(|word| word.to_be_bytes());
        bytes.take(self.len as usize).collect()
    }
}

impl sealed::Sealed for PacketHead {
    const IS_STRUCTURE: bool = false;
}

/// For the diagram and its witnesses. A `Program` for packets does not exist, because a program may also load bytes that are
/// not in the head; see [`SocketProgram`](crate::SocketProgram).
impl FilterInput for PacketHead {
    /// How many bytes of the packet to keep; 0 drops it.
    type Verdict = u32;

    fn layout(_: Endian) -> Layout {
        Layout::Packet
    }

    fn verdict(value: u32) -> u32 {
        value
    }

    fn get(&self, word: Word, _: Endian) -> u32 {
        if word == LENGTH {
            return self.len;
        }
        self.words.get(word.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, word: Word, _: Endian, value: u32) {
        if word == LENGTH {
            self.len = value;
        } else if let Some(to) = self.words.get_mut(word.index()) {
            *to = value;
        }
    }

    /// In network byte order, as all loads from packets. `None` also if the packet ends before the end of the word.
    fn load(&self, offset: u32, _: Endian) -> Option<u32> {
        let is_inside = offset % 4 == 0 && offset.checked_add(4)? <= self.len;
        self.words.get(offset as usize / 4).copied().filter(|_| is_inside)
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::{PACKET_BYTES, place_of_byte};
    use super::*;

    #[test]
    fn a_head_has_the_bytes_of_its_packet_up_to_the_limit() {
        for len in [0, 1, 3, 4, 5, 91, 92, 93, 1500] {
            let packet: Vec<u8> = (0..len).map(|at| at as u8 ^ 0x5a).collect();
            let head = PacketHead::of(&packet);
            let known = packet.len().min(PACKET_BYTES as usize);
            assert_eq!((head.len() as usize, head.bytes()), (len, packet[..known].to_vec()));
        }
    }

    #[test]
    fn a_byte_is_in_its_word_in_network_order() {
        let packet: Vec<u8> = (1..=100).collect();
        let head = PacketHead::of(&packet);
        for offset in 0..PACKET_BYTES {
            let (word, shift) = place_of_byte(offset).unwrap();
            let byte = head.get(word, Endian::Little) >> shift & 0xff;
            assert_eq!(byte, u32::from(packet[offset as usize]), "{offset}");
        }
        assert_eq!(place_of_byte(PACKET_BYTES), None);
        assert_eq!(head.get(LENGTH, Endian::Big), 100);
        assert_eq!(head.load(4, Endian::Little), Some(0x0506_0708));
        assert_eq!(
            [1, 88, 92].map(|at| head.load(at, Endian::Big).is_some()),
            [false, true, false]
        );
        assert_eq!(PacketHead::of(&packet[..91]).load(88, Endian::Big), None);
    }
}
