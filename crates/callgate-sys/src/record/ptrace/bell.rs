//! Ends a wait for descriptors when a tracee has stopped or ended. `unsafe` code: a handler, eventfd, poll.
//!
//! The kernel tells a tracer by SIGCHLD, which may come just before the tracer starts to wait. So the
//! handler, in whichever thread of this process it runs, makes a descriptor readable that is waited for too.
//!
//! Sources: ptrace(2), eventfd(2), signal-safety(7).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_short, sigset_t};

use crate::record::signals;

/// What the handler writes to; -1 when there is no bell.
static BELL: AtomicI32 = AtomicI32::new(-1);

/// Rings for each SIGCHLD, until it is dropped. There is one at a time.
pub(super) struct Bell {
    fd: OwnedFd,
    action: Option<libc::sigaction>,
    mask: sigset_t,
}

/// After how many milliseconds it rings by itself: somebody else may have changed what SIGCHLD does.
const PATIENCE: c_int = 100;

/// What was waited for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The bell: there may be tracees to ask for, or a signal to look at.
    Bell,
    /// The other descriptor can be read.
    Other,
    /// The other descriptor will not be readable again.
    Closed,
}

impl Bell {
    /// It has rung, as it cannot be known what happened before.
    pub(super) fn hang() -> io::Result<Bell> {
        // SAFETY: takes numbers.
        let fd = unsafe { libc::eventfd(1, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it, and nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        BELL.store(fd.as_raw_fd(), Ordering::Release);
        let handler = child_changed as extern "C" fn(_) as libc::sighandler_t;
        let action = signals::set(libc::SIGCHLD, &signals::action(handler, libc::SA_RESTART));
        Ok(Bell { fd, action, mask: unblock_child() })
    }

    /// Waits until it rings or another descriptor can be read; `None`: for the bell alone.
    pub(super) fn wait(&self, other: Option<c_int>) -> io::Result<Heard> {
        let events = libc::POLLIN;
        let wait_for = |fd| libc::pollfd { fd, events, revents: 0 };
        // A negative number is not waited for.
        let mut fds = [wait_for(self.fd.as_raw_fd()), wait_for(other.unwrap_or(-1))];
        loop {
            // SAFETY: the kernel reads and writes the two entries.
            let ready = unsafe { libc::poll(fds.as_mut_ptr(), 2, PATIENCE) };
            let is = |fd: &libc::pollfd, what: c_short| fd.revents & what != 0;
            match fds {
                _ if ready == -1 => {
                    let why = io::Error::last_os_error();
                    if why.kind() != io::ErrorKind::Interrupted {
                        return Err(why);
                    }
                }
                [bell, _] if ready == 0 || is(&bell, !0) => {
                    self.silence();
                    return Ok(Heard::Bell);
                }
                [_, other] if is(&other, events) => return Ok(Heard::Other),
                _ => return Ok(Heard::Closed),
            }
        }
    }

    fn silence(&self) {
        let mut count = 0_u64;
        // SAFETY: the kernel writes eight bytes.
        unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), size_of_val(&count)) };
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if let Some(action) = &self.action {
            signals::set(libc::SIGCHLD, action);
        }
        // SAFETY: the set is one that the kernel gave.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut())
        };
        BELL.store(-1, Ordering::Release);
    }
}

/// Makes the bell ring, if there is one. May be called in a handler.
pub(in crate::record) fn ring() {
    let bell = BELL.load(Ordering::Acquire);
    if bell == -1 {
        return;
    }
    let one = 1_u64;
    // SAFETY: `write` may be called in a handler and reads eight bytes. `errno` is this thread's, and what
    // the interrupted code finds there stays.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(bell, (&raw const one).cast(), size_of_val(&one));
        *errno = before;
    }
}

extern "C" fn child_changed(_: c_int) {
    ring();
}

/// Lets SIGCHLD reach this thread, which may have been started with it blocked; what was blocked before.
fn unblock_child() -> sigset_t {
    let mut before = MaybeUninit::<sigset_t>::zeroed();
    let mut child = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: the pointers are valid for the calls, and a set of zeros is a valid, empty one.
    unsafe {
        libc::sigaddset(child.as_mut_ptr(), libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, child.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_ends_rings() {
        let bell = Bell::hang().unwrap();
        assert_eq!(bell.wait(None).unwrap(), Heard::Bell, "it has rung");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        assert_eq!(bell.wait(None).unwrap(), Heard::Bell);
        child.wait().unwrap();
        drop(bell);
        ring();
    }
}
