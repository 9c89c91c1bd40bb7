//! seccomp(2).

use std::ffi::c_void;

use libc::{c_int, c_long, c_uint};

pub(super) const SET_MODE_STRICT: c_uint = 0;
pub(super) const SET_MODE_FILTER: c_uint = 1;
pub(super) const GET_ACTION_AVAIL: c_uint = 2;
pub(super) const GET_NOTIF_SIZES: c_uint = 3;

/// Calls seccomp(2); the error is the error number.
///
/// # Safety
/// `args` must be null or point to what the operation reads or writes.
pub(super) unsafe fn seccomp(
    operation: c_uint,
    flags: c_uint,
    args: *mut c_void,
) -> Result<c_int, c_int> {
    // SAFETY: the caller promises it.
    let result: c_long = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, args) };
    if result < 0 { Err(last_error()) } else { Ok(result as c_int) }
}

/// The error number of the last call that failed.
pub(super) fn last_error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
