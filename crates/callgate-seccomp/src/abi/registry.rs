//! The contexts of the process.
//!
//! What a caller holds is not a pointer but a number that is never given again, so that a released context is recognized.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex};

use crate::context::Context;
use crate::error::{Error, Result};

/// `scmp_filter_ctx`.
pub type Handle = *mut c_void;

#[derive(Default)]
struct Registry {
    // Not a hash map: leak checkers do not recognize that its memory is in use.
    contexts: BTreeMap<usize, Arc<Mutex<Context>>>,
    last: usize,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

/// Adds a context.
pub(super) fn add(context: Context) -> Result<Handle> {
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
