//! Memory that a process shares with its child. `unsafe` code: mapping it.

use std::io;
use std::sync::atomic::AtomicU32;

/// Memory that a child shares with its parent, zero at first.
pub struct SharedWords {
    start: *mut AtomicU32,
    len: usize,
}

impl SharedWords {
    /// Maps this many words.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(len: usize) -> io::Result<SharedWords> {
        let bytes = len * size_of::<AtomicU32>();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedWords { start: start.cast(), len })
    }

    /// The words, as both processes see them.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping has `len` words, is aligned to a page and zero at first, which is a valid
        // AtomicU32; it lives as long as `self`, and all accesses of both processes are atomic.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `new` made this mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.cast(), self.len * size_of::<AtomicU32>()) };
    }
}
