//! Memory that a process shares with its children. `unsafe` code: mapping it.

use std::io;
use std::sync::atomic::AtomicU32;

/// Words of memory that a child shares with its parent, initially zero.
pub struct SharedWords {
    start: *mut AtomicU32,
    len: usize,
}

impl SharedWords {
    /// Maps this number of words.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(len: usize) -> io::Result<SharedWords> {
        let bytes = len * size_of::<AtomicU32>();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses does not affect existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedWords { start: start.cast(), len })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping has `len` words, is aligned to a page and initially zero, which is a valid AtomicU32; it
        // lives as long as `self`, and all accesses of both processes are atomic.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `new` created this mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.cast(), self.len * size_of::<AtomicU32>()) };
    }
}
