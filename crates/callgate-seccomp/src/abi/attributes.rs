//! seccomp_attr_set(3).

use libc::{c_int, c_uint};

use super::call::status;
use super::registry::{self, Handle};
use crate::context::Attribute;
use crate::error::Error;
use crate::kernel::support::SUPPORT;

/// Reads an attribute.
///
/// # Safety
/// `value` must be null or point to a `uint32_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_attr_get(ctx: Handle, attr: c_uint, value: *mut u32) -> c_int {
    status(|| {
        let read = registry::with(ctx, |context| {
            let attribute = Attribute::of(attr).ok_or(Error::Invalid)?;
            Ok(context.attributes().get(attribute))
        })?;
        if value.is_null() {
            return Err(Error::Invalid);
        }
        // SAFETY: the caller promises it.
        unsafe { value.write(read) };
        Ok(())
    })
}

/// Sets an attribute.
///
/// `SCMP_FLTATR_CTL_OPTIMIZE` selects the effort of the compiler: 1, the default, makes a good program in a short time, so
/// that building and loading a filter takes no longer than with libseccomp; 2 searches for the best program. Both are
/// proved equal to the rules.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_attr_set(ctx: Handle, attr: c_uint, value: u32) -> c_int {
    status(|| {
        registry::with(ctx, |context| {
            let attribute = Attribute::of(attr).ok_or(Error::Invalid)?;
            context.set(attribute, value, &SUPPORT)
        })
    })
}
