//! Machine code, written from its end to its start.
//!
//! Jumps only go forward, so whoever writes backwards knows every distance when it is needed: the
//! short form of a jump is taken wherever it fits, in one pass and without corrections.

/// A place in the code: how many bytes there are from it to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pos(pub(super) u32);

impl Pos {
    /// How far it is from here to a place further back.
    pub(super) fn distance(self, to: Pos) -> u32 {
        self.0 - to.0
    }
}

/// Code that grows at its front.
pub(super) struct Buffer {
    /// The code is at the end; what is before `start` is free.
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// With room for so many bytes before it has to grow.
    pub(super) fn new(room: usize) -> Buffer {
        Buffer { bytes: vec![0; room], start: room }
    }

    /// Where the code begins.
    pub(super) fn here(&self) -> Pos {
        Pos((self.bytes.len() - self.start) as u32)
    }

    /// Puts bytes in front of the code.
    #[inline]
    pub(super) fn prepend(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        let start = self.start - bytes.len();
        self.bytes[start..self.start].copy_from_slice(bytes);
        self.start = start;
    }

    /// Writes over bytes that are there already.
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
