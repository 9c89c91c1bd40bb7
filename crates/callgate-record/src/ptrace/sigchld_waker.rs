//! Wakes a wait for descriptors when a tracee has stopped or ended. `unsafe` code: a handler, poll.
//!
//! The kernel notifies a tracer by SIGCHLD, which may arrive just before the tracer starts to wait. So the handler,
//! in whichever thread of this process it runs, makes an eventfd readable, and the tracer waits for that too.
//!
//! Sources: ptrace(2), signal-safety(7).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;

use libc::{c_int, sigset_t};

use crate::signals::{self, wake};

/// Signals an eventfd at each SIGCHLD, until it is dropped. At most one exists at a time.
pub(super) struct SigchldWaker {
    event: c_int,
    action: Option<libc::sigaction>,
    mask: sigset_t,
}

/// How many milliseconds a wait takes at most: other code may have changed the disposition of SIGCHLD.
const PATIENCE: c_int = 100;

/// Why a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wakeup {
    /// SIGCHLD, or another signal of [`wake`]: tracees may have changed.
    Sigchld,
    /// The time limit.
    Timeout,
    /// The other descriptor can be read.
    Readable,
    /// The other descriptor will no longer become readable.
    Closed,
}

impl SigchldWaker {
    /// Starts signalled, because SIGCHLD may have arrived before.
    pub(super) fn new() -> io::Result<SigchldWaker> {
        let event = signals::wake_event()?;
        let handler = child_changed as extern "C" fn(_) as libc::sighandler_t;
        let action = signals::set(libc::SIGCHLD, &signals::action(handler, libc::SA_RESTART));
        wake();
        Ok(SigchldWaker { event: event.as_raw_fd(), action, mask: unblock_sigchld() })
    }

    /// Waits for SIGCHLD, or until another descriptor can be read.
    pub(super) fn wait(&self, other: Option<c_int>) -> io::Result<Wakeup> {
        let wait_for = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // The kernel ignores negative descriptors.
        let mut fds = [wait_for(self.event), wait_for(other.unwrap_or(-1))];
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
            let [event, other] = fds.map(|fd| fd.revents);
            return Ok(match () {
                () if ready == 0 => Wakeup::Timeout,
                () if event != 0 => {
                    self.reset();
                    Wakeup::Sigchld
                }
                () if other & libc::POLLIN != 0 => Wakeup::Readable,
                () if other & libc::POLLHUP != 0 => Wakeup::Closed,
                // A signal arrived while the kernel took a lock (`seccomp_notify_poll`).
                () => continue,
            });
        }
    }

    fn reset(&self) {
        let mut count = 0_u64;
        // SAFETY: the kernel writes eight bytes.
        unsafe { libc::read(self.event, (&raw mut count).cast(), size_of_val(&count)) };
    }
}

impl Drop for SigchldWaker {
    fn drop(&mut self) {
        if let Some(action) = &self.action {
            signals::set(libc::SIGCHLD, action);
        }
        // SAFETY: the kernel wrote this set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut())
        };
    }
}

extern "C" fn child_changed(_: c_int) {
    wake();
}

/// Unblocks SIGCHLD in this thread, which may have inherited it blocked. Returns the mask before.
fn unblock_sigchld() -> sigset_t {
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
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits until this happens, at most a minute.
    fn expect(waker: &SigchldWaker, other: Option<c_int>, expected: &Wakeup) {
        let start = Instant::now();
        while waker.wait(other).unwrap() != *expected {
            assert!(start.elapsed() < Duration::from_secs(60), "no {expected:?} within a minute");
        }
    }

    /// One test, because at most one waker exists at a time.
    #[test]
    fn children_that_end_and_descriptors_that_close_end_a_wait() {
        let waker = SigchldWaker::new().unwrap();
        assert_eq!(waker.wait(None).unwrap(), Wakeup::Sigchld, "it starts signalled");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        expect(&waker, None, &Wakeup::Sigchld);
        child.wait().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut &writer, b"x").unwrap();
        expect(&waker, Some(reader.as_raw_fd()), &Wakeup::Readable);
        std::io::Read::read_exact(&mut &reader, &mut [0]).unwrap();
        drop(writer);
        expect(&waker, Some(reader.as_raw_fd()), &Wakeup::Closed);
    }
}
