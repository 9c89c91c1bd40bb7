//! Keeps the tracer on the processor of its tracee. `unsafe` code: the affinity of this thread.
//!
//! Tracer and tracee alternate. On two processors, each turn wakes an idle processor, which takes longer than the
//! turn itself: a stop took 23 µs on two processors and 8 µs on one. The scheduler does not know this, so the
//! tracer regularly checks where its tracee runs and moves there. The affinity of the tracee does not change.
//!
//! Source: sched_setaffinity(2).

use std::mem::MaybeUninit;

use libc::{cpu_set_t, pid_t};

use crate::running::processor_of;

/// The tracer checks at the first stop and then after this many.
const CHECK_INTERVAL: u32 = 128;

/// Changes the affinity of this thread, and restores it when dropped.
pub(super) struct TracerAffinity {
    /// The original affinity; `None` if unknown.
    allowed: Option<cpu_set_t>,
    stops: u32,
    processor: Option<usize>,
}

impl TracerAffinity {
    pub(super) fn new() -> TracerAffinity {
        let mut set = MaybeUninit::<cpu_set_t>::zeroed();
        // SAFETY: the kernel writes at most as many bytes as said, to memory that has them.
        let known =
            unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), set.as_mut_ptr()) } == 0;
        // SAFETY: a set of zeros is a valid value, and so is what the kernel wrote over it.
        let allowed = known.then(|| unsafe { set.assume_init() });
        TracerAffinity { allowed, stops: CHECK_INTERVAL - 1, processor: None }
    }

    /// A tracee has stopped.
    pub(super) fn stopped(&mut self, pid: pid_t) {
        self.stops += 1;
        if self.stops < CHECK_INTERVAL {
            return;
        }
        self.stops = 0;
        let Some(allowed) = &self.allowed else { return };
        let Some(processor) = processor_of(pid as u32).filter(|processor| {
            // SAFETY: the number is below the size of the set.
            *processor < libc::CPU_SETSIZE as usize
                && unsafe { libc::CPU_ISSET(*processor, allowed) }
        }) else {
            return;
        };
        if self.processor != Some(processor) {
            self.processor = Some(processor);
            // SAFETY: a set of zeros is a valid value.
            let mut one: cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
            // SAFETY: the number is below the size of the set.
            unsafe { libc::CPU_SET(processor, &mut one) };
            set(&one);
        }
    }
}

impl Drop for TracerAffinity {
    fn drop(&mut self) {
        if let (Some(allowed), Some(_)) = (&self.allowed, self.processor) {
            set(allowed);
        }
    }
}

/// Sets the affinity of this thread. If this fails, recording is only slower.
fn set(processors: &cpu_set_t) {
    // SAFETY: the kernel reads as many bytes as said.
    unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), processors) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_any_name_has_a_processor() {
        let named = std::thread::spawn(|| {
            for name in [c"\xc3\xa9\xc3", c"a) S 1 (b", c") ) ) \n)"] {
                // SAFETY: the kernel reads a string that ends with a zero byte; the other call takes nothing.
                let thread = unsafe {
                    libc::prctl(libc::PR_SET_NAME, name.as_ptr());
                    libc::gettid()
                };
                assert!(processor_of(thread as u32).is_some(), "{name:?}");
            }
        });
        named.join().unwrap();
    }

    #[test]
    fn the_processor_of_a_thread_is_found_and_left_again() {
        // SAFETY: takes nothing.
        let (pid, here) = unsafe { (libc::getpid(), libc::sched_getcpu()) };
        assert!(here >= 0 && processor_of(pid as u32).is_some());
        assert_eq!(processor_of(u32::MAX), None);
        let affinity = || TracerAffinity::new().allowed.unwrap();
        let before = affinity();
        let mut moved = TracerAffinity::new();
        (0..CHECK_INTERVAL).for_each(|_| moved.stopped(pid));
        let during = affinity();
        // SAFETY: counts bits of a set.
        assert_eq!(unsafe { libc::CPU_COUNT(&during) }, 1);
        drop(moved);
        // SAFETY: compares bits of two sets.
        assert!(unsafe { libc::CPU_EQUAL(&affinity(), &before) });
    }
}
