//! Reading does not prolong, shorten or repeat syscalls that sleep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callgate_linux::dump;
use callgate_testing::TestResult;

use crate::dump::filters::DENIED;
use crate::dump::other::{LIMIT, Other};
use crate::dump::reads::may_read_filters;
use crate::dump::role::{SLEEP, WAKES};

/// Reads filters of a thread again and again while it sleeps. Returns the errno of the sleep.
fn dump_while_asleep(role: &str, also: impl Fn(&Other)) -> i32 {
    let other = Other::start(role);
    let start = Instant::now();
    let answer = loop {
        assert_eq!(dump(other.thread).unwrap().filters.len(), 3);
        also(&other);
        if let Some(answer) = other.answer_within("slept ", Duration::from_millis(5)) {
            break answer;
        }
        // A sleep that starts again at each dump would never end.
        assert!(start.elapsed() < LIMIT, "{role}: {SLEEP:?} did not end within {LIMIT:?}");
    };
    let (slept, errno) = answer.split_once(' ').unwrap();
    let slept = Duration::from_millis(slept.parse().unwrap());
    let errno = errno.parse().unwrap();
    assert!(errno != 0 || slept >= SLEEP, "{role}: {slept:?}");
    // The filters are in force again.
    assert_eq!(other.answer("denied "), DENIED.to_string());
    other.finish();
    errno
}

pub(super) fn a_nanosleep_keeps_its_time_while_filters_are_read() -> TestResult {
    may_read_filters()?;
    assert_eq!(dump_while_asleep("nanosleep", |_| ()), 0);
    Ok(())
}

pub(super) fn a_poll_keeps_its_time_while_filters_are_read() -> TestResult {
    may_read_filters()?;
    assert_eq!(dump_while_asleep("poll", |_| ()), 0);
    Ok(())
}

pub(super) fn a_sleep_keeps_its_time_while_ignored_signals_arrive() -> TestResult {
    may_read_filters()?;
    // A signal may still arrive in the moment between the last look and the end of the tracer.
    let errno = dump_while_asleep("nanosleep, errno", |other| assert!(other.send(libc::SIGURG)));
    assert!(errno == 0 || errno == i32::from(DENIED), "{errno}");
    Ok(())
}

/// Ends a thread also if the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) fn a_signal_ends_a_sleep_while_filters_are_read() -> TestResult {
    may_read_filters()?;
    let other = Other::start("is woken");
    let (thread, is_over) = (other.thread, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(dump(thread).unwrap().filters.len(), 3);
            }
        });
        let _end = SetOnDrop(&is_over);
        let start = Instant::now();
        for number in 1..=WAKES {
            let answer = loop {
                assert!(other.send(libc::SIGRTMIN()));
                // If the handler ran before the sleep began, the sleep needs another signal.
                let wait = Duration::from_millis(50);
                if let Some(answer) = other.answer_within("woken ", wait) {
                    break answer;
                }
                assert!(!reader.is_finished(), "the reader failed");
                assert!(start.elapsed() < LIMIT, "{number} of {WAKES} sleeps within {LIMIT:?}");
            };
            assert_eq!(answer, format!("{number} {}", libc::EINTR));
        }
    });
    assert!(other.finish() >= WAKES);
    Ok(())
}
