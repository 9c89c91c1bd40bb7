//! The file with the kernel's type information. `unsafe` code: mapping it.
//!
//! It has several megabytes, and a read returns at most a page of 4 KiB. Since Linux 6.16 the file can be mapped instead
//! (`btf_sysfs_vmlinux_mmap` in `kernel/bpf/sysfs_btf.c`). Only the kernel's own file never changes, so a file that
//! is mounted over it is read and not mapped.

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The kernel's type information.
pub(super) const PATH: &str = "/sys/kernel/btf/vmlinux";

/// The contents of the file.
pub(super) enum TypesFile {
    Mapped { start: *mut u8, len: usize },
    Read(Vec<u8>),
}

impl TypesFile {
    pub(super) fn open() -> io::Result<TypesFile> {
        /// Ten times the usual size.
        const MOST: u64 = 128 << 20;
        if let Some(mapped) = own_file().ok().and_then(|file| map(&file)) {
            return Ok(mapped);
        }
        let mut bytes = Vec::new();
        File::open(PATH)?.take(MOST).read_to_end(&mut bytes)?;
        Ok(TypesFile::Read(bytes))
    }
}

/// The kernel's own file in sysfs, not a file that is mounted over it.
fn own_file() -> io::Result<OwnedFd> {
    /// `SYSFS_MAGIC` of `include/uapi/linux/magic.h`.
    const SYSFS: u64 = 0x6265_6572;
    let sys = File::open("/sys")?;
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the kernel writes the whole structure when it succeeds.
    let kind = unsafe {
        (libc::fstatfs(sys.as_raw_fd(), found.as_mut_ptr()) == 0)
            // Its type differs between C libraries.
            .then(|| found.assume_init().f_type as u64)
    };
    if kind != Some(SYSFS) {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    // SAFETY: a structure of zeros is a valid value.
    let mut how: libc::open_how = unsafe { MaybeUninit::zeroed().assume_init() };
    how.flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_XDEV | libc::RESOLVE_NO_SYMLINKS;
    let (path, size) = (c"kernel/btf/vmlinux", size_of_val(&how));
    // SAFETY: the kernel reads a string that ends with a zero byte, and a structure of this size.
    let file = unsafe {
        libc::syscall(libc::SYS_openat2, sys.as_raw_fd(), path.as_ptr(), &raw const how, size)
    };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(file as i32) })
}

fn map(file: &OwnedFd) -> Option<TypesFile> {
    let len = File::from(file.try_clone().ok()?).metadata().ok()?.len();
    let len = usize::try_from(len).ok()?;
    let (access, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
    // SAFETY: a new mapping at an address that the kernel chooses does not affect existing memory.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, file.as_raw_fd(), 0) };
    (start != libc::MAP_FAILED).then(|| TypesFile::Mapped { start: start.cast(), len })
}

impl Deref for TypesFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: the mapping has `len` bytes and lives as long as `self`. Nothing writes to it: it is kernel memory
            // (`own_file`) that is read-only for the kernel, too.
            TypesFile::Mapped { start, len } => unsafe { std::slice::from_raw_parts(*start, *len) },
            TypesFile::Read(bytes) => bytes,
        }
    }
}

impl Drop for TypesFile {
    fn drop(&mut self) {
        if let TypesFile::Mapped { start, len } = *self {
            // SAFETY: `map` created this mapping, and no reference into it outlives `self`.
            unsafe { libc::munmap(start.cast(), len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mounted::with_mount;
    use super::*;

    #[test]
    #[ignore = "needs root: mounts a file over another one"]
    fn only_the_kernels_own_file_is_mapped() {
        let own = TypesFile::open().unwrap();
        assert_eq!(own.get(..2), Some(&0xeb9f_u16.to_ne_bytes()[..]));
        with_mount(PATH, "another file", || {
            assert_eq!(own_file().unwrap_err().raw_os_error(), Some(libc::EXDEV));
            let file = TypesFile::open().unwrap();
            assert!(matches!(&file, TypesFile::Read(bytes) if bytes == b"another file"));
        });
    }
}
