//! Cycles of a directed graph.

use std::collections::{BTreeMap, BTreeSet};

/// Edges from file to file, with the names that the first imports from the second.
pub(super) type Edges = BTreeMap<(usize, usize), BTreeSet<String>>;

/// The strongly connected components of more than one node, each sorted.
///
/// Two nodes are in one component if each reaches the other. Graphs have a few hundred nodes, so computing the
/// reachability of each node is fast enough.
pub(super) fn circles(nodes: usize, edges: &Edges) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..nodes).map(|node| reachable(node, edges)).collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for node in 0..nodes {
        let mutual =
            |other: &usize| reached[node].contains(other) && reached[*other].contains(&node);
        let circle: Vec<usize> = (0..nodes).filter(mutual).collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            found.push(circle);
        }
    }
    found
}

fn reachable(start: usize, edges: &Edges) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for (_, next) in edges.range((node, 0)..=(node, usize::MAX)).map(|(edge, _)| *edge) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize)]) -> Edges {
        edges.iter().map(|edge| (*edge, BTreeSet::new())).collect()
    }

    #[test]
    fn circles_are_the_strongly_connected_components() {
        assert!(circles(3, &graph(&[(0, 1), (1, 2), (0, 2)])).is_empty());
        assert_eq!(circles(2, &graph(&[(0, 1), (1, 0)])), [[0, 1]]);
        let two = graph(&[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3)]);
        assert_eq!(circles(5, &two), [vec![0, 1, 2], vec![3, 4]]);
    }
}
