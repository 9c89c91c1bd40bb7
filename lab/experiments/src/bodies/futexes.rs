//! The futex syscalls of waiting threads, made by one thread that never waits.
//!
//! How long a wait of many threads takes depends on the scheduler, on timers and on how often threads find the mutex taken; it
//! varies by more than a filter costs. A filter, however, sees only syscalls and their arguments. So one thread makes the same
//! kinds of syscalls, drawn with the frequencies that were recorded, with arguments for which the kernel does not wait: a wait
//! expects a value that the futex does not have (EAGAIN), and a wake-up finds no thread. What the kernel does before that is
//! the same: it reads the deadline, sets up the timer, and looks at the futex.

use std::cell::Cell;
use std::sync::atomic::AtomicU32;

use callgate_measure::raw::system_call;
use callgate_measure::{ReadyWork, Work, WorkError, draw_indices};

/// The operations without their flags (include/uapi/linux/futex.h).
const COMMAND: u64 = !(128 | 256);
const WAIT: u64 = 0;
const WAKE: u64 = 1;
const WAIT_BITSET: u64 = 9;

/// The value of the futex, and one that it does not have.
const VALUE: u32 = 0;
const OTHER: u64 = 1;

const ALL_BITS: u64 = 0xffff_ffff;

/// Operations in a random order, drawn once.
#[derive(Clone, Debug)]
pub(crate) struct FutexStream {
    operations: Vec<u64>,
    /// Indices of `operations`.
    order: Vec<usize>,
}

impl FutexStream {
    /// Draws this number of operations with these frequencies; `None` if one is not a wait or a wake-up, or if none has a
    /// frequency.
    pub(crate) fn draw(operations: &[(u64, f64)], length: usize, seed: u64) -> Option<FutexStream> {
        let is_known = |(operation, _): &(u64, f64)| {
            [WAIT, WAKE, WAIT_BITSET].contains(&(operation & COMMAND))
        };
        let weights: Vec<f64> = operations.iter().map(|(_, count)| *count).collect();
        let order = draw_indices(&weights, length, seed);
        let operations =
            operations.iter().all(is_known).then(|| operations.iter().map(|one| one.0));
        let operations: Vec<u64> = operations?.collect();
        (!order.is_empty()).then_some(FutexStream { operations, order })
    }
}

impl Work for FutexStream {
    fn prepare(&self) -> Result<Box<dyn ReadyWork>, WorkError> {
        Ok(Box::new(ReadyFutexes::of(self)))
    }
}

struct ReadyFutexes {
    calls: Vec<[u64; 6]>,
    order: Vec<usize>,
    /// The place of the next call in the order.
    next: Cell<usize>,
    // What the calls point to.
    _word: Box<AtomicU32>,
    _deadline: Box<libc::timespec>,
}

impl ReadyFutexes {
    fn of(stream: &FutexStream) -> ReadyFutexes {
        let word = Box::new(AtomicU32::new(VALUE));
        // Long ago: a wait that did wait would end at once.
        let deadline = Box::new(libc::timespec { tv_sec: 1, tv_nsec: 0 });
        let (place, until) = (word.as_ptr() as u64, (&raw const *deadline) as u64);
        let call = |operation: &u64| match operation & COMMAND {
            WAKE => [place, *operation, 1, 0, 0, 0],
            WAIT_BITSET => [place, *operation, OTHER, until, 0, ALL_BITS],
            _ => [place, *operation, OTHER, 0, 0, 0],
        };
        let calls = stream.operations.iter().map(call).collect();
        let order = stream.order.clone();
        ReadyFutexes { calls, order, next: Cell::new(0), _word: word, _deadline: deadline }
    }

    /// Makes the next call; returns the kernel's value.
    #[inline]
    fn call(&self) -> i64 {
        let next = self.next.get();
        self.next.set(if next + 1 < self.order.len() { next + 1 } else { 0 });
        let Some(args) = self.order.get(next).and_then(|call| self.calls.get(*call)) else {
            return 0;
        };
        // SAFETY: the kernel reads the word and the deadline, which live as long as this, and changes neither.
        unsafe { system_call(libc::SYS_futex, *args) }
    }
}

impl ReadyWork for ReadyFutexes {
    #[inline]
    fn once(&self) {
        self.call();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn no_call_waits() {
        let (wait, wake, deadline) = (0x80, 0x81, 0x189);
        for (operation, expected) in
            [(wait, -i64::from(libc::EAGAIN)), (wake, 0), (deadline, -i64::from(libc::EAGAIN))]
        {
            let stream = FutexStream::draw(&[(operation, 1.0)], 8, 1).unwrap();
            let ready = ReadyFutexes::of(&stream);
            let start = Instant::now();
            for _ in 0..1000 {
                assert_eq!(ready.call(), expected, "{operation:#x}");
            }
            assert!(start.elapsed().as_secs() < 5, "{operation:#x}");
        }
    }

    #[test]
    fn other_operations_are_refused() {
        // FUTEX_CMP_REQUEUE.
        assert!(FutexStream::draw(&[(0x81, 1.0), (0x84, 1.0)], 8, 1).is_none());
        assert!(FutexStream::draw(&[], 8, 1).is_none());
    }
}
