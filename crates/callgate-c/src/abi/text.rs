//! Texts that functions return, the answers to requests in JSON, and the version of the library.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null;

use callgate_requests::source::Messages;

use super::call::{free, make, put};
use super::error::view;
use super::input::text;
use crate::error::{CDiagnostic, Error, List, c_text};

/// `callgate_text`.
#[derive(Debug)]
pub struct Text {
    text: CString,
    warnings: List,
}

impl Text {
    pub(super) fn new(text: &str, warnings: Messages) -> Text {
        Text { text: c_text(text), warnings: List::new(warnings) }
    }
}

/// The version of the library.
static VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("the version contains a zero byte"),
    };

/// The version, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn callgate_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The text, which ends with a zero byte, and its length without this.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_text_data(
    text: *const Text,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the caller promises it.
    let text = unsafe { text.as_ref() };
    // SAFETY: the caller promises it.
    unsafe { put(length, text.map_or(0, |text| text.text.as_bytes().len())) };
    text.map_or(null(), |text| text.text.as_ptr())
}

/// The warnings about the sources.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_text_warnings(
    text: *const Text,
    count: *mut usize,
) -> *const CDiagnostic {
    // SAFETY: the caller promises it.
    unsafe { view(text.as_ref().map(|text| &text.warnings), count) }
}

/// Frees a text.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_text_free(text: *mut Text) {
    // SAFETY: the caller promises it.
    unsafe { free(text) }
}

/// Answers a request.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_answer(
    request: *const c_char,
    length: usize,
    answer: *mut *mut Text,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let request = unsafe { text(request, length, "the request")? };
        Ok(Text::new(&callgate_requests::answer(request), Messages::new()))
    };
    // SAFETY: the caller promises it.
    unsafe { make(answer, error, body) }
}
