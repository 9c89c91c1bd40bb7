//! What surrounds the body of each function: panics, errors and results.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use crate::error::{Error, Failure, Result};

/// Runs a body. Returns 0, or the status of its failure, whose error is written to `error` unless that is null.
///
/// # Safety
/// `error` is null or writable.
pub(super) unsafe fn call(error: *mut *mut Error, body: impl FnOnce() -> Result<()>) -> c_int {
    // A body writes its result last, and a setting is valid at any time, so a panic leaves no broken handle.
    let result = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(Failure::panic(panic_text(&*panic))));
    let status = result.as_ref().err().map_or(0, |failure| failure.status as c_int);
    if !error.is_null() {
        let object = match result {
            Ok(()) => null_mut(),
            Err(failure) => Box::into_raw(Box::new(failure.into_error())),
        };
        // SAFETY: the caller promises it.
        unsafe { put(error, object) };
    }
    status
}

/// Runs a body that makes an object, and writes the object to `out`, or null if it fails.
///
/// # Safety
/// `out` and `error` are null or writable.
pub(super) unsafe fn make<T>(
    out: *mut *mut T,
    error: *mut *mut Error,
    body: impl FnOnce() -> Result<T>,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { put(out, null_mut()) };
    let body = || {
        if out.is_null() {
            return Err(Failure::argument("the pointer to the result is null", ""));
        }
        // SAFETY: the caller promises it.
        unsafe { put(out, Box::into_raw(Box::new(body()?))) };
        Ok(())
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Writes a value, unless the pointer is null.
///
/// # Safety
/// The pointer is null or writable.
pub(super) unsafe fn put<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the caller promises it.
        unsafe { out.write(value) };
    }
}

/// Frees an object. A null pointer is ignored.
///
/// # Safety
/// The pointer is null, or was returned by [`make`] or [`call`] for an object of this type that was not freed.
pub(super) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: the caller promises it.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// The text of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn a_panic_is_an_error() {
        let mut error = null_mut();
        let mut out: *mut u8 = null_mut();
        // SAFETY: both are writable.
        let status = unsafe { make(&raw mut out, &raw mut error, || panic!("number {}", 7)) };
        assert_eq!(status, Status::Internal as c_int);
        assert!(out.is_null());
        // SAFETY: `call` returned it.
        let object = unsafe { Box::from_raw(error) };
        let text = object.text.to_str().unwrap();
        assert!(text.starts_with("callgate: error: a defect of callgate: number 7\n"), "{text}");
        // SAFETY: null is allowed.
        assert_eq!(unsafe { call(null_mut(), || panic!("no object")) }, Status::Internal as c_int);
    }
}
