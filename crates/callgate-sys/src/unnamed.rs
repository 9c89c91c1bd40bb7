//! Files that have no name until they are whole (`O_TMPFILE`, open(2)): however the process ends before, nothing
//! is left of them.
//!
//! Limits: not all file systems have them (NFS, FAT), and a name is given by way of `/proc`.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file without a name on the file system of a directory, for writing.
///
/// # Errors
/// Of open(2): `EOPNOTSUPP` where the file system has no such files, `EISDIR` before Linux 3.11.
pub fn create_unnamed(directory: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(directory)
}

/// Gives a file of [`create_unnamed`] a name, which nothing else may have.
///
/// # Errors
/// Of link(2): `EEXIST` where the name is taken, `ENOENT` also where there is no `/proc`.
pub fn give_name(file: &File, path: &Path) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both are C strings that live until the call returns, and the kernel only reads them.
    let result = unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
