//! The contexts of the process.
//!
//! What a caller holds is not a pointer but a number that is never given again, so that a released context is recognized.
//!
//! Each context has its own lock, and they share none: a child of fork(2) could never take a lock that another thread held.
//! Contexts are in a list of places, which only grows; the place of a released context is free for another one.
//!
//! A child has no threads but the one that forked. A context that another thread was using then may be half changed, and no thread
//! completes the change: the child gets an error instead of waiting forever. So a lock has the number of the process that holds it,
//! which is counted by a handler of pthread_atfork(3).

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libc::c_int;

use crate::context::Context;
use crate::error::{Error, Result};

/// `scmp_filter_ctx`.
pub type Handle = *mut c_void;

/// The number in a place without a context.
const FREE: usize = 0;

/// The number in a place that is about to get a context.
const TAKEN: usize = 1;

/// Numbers are aligned like pointers, in case somebody looks.
const STEP: usize = 16;

/// The number of this process: one more than that of its parent, if that had contexts.
static PROCESS: AtomicUsize = AtomicUsize::new(1);

/// The holder of a context that no thread uses.
const NOBODY: usize = 0;

/// How often a thread only yields while it waits for another one.
const YIELDS: u32 = 64;

/// How long it then sleeps before it tries again.
const PAUSE: Duration = Duration::from_micros(50);

/// The place of a context.
struct Place {
    number: AtomicUsize,
    /// The process one of whose threads uses the context.
    holder: AtomicUsize,
    /// Locked only by the holder.
    context: Mutex<Option<Context>>,
    /// Places are never freed.
    next: AtomicPtr<Place>,
}

/// The right to use the context of a place, until it is dropped.
struct Hold(&'static AtomicUsize);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.store(NOBODY, Ordering::Release);
    }
}

/// The context of a place, which no other thread uses. Fields are dropped in this order.
struct Locked {
    context: MutexGuard<'static, Option<Context>>,
    _hold: Hold,
}

impl Place {
    const fn new(number: usize) -> Place {
        let (number, next) = (AtomicUsize::new(number), AtomicPtr::new(null_mut()));
        Place { number, holder: AtomicUsize::new(NOBODY), context: Mutex::new(None), next }
    }

    fn has(&self, number: usize) -> bool {
        self.number.load(Ordering::Acquire) == number
    }

    /// The right to use the context, unless a thread of this or of another process has it; that process is returned.
    fn try_hold(&'static self) -> std::result::Result<Hold, usize> {
        let own = PROCESS.load(Ordering::Relaxed);
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.holder.compare_exchange(NOBODY, own, success, failure)?;
        Ok(Hold(&self.holder))
    }

    /// The right to use the context, when no other thread has it; an error if a thread of the parent had it at the fork.
    fn hold(&'static self) -> Result<Hold> {
        let mut attempts = 0;
        loop {
            match self.try_hold() {
                Ok(hold) => return Ok(hold),
                Err(holder) if holder != PROCESS.load(Ordering::Relaxed) => {
                    return Err(Error::Internal);
                }
                Err(_) if attempts < YIELDS => std::thread::yield_now(),
                Err(_) => std::thread::sleep(PAUSE),
            }
            attempts += 1;
        }
    }

    /// The context with this number, unless it was released meanwhile.
    fn locked(&'static self, number: usize) -> Result<Locked> {
        let hold = self.hold()?;
        let context = self.context.lock().map_err(|_| Error::Internal)?;
        if self.has(number) { Ok(Locked { context, _hold: hold }) } else { Err(Error::Invalid) }
    }
}

/// Counts processes. Of a child that fork(2) made before the first context, nothing is to be known.
fn count_forks() {
    static COUNTS: AtomicBool = AtomicBool::new(false);
    extern "C" fn in_child() {
        PROCESS.fetch_add(1, Ordering::Relaxed);
    }
    if !COUNTS.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler only adds to a number. Without memory for it, a child may wait forever.
        unsafe { pthread_atfork(None, None, Some(in_child)) };
    }
}

type Handler = Option<extern "C" fn()>;

unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
}

struct Registry {
    /// The last number that was given.
    last: AtomicUsize,
    first: Place,
}

/// The first place needs no allocation: most processes have one context at a time.
static REGISTRY: Registry = Registry { last: AtomicUsize::new(STEP), first: Place::new(FREE) };

fn places() -> impl Iterator<Item = &'static Place> {
    // SAFETY: a pointer to a place is null or leads to one that is never freed, and was made before the pointer.
    let next = |place: &&'static Place| unsafe { place.next.load(Ordering::Acquire).as_ref() };
    std::iter::successors(Some(&REGISTRY.first), next)
}

/// A place that no other thread takes, and its lock.
fn take() -> Result<(&'static Place, Locked)> {
    for place in places() {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        if place.number.compare_exchange(FREE, TAKEN, success, failure).is_err() {
            continue;
        }
        // A thread may still look for the context before; after a fork, forever.
        if let Ok(hold) = place.try_hold() {
            // A panic may have been under the lock of the context before.
            place.context.clear_poison();
            let context = place.context.lock().map_err(|_| Error::Internal)?;
            return Ok((place, Locked { context, _hold: hold }));
        }
        place.number.store(FREE, Ordering::Release);
    }
    let place = Box::leak(Box::new(Place::new(TAKEN)));
    let list = &REGISTRY.first.next;
    let mut next = list.load(Ordering::Acquire);
    loop {
        *place.next.get_mut() = next;
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        match list.compare_exchange(next, place, success, failure) {
            Ok(_) => break,
            Err(other) => next = other,
        }
    }
    let hold = place.hold()?;
    let context = place.context.lock().map_err(|_| Error::Internal)?;
    Ok((place, Locked { context, _hold: hold }))
}

/// Adds a context.
pub(super) fn add(context: Context) -> Result<Handle> {
    let next = |last: usize| last.checked_add(STEP);
    let last = REGISTRY.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    let number = last.ok().and_then(next).ok_or(Error::NoMemory)?;
    count_forks();
    let (place, mut locked) = take()?;
    *locked.context = Some(context);
    place.number.store(number, Ordering::Release);
    Ok(without_provenance_mut(number))
}

fn find(handle: Handle) -> Result<&'static Place> {
    let number = handle.addr();
    let found = places().find(|place| number > TAKEN && place.has(number));
    found.ok_or(Error::Invalid)
}

/// Removes a context; without effect if it is not there.
pub(super) fn remove(handle: Handle) {
    let Ok(place) = find(handle) else { return };
    // The context that a thread of the parent used at the fork is left as it is.
    let Ok(hold) = place.hold() else { return };
    let mut context = place.context.lock().unwrap_or_else(PoisonError::into_inner);
    if place.has(handle.addr()) {
        let removed = context.take();
        place.number.store(FREE, Ordering::Release);
        // Dropped after the place is unlocked.
        drop(context);
        drop(hold);
        drop(removed);
    }
}

/// Calls a function with a context that may have no architecture.
pub(super) fn with_any<T>(
    handle: Handle,
    body: impl FnOnce(&mut Context) -> Result<T>,
) -> Result<T> {
    let mut locked = find(handle)?.locked(handle.addr())?;
    body(locked.context.as_mut().ok_or(Error::Invalid)?)
}

/// Calls a function with a context that has an architecture.
pub(super) fn with<T>(handle: Handle, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    with_any(handle, |context| if context.is_valid() { body(context) } else { Err(Error::Invalid) })
}

/// Calls a function with two contexts, which have an architecture each.
pub(super) fn with_both(
    first: Handle,
    second: Handle,
    body: impl FnOnce(&mut Context, &mut Context) -> Result<()>,
) -> Result<()> {
    if first == second {
        // A context has all architectures of itself.
        return with(first, |_| Err(Error::Exists));
    }
    // In the order of their numbers, so that two threads do not wait for each other.
    let is_ordered = first.addr() < second.addr();
    let (low, high) = if is_ordered { (first, second) } else { (second, first) };
    let mut low = find(low)?.locked(low.addr())?;
    let mut high = find(high)?.locked(high.addr())?;
    let low = low.context.as_mut().filter(|context| context.is_valid()).ok_or(Error::Invalid)?;
    let high = high.context.as_mut().filter(|context| context.is_valid()).ok_or(Error::Invalid)?;
    if is_ordered { body(low, high) } else { body(high, low) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use callgate::Verdict;

    use super::*;
    use crate::kernel::support::SUPPORT;

    fn added() -> Handle {
        Context::new(Verdict::ALLOW, &SUPPORT).and_then(add).unwrap()
    }

    fn is_known(handle: Handle) -> bool {
        with(handle, |_| Ok(())).is_ok()
    }

    #[test]
    fn a_number_is_never_given_again() {
        let first = added();
        remove(first);
        let second = added();
        assert!(first != second && is_known(second));
        for released in
            [first, null_mut(), without_provenance_mut(FREE), without_provenance_mut(TAKEN)]
        {
            assert_eq!(with_any(released, |_| Ok(())), Err(Error::Invalid));
            assert_eq!(with_both(second, released, |_, _| Ok(())), Err(Error::Invalid));
            remove(released);
        }
        assert!(is_known(second));
        remove(second);
        assert!(!is_known(second));
    }

    /// Contexts of several threads at once: each finds its own, and released places are used again.
    #[test]
    fn threads_have_their_own_contexts() {
        const THREADS: usize = 4;
        let before = places().count();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 0..200 {
                        let own: Vec<Handle> = (0..3).map(|_| added()).collect();
                        assert!(own.iter().all(|handle| is_known(*handle)), "{round}");
                        assert!(with_both(own[0], own[1], |_, _| Ok(())).is_ok());
                        own.iter().for_each(|handle| remove(*handle));
                        assert!(own.iter().all(|handle| !is_known(*handle)), "{round}");
                    }
                });
            }
        });
        // Without that, there would be 2,400 more. Other tests have contexts, too.
        assert!(places().count() < before + 1000, "{}", places().count());
    }

    /// A context that a function left by a panic is not usable, but its place is.
    #[test]
    fn a_place_is_usable_after_a_panic() {
        let left = added();
        let panics = || with(left, |_| -> Result<()> { panic!("on purpose") });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(with(left, |_| Ok(())), Err(Error::Internal));
        remove(left);
        let all: Vec<Handle> = places().map(|_| added()).collect();
        assert!(all.iter().all(|handle| is_known(*handle)));
        assert!(places().all(|place| !place.context.is_poisoned()));
        all.into_iter().for_each(remove);
    }

    /// The exit status of a child that runs a function while another thread uses a context. The child has 20 seconds.
    fn in_child_while_used(context: Handle, body: impl FnOnce() -> bool) -> c_int {
        let number = context.addr();
        let (locked, is_locked) = channel();
        let (end, is_over) = channel::<()>();
        let other = thread::spawn(move || {
            with(without_provenance_mut(number), |_| {
                locked.send(()).unwrap();
                // Until the child has ended, but not forever.
                let _ = is_over.recv_timeout(Duration::from_secs(30));
                Ok(())
            })
        });
        is_locked.recv().unwrap();
        // SAFETY: the child only calls the library, which this test shows to work there, and functions that are safe there.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no pointers.
            unsafe { libc::alarm(20) };
            let is_right = body();
            // SAFETY: as above.
            unsafe { libc::_exit(c_int::from(!is_right)) };
        }
        assert!(child > 0);
        let mut status = -1;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        end.send(()).unwrap();
        assert_eq!(other.join().unwrap(), Ok(()));
        status
    }

    #[test]
    fn a_child_can_use_contexts_if_another_thread_used_one_at_the_fork() {
        let (before, of_other) = (added(), added());
        let status = in_child_while_used(of_other, || {
            let new = Context::new(Verdict::ALLOW, &SUPPORT).and_then(add);
            is_known(before) && new.is_ok_and(is_known)
        });
        assert_eq!(status, 0);
        assert!(is_known(before));
        [before, of_other].into_iter().for_each(remove);
    }

    /// What the other thread had done to the context is unknown.
    #[test]
    fn a_child_gets_an_error_for_a_context_that_another_thread_used_at_the_fork() {
        let (before, of_other) = (added(), added());
        let status = in_child_while_used(of_other, || {
            let is_refused = with(of_other, |_| Ok(())) == Err(Error::Internal)
                && with_both(before, of_other, |_, _| Ok(())) == Err(Error::Internal);
            // Nothing waits for it afterwards, nor for a place.
            remove(of_other);
            let new: Vec<Handle> = places().map(|_| added()).collect();
            is_refused && is_known(before) && new.iter().all(|handle| is_known(*handle))
        });
        assert_eq!(status, 0);
        assert!(is_known(of_other));
        [before, of_other].into_iter().for_each(remove);
    }

    /// Threads of a child are waited for as those of any process.
    #[test]
    fn threads_take_turns() {
        let shared = added().addr();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..200 {
                        let nr = |context: &mut Context| Ok(context.filters().len());
                        assert_eq!(with(without_provenance_mut(shared), nr), Ok(1));
                    }
                });
            }
        });
        remove(without_provenance_mut(shared));
    }
}
