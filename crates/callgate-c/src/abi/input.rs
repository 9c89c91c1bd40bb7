//! Arguments: pointers with lengths, and handles.

use std::ffi::c_char;

use callgate_requests::MAX_REQUEST;

use crate::error::{Failure, Result};

/// `callgate_string`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CString {
    data: *const c_char,
    length: usize,
}

impl CString {
    /// Its text; `what` is it, for messages.
    ///
    /// # Safety
    /// As [`text`].
    pub(super) unsafe fn text<'a>(&self, what: &str) -> Result<&'a str> {
        // SAFETY: the caller promises it.
        unsafe { text(self.data, self.length, what) }
    }
}

/// A list of `count` elements, at most `max`. A null pointer is an empty list if `count` is 0.
///
/// # Safety
/// The pointer is null, or it points to `count` elements that do not change while they are in use.
pub(super) unsafe fn list<'a, T>(
    pointer: *const T,
    count: usize,
    max: usize,
    what: &str,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(what));
    }
    if count > max {
        let message = format!("{what} has {count} elements, the maximum is {max}");
        return Err(Failure::argument(message, ""));
    }
    if !pointer.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned"), ""));
    }
    // SAFETY: it is not null and aligned, the length does not exceed the address space, and the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A text in UTF-8.
///
/// # Safety
/// As [`list`].
pub(super) unsafe fn text<'a>(
    pointer: *const c_char,
    length: usize,
    what: &str,
) -> Result<&'a str> {
    if length > MAX_REQUEST {
        let message = format!("{what} has {length} bytes, the maximum is {MAX_REQUEST}");
        return Err(Failure::argument(message, ""));
    }
    // SAFETY: the caller promises it.
    let bytes = unsafe { list(pointer.cast::<u8>(), length, MAX_REQUEST, what)? };
    std::str::from_utf8(bytes).map_err(|error| {
        let message =
            format!("{what} is not UTF-8: byte {} does not continue the text", error.valid_up_to());
        Failure::argument(message, "")
    })
}

/// A key and its value.
///
/// # Safety
/// As [`text`], for both.
pub(super) unsafe fn setting<'a>(
    (key, key_length): (*const c_char, usize),
    (value, value_length): (*const c_char, usize),
) -> Result<(&'a str, &'a str)> {
    // SAFETY: the caller promises it.
    unsafe { Ok((text(key, key_length, "the key")?, text(value, value_length, "the value")?)) }
}

/// A handle.
///
/// # Safety
/// The pointer is null, or it points to a handle of this type that does not change while it is in use.
pub(super) unsafe fn handle<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: the caller promises it.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// A handle that is changed.
///
/// # Safety
/// The pointer is null, or it points to a handle of this type, which nothing else uses at the same time.
pub(super) unsafe fn handle_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: the caller promises it.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(what))
}

/// The error for a null pointer.
pub(super) fn null(what: &str) -> Failure {
    Failure::argument(format!("{what} is a null pointer"), "")
}
