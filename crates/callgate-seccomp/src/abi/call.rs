//! What surrounds the body of each function: panics, and results as error codes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::c_int;

use super::registry::{self, Handle};
use crate::context::Context;
use crate::error::{Error, Result};

/// Runs a body; `fallback` is the result if it panics.
pub(super) fn guarded<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    // A context whose change panicked is refused from then on, because its mutex is poisoned.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

/// The error code of a body, 0 without an error. Codes that the man pages do not have become `EFAULT`.
pub(super) fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    let result = guarded(Err(Error::Internal), body);
    result.map_or_else(|error| error.documented().code(), |()| 0)
}

/// The error code of what a function does with a context.
pub(super) fn on(ctx: Handle, body: impl FnOnce(&mut Context) -> Result<()>) -> c_int {
    status(|| registry::with(ctx, body))
}

/// The same for a function that may return any error of the kernel.
pub(super) fn raw_status(body: impl FnOnce() -> Result<()>) -> c_int {
    guarded(Err(Error::Internal), body).map_or_else(error_code, |()| 0)
}

fn error_code(error: Error) -> c_int {
    match error {
        Error::Raw(_) => error.code(),
        other => other.documented().code(),
    }
}
