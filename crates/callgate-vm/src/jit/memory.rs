//! Executable memory: writable first, executable afterwards, never both at once. That of dropped code may be used again.
//!
//! The crate's `unsafe` code is here (mapping memory and calling compiled code) and in [`super::native`],
//! which guarantees that code and input match. [`super::lower`] compiles accepted programs only: the code
//! reads `seccomp_data`, or bytes inside the packet, writes only to its stack, and returns.

use std::ffi::c_void;
use std::io;
use std::mem::transmute;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::helper::Context;

/// Code in a mapping that is executable and not writable.
#[derive(Debug)]
pub(super) struct Executable {
    /// Taken when it is dropped.
    mapping: Option<Mapping>,
    start: NonNull<c_void>,
    len: usize,
}

/// The argument is a `struct seccomp_data`.
type OnSyscall = unsafe extern "C" fn(*const u8) -> u32;
/// The arguments are a packet, its length, and the context of the helper.
type OnPacket = unsafe extern "C" fn(*const u8, u64, Option<&Context>) -> u32;

// SAFETY: the memory is not written to after `new`.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

/// Memory of its own, which is unmapped when it is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<c_void>,
    len: usize,
}

// SAFETY: only its owner uses the memory.
unsafe impl Send for Mapping {}

/// The writable mapping of code that was dropped. To change its protection twice takes half the time of a new mapping, its
/// first page fault, and its end.
static SPARE: Mutex<Option<Mapping>> = Mutex::new(None);

/// The longest mapping that is kept. None on aarch64: other processors might still execute instructions that they fetched
/// before the code changed, and a change of protection does not interrupt them (membarrier(2), `SYNC_CORE`).
const MAX_SPARE: usize = if cfg!(target_arch = "x86_64") { 1 << 15 } else { 0 };

/// A page of x86-64. Where pages are longer, the system makes mappings longer.
const PAGE: usize = 4096;

/// The start of the last mapping, or 0. The next one is asked for below it.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// A new mapping of writable memory, if possible at `wish`.
///
/// # Errors
/// If the system denies memory.
fn map(wish: usize, len: usize) -> io::Result<NonNull<c_void>> {
    let (flags, protection) =
        (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
    let wish = ptr::without_provenance_mut(wish);
    // SAFETY: a new mapping, which overlaps nothing: without `MAP_FIXED` the kernel takes another place if this one is not
    // free.
    match unsafe { libc::mmap(wish, len, protection, flags, -1, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        start => NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into()),
    }
}

impl Mapping {
    /// Writable memory of at least this length.
    ///
    /// # Errors
    /// If the system denies memory.
    fn writable(len: usize) -> io::Result<Mapping> {
        let len = Mapping::rounded(len);
        // A thread does not wait for another one that is here.
        let spare = SPARE.try_lock().ok().and_then(|mut spare| spare.take());
        // Short code does not keep much memory.
        if let Some(mapping) = spare.filter(|mapping| (len..=4 * len).contains(&mapping.len)) {
            return Ok(mapping);
        }
        // Where none is kept, pages may be longer.
        if MAX_SPARE == 0 {
            return Ok(Mapping { start: map(0, len)?, len });
        }
        let wish = LAST.load(Ordering::Relaxed).saturating_sub(len + PAGE);
        let mut mapping = Mapping { start: map(wish, len)?, len };
        if !mapping.address().is_multiple_of(2 * PAGE) {
            drop(mapping);
            mapping = Mapping::aligned(len)?;
        }
        LAST.store(mapping.address(), Ordering::Relaxed);
        Ok(mapping)
    }

    /// The length of a mapping: on x86-64 an odd number of pages. All begin at an even one, so a page remains between them. The
    /// kernel would merge neighbours, and divide them again, whenever the protection of one changes: another 3 µs.
    fn rounded(len: usize) -> usize {
        let len = len.next_multiple_of(PAGE);
        if MAX_SPARE == 0 { len } else { len | PAGE }
    }

    /// Writable memory that begins at an even page.
    ///
    /// # Errors
    /// If the system denies memory.
    fn aligned(len: usize) -> io::Result<Mapping> {
        let start = map(0, len + PAGE)?;
        // SAFETY: the mapping has these bytes.
        let [second, last] = [PAGE, len].map(|offset| unsafe { start.byte_add(offset) });
        let (start, rest) = if start.addr().get().is_multiple_of(2 * PAGE) {
            (start, last)
        } else {
            (second, start)
        };
        drop(Mapping { start: rest, len: PAGE });
        Ok(Mapping { start, len })
    }

    fn address(&self) -> usize {
        self.start.addr().get()
    }

    /// Changes the protection.
    ///
    /// # Errors
    /// If the system denies it.
    fn protect(&mut self, protection: libc::c_int) -> io::Result<()> {
        // SAFETY: the mapping is ours alone.
        match unsafe { libc::mprotect(self.start.as_ptr(), self.len, protection) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Erases it, and keeps it for the next code, or unmaps it.
    fn keep(mut self) {
        if self.len > MAX_SPARE || self.protect(libc::PROT_READ | libc::PROT_WRITE).is_err() {
            return;
        }
        // SAFETY: the mapping is writable, and ours alone.
        unsafe { ptr::write_bytes(self.start.as_ptr().cast::<u8>(), 0, self.len) };
        if let Ok(mut spare) = SPARE.try_lock() {
            *spare = Some(self);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // The next one may have this place.
        let above = self.address() + self.len + PAGE;
        let _ = LAST.compare_exchange(self.address(), above, Ordering::Relaxed, Ordering::Relaxed);
        // SAFETY: the mapping is ours, and no borrow of it is left.
        unsafe { libc::munmap(self.start.as_ptr(), self.len) };
    }
}

impl Executable {
    /// Maps code.
    ///
    /// # Errors
    /// If the system denies memory, or denies making it executable.
    pub(super) fn new(code: &[u8]) -> io::Result<Executable> {
        let len = code.len().max(1);
        let mut mapping = Mapping::writable(len)?;
        let start = mapping.start;
        // SAFETY: the mapping is writable, ours alone, and at least as long as the code.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), start.as_ptr().cast(), code.len()) };
        mapping.protect(libc::PROT_READ | libc::PROT_EXEC)?;
        synchronize(start.as_ptr().cast(), len);
        Ok(Executable { mapping: Some(mapping), start, len })
    }

    /// The code.
    pub(super) fn code(&self) -> &[u8] {
        // SAFETY: the mapping has `len` bytes, which are readable and never change.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }

    /// Runs the code on `seccomp_data`.
    ///
    /// # Safety
    /// The code was compiled from a seccomp filter.
    #[inline]
    pub(super) unsafe fn on_syscall(&self, data: &[u8; 64]) -> u32 {
        // SAFETY: by contract, there is a function of this type at the start of the mapping, and it
        // reads nothing but these 64 bytes, at any alignment.
        unsafe { transmute::<*mut c_void, OnSyscall>(self.start.as_ptr())(data.as_ptr()) }
    }

    /// Runs the code on a packet.
    ///
    /// # Safety
    /// The code was compiled from a socket filter, the packet has less than 2^31 bytes, and there is a
    /// context if the code calls the helper.
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
        if let Some(mapping) = self.mapping.take() {
            mapping.keep();
        }
    }
}

/// Nothing to do: instruction fetches are coherent with writes. A processor that executed earlier code at this address must
/// have serialized before it executes this code (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3,
/// 8.1.3): the kernel interrupts it for each of the two changes of protection since then. Where it invalidates translations
/// without interrupts (INVLPGB), instructions that were fetched ahead are gone after these two system calls.
#[cfg(not(target_arch = "aarch64"))]
fn synchronize(_start: *const u8, _len: usize) {}

/// Makes the written code visible to instruction fetches (Arm Architecture Reference Manual for A-profile,
/// B2.7.4.2): data cache to the point of unification, then the instruction cache, line by line.
#[cfg(target_arch = "aarch64")]
fn synchronize(start: *const u8, len: usize) {
    use std::arch::asm;
    let (start, end) = (start as usize, start as usize + len);
    let sizes: u64;
    // SAFETY: reads a register that Linux permits user space to read.
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
        // SAFETY: invalidating a line of the instruction cache changes nothing.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}
