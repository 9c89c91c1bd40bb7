//! The results of a traversal.

use super::func::WordFunc;

/// The results of a traversal, per node. They are forgotten by the next traversal, without work for nodes that it does not
/// visit.
pub(super) struct Known<T> {
    results: Vec<(u32, T)>,
    traversal: u32,
}

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known { results: Vec::new(), traversal: 0 }
    }
}

impl<T: Copy> Known<T> {
    /// Begins a traversal of some of the first `nodes` nodes.
    pub(super) fn begin(&mut self, nodes: usize, any: T) {
        if self.results.len() < nodes {
            self.results.resize(nodes, (0, any));
        }
        self.traversal += 1;
    }

    pub(super) fn get(&self, func: WordFunc) -> Option<T> {
        let (traversal, result) = self.results[func.at()];
        (traversal == self.traversal).then_some(result)
    }

    pub(super) fn set(&mut self, func: WordFunc, result: T) {
        self.results[func.at()] = (self.traversal, result);
    }
}
