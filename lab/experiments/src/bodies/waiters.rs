//! Threads that wait for a condition, started before filters are installed.
//!
//! Each thread repeats `pthread_cond_timedwait` with a deadline one microsecond ahead; all of them share a mutex and a
//! condition, and none signals it. They are started first, so that a filter need not allow what starting a thread needs:
//! `clone`, `mmap`, and rseq, which the C library registers for each thread (it aborts when that fails for one after it
//! succeeded for another). Under the filter, they need `futex`, and `clock_gettime` for their CPU time.

use std::cell::UnsafeCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use callgate_measure::raw;
use callgate_measure::{ReadyWork, Work, WorkError};

/// How far ahead a deadline is, in nanoseconds.
const AHEAD: libc::c_long = 1000;

/// `pthread_cond_timedwait` with a deadline one microsecond ahead. The iterations are divided among concurrent threads, and
/// the CPU time of the threads is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CondWait {
    /// The number of threads.
    pub(crate) threads: u32,
}

impl Work for CondWait {
    fn prepare(&self) -> Result<Box<dyn ReadyWork>, WorkError> {
        Ok(Box::new(Waiters::start(self.threads)?))
    }
}

impl ReadyWork for Waiters {
    fn has_threads(&self) -> bool {
        true
    }

    /// Its threads run elsewhere.
    fn once(&self) {}

    fn run(&self, count: u32) -> Result<u64, WorkError> {
        self.wait(count)
    }
}

/// A mutex of the C library and a condition that no thread signals.
struct Condition {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: the functions of the C library that access them are made for many threads.
unsafe impl Sync for Condition {}
// SAFETY: both are moved only before their first use.
unsafe impl Send for Condition {}

impl Condition {
    fn new() -> Condition {
        Condition {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        }
    }

    /// Waits this number of times.
    fn wait(&self, count: u32) {
        let mut deadline = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let (mutex, condition) = (self.mutex.get(), self.condition.get());
        // SAFETY: both are initialised and do not move, because the threads share them behind an `Arc`; this thread holds
        // the mutex while it waits.
        unsafe {
            libc::pthread_mutex_lock(mutex);
            for _ in 0..count {
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut deadline);
                deadline.tv_nsec += AHEAD;
                if deadline.tv_nsec >= 1_000_000_000 {
                    deadline.tv_sec += 1;
                    deadline.tv_nsec -= 1_000_000_000;
                }
                libc::pthread_cond_timedwait(condition, mutex, &raw const deadline);
            }
            libc::pthread_mutex_unlock(mutex);
        }
    }
}

/// The threads. They are not joined: a filter may deny what that needs, and the process ends soon.
struct Waiters {
    shared: Arc<Shared>,
    threads: u32,
}

struct Shared {
    state: Mutex<State>,
    started: Condvar,
    finished: Condvar,
    condition: Condition,
}

#[derive(Default)]
struct State {
    /// The number of the present turn.
    turn: u64,
    /// How often each thread waits in it.
    each: u32,
    /// The number of threads that have finished it.
    finished: u32,
    /// Their CPU time in nanoseconds.
    time: u64,
    /// Whether a thread could not read it.
    without_clock: bool,
}

impl Shared {
    /// No thread panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each thread does.
    fn follow(&self, wait: fn(&Condition, u32)) {
        let mut seen = 0;
        self.finish(|_| {});
        loop {
            let mut state = self.state();
            while state.turn == seen {
                state = self.started.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            seen = state.turn;
            let each = state.each;
            drop(state);
            let start = raw::processor_time();
            wait(&self.condition, each);
            let time = start.zip(raw::processor_time());
            self.finish(|state| match time {
                Some((start, end)) => state.time += end - start,
                None => state.without_clock = true,
            });
        }
    }

    /// A thread has finished its turn.
    fn finish(&self, note: impl FnOnce(&mut State)) {
        let mut state = self.state();
        note(&mut state);
        state.finished += 1;
        self.finished.notify_one();
    }

    /// Waits until this number of threads have finished.
    fn all_finished(&self, threads: u32) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while state.finished < threads {
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

impl Waiters {
    /// Starts threads, and returns when all of them wait for their first turn.
    fn start(threads: u32) -> Result<Waiters, WorkError> {
        Waiters::start_with(threads, Condition::wait)
    }

    fn start_with(threads: u32, wait: fn(&Condition, u32)) -> Result<Waiters, WorkError> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            started: Condvar::new(),
            finished: Condvar::new(),
            condition: Condition::new(),
        });
        for _ in 0..threads {
            let shared = Arc::clone(&shared);
            let thread = Builder::new().stack_size(64 << 10).spawn(move || shared.follow(wait));
            thread.map_err(|_| WorkError::Thread)?;
        }
        // What the C library does at the start of a thread must be over before a filter is installed.
        drop(shared.all_finished(threads));
        Ok(Waiters { shared, threads })
    }

    /// Divides waits among the threads and returns the CPU time of `count` waits in nanoseconds. Elapsed time would include
    /// the idle time until a timer expires, and other processes.
    fn wait(&self, count: u32) -> Result<u64, WorkError> {
        let each = count.div_ceil(self.threads.max(1));
        let mut state = self.shared.state();
        *state = State { turn: state.turn + 1, each, ..State::default() };
        self.shared.started.notify_all();
        drop(state);
        let state = self.shared.all_finished(self.threads);
        match state.without_clock {
            true => Err(WorkError::Clock),
            false => Ok(share(state.time, count, u64::from(each) * u64::from(self.threads))),
        }
    }
}

/// The time of `count` waits, from that of all: threads wait equally often, so they may wait more often.
fn share(time: u64, count: u32, waits: u64) -> u64 {
    time * u64::from(count) / waits.max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn all_threads_wait_equally_often() {
        static WAITS: AtomicU32 = AtomicU32::new(0);
        for (threads, count, waits) in [(16, 1600, 1600), (16, 8, 16), (3, 10, 12)] {
            let waiters = Waiters::start_with(threads, |condition, count| {
                WAITS.fetch_add(count, Ordering::Relaxed);
                condition.wait(count);
            });
            let waiters = waiters.unwrap();
            for turn in 0..3 {
                WAITS.store(0, Ordering::Relaxed);
                let time = waiters.run(count).unwrap();
                assert_eq!(WAITS.load(Ordering::Relaxed), waits, "{threads} {count} {turn}");
                assert!(time > 0);
            }
        }
    }

    #[test]
    fn waits_beyond_the_count_do_not_add_to_the_time() {
        assert_eq!(share(3200, 8, 16), 1600);
        assert_eq!(share(3200, 1600, 1600), 3200);
    }
}
