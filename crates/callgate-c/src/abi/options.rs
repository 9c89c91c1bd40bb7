//! How filters are compiled.

use std::ffi::{c_char, c_int};

use callgate_requests::Compiling;

use super::call::{call, free, make};
use super::input::{handle_mut, setting};
use crate::error::{Error, Failure};

/// `callgate_options`.
#[derive(Debug, Default)]
pub struct Options(Compiling);

/// The options; the defaults for null.
///
/// # Safety
/// The pointer is null, or it points to options that nothing changes while they are used.
pub(super) unsafe fn options(options: *const Options) -> Compiling {
    // SAFETY: the caller promises it.
    unsafe { options.as_ref() }.map_or_else(Compiling::default, |options| options.0.clone())
}

/// The defaults.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_options_new(
    options: *mut *mut Options,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { make(options, error, || Ok(Options::default())) }
}

/// Changes an option.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_options_set(
    options: *mut Options,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
    error: *mut *mut Error,
) -> c_int {
    let body = || {
        // SAFETY: the caller promises it.
        let (options, (key, value)) = unsafe {
            (
                handle_mut(options, "the options")?,
                setting((key, key_length), (value, value_length))?,
            )
        };
        options.0.set(key, value).map_err(Failure::of_argument)
    };
    // SAFETY: the caller promises it.
    unsafe { call(error, body) }
}

/// Frees options.
///
/// # Safety
/// See the [module](super).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_options_free(options: *mut Options) {
    // SAFETY: the caller promises it.
    unsafe { free(options) }
}
