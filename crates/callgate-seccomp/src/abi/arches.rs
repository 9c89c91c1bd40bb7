//! seccomp_arch_add(3).

use std::ffi::{CStr, c_char};

use callgate::Arch;
use libc::c_int;

use super::call::{guarded, status};
use super::registry::{self, Handle};
use crate::arch::{of_token, token};
use crate::error::Error;

/// The constant of an architecture by its name; 0 if it is unknown.
///
/// # Safety
/// `arch_name` must be null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_arch_resolve_name(arch_name: *const c_char) -> u32 {
    if arch_name.is_null() {
        return 0;
    }
    // SAFETY: the caller promises it.
    let name = unsafe { CStr::from_ptr(arch_name) };
    guarded(0, || {
        let mut arches = Arch::ALL.iter();
        let arch = arches.find(|arch| arch.name().as_bytes() == name.to_bytes());
        arch.map_or(0, |arch| token(*arch))
    })
}

/// The constant of the native architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_native() -> u32 {
    guarded(0, || Arch::native().map_or(0, token))
}

/// 0 if a context has an architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_exist(ctx: Handle, arch_token: u32) -> c_int {
    status(|| {
        let arch = of_token(arch_token).ok_or(Error::Invalid)?;
        registry::with_any(
            ctx,
            |context| {
                if context.has_arch(arch) { Ok(()) } else { Err(Error::Exists) }
            },
        )
    })
}

/// Adds an architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_add(ctx: Handle, arch_token: u32) -> c_int {
    status(|| {
        let arch = of_token(arch_token).ok_or(Error::Invalid)?;
        registry::with_any(ctx, |context| context.add_arch(arch))
    })
}

/// Removes an architecture.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_arch_remove(ctx: Handle, arch_token: u32) -> c_int {
    status(|| {
        let arch = of_token(arch_token).ok_or(Error::Invalid)?;
        registry::with_any(ctx, |context| context.remove_arch(arch))
    })
}
