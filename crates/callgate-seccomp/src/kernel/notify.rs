//! Notifications (`seccomp_unotify(2)`).

use std::ffi::c_void;
use std::ptr::null_mut;

use libc::{c_int, c_ulong};

use super::support::{GET_NOTIF_SIZES, SUPPORT, last_error, seccomp};
use crate::error::{Error, Result};

/// `SECCOMP_IOCTL_NOTIF_RECV`, `_SEND`, `_ID_VALID` and `_ADDFD`, and `_ID_VALID` before Linux 5.17, where its direction was
/// wrong (`include/uapi/linux/seccomp.h`).
const RECEIVE: c_ulong = 0xc050_2100;
const SEND: c_ulong = 0xc018_2101;
const ID_VALID: c_ulong = 0x4008_2102;
const ADD_FD: c_ulong = 0x4018_2103;
const ID_VALID_BEFORE_5_17: c_ulong = 0x8008_2102;

/// Allocates a request and a response of the sizes of the kernel, with malloc(3), so that the caller may free them.
///
/// # Safety
/// Each pointer must be null or point to a pointer that may be written.
pub(crate) unsafe fn alloc(request: *mut *mut c_void, response: *mut *mut c_void) -> Result<()> {
    if !SUPPORT.knows_syscall() {
        return Err(Error::NotSupported);
    }
    let mut sizes = [0_u16; 3];
    // SAFETY: the operation writes a `struct seccomp_notif_sizes`, three u16.
    unsafe { seccomp(GET_NOTIF_SIZES, 0, sizes.as_mut_ptr().cast()) }
        .map_err(|_| Error::Canceled)?;
    let [request_size, response_size, _] = sizes;
    if request_size == 0 || response_size == 0 {
        return Err(Error::Internal);
    }
    let mut first = null_mut();
    if !request.is_null() {
        // SAFETY: calloc(3) has no preconditions.
        first = unsafe { libc::calloc(1, request_size.into()) };
        if first.is_null() {
            return Err(Error::NoMemory);
        }
    }
    if !response.is_null() {
        // SAFETY: as above.
        let second = unsafe { libc::calloc(1, response_size.into()) };
        if second.is_null() {
            // SAFETY: null, or from calloc.
            unsafe { libc::free(first) };
            return Err(Error::NoMemory);
        }
        // SAFETY: the caller promises it.
        unsafe { response.write(second) };
    }
    if !request.is_null() {
        // SAFETY: the caller promises it.
        unsafe { request.write(first) };
    }
    Ok(())
}

/// Waits for a notification.
///
/// # Safety
/// `request` must be null or point to a buffer of the size that the kernel writes.
pub(crate) unsafe fn receive(fd: c_int, request: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises it; the kernel refuses a null pointer.
    unsafe { control(fd, RECEIVE, request) }
}

/// Answers a notification.
///
/// # Safety
/// `response` must be null or point to a `struct seccomp_notif_resp`.
pub(crate) unsafe fn respond(fd: c_int, response: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises it; the kernel refuses a null pointer.
    unsafe { control(fd, SEND, response) }
}

unsafe fn control(fd: c_int, request: c_ulong, argument: *mut c_void) -> Result<()> {
    if !SUPPORT.knows_notifications() {
        return Err(Error::NotSupported);
    }
    // SAFETY: the caller promises it.
    let result = unsafe { libc::ioctl(fd, request as _, argument) };
    if result < 0 { Err(Error::Canceled) } else { Ok(()) }
}

/// Whether the syscall of a notification still waits.
pub(crate) fn check_id(fd: c_int, id: u64) -> Result<()> {
    if !SUPPORT.has_notifications() {
        return Err(Error::NotSupported);
    }
    for request in [ID_VALID, ID_VALID_BEFORE_5_17] {
        // SAFETY: the kernel reads a u64.
        if unsafe { libc::ioctl(fd, request as _, &raw const id) } >= 0 {
            return Ok(());
        }
        if last_error() != libc::EINVAL {
            break;
        }
    }
    Err(Error::NoEntry)
}

/// Installs a file descriptor in the process whose syscall waits; returns its number there.
///
/// # Safety
/// `request` must be null or point to a `struct seccomp_notif_addfd`.
pub(crate) unsafe fn add_fd(fd: c_int, request: *const c_void) -> Result<c_int> {
    if !SUPPORT.has_notifications() {
        return Err(Error::NotSupported);
    }
    // SAFETY: the caller promises it; the kernel refuses a null pointer.
    match unsafe { libc::ioctl(fd, ADD_FD as _, request) } {
        number @ 0.. => Ok(number),
        _ if last_error() == libc::EINVAL => Err(Error::NotSupported),
        _ => Err(Error::Canceled),
    }
}
