//! What the kernel does for this process, on several processors at a time.

use std::panic::resume_unwind;
use std::thread::{self, Builder};

/// Calls the function for each item, in threads of their own as far as there can be threads; the results are in the order of
/// the items.
pub(super) fn each_in_parallel<I: Sync, T: Send>(
    items: &[I],
    function: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let function = &function;
    thread::scope(|scope| {
        let start =
            |item| Builder::new().spawn_scoped(scope, move || function(item)).map_err(|_| item);
        let started: Vec<_> = items.iter().map(start).collect();
        let result = |started: Result<thread::ScopedJoinHandle<'_, T>, &I>| match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(item) => function(item),
        };
        started.into_iter().map(result).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        assert_eq!(each_in_parallel(&[1, 2, 3], |item| item * item), [1, 4, 9]);
        assert_eq!(each_in_parallel(&[(); 0], |()| 1), [0; 0]);
    }
}
