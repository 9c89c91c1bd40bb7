//! The store: hash-consed nodes, and if-then-else.
//!
//! Invariants, which [`Store::check`] verifies for the nodes of a proof:
//! - ordered: the variable of a node is smaller than those of its children;
//! - reduced: the children of a node differ;
//! - unique: no two nodes have the same variable and children.
//!
//! So a function has exactly one node, and two functions are equal exactly when their nodes are.
//! Predicates end in the two truth values, functions in verdicts; an operation never mixes them.
//! Recursion goes at least one variable deeper each time, and there are [`VARS`] of them: its depth
//! does not depend on the input.
//!
//! Every operation counts its steps and the nodes it makes; beyond the [`Budget`] it fails with a
//! [`DiagramError`], and what was built before stays valid. A node of another store is never taken for
//! a node of this one: whoever passes one gets a constant without a verdict from the questions that
//! cannot fail, and an error from every operation afterwards. Handles are checked where a public function
//! takes them; behind that, nodes are plain numbers.

use std::cell::Cell;

use super::error::{Budget, DiagramError};
use super::node::sealed::Made;
use super::node::{FALSE, Func, Node, Pred, StoreId, TRUE};
use callgate_bpf::data::Word;
use callgate_bpf::verdict::Verdict;

/// How many variables there are: the bits of the sixteen words.
pub const VARS: u16 = 512;

/// A variable: bit `31 - var % 32` of word `var / 32`, so that the most significant bit comes first.
pub type Var = u16;

/// How many nodes weigh as much as one state of a program: registers, scratch memory, a value that is
/// 32 predicates, and their places in indexes.
const NODES_PER_STATE: usize = 16;

/// The variable of terminals: after all others.
const TERMINAL: Var = VARS;

/// In the place of a variable: the kind of a terminal.
const VERDICT: u32 = TERMINAL as u32;
const TRUTH: u32 = VERDICT + 1;
const PLACEHOLDER: u32 = VERDICT + 2;
const FOREIGN: u32 = VERDICT + 3;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stored {
    var: u32,
    /// For a terminal: the verdict, the truth value, or the node it stands for.
    low: u32,
    high: u32,
}

impl Stored {
    /// The variable that it tests; `TERMINAL` for a terminal.
    #[inline]
    fn test(self) -> Var {
        (self.var as Var).min(TERMINAL)
    }

    #[inline]
    fn tests(self, var: Var) -> bool {
        self.var == u32::from(var) && self.var < VERDICT
    }
}

/// Decision diagrams, all in one place so that equal functions are one node.
pub struct Store {
    id: StoreId,
    nodes: Vec<Stored>,
    /// Open addressing; 0 is empty (the node 0 is never looked up). A power of two, at most half
    /// full.
    unique: Vec<u32>,
    /// Lossy, direct mapped: the operation (condition, then, else; or another), and its result.
    cache: Vec<[u32; 4]>,
    budget: Budget,
    /// How many steps of the budget are left; none once the store was misused.
    left: Cell<u64>,
    /// A node of another store was passed.
    misused: Cell<bool>,
}

/// Marks the first operand of a cached operation that is not if-then-else; no node has this bit.
const OTHER_OPERATION: u32 = 1 << 31;

impl Default for Store {
    fn default() -> Store {
        Store::new(Budget::default())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps = self.budget.steps - self.left.get();
        write!(f, "Store({} nodes, {steps} steps)", self.nodes.len())
    }
}

fn mix(a: u32, b: u32, c: u32) -> usize {
    let h = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ u64::from(c).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (h.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

impl Store {
    /// An empty store.
    pub fn new(budget: Budget) -> Store {
        let budget = Budget { nodes: budget.nodes.min(OTHER_OPERATION as usize), ..budget };
        let truth = |value| Stored { var: TRUTH, low: value, high: value };
        let nodes = vec![truth(FALSE), truth(TRUE)];
        Store::of(nodes, vec![0; 1 << 12], vec![[u32::MAX; 4]; 1 << 11], budget)
    }

    fn of(nodes: Vec<Stored>, unique: Vec<u32>, cache: Vec<[u32; 4]>, budget: Budget) -> Store {
        let id = StoreId::next();
        let (left, misused) = (Cell::new(budget.steps), Cell::new(false));
        let store = Store { id, nodes, unique, cache, budget, left, misused };
        if id == StoreId::NONE {
            store.misuse();
        }
        store
    }

    /// A store with the same nodes and budget, and a function of it that equals `func`. The two stores
    /// share nothing: work in one cannot change the other.
    ///
    /// # Errors
    /// When `func` is not a function of this store.
    pub fn copy(&self, func: Func) -> Result<(Store, Func), DiagramError> {
        self.own(func)?;
        let (nodes, unique) = (self.nodes.clone(), self.unique.clone());
        let copy = Store::of(nodes, unique, self.cache.clone(), self.budget);
        let func = copy.made(func.id());
        Ok((copy, func))
    }

    /// The number of nodes made so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was made yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 2
    }

    /// The handle of one of this store's nodes.
    #[inline]
    fn made<N: Made>(&self, id: u32) -> N {
        N::made(id, self.id)
    }

    /// What is stored for a node; for a node of another store, a terminal that is nothing.
    #[inline]
    fn stored<N: Node>(&self, node: N) -> Stored {
        if self.id.owns(node.store()) { self.stored_at(node.id()) } else { self.misuse() }
    }

    /// The same for the number of a node.
    #[inline]
    fn stored_at(&self, id: u32) -> Stored {
        match self.nodes.get(id as usize) {
            Some(stored) => *stored,
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

    /// An error if the node is not of this store, or one that was not was passed before.
    pub(super) fn own(&self, node: impl Node) -> Result<(), DiagramError> {
        if self.stored(node).var == FOREIGN { Err(DiagramError::FOREIGN) } else { self.usable() }
    }

    /// The constant function with this verdict.
    ///
    /// # Errors
    /// [`DiagramError`], as for every operation that makes nodes.
    pub fn verdict(&mut self, verdict: Verdict) -> Result<Func, DiagramError> {
        let id = self.intern(Stored { var: VERDICT, low: verdict.0, high: verdict.0 })?;
        Ok(self.made(id))
    }

    /// The verdict of a constant function.
    pub fn as_verdict(&self, func: Func) -> Option<Verdict> {
        let stored = self.stored(func);
        (stored.var == VERDICT).then_some(Verdict(stored.low))
    }

    /// A terminal that stands for a function.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub fn placeholder(&mut self, func: Func) -> Result<Func, DiagramError> {
        self.own(func)?;
        let id = self.intern(Stored { var: PLACEHOLDER, low: func.id(), high: func.id() })?;
        Ok(self.made(id))
    }

    /// The function that a placeholder stands for; any other function is itself.
    #[inline]
    pub fn behind(&self, func: Func) -> Func {
        let stored = self.stored(func);
        if stored.var == PLACEHOLDER { self.made(stored.low) } else { func }
    }

    /// The first word that the function tests; `None` when it is constant.
    #[inline]
    pub fn top_word(&self, func: Func) -> Option<Word> {
        Word::from_index(usize::from(self.var(func) / 32))
    }

    /// What remains of a function that looks at no earlier word when this word has this value.
    pub fn follow(&self, func: Func, word: Word, value: u32) -> Func {
        let (mut node, mut stored) = (func.id(), self.stored(func));
        let first = word.index() as Var * 32;
        while let Some(bit) = stored.test().checked_sub(first).filter(|bit| *bit < 32) {
            node = if value << bit >> 31 == 1 { stored.high } else { stored.low };
            stored = self.stored_at(node);
        }
        if node == func.id() { func } else { self.made(node) }
    }

    /// The first variable that the node tests; [`VARS`] for a constant.
    #[inline]
    pub fn var<N: Node>(&self, node: N) -> Var {
        self.stored(node).test()
    }

    /// The low and the high child; both children of a terminal are the terminal.
    #[inline]
    pub fn children<N: Node>(&self, node: N) -> (N, N) {
        let stored = self.stored(node);
        if stored.var >= VERDICT {
            (node, node)
        } else {
            (self.made(stored.low), self.made(stored.high))
        }
    }

    /// The cofactors: the node with `var`, which must not come after its own variable, clear and set.
    #[inline]
    pub fn cofactors<N: Node>(&self, node: N, var: Var) -> (N, N) {
        let stored = self.stored(node);
        if stored.tests(var) {
            (self.made(stored.low), self.made(stored.high))
        } else {
            (node, node)
        }
    }

    /// The first variable that two nodes test, and the cofactors of both for it: their Shannon expansion.
    #[inline]
    pub fn expand<N: Node>(&self, a: N, b: N) -> (Var, (N, N), (N, N)) {
        let (stored_a, stored_b) = (self.stored(a), self.stored(b));
        let var = stored_a.test().min(stored_b.test());
        let cofactors = |node: N, stored: Stored| {
            if stored.tests(var) {
                (self.made(stored.low), self.made(stored.high))
            } else {
                (node, node)
            }
        };
        (var, cofactors(a, stored_a), cofactors(b, stored_b))
    }

    /// The node that tests `var`.
    ///
    /// # Errors
    /// [`DiagramError`]; that of a defect, when a child does not test a later variable.
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
                "a node tests its variable before those of its children",
            ));
        }
        let stored = Stored { var: u32::from(var), low: low.id(), high: high.id() };
        let id = self.intern(stored)?;
        Ok(self.made(id))
    }

    /// The same for children of this store that test later variables.
    pub(super) fn made_of<N: Node>(
        &mut self,
        var: Var,
        low: N,
        high: N,
    ) -> Result<N, DiagramError> {
        let id = self.node(var, low.id(), high.id())?;
        Ok(self.made(id))
    }

    /// The same for their numbers.
    #[inline]
    fn node(&mut self, var: Var, low: u32, high: u32) -> Result<u32, DiagramError> {
        if low == high {
            return Ok(low);
        }
        debug_assert!(self.var_at(low).min(self.var_at(high)) > var);
        self.intern(Stored { var: u32::from(var), low, high })
    }

    fn intern(&mut self, stored: Stored) -> Result<u32, DiagramError> {
        self.charge()?;
        let (slot, found) = self.slot_of(stored);
        if found != 0 {
            return Ok(found);
        }
        if self.nodes.len() >= self.budget.nodes {
            return Err(DiagramError::nodes(self.budget.nodes));
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(stored);
        if let Some(slot) = self.unique.get_mut(slot) {
            *slot = id;
        }
        if self.nodes.len() * 2 > self.unique.len() {
            self.grow();
        }
        Ok(id)
    }

    /// The slot of a node in the table of unique nodes, with its number; or the empty slot where it
    /// belongs, with 0.
    #[inline]
    fn slot_of(&self, stored: Stored) -> (usize, u32) {
        let mask = self.unique.len() - 1;
        let mut slot = mix(stored.low, stored.high, stored.var) & mask;
        // The table is at most half full, so there is an empty slot.
        while let Some(id) = self.unique.get(slot).copied().filter(|id| *id != 0) {
            if self.nodes.get(id as usize).is_some_and(|node| *node == stored) {
                return (slot, id);
            }
            slot = (slot + 1) & mask;
        }
        (slot, 0)
    }

    fn grow(&mut self) {
        let size = self.unique.len() * 4;
        self.unique.clear();
        self.unique.resize(size, 0);
        for id in 2..self.nodes.len() {
            let Some(stored) = self.nodes.get(id).copied() else { continue };
            let (slot, _) = self.slot_of(stored);
            if let Some(slot) = self.unique.get_mut(slot) {
                *slot = id as u32;
            }
        }
        // The cache grows with the store, so that it stays useful; its entries are dropped.
        self.cache = vec![[u32::MAX; 4]; (size / 4).min(1 << 20)];
    }

    /// Verifies the invariants for all nodes of a function: ordered, reduced, unique, and ending in
    /// verdicts.
    ///
    /// # Errors
    /// The [`DiagramError`] of a defect that names the broken invariant.
    pub fn check(&self, func: Func) -> Result<(), DiagramError> {
        self.own(func)?;
        let mut seen = super::Seen::new(self.len());
        let mut pending = vec![func.id()];
        while let Some(id) = pending.pop() {
            if !seen.insert_id(id) {
                continue;
            }
            let stored = self.stored_at(id);
            if self.slot_of(stored).1 != id {
                return Err(DiagramError::defect("no two nodes are the same (unique)"));
            }
            if stored.var >= VERDICT {
                if stored.var != VERDICT {
                    return Err(DiagramError::defect("a function ends in verdicts"));
                }
                continue;
            }
            let (low, high) = (stored.low, stored.high);
            if low == high {
                return Err(DiagramError::defect("the children of a node differ (reduced)"));
            }
            let first = self.var_at(low).min(self.var_at(high));
            if u32::from(first) <= stored.var {
                return Err(DiagramError::defect("a node tests its variable first (ordered)"));
            }
            pending.extend([low, high]);
        }
        self.usable()
    }

    /// An error if a node of another store was ever passed to this one.
    fn usable(&self) -> Result<(), DiagramError> {
        if self.misused.get() { Err(DiagramError::FOREIGN) } else { Ok(()) }
    }

    /// Counts one more state of a program that has reached `states`. A state may take about as much
    /// memory as [`NODES_PER_STATE`] nodes.
    pub(super) fn charge_state(&mut self, states: usize) -> Result<(), DiagramError> {
        let limit = self.budget.nodes / NODES_PER_STATE;
        if states >= limit {
            return Err(DiagramError::states(limit));
        }
        self.charge()
    }

    /// Resets the count of steps: each phase of a compilation has the whole budget.
    pub fn begin(&mut self) {
        self.left.set(if self.misused.get() { 0 } else { self.budget.steps });
    }

    /// Counts one step of work against the budget.
    ///
    /// # Errors
    /// [`DiagramError`] when the budget is exhausted.
    #[inline]
    pub fn charge(&mut self) -> Result<(), DiagramError> {
        self.charge_steps(1)
    }

    /// Counts work against the budget that is done with the store but makes no nodes.
    ///
    /// # Errors
    /// [`DiagramError`] when the budget is exhausted.
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

    /// `then` where the condition holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub fn select(
        &mut self,
        condition: Pred,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        self.own(condition)?;
        self.own(then)?;
        self.own(otherwise)?;
        self.if_then_else(condition, then, otherwise)
    }

    /// Both hold.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub fn and(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.own(a)?;
        self.own(b)?;
        self.if_then_else(a, b, Pred::NEVER)
    }

    /// At least one holds.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub fn or(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.own(a)?;
        self.own(b)?;
        self.if_then_else(a, Pred::ALWAYS, b)
    }

    /// Exactly one holds.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub fn xor(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.own(a)?;
        let not_b = self.not(b)?;
        self.if_then_else(a, not_b, b)
    }

    /// It does not hold.
    ///
    /// # Errors
    /// [`DiagramError`].
    pub fn not(&mut self, a: Pred) -> Result<Pred, DiagramError> {
        self.own(a)?;
        self.if_then_else(a, Pred::NEVER, Pred::ALWAYS)
    }

    /// If-then-else of nodes that are known to be of this store: an entry of the cache does not tell
    /// stores apart.
    pub(super) fn if_then_else<N: Node>(&mut self, c: Pred, t: N, e: N) -> Result<N, DiagramError> {
        let id = self.ite(c.id(), t.id(), e.id())?;
        Ok(self.made(id))
    }

    fn ite(&mut self, c: u32, t: u32, e: u32) -> Result<u32, DiagramError> {
        match c {
            _ if t == e => return Ok(t),
            TRUE => return Ok(t),
            FALSE => return Ok(e),
            _ if t == TRUE && e == FALSE => return Ok(c),
            _ => self.charge()?,
        }
        let operation = [c, t, e];
        if let Some(result) = self.cached(operation) {
            return Ok(result);
        }
        let nodes = [c, t, e].map(|id| (id, self.stored_at(id)));
        let var = nodes.iter().fold(TERMINAL, |var, (_, stored)| var.min(stored.test()));
        let [(c0, c1), (t0, t1), (e0, e1)] =
            nodes.map(
                |(id, stored)| {
                    if stored.tests(var) { (stored.low, stored.high) } else { (id, id) }
                },
            );
        let low = self.ite(c0, t0, e0)?;
        let high = self.ite(c1, t1, e1)?;
        let node = self.node(var, low, high)?;
        self.cache(operation, node);
        Ok(node)
    }

    /// The cached result of an operation other than if-then-else, if it is still cached.
    #[inline]
    pub fn cached_other<N: Node>(&self, [a, b, c]: [u32; 3]) -> Option<N> {
        self.cached([a | OTHER_OPERATION, b, c]).map(|id| self.made(id))
    }

    /// Caches the result of an operation other than if-then-else. The first operand must be below 2^31
    /// and tell different operations apart.
    #[inline]
    pub fn cache_other<N: Node>(&mut self, [a, b, c]: [u32; 3], result: N) {
        if self.id.owns(result.store()) {
            self.cache([a | OTHER_OPERATION, b, c], result.id());
        }
    }

    /// The cached result of an operation. Its first operand is a node, or has [`OTHER_OPERATION`] set.
    #[inline]
    fn cached(&self, operation: [u32; 3]) -> Option<u32> {
        let [a, b, c, result] = *self.cache.get(self.cache_slot(operation))?;
        (operation == [a, b, c]).then_some(result)
    }

    #[inline]
    fn cache(&mut self, operation: [u32; 3], result: u32) {
        let slot = self.cache_slot(operation);
        let [a, b, c] = operation;
        if let Some(slot) = self.cache.get_mut(slot) {
            *slot = [a, b, c, result];
        }
    }

    #[inline]
    fn cache_slot(&self, [a, b, c]: [u32; 3]) -> usize {
        mix(a, b, c) & (self.cache.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of two bits of the number, with its root first.
    fn function(store: &mut Store) -> (Func, Func) {
        let [allow, deny] = [Verdict::ALLOW, Verdict::errno(1)].map(|v| store.verdict(v).unwrap());
        let low = store.make(40, allow, deny).unwrap();
        (store.make(33, low, deny).unwrap(), low)
    }

    fn broken(change: impl FnOnce(&mut Store, Func, Func)) -> String {
        let mut store = Store::default();
        let (root, low) = function(&mut store);
        store.check(root).unwrap();
        change(&mut store, root, low);
        store.check(root).unwrap_err().to_string()
    }

    #[test]
    fn every_broken_invariant_is_found() {
        let duplicate = broken(|store, root, low| {
            // The same node a second time, where the root leads.
            let twin = store.nodes.len() as u32;
            store.nodes.push(store.nodes[low.id() as usize]);
            store.nodes[root.id() as usize].low = twin;
        });
        assert!(duplicate.contains("unique"), "{duplicate}");
        let reduced = broken(|store, root, _| {
            let root = &mut store.nodes[root.id() as usize];
            root.low = root.high;
            let stored = *root;
            let (slot, _) = store.slot_of(stored);
            store.unique[slot] =
                store.nodes.iter().position(|node| *node == stored).unwrap() as u32;
        });
        assert!(reduced.contains("reduced"), "{reduced}");
        let ordered = broken(|store, root, _| {
            store.nodes[root.id() as usize].var = 41;
            let stored = store.nodes[root.id() as usize];
            let (slot, _) = store.slot_of(stored);
            store.unique[slot] = root.id();
        });
        assert!(ordered.contains("ordered"), "{ordered}");
        let verdicts = broken(|store, root, low| {
            let placeholder = store.placeholder(low).unwrap();
            store.nodes[root.id() as usize].low = placeholder.id();
            let stored = store.nodes[root.id() as usize];
            let (slot, _) = store.slot_of(stored);
            store.unique[slot] = root.id();
        });
        assert!(verdicts.contains("verdicts"), "{verdicts}");
    }

    #[test]
    fn a_node_before_its_child_is_refused() {
        let mut store = Store::default();
        let (root, _) = function(&mut store);
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let error = store.make(33, root, deny).unwrap_err();
        assert!(!error.is_out_of_budget(), "{error}");
    }

    #[test]
    fn a_node_of_another_store_is_an_error_and_never_an_answer() {
        let (mut one, mut other) = (Store::default(), Store::default());
        let (a, _) = function(&mut one);
        // The same numbers mean something else there.
        other.verdict(Verdict::KILL_PROCESS).unwrap();
        let (b, _) = function(&mut other);
        assert_ne!(a, b);
        let data = callgate_bpf::SeccompData::default();
        assert_eq!(other.evaluate(a, &data), Err(DiagramError::FOREIGN));
        assert_eq!(other.as_verdict(a), None);
        // From then on it gives no answer at all.
        assert_eq!(other.verdict(Verdict::LOG), Err(DiagramError::FOREIGN));
        assert_eq!(other.select(Pred::ALWAYS, b, b), Err(DiagramError::FOREIGN));
        assert_eq!(other.evaluate(b, &data), Err(DiagramError::FOREIGN));
        assert_eq!(other.check(b), Err(DiagramError::FOREIGN));

        let mut third = Store::default();
        let never = third.not(Pred::ALWAYS).unwrap();
        assert_eq!(never, Pred::NEVER, "the truth values are those of every store");
        let split = crate::diagram::Split::Equal(1);
        for misuse in [
            third.select(Pred::ALWAYS, a, a),
            third.placeholder(a),
            third.make(1, a, a),
            third.severest(a, a),
            third.split(callgate_bpf::Word::NR, split, a, a),
            third.restrict(a, callgate_bpf::Word::NR, 1),
        ] {
            assert_eq!(misuse, Err(DiagramError::FOREIGN));
        }
        let (copy, same) = one.copy(a).unwrap();
        assert_eq!(copy.evaluate(same, &data), one.evaluate(a, &data));
        assert_ne!(a, same);
    }
}
