//! seccomp_version(3), seccomp_api_get(3).

use libc::{c_int, c_uint};

use super::call::{guarded, status};
use crate::error::Error;
use crate::kernel::support::{MAX_LEVEL, SUPPORT};

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
