//! Loading of a filter. Nothing is allocated here: the filter may forbid the syscalls that need it.

use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_uint};

use super::support::{Flag, SET_MODE_FILTER, SUPPORT, last_error, seccomp};
use crate::context::{Attributes, Exported};
use crate::error::{Error, Result};

/// The listener of the process, or -1. The API has one per process, whatever the context.
static LISTENER: AtomicI32 = AtomicI32::new(NONE);
const NONE: c_int = -1;

/// The file descriptor of the listener, or -1.
pub(crate) fn listener() -> c_int {
    LISTENER.load(Ordering::Relaxed)
}

/// Closes the listener.
pub(crate) fn close_listener() {
    let listener = LISTENER.swap(NONE, Ordering::Relaxed);
    if listener > 0 {
        // SAFETY: the descriptor is the library's own.
        unsafe { libc::close(listener) };
    }
}

/// Installs a proved program.
pub(crate) fn load(program: &Exported, attributes: &Attributes, notifies: bool) -> Result<()> {
    let failed = |errno| Err(Error::of_kernel(errno, attributes.raw_errors));
    if attributes.no_new_privs {
        // SAFETY: no pointers.
        let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        if result < 0 {
            return failed(last_error());
        }
    }
    let mut filter = libc::sock_fprog {
        len: program.insns(),
        filter: program.bytes().as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    if !SUPPORT.has_syscall() {
        // SAFETY: the kernel copies the instructions, whose number is given, byte by byte.
        let result = unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw mut filter)
        };
        return if result < 0 { failed(last_error()) } else { Ok(()) };
    }
    let is_free = listener() == NONE;
    let listens = notifies && is_free && SUPPORT.knows_notifications();
    let reports_threads = is_free && SUPPORT.is_known(Flag::ThreadSyncError);
    if attributes.thread_sync && listens && !reports_threads {
        return Err(Error::Internal);
    }
    let flags = [
        (Flag::ThreadSync, attributes.thread_sync),
        (Flag::ThreadSyncError, attributes.thread_sync && reports_threads),
        (Flag::NewListener, listens),
        (Flag::WaitKillable, listens && attributes.wait_killable),
        (Flag::Log, attributes.log),
        (Flag::SpeculativeStoreBypass, attributes.speculative_store_bypass),
    ];
    let set = |flags: c_uint, (flag, is_set): &(Flag, bool)| {
        if *is_set { flags | flag.bit() } else { flags }
    };
    let flags = flags.iter().fold(0, set);
    // SAFETY: as above.
    match unsafe { seccomp(SET_MODE_FILTER, flags, (&raw mut filter).cast()) } {
        Err(libc::ESRCH) => Err(Error::Threads),
        Err(errno) => failed(errno),
        Ok(0) => Ok(()),
        // Without TSYNC_ESRCH, a thread that could not get the filter.
        Ok(_) if attributes.thread_sync && !reports_threads => Err(Error::Threads),
        Ok(descriptor) => {
            LISTENER.store(descriptor, Ordering::Relaxed);
            Ok(())
        }
    }
}
