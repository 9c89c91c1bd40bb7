//! Hardware counters of a body: cycles, instructions and mispredicted branches per iteration, user space and kernel
//! together. `unsafe` code: `perf_event_open(2)`.
//!
//! Many virtual machines have none, and `kernel.perf_event_paranoid` may deny counting the kernel; the error says which.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use callgate_linux::{Worker, error_text};

use callgate_measure::Subject;
use callgate_measure::raw;
use callgate_measure::{Work, WorkError};

/// The names of the counters, in their order.
pub(crate) const NAMES: [&str; 3] = ["cycles", "instructions", "branch misses"];

/// Type and configuration of an event (`perf_type_id` and what it selects, linux/perf_event.h).
type Event = (u32, u64);

const HARDWARE: [Event; 3] = [(0, 0), (0, 1), (0, 5)];

/// The first version of `struct perf_event_attr`, which every kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint: u64,
}

const DISABLED: u64 = 1;
/// `_IO('$', 0)` and `_IO('$', 1)` (include/uapi/linux/perf_event.h).
const ENABLE: libc::Ioctl = libc::_IO(0x24, 0);
const DISABLE: libc::Ioctl = libc::_IO(0x24, 1);

/// Counters of this thread.
struct Counters([OwnedFd; 3]);

impl Counters {
    fn open(events: [Event; 3]) -> io::Result<Counters> {
        let open = |(kind, config)| {
            let size = size_of::<Attributes>() as u32;
            let attributes =
                Attributes { kind, size, config, flags: DISABLED, ..Attributes::default() };
            let (this, any, none, flags) = (0, -1, -1, 0);
            // SAFETY: the kernel reads the attributes, whose size they contain.
            let opened = unsafe {
                libc::syscall(
                    libc::SYS_perf_event_open,
                    &raw const attributes,
                    this,
                    any,
                    none,
                    flags,
                )
            };
            match i32::try_from(opened) {
                // SAFETY: the descriptor is new.
                Ok(file @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(file) }),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let [first, second, third] = events;
        Ok(Counters([open(first)?, open(second)?, open(third)?]))
    }

    /// What the work adds to the counters.
    fn count(&self, work: impl FnOnce()) -> io::Result<[u64; 3]> {
        let switch = |request| {
            // SAFETY: these requests take no argument.
            let all =
                self.0.iter().map(|file| unsafe { libc::ioctl(file.as_raw_fd(), request, 0) });
            match all.min() {
                Some(0) => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        switch(ENABLE)?;
        work();
        switch(DISABLE)?;
        let mut values = [0u64; 3];
        for (value, file) in values.iter_mut().zip(&self.0) {
            let place = (&raw mut *value).cast::<libc::c_void>();
            // SAFETY: the kernel writes at most the eight bytes of the value.
            let read = unsafe { libc::read(file.as_raw_fd(), place, size_of::<u64>()) };
            if read != size_of::<u64>() as isize {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(values)
    }
}

/// The counters per iteration of a body under a subject, in a child process.
pub(crate) fn per_iteration(
    subject: &Subject,
    body: &dyn Work,
    iterations: u32,
    cpu: Option<usize>,
) -> Result<[f64; 3], String> {
    counted(HARDWARE, subject, body, iterations, cpu)
}

fn counted(
    events: [Event; 3],
    subject: &Subject,
    body: &dyn Work,
    iterations: u32,
    cpu: Option<usize>,
) -> Result<[f64; 3], String> {
    /// The first words of the shared memory; the low and high halves of the counters follow.
    const STATE: usize = 0;
    const WHY: usize = 1;
    const VALUES: usize = 2;
    const DONE: u32 = 1;
    const FAILED: u32 = 2;
    const LIMIT: Duration = Duration::from_secs(60);
    let work = || -> io::Result<[u64; 3]> {
        if let Some(cpu) = cpu {
            raw::pin(cpu)?;
        }
        let counters = Counters::open(events)?;
        let other = |error| match error {
            WorkError::Socket(why) => why,
            WorkError::Clock | WorkError::Thread => io::Error::from_raw_os_error(libc::EINVAL),
        };
        let mut body = body.prepare().map_err(other)?;
        callgate_linux::install_unproved_stack(subject.programs()).map_err(|(_, why)| why)?;
        body.start(subject.socket()).map_err(other)?;
        body.run(iterations).map_err(other)?;
        let mut outcome = Ok(0);
        let values = counters.count(|| outcome = body.run(iterations))?;
        outcome.map(|_| values).map_err(other)
    };
    // SAFETY: no other thread holds a lock that the child needs, except for those of the allocator, which C libraries keep
    // usable in a child.
    let child = unsafe {
        Worker::start(VALUES + 2 * NAMES.len(), |words| {
            let state = match work() {
                Ok(values) => {
                    for (words, value) in words[VALUES..].chunks_exact(2).zip(values) {
                        words[0].store(value as u32, Ordering::Release);
                        words[1].store((value >> 32) as u32, Ordering::Release);
                    }
                    DONE
                }
                Err(why) => {
                    words[WHY].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
                    FAILED
                }
            };
            words[STATE].store(state, Ordering::Release);
        })
    };
    let child = child.map_err(|why| error_text(&why).to_string())?;
    let start = Instant::now();
    loop {
        match child.words()[STATE].load(Ordering::Acquire) {
            DONE => break,
            FAILED => {
                let why = child.words()[WHY].load(Ordering::Acquire) as i32;
                return Err(reason(why));
            }
            _ => {}
        }
        if start.elapsed() > LIMIT || !matches!(child.has_ended(), Ok(None)) {
            return Err("the counting process did not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut values = [0.0; 3];
    for (value, words) in values.iter_mut().zip(child.words()[VALUES..].chunks_exact(2)) {
        let [low, high] =
            [&words[0], &words[1]].map(|word| u64::from(word.load(Ordering::Acquire)));
        *value = (high << 32 | low) as f64 / f64::from(iterations.max(1));
    }
    Ok(values)
}

/// Why there are no counters.
fn reason(errno: i32) -> String {
    match errno {
        libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS => {
            "this machine has no hardware counters".to_owned()
        }
        libc::EACCES | libc::EPERM => {
            "hardware counters of the kernel are not permitted (kernel.perf_event_paranoid)"
                .to_owned()
        }
        other => error_text(&io::Error::from_raw_os_error(other)).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::UnixBench;

    /// Software events, which virtual machines have as well: CPU time, page faults, context switches.
    #[test]
    fn events_are_counted_or_the_reason_is_named() {
        let software = [(1, 1), (1, 2), (1, 3)];
        let body = &UnixBench;
        match counted(software, &Subject::none(), body, 1000, None) {
            Ok([nanoseconds, _, switches]) => {
                assert!(nanoseconds > 0.0 && switches < 1.0, "{nanoseconds} {switches}");
            }
            Err(why) => {
                assert!(why.contains("not permitted") || why.contains("no hardware"), "{why}")
            }
        }
        let unknown = [(0, 77), (0, 77), (0, 77)];
        assert!(counted(unknown, &Subject::none(), body, 10, None).is_err());
    }
}
