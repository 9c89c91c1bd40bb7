//! Eviction of caches before each syscall, to measure what a syscall costs after other work.
//!
//! Two separate effects make a filter slower after other work:
//! - Its branches are no longer in the branch target buffer, so each *taken* branch waits until it is decoded. A list
//!   whose tests jump over a return takes one branch per rule. Neither data nor code with few jumps has
//!   this effect: the buffers of current processors hold up to about 24,000 branches. So every cache line of the code
//!   has a jump, and there is at least [`LEAST_CODE`] of it.
//! - Its code is no longer in the second-level cache or, with more data than the last level holds, in any cache. Then
//!   each cache line of the program is fetched.
//!
//! Limits: code is executed on x86-64 only. TLB entries are evicted as far as the pages of code and data do so.

use std::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::ptr;

const LINE: usize = 64;

/// 65,536 jumps, one per cache line: more than any branch target buffer holds.
const LEAST_CODE: usize = 4 << 20;

/// The size of the second-level cache if sysfs does not have it.
const USUAL_CACHE: usize = 2 << 20;

/// The amount of code and data that is touched before each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    data: usize,
    code: usize,
}

impl Cold {
    /// The maximum amount of data: reading it takes milliseconds.
    pub const MOST: usize = 256 << 20;

    /// Enough to evict a processor's second-level cache and branch target buffer: data of twice the size of the cache
    /// and as much code, at least 4 MiB.
    pub fn of_machine(cpu: Option<usize>) -> Cold {
        let cache = cache(cpu.unwrap_or(0), 2).unwrap_or(USUAL_CACHE);
        let data = (2 * cache).min(Cold::MOST);
        Cold { data, code: data.max(LEAST_CODE) }
    }

    /// This number of bytes of data, at most [`Cold::MOST`], and at most as much code.
    #[must_use]
    pub fn with_data(self, bytes: usize) -> Cold {
        let data = bytes.clamp(LINE, Cold::MOST).next_multiple_of(LINE);
        Cold { data, code: self.code.min(data) }
    }

    /// Bytes of data that are read.
    pub fn data(&self) -> usize {
        self.data
    }

    /// Bytes of code that are executed, with a jump in each line of 64; none on unsupported architectures.
    pub fn code(&self) -> usize {
        if cfg!(target_arch = "x86_64") { self.code } else { 0 }
    }
}

/// The size of the cache of a level, as the kernel lists it (Documentation/ABI, sysfs-devices-system-cpu).
pub(crate) fn cache(cpu: usize, level: u32) -> Option<usize> {
    let directory = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}/cache")).ok()?;
    directory.filter_map(Result::ok).find_map(|entry| {
        let read = |name| fs::read_to_string(entry.path().join(name)).ok();
        let is_asked =
            read("level")?.trim() == level.to_string() && read("type")?.trim() != "Instruction";
        is_asked.then(|| kibibytes(read("size")?.trim()))?
    })
}

/// "1024K" in bytes.
fn kibibytes(text: &str) -> Option<usize> {
    text.strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1 << 10)
}

/// The data that is read and the code that is executed to evict caches.
pub(crate) struct Clutter {
    data: Vec<u64>,
    code: *mut c_void,
    code_bytes: usize,
}

impl Clutter {
    pub(crate) fn new(cold: &Cold) -> io::Result<Clutter> {
        let words = cold.data() / size_of::<u64>();
        let mut data = Vec::new();
        data.try_reserve_exact(words).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // Pages that were never written would all be mapped to the zero page.
        data.resize(words, 1);
        let code = if cold.code() > 0 { map_jumps(cold.code())? } else { ptr::null_mut() };
        Ok(Clutter { data, code, code_bytes: cold.code() })
    }

    /// Reads every cache line of the data, and executes one jump in every cache line of the code. Returns the number of
    /// lines of data that were read.
    pub(crate) fn touch(&self) -> u64 {
        // The value must be used; taking a reference alone reads nothing.
        let first = self.data.iter().step_by(LINE / size_of::<u64>());
        let lines =
            std::hint::black_box(first.fold(0, |sum, word| sum + std::hint::black_box(*word)));
        if !self.code.is_null() {
            // SAFETY: `map_jumps` wrote a function without arguments there that jumps from line to
            // line and returns; it lives as long as `self`.
            let jumps: extern "C" fn() = unsafe { std::mem::transmute(self.code) };
            jumps();
        }
        lines
    }
}

impl Drop for Clutter {
    fn drop(&mut self) {
        if !self.code.is_null() {
            // SAFETY: `map_jumps` made this mapping, and it is no longer executed.
            unsafe { libc::munmap(self.code, self.code_bytes) };
        }
    }
}

/// Generates a function that jumps from each cache line to the next and returns from the last, for x86-64.
fn map_jumps(size: usize) -> io::Result<*mut c_void> {
    let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at a place that the kernel chooses touches no memory that exists.
    let code = unsafe { libc::mmap(ptr::null_mut(), size, read | write, flags, -1, 0) };
    if code == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping has this number of bytes, and there is no other reference to it.
    let bytes = unsafe { std::slice::from_raw_parts_mut(code.cast::<u8>(), size) };
    let lines = size / LINE;
    for (number, line) in bytes.chunks_mut(LINE).enumerate() {
        // jmp +62, to the next line: the jump itself has two bytes; ret.
        let code: &[u8] = if number + 1 < lines { &[0xeb, 0x3e] } else { &[0xc3] };
        line[..code.len()].copy_from_slice(code);
    }
    let executable: c_int = read | libc::PROT_EXEC;
    // SAFETY: the mapping is ours, and no reference into it is left.
    if unsafe { libc::mprotect(code, size, executable) } != 0 {
        let error = io::Error::last_os_error();
        // SAFETY: as above.
        unsafe { libc::munmap(code, size) };
        return Err(error);
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_touched() {
        let cold = Cold::of_machine(None).with_data(100_000);
        assert_eq!(cold.data(), 1563 * LINE);
        assert_eq!(Clutter::new(&cold).unwrap().touch(), 1563);
    }

    #[test]
    fn code_is_never_more_than_the_data_that_was_asked_for() {
        let machine = Cold::of_machine(Some(0));
        assert!(machine.data >= 2 * cache(0, 2).unwrap_or(0) && machine.code >= LEAST_CODE);
        assert!(machine.code >= machine.data);
        let (small, large) = (machine.with_data(1 << 20), machine.with_data(usize::MAX));
        assert_eq!((small.data, small.code), (1 << 20, 1 << 20));
        assert_eq!((large.data, large.code), (Cold::MOST, machine.code));
    }

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        assert_eq!(kibibytes("1024K"), Some(1 << 20));
        assert_eq!([kibibytes("1024"), kibibytes("K"), kibibytes("")], [None; 3]);
    }
}
