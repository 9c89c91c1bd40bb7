//! What needs no context: seccomp_syscall_resolve_name(3), seccomp_version(3), seccomp_api_get(3).

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

use callgate::Arch;
use libc::{c_int, c_uint};

use super::call::{guarded, status};
use crate::arch::of_token;
use crate::error::Error;
use crate::kernel::support::{MAX_LEVEL, SUPPORT};
use crate::names;

/// `__NR_SCMP_ERROR`.
const UNKNOWN: c_int = -1;

/// The name of a syscall, to be freed by the caller; null if the number has none.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_syscall_resolve_num_arch(arch_token: u32, num: c_int) -> *mut c_char {
    let name = guarded(None, || names::name(of_token(arch_token)?, num));
    let Some(name) = name else { return null_mut() };
    // SAFETY: strndup(3) reads as many bytes as the name has, and adds the zero byte.
    unsafe { libc::strndup(name.as_ptr().cast(), name.len()) }
}

/// The number of a syscall, or a pseudo number.
///
/// # Safety
/// `name` must be null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_syscall_resolve_name_arch(
    arch_token: u32,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { resolve(arch_token, name, names::number) }
}

/// The number of a syscall, or that of `socketcall` or `ipc` where they reach it.
///
/// # Safety
/// `name` must be null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_syscall_resolve_name_rewrite(
    arch_token: u32,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { resolve(arch_token, name, names::rewritten) }
}

/// The number of a syscall on the native architecture, or a pseudo number.
///
/// # Safety
/// `name` must be null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_syscall_resolve_name(name: *const c_char) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { resolve(0, name, names::number) }
}

/// # Safety
/// `name` must be null or a string.
unsafe fn resolve(
    arch_token: u32,
    name: *const c_char,
    look_up: fn(Arch, &str) -> Option<i32>,
) -> c_int {
    if name.is_null() {
        return UNKNOWN;
    }
    // SAFETY: the caller promises it.
    let name = unsafe { CStr::from_ptr(name) };
    guarded(UNKNOWN, || {
        let (Some(arch), Ok(name)) = (of_token(arch_token), name.to_str()) else { return UNKNOWN };
        look_up(arch, name).unwrap_or(UNKNOWN)
    })
}

/// `struct scmp_version`.
#[repr(C)]
#[derive(Debug)]
pub struct Version {
    major: c_uint,
    minor: c_uint,
    micro: c_uint,
}

/// The version of libseccomp whose interface this is.
static VERSION: Version = Version { major: 2, minor: 6, micro: 1 };

/// The version.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_version() -> *const Version {
    &raw const VERSION
}

/// The API level, which says what the kernel supports.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_api_get() -> c_uint {
    guarded(1, || SUPPORT.level())
}

/// Sets the API level.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_api_set(level: c_uint) -> c_int {
    status(|| {
        if !(1..=MAX_LEVEL).contains(&level) {
            return Err(Error::Invalid);
        }
        SUPPORT.set_level(level);
        Ok(())
    })
}
