//! Lets a wait end now and then. `unsafe` code: a timer and a handler for its signal.
//!
//! A signal that comes between a look at what it did and `waitpid(2)` does not end the wait, and there may
//! be nothing else that ends it. No form of the call takes a mask of signals, as `ppoll(2)` does, so while
//! a signal may end the recording, a timer interrupts the waits of this thread.
//!
//! Source: timer_create(2), `SIGEV_THREAD_ID`.

use std::mem::MaybeUninit;

use libc::{c_int, c_long, timer_t};

use super::signals;

/// One that nobody else is likely to use; SIGALRM may be somebody's time limit for the recorder.
fn signal() -> c_int {
    libc::SIGRTMAX() - 1
}

/// How long a wait goes on although a signal came before it.
const NANOSECONDS: c_long = 100_000_000;

/// Interrupts what this thread waits for, until it is dropped.
pub(super) struct Tick {
    timer: timer_t,
    before: libc::sigaction,
}

impl Tick {
    /// `None` when there are no more timers; then a second signal may be needed.
    pub(super) fn start() -> Option<Tick> {
        extern "C" fn nothing(_: c_int) {}
        let handler = nothing as extern "C" fn(_) as libc::sighandler_t;
        let before = signals::set(signal(), &signals::action(handler, 0))?;
        // SAFETY: an event of zeros is a valid value.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        // SAFETY: takes nothing.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = MaybeUninit::uninit();
        // SAFETY: both pointers are valid for the call.
        let made = unsafe {
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()) == 0
        };
        if !made {
            signals::set(signal(), &before);
            return None;
        }
        // SAFETY: the call succeeded, so it wrote the timer.
        let tick = Tick { timer: unsafe { timer.assume_init() }, before };
        let each = libc::timespec { tv_sec: 0, tv_nsec: NANOSECONDS };
        let times = libc::itimerspec { it_interval: each, it_value: each };
        // SAFETY: the timer is there, and the kernel reads the times only.
        unsafe { libc::timer_settime(tick.timer, 0, &raw const times, std::ptr::null_mut()) };
        Some(tick)
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        // SAFETY: `start` made the timer, and nobody else knows it.
        unsafe { libc::timer_delete(self.timer) };
        // Where the signal is blocked, one may be pending: ignoring it takes it away.
        signals::set(signal(), &signals::action(libc::SIG_IGN, 0));
        signals::set(signal(), &self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::tracer;

    #[test]
    fn a_wait_that_nothing_ends_is_interrupted() {
        let mut child = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let tick = Tick::start().unwrap();
        let waited = tracer::wait(child.id() as i32);
        drop(tick);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
