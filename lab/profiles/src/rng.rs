//! Random numbers of the house: what a judge must not share is the readers.

pub use callgate_bpf::random::Rng;

/// Random elements of lists that are not empty.
pub trait OneOf {
    /// A random element.
    ///
    /// # Panics
    /// If the slice is empty.
    fn one_of<T: Clone>(&mut self, from: &[T]) -> T;
}

impl OneOf for Rng {
    fn one_of<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}
