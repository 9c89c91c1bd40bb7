//! What leaves a context: seccomp_load(3), seccomp_export_bpf(3), seccomp_notify_alloc(3).

use std::ffi::c_void;

use callgate_core::policy::Policy;
use libc::c_int;

use super::call::{guarded, on, raw_status, status};
use super::registry::{self, Handle};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernel::load::{listener, load};
use crate::kernel::notify;
use crate::kernel::support::SUPPORT;
use crate::pfc;

/// Installs the filter in the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_load(ctx: Handle) -> c_int {
    on(ctx, |context| {
        let attributes = *context.attributes();
        let program = context.program().map_err(|error| match error {
            // What the kernel answers to such a program.
            Error::TooLong => Error::of_kernel(libc::EINVAL, attributes.raw_errors),
            other => other,
        })?;
        load(&program, &attributes, context.notifies())
    })
}

/// Writes the filter in readable form to a file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_export_pfc(ctx: Handle, fd: c_int) -> c_int {
    raw_status(|| registry::with(ctx, |context| write(context, fd, pfc::text(context).as_bytes())))
}

/// Writes the program to a file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_export_bpf(ctx: Handle, fd: c_int) -> c_int {
    raw_status(|| {
        registry::with(ctx, |context| {
            let program = context.program()?;
            write(context, fd, program.bytes())
        })
    })
}

/// The rules of a context as a policy, the one of which its program is proved. For tests in Rust: C programs do not have it.
pub fn policy_of(ctx: Handle) -> Option<Policy> {
    registry::with(ctx, |context| context.policy()).ok()
}

fn write(context: &Context, fd: c_int, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the buffer has this length.
        let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return Err(Error::of_kernel(libc::EIO, context.attributes().raw_errors)),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) => {
                let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
                if errno != libc::EINTR {
                    return Err(Error::of_kernel(errno, context.attributes().raw_errors));
                }
            }
        }
    }
    Ok(())
}

/// Copies the program to a buffer of `len` bytes. Sets `len` to the size of the program, also without a buffer.
///
/// # Safety
/// `len` must be null or point to a size; `buf` must be null or point to a buffer of that size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_export_bpf_mem(
    ctx: Handle,
    buf: *mut c_void,
    len: *mut usize,
) -> c_int {
    status(|| {
        if len.is_null() {
            return Err(Error::Invalid);
        }
        let program = registry::with(ctx, Context::program)?;
        let bytes = program.bytes();
        // SAFETY: the caller promises it.
        let space = unsafe { len.read() };
        // SAFETY: the caller promises it.
        unsafe { len.write(bytes.len()) };
        if buf.is_null() {
            return Ok(());
        }
        if bytes.len() > space {
            return Err(Error::Range);
        }
        // SAFETY: the buffer has at least this size, and does not overlap with the library's own memory.
        unsafe { buf.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    })
}

/// Allocates a request and a response.
///
/// # Safety
/// Each pointer must be null or point to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_alloc(
    req: *mut *mut c_void,
    resp: *mut *mut c_void,
) -> c_int {
    status(|| {
        SUPPORT.level();
        // SAFETY: the caller promises it.
        unsafe { notify::alloc(req, resp) }
    })
}

/// Frees a request and a response.
///
/// # Safety
/// Each must be null or from [`seccomp_notify_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_free(req: *mut c_void, resp: *mut c_void) {
    // SAFETY: the caller promises it.
    unsafe {
        libc::free(req);
        libc::free(resp);
    }
}

/// Waits for a notification.
///
/// # Safety
/// `req` must be null or from [`seccomp_notify_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_receive(fd: c_int, req: *mut c_void) -> c_int {
    // SAFETY: the caller promises it.
    status(|| unsafe { notify::receive(fd, req) })
}

/// Answers a notification.
///
/// # Safety
/// `resp` must be null or from [`seccomp_notify_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_respond(fd: c_int, resp: *mut c_void) -> c_int {
    // SAFETY: the caller promises it.
    status(|| unsafe { notify::respond(fd, resp) })
}

/// Whether the syscall of a notification still waits.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_notify_id_valid(fd: c_int, id: u64) -> c_int {
    status(|| {
        SUPPORT.level();
        notify::check_id(fd, id)
    })
}

/// The listener of the process, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn seccomp_notify_fd(ctx: Handle) -> c_int {
    let valid = status(|| {
        SUPPORT.level();
        registry::with(ctx, |_| Ok(()))
    });
    if valid < 0 {
        return valid;
    }
    match guarded(-1, listener) {
        // As the error code of which -1 is the value is not documented, it becomes EFAULT.
        ..0 => -libc::EFAULT,
        listener => listener,
    }
}

/// Installs a file descriptor in the process whose syscall waits; returns its number there, or an error.
///
/// # Safety
/// `addfd` must be null or point to a `struct seccomp_notif_addfd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seccomp_notify_addfd(fd: c_int, addfd: *mut c_void) -> c_int {
    let added = guarded(Err(Error::Internal), || {
        SUPPORT.level();
        // SAFETY: the caller promises it.
        unsafe { notify::add_fd(fd, addfd) }
    });
    added.unwrap_or_else(|error| error.documented().code())
}
