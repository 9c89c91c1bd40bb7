//! Limits of the processor time of operations, which does not depend on what else the machine does.

use std::time::Duration;

/// The processor time of this thread, on Linux.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The result of an operation of this thread. Without `/proc`, its time is unknown and has no limit.
///
/// # Panics
/// If the operation takes as much processor time as the limit, or more.
#[track_caller]
pub fn within<T>(limit: Duration, what: &str, run: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let result = run();
    if let (Some(start), Some(end)) = (start, processor_time()) {
        let took = end.saturating_sub(start);
        println!("{what}: {took:?}");
        assert!(took < limit, "{what} took {took:?} of processor time; the limit is {limit:?}");
    }
    result
}
