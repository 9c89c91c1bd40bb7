//! The loop bodies that a measuring process executes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use callgate::SeccompData;

use crate::cold::Clutter;
use crate::raw::{self, RawSyscall, system_call};
use crate::sigreturn::signal_return;
use crate::subject;
use crate::syscalls::MeasurableSyscall;

/// Why a body was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The clock cannot be read.
    NoClock,
    /// A thread cannot be started.
    NoThread,
}

fn now() -> Result<u64, BodyError> {
    raw::now().ok_or(BodyError::NoClock)
}

/// The body of the measured loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// One syscall.
    Syscall(RawSyscall),
    /// `rt_sigreturn` with a frame of this process.
    SignalReturn,
    /// `close(dup(0))`, `getpid`, `getuid`, `umask(022)`: the loop of UnixBench's "syscall".
    UnixBench,
    /// `open("/dev/zero")`, `read` of one byte, `close`.
    OpenReadClose,
    /// `pthread_cond_timedwait` with a deadline that has passed. The iterations are divided among concurrent threads,
    /// and the CPU time of the threads is measured.
    CondWait {
        /// The number of threads.
        threads: u32,
    },
}

impl From<MeasurableSyscall> for Body {
    fn from(syscall: MeasurableSyscall) -> Body {
        match syscall.is_signal_return() {
            true => Body::SignalReturn,
            false => Body::Syscall(syscall.raw()),
        }
    }
}

impl Body {
    /// Whether the process must have no descriptors.
    pub(crate) fn needs_no_descriptors(&self) -> bool {
        matches!(self, Body::Syscall(RawSyscall { is_chosen: true, .. }))
    }

    /// The syscall as a filter sees it, if the body is one.
    pub(crate) fn data(&self) -> Option<SeccompData> {
        let (nr, args) = match self {
            Body::Syscall(RawSyscall { nr, args, .. }) => (u32::try_from(*nr).ok()?, *args),
            Body::SignalReturn => (u32::try_from(libc::SYS_rt_sigreturn).ok()?, [0; 6]),
            _ => return None,
        };
        subject::syscall_data(nr, args)
    }

    /// Runs this number of iterations and returns the nanoseconds that they took. With clutter, caches are evicted
    /// before each iteration, which is not counted.
    pub(crate) fn run(&self, count: u32, clutter: Option<&Clutter>) -> Result<u64, BodyError> {
        match (clutter, self) {
            (Some(clutter), _) => self.run_after(count, || {
                clutter.touch();
            }),
            // The loop contains nothing but the syscall.
            (None, Body::Syscall(RawSyscall { nr, args, .. })) => {
                let start = now()?;
                for _ in 0..count {
                    // SAFETY: syscalls come from `syscalls.rs`, where they write to no memory and change nothing outside of
                    // this process, which has no descriptors if arguments are chosen.
                    unsafe { system_call(*nr, *args) };
                }
                Ok(now()? - start)
            }
            (None, Body::CondWait { threads }) => wait_in_threads(*threads, count, wait_once),
            (None, _) => {
                let start = now()?;
                for _ in 0..count {
                    self.once();
                }
                Ok(now()? - start)
            }
        }
    }

    /// Runs iterations, and something else before each, which is not counted.
    fn run_after(&self, count: u32, mut before: impl FnMut()) -> Result<u64, BodyError> {
        let mut sum = 0;
        for _ in 0..count {
            before();
            let start = now()?;
            self.once();
            sum += now()? - start;
        }
        Ok(sum)
    }

    #[inline]
    fn once(&self) {
        let one = |nr, arg| {
            // SAFETY: these syscalls access only the memory that is passed to them below.
            unsafe { system_call(nr, [arg, 0, 0, 0, 0, 0]) }
        };
        match self {
            Body::Syscall(RawSyscall { nr, args, .. }) => {
                // SAFETY: as in `run`.
                unsafe { system_call(*nr, *args) };
            }
            Body::SignalReturn => signal_return(),
            Body::UnixBench => {
                one(libc::SYS_close, one(libc::SYS_dup, 0) as u64);
                one(libc::SYS_getpid, 0);
                one(libc::SYS_getuid, 0);
                one(libc::SYS_umask, 0o22);
            }
            Body::OpenReadClose => {
                let path = c"/dev/zero".as_ptr() as u64;
                let here = i64::from(libc::AT_FDCWD) as u64;
                let mut byte = 0u8;
                let place = (&raw mut byte) as u64;
                // SAFETY: the path is a C string, and the kernel writes one byte at `byte`.
                unsafe {
                    let file = system_call(libc::SYS_openat, [here, path, 0, 0, 0, 0]) as u64;
                    system_call(libc::SYS_read, [file, place, 1, 0, 0, 0]);
                    system_call(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
                }
            }
            Body::CondWait { .. } => {
                wait_once();
            }
        }
    }
}

/// Waits for a condition with a deadline that has passed.
fn wait_once() {
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    let mut condition = libc::PTHREAD_COND_INITIALIZER;
    let past = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    // SAFETY: both are initialised, used by this thread only, and do not move.
    unsafe {
        libc::pthread_mutex_lock(&raw mut mutex);
        libc::pthread_cond_timedwait(&raw mut condition, &raw mut mutex, &raw const past);
        libc::pthread_mutex_unlock(&raw mut mutex);
    }
}

/// Waits in many threads and returns the CPU time of `count` waits. Elapsed time would include the scheduler and other
/// processes.
fn wait_in_threads(threads: u32, count: u32, wait: fn()) -> Result<u64, BodyError> {
    let each = count.div_ceil(threads.max(1));
    // The threads are not joined: a filter may deny the necessary syscalls, and the process ends soon.
    let start_line = Arc::new(Barrier::new(threads as usize + 1));
    let done = Arc::new(Done::default());
    for _ in 0..threads {
        let (start_line, done) = (Arc::clone(&start_line), Arc::clone(&done));
        let worker = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            start_line.wait();
            let start = raw::processor_time();
            for _ in 0..each {
                wait();
            }
            match (start, raw::processor_time()) {
                (Some(start), Some(end)) => done.time.fetch_add(end - start, Ordering::AcqRel),
                _ => done.without_clock.fetch_add(1, Ordering::AcqRel).into(),
            };
            done.threads.fetch_add(1, Ordering::AcqRel);
        });
        worker.map_err(|_| BodyError::NoThread)?;
    }
    start_line.wait();
    while done.threads.load(Ordering::Acquire) < threads {
        std::thread::sleep(Duration::from_millis(1));
    }
    match done.without_clock.load(Ordering::Acquire) {
        0 => {
            let waits = u64::from(each) * u64::from(threads);
            Ok(share(done.time.load(Ordering::Acquire), count, waits))
        }
        _ => Err(BodyError::NoClock),
    }
}

/// The time of `count` waits, from that of all: threads wait equally often, so they may wait more often.
fn share(time: u64, count: u32, waits: u64) -> u64 {
    time * u64::from(count) / waits.max(1)
}

/// The results of the threads.
#[derive(Default)]
struct Done {
    /// Nanoseconds of CPU time.
    time: AtomicU64,
    /// The number of threads that could not read it.
    without_clock: AtomicU32,
    threads: AtomicU32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_wait_equally_often() {
        static WAITS: AtomicU32 = AtomicU32::new(0);
        for (threads, count, waits) in [(16, 1600, 1600), (16, 8, 16), (3, 10, 12)] {
            WAITS.store(0, Ordering::Relaxed);
            let wait = || {
                WAITS.fetch_add(1, Ordering::Relaxed);
                wait_once();
            };
            wait_in_threads(threads, count, wait).unwrap();
            assert_eq!(WAITS.load(Ordering::Relaxed), waits, "{threads} {count}");
        }
    }

    #[test]
    fn waits_beyond_the_count_do_not_add_to_the_time() {
        assert_eq!(share(3200, 8, 16), 1600);
        assert_eq!(share(3200, 1600, 1600), 3200);
    }

    #[test]
    fn other_code_and_data_are_touched_before_each_iteration() {
        let mut touched = 0;
        Body::UnixBench.run_after(7, || touched += 1).unwrap();
        assert_eq!(touched, 7);
    }
}
