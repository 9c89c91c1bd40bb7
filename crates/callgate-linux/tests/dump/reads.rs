//! Reading does not change the thread.

use std::time::{Duration, Instant};

use callgate_linux::{FilterFlags, SeccompMode, ThreadStatus, dump};
use callgate_testing::{Need, Skip, TestResult};

use crate::dump::filters::{newer, older};
use crate::dump::other::{LIMIT, Other, send};

/// Skips the test unless this process may read filters.
pub(super) fn may_read_filters() -> TestResult {
    let own = ThreadStatus::of_this_thread().ok_or(Skip::new(Need::Proc, "no /proc"))?;
    let missing = if own.mode == SeccompMode::Filter {
        "a process without filters"
    } else if own.capabilities.is_some_and(|set| set >> 21 & 1 == 0) {
        "CAP_SYS_ADMIN"
    } else {
        return Ok(());
    };
    Err(Skip::new(Need::Root, missing))
}

pub(super) fn filters_are_read_byte_for_byte_and_the_thread_continues() -> TestResult {
    may_read_filters()?;
    let other = Other::start("two");
    for _ in 0..3 {
        let dump = dump(other.thread).unwrap();
        let [first, second] = dump.filters.as_slice() else { panic!("{dump:?}") };
        assert_eq!((&first.program, &second.program), (&older(), &newer()));
        assert_eq!((first.flags, second.flags), (Some(FilterFlags::NONE), Some(FilterFlags::LOG)));
        // The main thread has no filters.
        assert!(dump.others.contains(&(other.process.id(), 0)), "{dump:?}");
    }
    assert!(dump(other.process.id()).unwrap().filters.is_empty());
    assert_eq!(other.finish(), 0);
    Ok(())
}

/// Half a character in its name does not hide a thread.
pub(super) fn a_thread_is_found_under_any_name() -> TestResult {
    may_read_filters()?;
    let other = Other::start("named");
    let seen = dump(other.thread).unwrap();
    assert_eq!(seen.filters.len(), 2);
    assert_eq!(seen.name, "ééééééé\u{fffd}");
    let main = dump(other.process.id()).unwrap();
    assert!(main.others.contains(&(other.thread, 2)), "{main:?}");
    other.finish();
    Ok(())
}

pub(super) fn a_stopped_process_stays_stopped() -> TestResult {
    may_read_filters()?;
    let other = Other::start("two");
    assert!(other.send(libc::SIGSTOP));
    other.await_state('T');
    for _ in 0..10 {
        assert_eq!(dump(other.thread).unwrap().filters.len(), 2);
        other.await_state('T');
    }
    assert!(other.send(libc::SIGCONT));
    other.finish();
    Ok(())
}

pub(super) fn no_signal_is_lost() -> TestResult {
    const SIGNALS: u32 = 2000;
    may_read_filters()?;
    let other = Other::start("two");
    let (process, thread) = (other.process.id(), other.thread);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let start = Instant::now();
            for number in 1..=SIGNALS {
                // A real-time signal is queued while there is room.
                while !send(process, thread, libc::SIGRTMIN()) {
                    assert!(start.elapsed() < LIMIT, "signal {number} of {SIGNALS}: queue is full");
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        while !sender.is_finished() {
            assert_eq!(dump(other.thread).unwrap().filters.len(), 2);
        }
    });
    assert_eq!(other.finish(), SIGNALS);
    Ok(())
}
