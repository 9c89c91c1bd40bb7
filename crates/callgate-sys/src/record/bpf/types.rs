//! The file that tells about the kernel's types. `unsafe` code: mapping it.
//!
//! It has some megabytes, which are read by pages of four kilobytes; since Linux 6.16 it can be mapped,
//! which copies nothing (`btf_sysfs_vmlinux_mmap` in `kernel/bpf/sysfs_btf.c`).

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;

/// Where the kernel tells about its types.
pub(super) const PATH: &str = "/sys/kernel/btf/vmlinux";

/// What is in the file.
pub(super) enum TypesFile {
    Mapped { start: *mut u8, len: usize },
    Read(Vec<u8>),
}

impl TypesFile {
    pub(super) fn open() -> io::Result<TypesFile> {
        let file = File::open(PATH)?;
        let len = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        let (access, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory that exists.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return std::fs::read(PATH).map(TypesFile::Read);
        }
        Ok(TypesFile::Mapped { start: start.cast(), len })
    }
}

impl Deref for TypesFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: the mapping has `len` bytes and lives as long as `self`. Nothing writes to it: it is
            // memory of the kernel that is read-only for the kernel, too.
            TypesFile::Mapped { start, len } => unsafe { std::slice::from_raw_parts(*start, *len) },
            TypesFile::Read(bytes) => bytes,
        }
    }
}

impl Drop for TypesFile {
    fn drop(&mut self) {
        if let TypesFile::Mapped { start, len } = *self {
            // SAFETY: `open` made this mapping, and no reference into it outlives `self`.
            unsafe { libc::munmap(start.cast(), len) };
        }
    }
}
