//! The files that this process has read. An output must not replace one of them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

/// Device and inode of each.
static READ: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Notes a file that is read. Devices and pipes are not noted: writing to them overwrites no input.
pub(crate) fn note(file: &Metadata) {
    if file.is_file() {
        READ.lock().unwrap_or_else(PoisonError::into_inner).push((file.dev(), file.ino()));
    }
}

/// Whether a file with this device and inode was read.
pub(crate) fn contain(device: u64, inode: u64) -> bool {
    READ.lock().unwrap_or_else(PoisonError::into_inner).contains(&(device, inode))
}
