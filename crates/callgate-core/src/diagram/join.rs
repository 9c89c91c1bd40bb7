//! Joins nodes, one per interval of the values of a word, to a node that decides between them.

use rustc_hash::FxHashMap as HashMap;

use super::by_interval::Bound;
use super::compare::{var_of, vars_of_word};
use super::{DiagramError, Store, Var};
use crate::Word;

/// Up to this number of combinations of cofactors, times the number of different nodes, nodes that test earlier words are
/// joined.
const MAX_COFACTORS: usize = 1 << 13;

/// The number of nodes of a combination that cost a step of the budget.
const NODES_PER_STEP: usize = 4;

const NO_INTERVAL: DiagramError = DiagramError::defect("the intervals of a word begin at 0");

impl Store {
    /// The node that decides between nodes by the bits `mask` of a word, with the others zero: from each value on, the node
    /// next to it, up to the next value. The first value is 0. The nodes test only later variables; or, if the mask has all
    /// bits, no earlier ones, and of a node that tests the word itself only the values of its interval count.
    pub(super) fn join(
        &mut self,
        word: Word,
        mask: u32,
        intervals: impl Iterator<Item = (u32, u32)>,
    ) -> Result<u32, DiagramError> {
        let mut bounds: Vec<Bound> = intervals.map(|(at, node)| (u64::from(at), node)).collect();
        bounds.dedup_by_key(|(_, node)| *node);
        let ((_, first), bounds) = bounds.split_first().ok_or(NO_INTERVAL)?;
        let tested = (mask == u32::MAX).then_some(word);
        self.by_interval(&vars_of_word(word, mask), tested, (*first, bounds), 0)
    }

    /// The same for nodes that may test earlier words. Next to each value is the place of a node in the list. `None` if there
    /// are too many combinations of their cofactors for the earlier words.
    pub(super) fn join_below(
        &mut self,
        word: Word,
        places: &[(u32, usize)],
        nodes: Vec<u32>,
    ) -> Result<Option<u32>, DiagramError> {
        let left = MAX_COFACTORS / nodes.len().max(1);
        let mut joining = Joining { word, places, left, joined: HashMap::default() };
        joining.node(self, nodes)
    }
}

/// Joins the cofactors of nodes for earlier words: once for each combination.
struct Joining<'p> {
    word: Word,
    /// The first values of the intervals, and the places of their nodes.
    places: &'p [(u32, usize)],
    /// How many more combinations may be considered.
    left: usize,
    joined: HashMap<Vec<u32>, u32>,
}

/// A node of a path: its variable, and the child that is not on the path.
struct Step {
    var: Var,
    other: u32,
    is_low: bool,
}

impl Joining<'_> {
    /// The node that joins these; `None` if there are too many combinations of cofactors. The recursion depth is the number of
    /// variables before the word.
    fn node(&mut self, store: &mut Store, nodes: Vec<u32>) -> Result<Option<u32>, DiagramError> {
        let mut nodes = nodes;
        // Where all nodes have the same child on one side, only the other one is followed.
        let mut path: Vec<Step> = Vec::with_capacity(32);
        let mut joined = loop {
            if let Some(node) = only(nodes.iter().copied()) {
                break node;
            }
            let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
            self.left = left;
            store.charge_steps((nodes.len() / NODES_PER_STEP) as u64)?;
            let top = nodes.iter().map(|node| store.stored_at(*node).test()).min();
            let Some(var) = top.filter(|var| *var < var_of(self.word, 31)) else {
                break self.decision(store, nodes)?;
            };
            let low = only(nodes.iter().map(|node| store.child(*node, var, false)));
            let high = only(nodes.iter().map(|node| store.child(*node, var, true)));
            let (other, is_low) = match (low, high) {
                (Some(low), _) => (low, true),
                (None, Some(high)) => (high, false),
                (None, None) => match self.both(store, var, nodes)? {
                    Some(node) => break node,
                    None => return Ok(None),
                },
            };
            path.push(Step { var, other, is_low });
            nodes.iter_mut().for_each(|node| *node = store.child(*node, var, is_low));
        };
        for Step { var, other, is_low } in path.into_iter().rev() {
            let (low, high) = if is_low { (other, joined) } else { (joined, other) };
            joined = store.node(var, low, high)?;
        }
        Ok(Some(joined))
    }

    /// The node of a variable, below which both sides have to be joined.
    fn both(
        &mut self,
        store: &mut Store,
        var: Var,
        nodes: Vec<u32>,
    ) -> Result<Option<u32>, DiagramError> {
        if let Some(node) = self.joined.get(&nodes) {
            return Ok(Some(*node));
        }
        let side = |is_high| nodes.iter().map(|node| store.child(*node, var, is_high)).collect();
        let (low, high) = (side(false), side(true));
        let Some(low) = self.node(store, low)? else { return Ok(None) };
        let Some(high) = self.node(store, high)? else { return Ok(None) };
        let node = store.node(var, low, high)?;
        self.joined.insert(nodes, node);
        Ok(Some(node))
    }

    /// The node that decides between these by the value of the word.
    fn decision(&mut self, store: &mut Store, nodes: Vec<u32>) -> Result<u32, DiagramError> {
        if let Some(node) = self.joined.get(&nodes) {
            return Ok(*node);
        }
        let interval = |(at, place): &(u32, usize)| Some((*at, *nodes.get(*place)?));
        let node = store.join(self.word, u32::MAX, self.places.iter().filter_map(interval))?;
        self.joined.insert(nodes, node);
        Ok(node)
    }
}

/// The only value that occurs.
fn only(mut nodes: impl Iterator<Item = u32>) -> Option<u32> {
    let first = nodes.next()?;
    nodes.all(|node| node == first).then_some(first)
}
