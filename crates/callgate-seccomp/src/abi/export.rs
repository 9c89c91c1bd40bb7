//! seccomp_export_bpf(3).

use std::ffi::c_void;

use libc::c_int;

use super::call::{raw_status, status};
use super::registry::{self, Handle};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::pfc;

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
