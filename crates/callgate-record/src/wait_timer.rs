//! Timer that periodically interrupts `waitpid(2)`. `unsafe` code: a timer and a handler for its signal.
//!
//! A signal that arrives after its effect was checked but before `waitpid(2)` starts does not interrupt the wait,
//! and nothing else may. Unlike `ppoll(2)`, `waitpid(2)` takes no signal mask. So while a signal may end the
//! recording, a timer interrupts the waits of this thread.
//!
//! Source: timer_create(2), `SIGEV_THREAD_ID`.

use std::mem::MaybeUninit;

use libc::{c_int, c_long, timer_t};

use super::signals;

/// A signal that other code is unlikely to use. SIGALRM may be a time limit that was set for the recorder.
fn signal() -> c_int {
    libc::SIGRTMAX() - 1
}

/// The period: how much longer a wait may take if a signal arrived just before it.
const NANOSECONDS: c_long = 100_000_000;

/// Interrupts the waits of the thread that created it, until it is dropped.
pub(super) struct WaitTimer {
    timer: timer_t,
    before: libc::sigaction,
}

impl WaitTimer {
    /// `None` if the kernel has no more timers; then a second signal may be necessary to end the recording.
    pub(super) fn start() -> Option<WaitTimer> {
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
        let timer = WaitTimer { timer: unsafe { timer.assume_init() }, before };
        let period = libc::timespec { tv_sec: 0, tv_nsec: NANOSECONDS };
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the timer exists, and the kernel only reads the times.
        unsafe { libc::timer_settime(timer.timer, 0, &raw const times, std::ptr::null_mut()) };
        Some(timer)
    }
}

impl Drop for WaitTimer {
    fn drop(&mut self) {
        // SAFETY: `start` created the timer, and only this value has its number.
        unsafe { libc::timer_delete(self.timer) };
        // A signal may be pending where it is blocked; ignoring it discards it.
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
    fn a_wait_for_a_running_child_is_interrupted() {
        let mut child = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let timer = WaitTimer::start().unwrap();
        let waited = tracer::wait(child.id() as i32);
        drop(timer);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
