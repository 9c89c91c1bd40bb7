//! Ends a wait for descriptors when a tracee has stopped or ended. `unsafe` code: a handler, eventfd, poll.
//!
//! The kernel tells a tracer by SIGCHLD, which may come just before the tracer starts to wait. So the
//! handler, in whichever thread of this process it runs, makes a descriptor readable that is waited for too.
//!
//! Sources: ptrace(2), eventfd(2), signal-safety(7).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::OnceLock;

use libc::{c_int, sigset_t};

use crate::signals;

/// What the handler writes to. It is never closed, as a handler may run in any thread at any time.
static BELL: OnceLock<OwnedFd> = OnceLock::new();

/// Rings for each SIGCHLD, until it is dropped. There is one at a time.
pub(super) struct Bell {
    fd: c_int,
    action: Option<libc::sigaction>,
    mask: sigset_t,
}

/// After how many milliseconds a wait ends: somebody else may have changed what SIGCHLD does.
const PATIENCE: c_int = 100;

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The bell: there may be tracees to ask for, or a signal to look at.
    Bell,
    /// Nothing for a while.
    Nothing,
    /// The other descriptor can be read.
    Other,
    /// The other descriptor will not be readable again.
    Closed,
}

impl Bell {
    /// It has rung, as it cannot be known what happened before.
    pub(super) fn hang() -> io::Result<Bell> {
        let fd = match BELL.get() {
            Some(fd) => fd,
            None => {
                let made = new_eventfd()?;
                BELL.get_or_init(|| made)
            }
        };
        let handler = child_changed as extern "C" fn(_) as libc::sighandler_t;
        let action = signals::set(libc::SIGCHLD, &signals::action(handler, libc::SA_RESTART));
        ring();
        Ok(Bell { fd: fd.as_raw_fd(), action, mask: unblock_child() })
    }

    /// Waits for the bell, and until another descriptor can be read.
    pub(super) fn wait(&self, other: Option<c_int>) -> io::Result<Heard> {
        let wait_for = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // A negative number is not waited for.
        let mut fds = [wait_for(self.fd), wait_for(other.unwrap_or(-1))];
        loop {
            // SAFETY: the kernel reads and writes the two entries.
            let ready = unsafe { libc::poll(fds.as_mut_ptr(), 2, PATIENCE) };
            if ready == -1 {
                let why = io::Error::last_os_error();
                if why.kind() != io::ErrorKind::Interrupted {
                    return Err(why);
                }
                continue;
            }
            let [bell, other] = fds.map(|fd| fd.revents);
            return Ok(match () {
                () if ready == 0 => Heard::Nothing,
                () if bell != 0 => {
                    self.silence();
                    Heard::Bell
                }
                () if other & libc::POLLIN != 0 => Heard::Other,
                () if other & libc::POLLHUP != 0 => Heard::Closed,
                // A signal came while the kernel looked (`seccomp_notify_poll`).
                () => continue,
            });
        }
    }

    fn silence(&self) {
        let mut count = 0_u64;
        // SAFETY: the kernel writes eight bytes.
        unsafe { libc::read(self.fd, (&raw mut count).cast(), size_of_val(&count)) };
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
    }
}

fn new_eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes the bell ring, if there is one. May be called in a handler.
pub(crate) fn ring() {
    let Some(bell) = BELL.get() else { return };
    let one = 1_u64;
    // SAFETY: `write` may be called in a handler and reads eight bytes. `errno` is this thread's, and what
    // the interrupted code finds there stays.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(bell.as_raw_fd(), (&raw const one).cast(), size_of_val(&one));
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

    /// All in one: there is one bell at a time.
    #[test]
    fn children_that_end_and_descriptors_that_are_closed_are_heard() {
        let bell = Bell::hang().unwrap();
        assert_eq!(bell.wait(None).unwrap(), Heard::Bell, "it has rung");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let heard = (0..100).map(|_| bell.wait(None).unwrap());
        assert!(heard.into_iter().any(|heard| heard == Heard::Bell));
        child.wait().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let heard = || {
            let mut all = (0..100).map(|_| bell.wait(Some(reader.as_raw_fd())).unwrap());
            all.find(|heard| !matches!(heard, Heard::Bell | Heard::Nothing))
        };
        std::io::Write::write_all(&mut &writer, b"x").unwrap();
        assert_eq!(heard(), Some(Heard::Other));
        std::io::Read::read_exact(&mut &reader, &mut [0]).unwrap();
        drop(writer);
        assert_eq!(heard(), Some(Heard::Closed));
    }
}
