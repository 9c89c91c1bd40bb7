//! Errors.

use std::ffi::{c_char, c_int};
use std::ptr::null;

use super::call::{free, put};
use crate::error::{CDiagnostic, Error, List};

/// All diagnostics as text, one or two lines each; null without an error.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_error_text(error: *const Error) -> *const c_char {
    // SAFETY: the caller promises it.
    unsafe { error.as_ref() }.map_or(null(), |error| error.text.as_ptr())
}

/// The diagnostics, and their number.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_error_diagnostics(
    error: *const Error,
    count: *mut usize,
) -> *const CDiagnostic {
    // SAFETY: the caller promises it.
    unsafe { view(error.as_ref().map(|error| &error.list), count) }
}

/// The error number of the kernel; 0 if the error has another reason.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_error_errno(error: *const Error) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { error.as_ref() }.map_or(0, |error| error.errno)
}

/// Frees an error.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_error_free(error: *mut Error) {
    // SAFETY: the caller promises it.
    unsafe { free(error) }
}

/// The diagnostics of a list, and their number.
///
/// # Safety
/// `count` is null or writable.
pub(super) unsafe fn view(list: Option<&List>, count: *mut usize) -> *const CDiagnostic {
    // SAFETY: the caller promises it.
    unsafe { elements(list.map(|list| list.items.as_slice()), count) }
}

/// The elements of a slice, and their number; null and 0 without one.
///
/// # Safety
/// `count` is null or writable.
pub(super) unsafe fn elements<T>(slice: Option<&[T]>, count: *mut usize) -> *const T {
    // SAFETY: the caller promises it.
    unsafe { put(count, slice.map_or(0, <[T]>::len)) };
    slice.map_or(null(), <[T]>::as_ptr)
}
