//! The contexts of the process.
//!
//! What a caller holds is not a pointer but a number that is never given again, so that a released context is recognized.
//!
//! The map is ordered, not hashed: the hasher of the standard library reads random numbers for each thread, and panics if
//! a filter that is already installed denies that; and leak checkers do not recognize that the memory of a hash map is in
//! use.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::context::Context;
use crate::error::{Error, Result};

/// `scmp_filter_ctx`.
pub type Handle = *mut c_void;

struct Registry {
    contexts: BTreeMap<usize, Arc<Mutex<Context>>>,
    last: usize,
}

/// Not zero, like the other variables of the library: variables that are zero are on another page, which is one page fault more
/// in a process that makes one filter.
const FIRST: usize = 16;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { contexts: BTreeMap::new(), last: FIRST });

thread_local! {
    /// The lock of the registry while this thread forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Registry>>> = const { RefCell::new(None) };
}

/// Makes fork(2) wait until no other thread holds the lock of the registry, which the child could never unlock.
fn survive_fork() {
    static IS_MISSING: AtomicBool = AtomicBool::new(true);
    extern "C" fn lock() {
        FORKING.set(REGISTRY.lock().ok());
    }
    extern "C" fn unlock() {
        FORKING.set(None);
    }
    if IS_MISSING.swap(false, Ordering::Relaxed) {
        // SAFETY: the functions do not unwind. Without memory for the handlers, forking is as it was.
        unsafe { libc::pthread_atfork(Some(lock), Some(unlock), Some(unlock)) };
    }
}

/// Adds a context.
pub(super) fn add(context: Context) -> Result<Handle> {
    survive_fork();
    let mut registry = REGISTRY.lock().map_err(|_| Error::Internal)?;
    // Aligned like a pointer, in case somebody looks.
    let number = registry.last.checked_add(16).ok_or(Error::NoMemory)?;
    registry.last = number;
    registry.contexts.insert(number, Arc::new(Mutex::new(context)));
    Ok(std::ptr::without_provenance_mut(number))
}

/// Removes a context; without effect if it is not there.
pub(super) fn remove(handle: Handle) {
    let removed = REGISTRY.lock().ok().and_then(|mut all| all.contexts.remove(&handle.addr()));
    // Dropped after the registry is unlocked.
    drop(removed);
}

fn find(handle: Handle) -> Result<Arc<Mutex<Context>>> {
    let registry = REGISTRY.lock().map_err(|_| Error::Internal)?;
    registry.contexts.get(&handle.addr()).cloned().ok_or(Error::Invalid)
}

/// Calls a function with a context that may have no architecture.
pub(super) fn with_any<T>(
    handle: Handle,
    body: impl FnOnce(&mut Context) -> Result<T>,
) -> Result<T> {
    let context = find(handle)?;
    let mut context = context.lock().map_err(|_| Error::Internal)?;
    body(&mut context)
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
    let (one, two) = (find(first)?, find(second)?);
    // In the order of their numbers, so that two threads do not wait for each other.
    let is_ordered = first.addr() < second.addr();
    let (low, high) = if is_ordered { (&one, &two) } else { (&two, &one) };
    let mut low = low.lock().map_err(|_| Error::Internal)?;
    let mut high = high.lock().map_err(|_| Error::Internal)?;
    if !low.is_valid() || !high.is_valid() {
        return Err(Error::Invalid);
    }
    if is_ordered { body(&mut low, &mut high) } else { body(&mut high, &mut low) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use callgate::Verdict;
    use libc::c_int;

    use super::*;
    use crate::kernel::support::SUPPORT;

    #[test]
    fn a_child_can_use_contexts_if_another_thread_used_them_at_the_fork() {
        let context = || Context::new(Verdict::ALLOW, &SUPPORT).and_then(add);
        let before = context().unwrap();
        let (locked, is_locked) = channel();
        let other = thread::spawn(move || {
            let registry = REGISTRY.lock();
            locked.send(()).unwrap();
            // The child is forked meanwhile, unless the fork waits.
            thread::sleep(Duration::from_millis(50));
            drop(registry);
        });
        is_locked.recv().unwrap();
        // SAFETY: the child only calls the library, which this test shows to work there, and functions that are safe there.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no pointers.
            unsafe { libc::alarm(20) };
            let is_usable = with(before, |_| Ok(())).is_ok() && context().is_ok();
            // SAFETY: as above.
            unsafe { libc::_exit(c_int::from(!is_usable)) };
        }
        assert!(child > 0);
        other.join().unwrap();
        let mut status = -1;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        assert!(with(before, |_| Ok(())).is_ok());
        remove(before);
    }
}
