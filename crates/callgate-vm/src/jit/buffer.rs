//! A buffer for machine code that is generated from its end to its start.
//!
//! Jumps only go forward, so all displacements are known when a jump is emitted: it gets the short form
//! wherever that fits, in one pass and without relaxation.

/// A place in the code, as its distance from the end in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pos(pub(super) u32);

impl Pos {
    /// The distance from here to a later place.
    pub(super) fn distance(self, to: Pos) -> u32 {
        self.0 - to.0
    }
}

/// A few bytes, in a register: if they were written to memory one after the other and then copied, processors would wait for
/// the writes.
#[derive(Clone, Copy, Default)]
pub(super) struct Few {
    /// The first one is the lowest.
    bytes: u128,
    bits: u32,
}

impl Few {
    pub(super) const MOST: usize = 16;

    fn len(self) -> usize {
        self.bits as usize / 8
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn append<const LEN: usize>(&mut self, bytes: [u8; LEN]) {
        const { assert!(LEN <= 8) };
        let value = bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        self.bytes |= u128::from(value) << self.bits;
        self.bits += 8 * LEN as u32;
    }
}

/// Code that grows at its start.
pub(super) struct Buffer {
    /// The code is at the end; bytes before `start` are free.
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// An empty buffer with this capacity.
    pub(super) fn new(room: usize) -> Buffer {
        Buffer { bytes: vec![0; room], start: room }
    }

    /// The start of the code.
    pub(super) fn here(&self) -> Pos {
        Pos((self.bytes.len() - self.start) as u32)
    }

    /// Prepends bytes.
    #[inline]
    pub(super) fn prepend(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        let start = self.start - bytes.len();
        self.bytes[start..self.start].copy_from_slice(bytes);
        self.start = start;
    }

    /// Prepends at most [`Few::MOST`] bytes.
    #[inline]
    pub(super) fn prepend_few(&mut self, few: Few) {
        if few.len() == 0 {
            return;
        }
        // One write, whatever the length: what is before the code is free.
        if self.start < Few::MOST {
            self.grow(Few::MOST);
        }
        assert!(
            few.len() <= Few::MOST,
            "{} bytes of machine code, at most {}",
            few.len(),
            Few::MOST
        );
        let free = Few::MOST - few.len();
        let bytes = (few.bytes << (8 * free)).to_le_bytes();
        self.bytes[self.start - Few::MOST..self.start].copy_from_slice(&bytes);
        self.start -= few.len();
    }

    /// Overwrites bytes at a place.
    pub(super) fn overwrite(&mut self, at: Pos, bytes: &[u8]) {
        let start = self.bytes.len() - at.0 as usize;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// The code.
    pub(super) fn code(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    #[cold]
    fn grow(&mut self, by: usize) {
        let more = self.bytes.len().max(by);
        let mut bytes = vec![0; more + self.bytes.len()];
        bytes[more + self.start..].copy_from_slice(&self.bytes[self.start..]);
        self.bytes = bytes;
        self.start += more;
    }
}
