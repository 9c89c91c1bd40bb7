//! Short sequences of syscalls.

use callgate_measure::raw::system_call;
use callgate_measure::{ReadyWork, Work, WorkError};

/// `close(dup(0))`, `getpid`, `getuid`, `umask(022)`: the loop of UnixBench's "syscall".
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnixBench;

/// `open("/dev/zero")`, `read` of one byte, `close`; `openat` where there is no `open`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenReadClose;

impl Work for UnixBench {
    fn prepare(&self) -> Result<Box<dyn ReadyWork>, WorkError> {
        Ok(Box::new(*self))
    }
}

impl ReadyWork for UnixBench {
    fn once(&self) {
        let one = |nr, arg| {
            // SAFETY: these syscalls access no memory.
            unsafe { system_call(nr, [arg, 0, 0, 0, 0, 0]) }
        };
        one(libc::SYS_close, one(libc::SYS_dup, 0) as u64);
        one(libc::SYS_getpid, 0);
        one(libc::SYS_getuid, 0);
        one(libc::SYS_umask, 0o22);
    }
}

impl Work for OpenReadClose {
    fn prepare(&self) -> Result<Box<dyn ReadyWork>, WorkError> {
        Ok(Box::new(*self))
    }
}

impl ReadyWork for OpenReadClose {
    fn once(&self) {
        let path = c"/dev/zero".as_ptr() as u64;
        let mut byte = 0u8;
        let place = (&raw mut byte) as u64;
        #[cfg(target_arch = "x86_64")]
        let (open, args) = (libc::SYS_open, [path, 0, 0, 0, 0, 0]);
        #[cfg(not(target_arch = "x86_64"))]
        let (open, args) = (libc::SYS_openat, [i64::from(libc::AT_FDCWD) as u64, path, 0, 0, 0, 0]);
        // SAFETY: the path is a C string, and the kernel writes one byte at `byte`.
        unsafe {
            let file = system_call(open, args) as u64;
            system_call(libc::SYS_read, [file, place, 1, 0, 0, 0]);
            system_call(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
        }
    }
}
