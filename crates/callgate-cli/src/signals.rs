//! Signal dispositions of the command line itself, and those that its commands inherit.
//!
//! Rust's runtime ignores SIGPIPE before `main`. The command line restores the default, so that it ends silently
//! when its reader closes the pipe, and ignores SIGXFSZ, so that a write beyond the file size limit is an error
//! that it reports. A command that it executes must find both as this process did, which only code that runs
//! before the runtime can tell.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use callgate_linux::Disposition;
use libc::c_int;

const SIGNALS: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Which of them were ignored when this process started.
static IGNORED_AT_START: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Sets the dispositions that the command line needs.
pub(crate) fn set_own() {
    // SAFETY: both actions are valid and install no code.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// The dispositions that this process started with, for the commands that it executes.
pub(crate) fn at_start() -> Vec<(c_int, Disposition)> {
    let ignored = IGNORED_AT_START.iter().map(|ignored| ignored.load(Ordering::Relaxed));
    let disposition = |ignored| if ignored { Disposition::Ignored } else { Disposition::Default };
    SIGNALS.into_iter().zip(ignored.map(disposition)).collect()
}

/// Reads the dispositions before `main`, and so before Rust's runtime changes them.
// SAFETY: the C library's start code calls the functions of this section one after the other, in the only
// thread; this one makes syscalls and stores their results.
#[used]
#[unsafe(link_section = ".init_array")]
static READ_DISPOSITIONS: extern "C" fn() = {
    extern "C" fn read() {
        for (signal, was_ignored) in SIGNALS.into_iter().zip(&IGNORED_AT_START) {
            let mut action = MaybeUninit::<libc::sigaction>::uninit();
            // SAFETY: nothing is set, and the pointer is valid for writes.
            let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
            // SAFETY: `sigaction` succeeded, so it filled the whole structure.
            let ignored =
                result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN;
            was_ignored.store(ignored, Ordering::Relaxed);
        }
    }
    read
};
