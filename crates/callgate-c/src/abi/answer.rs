//! Requests in JSON.

use std::ffi::{c_char, c_int};

use callgate_requests::source::Messages;

use super::call::make;
use super::input::text;
use super::text::Text;
use crate::error::Error;

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
