//! Handler of SIGINT and SIGTERM that stops a measurement and keeps the samples so far.
//!
//! A second signal ends the program at once, unless it arrives within a second of the first: `timeout` and other programs
//! send the same signal to a process and to its group.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::raw;

/// The time after the first signal during which others count as the same one, in nanoseconds.
const SAME: u64 = 1_000_000_000;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The time of the first signal on the monotonic clock; 0 before.
static SINCE: AtomicU64 = AtomicU64::new(0);

extern "C" fn request(signal: libc::c_int) {
    let now = raw::now().unwrap_or(1);
    // One of the two signals may arrive while the other is handled.
    let since = SINCE
        .compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire)
        .unwrap_or_else(|since| since);
    REQUESTED.store(true, Ordering::Release);
    if since != 0 && now.saturating_sub(since) >= SAME {
        // SAFETY: both may be called in a handler (signal-safety(7)), and SIG_DFL is a valid disposition.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Installs the handler: the first SIGINT or SIGTERM stops measurements; another one, at least a second later, ends the
/// process.
pub fn on_ctrl_c() {
    // SAFETY: a zeroed `sigaction` has no mask and no flags; the handler touches atomics, reads the clock
    // and raises a signal, which handlers may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = request as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether measurements should stop.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;
    use std::time::{Duration, Instant};

    use callgate_linux::Worker;

    use super::*;

    #[test]
    fn a_second_signal_ends_the_process_when_it_comes_later() {
        let signal = libc::SIGTERM;
        // SAFETY: what the child does takes no lock.
        let child = unsafe {
            Worker::start(1, |words: &[AtomicU32]| {
                request(signal);
                request(signal);
                words[0].store(1, Ordering::Release);
                SINCE.fetch_sub(SAME, Ordering::AcqRel);
                request(signal);
                words[0].store(2, Ordering::Release);
            })
        };
        let (child, start) = (child.unwrap(), Instant::now());
        let status = loop {
            if let Some(status) = child.has_ended().unwrap() {
                break status;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", child.words());
            thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(child.words()[0].load(Ordering::Acquire), 1);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == signal, "{status}");
        assert!(!is_requested(), "in this process");
    }
}
