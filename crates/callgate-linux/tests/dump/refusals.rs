//! Threads whose filters cannot be read.

use std::process::Command;
use std::time::{Duration, Instant};

use callgate_linux::{FilterFlags, ThreadStatus, dump, install_unproved};
use callgate_testing::{Need, Skip, TestResult};

use crate::dump::filters::newer;
use crate::dump::other::{LIMIT, Other};
use crate::dump::reads::may_read_filters;
use crate::dump::tracer::seize;

fn message(tid: u32) -> String {
    dump(tid).unwrap_err().to_string()
}

pub(super) fn threads_whose_filters_cannot_be_read_are_refused_with_the_reason() -> TestResult {
    for missing in [u32::MAX, 1 << 30] {
        assert!(message(missing).contains("no such process"));
    }
    assert!(message(std::process::id()).contains("callgate itself"));

    let mut zombie = Command::new("true").spawn().unwrap();
    let start = Instant::now();
    while !dump(zombie.id()).is_err_and(|error| error.to_string().contains("zombie")) {
        assert!(start.elapsed() < LIMIT, "`true` is not a zombie within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    zombie.wait().unwrap();

    // A process without filters is not an error.
    let other = Other::start("none");
    assert!(dump(other.thread).unwrap().filters.is_empty());
    other.finish();

    let kernel = std::fs::read_to_string("/proc/2/status").unwrap_or_default();
    if !kernel.contains("kthreadd") {
        return Err(Skip::new(Need::Proc, "the threads of the kernel are not visible"));
    }
    assert!(message(2).contains("kernel thread"));
    Ok(())
}

pub(super) fn the_error_names_the_tracer() -> TestResult {
    may_read_filters()?;
    let other = Other::start("two");
    let thread = other.thread;
    let text = std::thread::spawn(move || {
        seize(thread)?;
        Ok(message(thread))
    });
    let text = text.join().unwrap()?;
    assert!(text.contains("already traced by process "), "{text}");
    other.finish();
    Ok(())
}

pub(super) fn a_thread_that_does_not_stop_is_left_alone() -> TestResult {
    may_read_filters()?;
    let other = Other::start("vfork");
    other.await_state('D');
    let error = message(other.thread);
    assert!(error.contains("state D"), "{error}");
    // `dump` waits until the kernel has detached the thread that read.
    assert_eq!(ThreadStatus::of(other.thread).unwrap().tracer, 0);
    Ok(())
}

pub(super) fn a_process_with_a_filter_cannot_read_filters() -> TestResult {
    let other = Other::start("two");
    let thread = other.thread;
    let error = std::thread::spawn(move || {
        install_unproved(&newer(), FilterFlags::NONE).unwrap();
        message(thread)
    });
    let error = error.join().unwrap();
    assert!(error.contains("callgate itself runs under a filter"), "{error}");
    other.finish();
    Ok(())
}

pub(super) fn a_process_without_privilege_cannot_read_filters() -> TestResult {
    let other = Other::start("two");
    let thread = other.thread;
    let error = std::thread::spawn(move || {
        // Affects only this thread. It fails without privilege, which does not matter.
        // SAFETY: takes numbers.
        unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        message(thread)
    });
    let error = error.join().unwrap();
    assert!(error.contains("CAP_SYS_ADMIN"), "{error}");
    other.finish();
    Ok(())
}
