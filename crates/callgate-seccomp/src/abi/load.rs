//! seccomp_load(3).

use libc::c_int;

use super::call::status;
use super::registry::{self, Handle};
use crate::error::Error;
use crate::kernel::load::load;

/// Installs the filter in the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_load(ctx: Handle) -> c_int {
    status(|| {
        registry::with(ctx, |context| {
            let attributes = *context.attributes();
            let program = context.program().map_err(|error| match error {
                // What the kernel answers to such a program.
                Error::TooLong => Error::of_kernel(libc::EINVAL, attributes.raw_errors),
                other => other,
            })?;
            load(&program, &attributes, context.notifies())
        })
    })
}
