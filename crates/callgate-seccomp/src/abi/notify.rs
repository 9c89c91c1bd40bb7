//! seccomp_notify_alloc(3).

use std::ffi::c_void;

use libc::c_int;

use super::call::{guarded, status};
use super::registry::{self, Handle};
use crate::kernel::load::listener;
use crate::kernel::notify;
use crate::kernel::support::SUPPORT;

/// Allocates a request and a response.
///
/// # Safety
/// Each pointer must be null or point to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_alloc(
    req: *mut *mut c_void,
    resp: *mut *mut c_void,
) -> c_int {
    status(|| {
        SUPPORT.level();
        // SAFETY: the caller promises it.
        unsafe { notify::alloc(req, resp) }
    })
}

/// Frees a request and a response.
///
/// # Safety
/// Each must be null or from [`seccomp_notify_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_free(req: *mut c_void, resp: *mut c_void) {
    // SAFETY: the caller promises it.
    unsafe {
        libc::free(req);
        libc::free(resp);
    }
}

/// Waits for a notification.
///
/// # Safety
/// `req` must be null or from [`seccomp_notify_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_receive(fd: c_int, req: *mut c_void) -> c_int {
    // SAFETY: the caller promises it.
    status(|| unsafe { notify::receive(fd, req) })
}

/// Answers a notification.
///
/// # Safety
/// `resp` must be null or from [`seccomp_notify_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_respond(fd: c_int, resp: *mut c_void) -> c_int {
    // SAFETY: the caller promises it.
    status(|| unsafe { notify::respond(fd, resp) })
}

/// Whether the syscall of a notification still waits.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_notify_id_valid(fd: c_int, id: u64) -> c_int {
    status(|| {
        SUPPORT.level();
        notify::check_id(fd, id)
    })
}

/// The listener of the process, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_notify_fd(ctx: Handle) -> c_int {
    let valid = status(|| {
        SUPPORT.level();
        registry::with(ctx, |_| Ok(()))
    });
    if valid < 0 {
        return valid;
    }
    match guarded(-1, listener) {
        // As the error code of which -1 is the value is not documented, it becomes EFAULT.
        ..0 => -libc::EFAULT,
        listener => listener,
    }
}
