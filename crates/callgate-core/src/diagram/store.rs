//! The store: hash-consed nodes.
//!
//! Invariants, which [`Store::check`] verifies for the nodes of a proof:
//! - older: the children of a node exist before it;
//! - ordered: the variable of a node precedes those of its children;
//! - reduced: the children of a node differ;
//! - unique: no two nodes have the same variable and children.
//!
//! So a function has exactly one node, and two functions are equal exactly if their nodes are.
//! The terminals of predicates are the two truth values, those of functions are verdicts; no operation mixes
//! them. Of the verdicts that mean the same in the [layout](Layout::result) of the store, only one is a terminal. Each recursion is at least one variable deeper, and there are [`VARS`] of them: the recursion depth
//! does not depend on the input.
//!
//! Every operation counts its steps and the nodes that it creates; beyond the [`Budget`] it fails with a
//! [`DiagramError`], and existing nodes stay valid. A node of another store is never mistaken for a node of this
//! one: queries that cannot fail treat it as a constant without a verdict, and every later operation fails.
//! Public functions check the owner of their handles; internally, nodes are plain numbers.

use std::cell::Cell;

use super::comparison::Comparison;
use super::error::{Budget, DiagramError};
use super::node::sealed::FromId;
use super::node::{FALSE, Func, Node, StoreId, TRUE};
use super::node_table::{FOREIGN, NodeTable, PLACEHOLDER, Place, Stored, VERDICT, Var};
use super::operation_cache::OperationCache;
use crate::template::Variable;
use crate::{Layout, Verdict, Word};

/// The memory of a state of a program in nodes: registers, scratch memory, a value of 32 predicates, and their
/// index entries.
const NODES_PER_STATE: usize = 16;

/// The numbers of nodes have 32 bits.
const MAX_NODES: usize = 1 << 31;

/// Decision diagrams that share their nodes, so that equal functions are the same node.
pub struct Store {
    pub(super) id: StoreId,
    nodes: NodeTable,
    pub(super) cache: OperationCache,
    budget: Budget,
    /// The words that functions test, and what their verdicts mean.
    layout: Layout,
    /// The remaining steps of the budget; none after misuse.
    left: Cell<u64>,
    /// Whether a node of another store was passed.
    misused: Cell<bool>,
    /// The variables that filters may have.
    variables: Vec<Variable>,
    /// The comparisons with variables and of two words; the index is that of the variable of the diagram from [`BITS`](super::BITS) on.
    pub(super) comparisons: Vec<Comparison>,
}

impl Default for Store {
    fn default() -> Store {
        Store::new(Budget::default())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({} nodes, {} steps)", self.nodes.len(), self.steps())
    }
}

impl Store {
    /// An empty store for seccomp filters.
    pub fn new(budget: Budget) -> Store {
        Store::for_layout(Layout::Seccomp, budget)
    }

    /// An empty store for filters of this layout.
    pub fn for_layout(layout: Layout, budget: Budget) -> Store {
        let budget = Budget { nodes: budget.nodes.min(MAX_NODES), ..budget };
        Store::of(NodeTable::new([FALSE, TRUE]), OperationCache::new(), budget, layout)
    }

    /// The layout of the structure that the filters read.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// An error unless filters of this layout belong into the store.
    pub(crate) fn check_layout(&self, layout: Layout) -> Result<(), DiagramError> {
        if layout == self.layout { Ok(()) } else { Err(DiagramError::LAYOUT) }
    }

    /// An empty store for filters with these variables.
    pub fn with_variables(budget: Budget, variables: Vec<Variable>) -> Store {
        Store { variables, ..Store::new(budget) }
    }

    /// The variables that filters may have.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn of(nodes: NodeTable, cache: OperationCache, budget: Budget, layout: Layout) -> Store {
        let id = StoreId::next();
        let (left, misused) = (Cell::new(budget.steps), Cell::new(false));
        let store = Store {
            id,
            nodes,
            cache,
            budget,
            layout,
            left,
            misused,
            variables: Vec::new(),
            comparisons: Vec::new(),
        };
        if id == StoreId::NONE {
            store.misuse();
        }
        store
    }

    /// A copy of the store, with the function in it that equals `func`. The two stores are independent of each
    /// other.
    ///
    /// # Errors
    /// If `func` belongs to another store.
    pub fn copy(&self, func: Func) -> Result<(Store, Func), DiagramError> {
        self.check_owner(func)?;
        let cache = self.cache.without_results();
        let mut copy = Store::of(self.nodes.copy(), cache, self.budget, self.layout);
        copy.variables = self.variables.clone();
        copy.comparisons = self.comparisons.clone();
        let func = copy.handle(func.id());
        Ok((copy, func))
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it contains only the truth values.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 2
    }

    /// The handle of a node of this store.
    #[inline]
    pub(super) fn handle<N: FromId>(&self, id: u32) -> N {
        N::from_id(id, self.id)
    }

    /// The stored node; for a node of another store, a terminal without a value.
    #[inline]
    fn stored<N: Node>(&self, node: N) -> Stored {
        if self.id.owns(node.store()) { self.stored_at(node.id()) } else { self.misuse() }
    }

    /// As [`Store::stored`], for the number of a node.
    #[inline]
    pub(super) fn stored_at(&self, id: u32) -> Stored {
        match self.nodes.get(id) {
            Some(stored) => stored,
            None => self.misuse(),
        }
    }

    /// The variable of the node with this number.
    #[inline]
    fn var_at(&self, id: u32) -> Var {
        self.stored_at(id).test()
    }

    #[cold]
    fn misuse(&self) -> Stored {
        self.misused.set(true);
        self.left.set(0);
        Stored { var: FOREIGN, low: 0, high: 0 }
    }

    /// An error if the node belongs to another store, or if such a node was passed before.
    pub(super) fn check_owner(&self, node: impl Node) -> Result<(), DiagramError> {
        if self.stored(node).var == FOREIGN { Err(DiagramError::FOREIGN) } else { self.usable() }
    }

    /// The constant function with this verdict, or with the one that [represents](Layout::result) it: in an io_uring filter,
    /// 0 or 1.
    ///
    /// # Errors
    /// [`DiagramError`], as for every operation that creates nodes.
    pub fn verdict(&mut self, verdict: Verdict) -> Result<Func, DiagramError> {
        let id = self.intern(Stored::terminal(VERDICT, self.layout.result(verdict.0)))?;
        Ok(self.handle(id))
    }

    /// The verdict of a constant function.
    pub fn as_verdict(&self, func: Func) -> Option<Verdict> {
        let stored = self.stored(func);
        (stored.var == VERDICT).then_some(Verdict(stored.low))
    }

    /// A terminal that stands for a function.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn placeholder(&mut self, func: Func) -> Result<Func, DiagramError> {
        self.check_owner(func)?;
        let id = self.intern(Stored::terminal(PLACEHOLDER, func.id()))?;
        Ok(self.handle(id))
    }

    /// The function that a placeholder stands for; any other function is returned unchanged.
    #[inline]
    pub fn resolve_placeholder(&self, func: Func) -> Func {
        let stored = self.stored(func);
        if stored.var == PLACEHOLDER { self.handle(stored.low) } else { func }
    }

    /// The first word that the function tests; `None` for a constant.
    #[inline]
    pub fn top_word(&self, func: Func) -> Option<Word> {
        self.word_of(self.var(func))
    }

    /// The word with the bit of this variable; `None` for a comparison with a variable of a policy or of two words, and for terminals.
    #[inline]
    pub(super) fn word_of(&self, var: Var) -> Option<Word> {
        self.layout.word_at(usize::from(var / 32))
    }

    /// The cofactor of a function for this value of a word. The function must not test an earlier word.
    pub fn follow(&self, func: Func, word: Word, value: u32) -> Func {
        let (mut node, mut stored) = (func.id(), self.stored(func));
        let first = word.index() as Var * 32;
        while let Some(bit) = stored.test().checked_sub(first).filter(|bit| *bit < 32) {
            node = if value << bit >> 31 == 1 { stored.high } else { stored.low };
            stored = self.stored_at(node);
        }
        if node == func.id() { func } else { self.handle(node) }
    }

    /// The first variable that the node tests; the number of variables for a constant.
    #[inline]
    pub fn var<N: Node>(&self, node: N) -> Var {
        self.stored(node).test()
    }

    /// As [`Store::var`] and [`Store::children`].
    #[inline]
    pub fn branch<N: Node>(&self, node: N) -> (Var, N, N) {
        let stored = self.stored(node);
        if stored.var >= VERDICT {
            (stored.test(), node, node)
        } else {
            (stored.test(), self.handle(stored.low), self.handle(stored.high))
        }
    }

    /// The low and the high child; for a terminal, the terminal twice.
    #[inline]
    pub fn children<N: Node>(&self, node: N) -> (N, N) {
        let stored = self.stored(node);
        if stored.var >= VERDICT {
            (node, node)
        } else {
            (self.handle(stored.low), self.handle(stored.high))
        }
    }

    /// The cofactors of the node for `var` = 0 and `var` = 1. The node must not test an earlier variable.
    #[inline]
    pub fn cofactors<N: Node>(&self, node: N, var: Var) -> (N, N) {
        let stored = self.stored(node);
        if stored.tests(var) {
            (self.handle(stored.low), self.handle(stored.high))
        } else {
            (node, node)
        }
    }

    /// One of the children of the node with this number, if it tests `var`; otherwise the node.
    #[inline]
    pub(super) fn child(&self, id: u32, var: Var, is_high: bool) -> u32 {
        let stored = self.stored_at(id);
        match (stored.tests(var), is_high) {
            (false, _) => id,
            (true, false) => stored.low,
            (true, true) => stored.high,
        }
    }

    /// The Shannon expansion of two nodes: the first variable that either tests, and the cofactors of both.
    #[inline]
    pub fn expand<N: Node>(&self, a: N, b: N) -> (Var, (N, N), (N, N)) {
        let (stored_a, stored_b) = (self.stored(a), self.stored(b));
        let var = stored_a.test().min(stored_b.test());
        let cofactors = |node: N, stored: Stored| {
            if stored.tests(var) {
                (self.handle(stored.low), self.handle(stored.high))
            } else {
                (node, node)
            }
        };
        (var, cofactors(a, stored_a), cofactors(b, stored_b))
    }

    /// The node that tests `var` and has these children.
    ///
    /// # Errors
    /// [`DiagramError`]; that of a defect if a child does not test a later variable.
    pub fn make<N: Node>(&mut self, var: Var, low: N, high: N) -> Result<N, DiagramError> {
        if !self.id.owns(low.store()) || !self.id.owns(high.store()) {
            self.misuse();
        }
        self.usable()?;
        if low == high {
            return Ok(low);
        }
        if self.var_at(low.id()).min(self.var_at(high.id())) <= var {
            return Err(DiagramError::defect(
                "the variable of a node precedes those of its children",
            ));
        }
        let stored = Stored { var: u32::from(var), low: low.id(), high: high.id() };
        let id = self.intern(stored)?;
        Ok(self.handle(id))
    }

    /// As [`Store::make`], without checks: the children belong to this store and test later variables.
    pub(super) fn make_ordered<N: Node>(
        &mut self,
        var: Var,
        low: N,
        high: N,
    ) -> Result<N, DiagramError> {
        let id = self.node(var, low.id(), high.id())?;
        Ok(self.handle(id))
    }

    /// As [`Store::make_ordered`], for the numbers of nodes.
    #[inline]
    pub(super) fn node(&mut self, var: Var, low: u32, high: u32) -> Result<u32, DiagramError> {
        if low == high {
            return Ok(low);
        }
        debug_assert!(self.var_at(low).min(self.var_at(high)) > var);
        self.intern(Stored { var: u32::from(var), low, high })
    }

    #[inline]
    fn intern(&mut self, stored: Stored) -> Result<u32, DiagramError> {
        self.charge()?;
        match self.nodes.place_of(stored) {
            Place::Found(found) => Ok(found),
            Place::New => self.add(None, stored),
            Place::Unknown => self.intern_indexed(stored),
        }
    }

    /// As [`Store::intern`], for a node that is not right after its newer child.
    #[inline(never)]
    fn intern_indexed(&mut self, stored: Stored) -> Result<u32, DiagramError> {
        self.nodes.index();
        match self.nodes.find(stored) {
            Ok(found) => Ok(found),
            Err(slot) => self.add(Some(slot), stored),
        }
    }

    /// Adds a node, which does not exist: right after its newer child, or with its slot of the index.
    fn add(&mut self, slot: Option<usize>, stored: Stored) -> Result<u32, DiagramError> {
        if self.nodes.len() >= self.budget.nodes {
            return Err(DiagramError::nodes(self.budget.nodes));
        }
        let id = match slot {
            Some(slot) => self.nodes.insert(slot, stored),
            None => self.nodes.push(stored),
        };
        // The number of nodes has doubled.
        if id.is_power_of_two() {
            self.cache.allow(id as usize);
        }
        Ok(id)
    }

    /// Verifies the invariants for all nodes of a function: ordered, reduced, unique, and with verdicts as
    /// terminals.
    ///
    /// # Errors
    /// The [`DiagramError`] of a defect that names the broken invariant.
    pub fn check(&mut self, func: Func) -> Result<(), DiagramError> {
        self.check_owner(func)?;
        self.nodes.check(func.id())?;
        self.usable()
    }

    /// An error if a node of another store was passed to this one before.
    fn usable(&self) -> Result<(), DiagramError> {
        if self.misused.get() { Err(DiagramError::FOREIGN) } else { Ok(()) }
    }

    /// Counts one more state of a program that has `states` so far, as [`NODES_PER_STATE`] nodes.
    pub(super) fn charge_state(&mut self, states: usize) -> Result<(), DiagramError> {
        let limit = self.budget.nodes / NODES_PER_STATE;
        if states >= limit {
            return Err(DiagramError::states(limit));
        }
        self.charge()
    }

    /// The number of steps since they were [reset](Store::reset_steps): those of the last proof.
    pub fn steps(&self) -> u64 {
        self.budget.steps - self.left.get()
    }

    /// Resets the count of steps, so that each phase of a compilation has the whole budget.
    pub fn reset_steps(&mut self) {
        self.left.set(if self.misused.get() { 0 } else { self.budget.steps });
    }

    /// Counts one step of work against the budget.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    #[inline]
    pub fn charge(&mut self) -> Result<(), DiagramError> {
        self.charge_steps(1)
    }

    /// Counts work outside of the store against the budget.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    #[inline]
    pub fn charge_steps(&mut self, steps: u64) -> Result<(), DiagramError> {
        let Some(left) = self.left.get().checked_sub(steps) else {
            return Err(self.exhausted());
        };
        self.left.set(left);
        Ok(())
    }

    #[cold]
    fn exhausted(&self) -> DiagramError {
        self.left.set(0);
        let steps = DiagramError::steps(self.budget.steps, self.nodes.len());
        self.usable().err().unwrap_or(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Pred;
    use super::*;

    /// A function of two bits of the number, with its root first.
    fn function(store: &mut Store) -> (Func, Func) {
        let [allow, deny] = [Verdict::ALLOW, Verdict::errno(1)].map(|v| store.verdict(v).unwrap());
        let low = store.make(40, allow, deny).unwrap();
        (store.make(33, low, deny).unwrap(), low)
    }

    #[test]
    fn a_node_whose_variable_follows_that_of_a_child_is_refused() {
        let mut store = Store::default();
        let (root, _) = function(&mut store);
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let error = store.make(33, root, deny).unwrap_err();
        assert!(!error.is_out_of_budget(), "{error}");
    }

    #[test]
    fn a_verdict_is_its_own_cofactor_for_every_variable() {
        let mut store = Store::default();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        for var in [0, 511, super::super::VARS] {
            assert_eq!(store.cofactors(deny, var), (deny, deny));
            assert_eq!(store.expand(deny, deny).1, (deny, deny));
        }
        assert_eq!(store.children(deny), (deny, deny));
    }

    #[test]
    fn a_branch_is_the_variable_and_the_children() {
        let mut store = Store::default();
        let (root, low) = function(&mut store);
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        assert_eq!(store.branch(root), (33, low, deny));
        for func in [root, low, deny] {
            let (low, high) = store.children(func);
            assert_eq!(store.branch(func), (store.var(func), low, high));
        }
    }

    /// Without the cache of results, the number of steps would double with each variable.
    #[test]
    fn shared_nodes_are_visited_once_per_operation() {
        let mut store = Store::new(Budget { nodes: 10_000, steps: 10_000 });
        // The parity of the variables from `var` on, and its negation.
        let (mut odd, mut even) = (Pred::NEVER, Pred::ALWAYS);
        for var in (0..60).rev() {
            let (with, without) = (store.make(var, odd, even), store.make(var, even, odd));
            (odd, even) = (with.unwrap(), without.unwrap());
        }
        store.reset_steps();
        let other = store.make(200, Pred::NEVER, Pred::ALWAYS).unwrap();
        store.and(odd, other).unwrap();
    }

    #[test]
    fn handles_show_their_node_and_store() {
        assert_eq!(format!("{:?}", Pred::ALWAYS), "Pred(node 1 of store 0)");
    }

    #[test]
    fn a_node_of_another_store_is_an_error() {
        let (mut one, mut other) = (Store::default(), Store::default());
        let (a, _) = function(&mut one);
        // The same numbers are other nodes there.
        other.verdict(Verdict::KILL_PROCESS).unwrap();
        let (b, _) = function(&mut other);
        assert_ne!(a, b);
        let data = crate::SeccompData::default();
        assert_eq!(other.evaluate(a, &data), Err(DiagramError::FOREIGN));
        assert_eq!(other.as_verdict(a), None);
        // From now on every operation fails.
        assert_eq!(other.verdict(Verdict::LOG), Err(DiagramError::FOREIGN));
        assert_eq!(other.select(Pred::ALWAYS, b, b), Err(DiagramError::FOREIGN));
        assert_eq!(other.evaluate(b, &data), Err(DiagramError::FOREIGN));
        assert_eq!(other.check(b), Err(DiagramError::FOREIGN));

        let mut third = Store::default();
        let never = third.not(Pred::ALWAYS).unwrap();
        assert_eq!(never, Pred::NEVER, "truth values belong to every store");
        let split = crate::diagram::Split::Equal(1);
        for misuse in [
            third.select(Pred::ALWAYS, a, a),
            third.placeholder(a),
            third.make(1, a, a),
            third.highest_precedence(a, a),
            third.split(crate::Word::NR, split, a, a),
        ] {
            assert_eq!(misuse, Err(DiagramError::FOREIGN));
        }
        let (copy, same) = one.copy(a).unwrap();
        assert_eq!(copy.evaluate(same, &data), one.evaluate(a, &data));
        assert_ne!(a, same);
    }
}
