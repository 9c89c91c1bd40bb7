//! Memory with code: written first, executable afterwards, never both at once.
//!
//! What is unsafe of this crate is here, mapping and the calls of compiled code, but for the promises
//! of [`super::Jit`] that code and input belong together. What is
//! called was compiled from an accepted program by [`super::lower`]: it reads the 64 bytes of a call,
//! or no more bytes of a packet than it has, writes to nothing but its own stack, and returns.

use std::ffi::c_void;
use std::io;
use std::mem::transmute;
use std::ptr::{self, NonNull};

use super::outside::Context;

/// Code, which stays where it is until it is dropped.
#[derive(Debug)]
pub(super) struct Executable {
    start: NonNull<c_void>,
    len: usize,
}

/// Takes `struct seccomp_data`.
type OnCall = unsafe extern "C" fn(*const u8) -> u32;
/// Takes a packet, its length and what else there is to know.
type OnPacket = unsafe extern "C" fn(*const u8, u64, Option<&Context>) -> u32;

// SAFETY: nobody writes to the memory after `new`.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Maps code.
    ///
    /// # Errors
    /// When there is no memory, or the system does not let it become executable.
    pub(super) fn new(code: &[u8]) -> io::Result<Executable> {
        let len = code.len().max(1);
        // SAFETY: a new mapping, which overlaps nothing.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        // From here on, dropping unmaps it.
        let memory = Executable { start, len };
        // SAFETY: the mapping is writable, new, and at least as long as the code.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), start.as_ptr().cast(), code.len()) };
        // SAFETY: the mapping is ours alone.
        let protected =
            unsafe { libc::mprotect(start.as_ptr(), len, libc::PROT_READ | libc::PROT_EXEC) };
        if protected != 0 {
            return Err(io::Error::last_os_error());
        }
        synchronize(start.as_ptr().cast(), len);
        Ok(memory)
    }

    /// The code.
    pub(super) fn code(&self) -> &[u8] {
        // SAFETY: the mapping has so many bytes, which are readable and never change.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }

    /// Runs the code on a call.
    ///
    /// # Safety
    /// The code was compiled from a seccomp filter.
    #[inline]
    pub(super) unsafe fn on_call(&self, data: &[u8; 64]) -> u32 {
        // SAFETY: by contract, there is a function of this type at the start of the mapping, and it
        // reads nothing but these 64 bytes, at any alignment.
        unsafe { transmute::<*mut c_void, OnCall>(self.start.as_ptr())(data.as_ptr()) }
    }

    /// Runs the code on a packet.
    ///
    /// # Safety
    /// The code was compiled from a socket filter, the packet has less than 2^31 bytes, and there is a
    /// context if the code asks for what is not in the packet.
    #[inline]
    pub(super) unsafe fn on_packet(&self, packet: &[u8], context: Option<&Context>) -> u32 {
        // SAFETY: by contract, there is a function of this type at the start of the mapping, and it
        // checks each load from the packet against the length. The context lives until it returns.
        unsafe {
            let function = transmute::<*mut c_void, OnPacket>(self.start.as_ptr());
            function(packet.as_ptr(), packet.len() as u64, context)
        }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody can call what is borrowed from us any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.len) };
    }
}

/// Processors of this kind see to it themselves (Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 3, 8.1.3): the code was never executed before, at this address.
#[cfg(not(target_arch = "aarch64"))]
fn synchronize(_start: *const u8, _len: usize) {}

/// Makes instruction fetches see what was written (Arm Architecture Reference Manual for A-profile,
/// B2.7.4.2): data cache to the point of unification, then the instruction cache, line by line.
#[cfg(target_arch = "aarch64")]
fn synchronize(start: *const u8, len: usize) {
    use std::arch::asm;
    let (start, end) = (start as usize, start as usize + len);
    let sizes: u64;
    // SAFETY: reads a register that Linux lets everybody read.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack)) };
    let data = 4usize << (sizes >> 16 & 0xf);
    let code = 4usize << (sizes & 0xf);
    for line in (start & !(data - 1)..end).step_by(data) {
        // SAFETY: cleaning a line that is mapped changes nothing.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack)) };
    for line in (start & !(code - 1)..end).step_by(code) {
        // SAFETY: dropping a line of the instruction cache that is mapped changes nothing.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}
