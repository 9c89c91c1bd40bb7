//! The store: hash-consed nodes, and if-then-else.
//!
//! Invariants:
//! - a node's variable is smaller than those of its children (ordered), and its children differ
//!   (reduced); no two nodes have the same variable and children (hash-consed). So a function has
//!   exactly one node, and two functions are equal exactly when their nodes are;
//! - predicates end in the two truth values, functions in verdicts; an operation never mixes them;
//! - recursion goes one variable deeper each time, and there are [`VARS`] of them: its depth does not
//!   depend on the input.
//!
//! Every operation counts its steps and the nodes it makes; beyond the [`Budget`] it fails with
//! [`OutOfBudget`], and what was built before stays valid.

use callgate_bpf::data::Word;
use callgate_bpf::verdict::Verdict;

/// How many variables there are: the bits of the sixteen words.
pub const VARS: u16 = 512;

/// A variable: bit `31 - var % 32` of word `var / 32`, so that the most significant bit comes first.
pub type Var = u16;

/// A function from calls to verdicts, in the [`Store`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Func(pub(super) u32);

/// A predicate on calls, in the [`Store`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pred(pub(super) u32);

impl Pred {
    /// Holds for no call.
    pub const NEVER: Pred = Pred(FALSE);
    /// Holds for every call.
    pub const ALWAYS: Pred = Pred(TRUE);

    /// `ALWAYS` or `NEVER`.
    pub const fn constant(value: bool) -> Pred {
        if value { Pred::ALWAYS } else { Pred::NEVER }
    }
}

/// What is known of two predicates or two functions alike: the node they are.
pub trait Node: Copy + Eq {
    fn id(self) -> u32;
    fn of(id: u32) -> Self;
}

impl Node for Func {
    fn id(self) -> u32 {
        self.0
    }
    fn of(id: u32) -> Func {
        Func(id)
    }
}

impl Node for Pred {
    fn id(self) -> u32 {
        self.0
    }
    fn of(id: u32) -> Pred {
        Pred(id)
    }
}

const FALSE: u32 = 0;
const TRUE: u32 = 1;

/// How many nodes weigh as much as one state of a program: registers, scratch memory, a value that is
/// 32 predicates, and their places in indexes.
const NODES_PER_STATE: usize = 16;

/// The variable of terminals: after all others.
const TERMINAL: Var = VARS;

/// In the place of a variable: what a terminal is.
const VERDICT: u32 = TERMINAL as u32;
const TRUTH: u32 = VERDICT + 1;
const PLACEHOLDER: u32 = VERDICT + 2;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stored {
    var: u32,
    /// For a terminal: the verdict, the truth value, or what it stands for.
    low: u32,
    high: u32,
}

/// How much work and memory a store may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most nodes, 2^31 at most; one takes about 28 bytes. A program may reach one sixteenth as many
    /// states.
    pub nodes: usize,
    /// The most steps of all operations together; one takes some 10–50 ns.
    pub steps: u64,
}

impl Default for Budget {
    /// Two million nodes, twelve million steps: below 100 MB, and below a second (0.85 s was the most for
    /// 300 random programs with arithmetic on a 2-core Zen 4). Filters in use take some thousands to some
    /// ten thousands of either, ten thousand rules that fit into a program up to a million nodes.
    fn default() -> Budget {
        Budget { nodes: 2_000_000, steps: 12_000_000 }
    }
}

/// The error when a diagram grows beyond its [`Budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBudget(Exhausted);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exhausted {
    Nodes { limit: usize },
    Steps { limit: u64, nodes: usize },
    States { limit: usize },
    Verdicts { limit: u32, given: u32 },
}

impl OutOfBudget {
    pub fn nodes(limit: usize) -> OutOfBudget {
        OutOfBudget(Exhausted::Nodes { limit })
    }

    pub fn verdicts(limit: u32, given: u32) -> OutOfBudget {
        OutOfBudget(Exhausted::Verdicts { limit, given })
    }
}

impl std::fmt::Display for OutOfBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Exhausted::Nodes { limit } => write!(
                f,
                "the filter is too complex: its decision diagram has more than {limit} nodes (the \
                 limit); arguments compared with each other make it grow, and so do many \
                 unrelated conditions on several arguments of one call"
            ),
            Exhausted::Steps { limit, nodes } => write!(
                f,
                "the filter is too complex: its decision diagram, {nodes} nodes so far, takes \
                 more than {limit} steps (the limit); arguments compared with each other make it \
                 grow, and so do many unrelated conditions on several arguments of one call"
            ),
            Exhausted::States { limit } => write!(
                f,
                "the filter is too complex: its registers and scratch memory may hold \
                 more than {limit} different combinations of values (the limit)"
            ),
            Exhausted::Verdicts { limit, given } => write!(
                f,
                "the filter is too complex: it returns a computed value with {given} \
                 free bits, {limit} are the limit"
            ),
        }
    }
}

impl std::error::Error for OutOfBudget {}

/// Decision diagrams, all in one place so that equal functions are one node.
#[derive(Clone)]
pub struct Store {
    nodes: Vec<Stored>,
    /// Open addressing; 0 is empty (the node 0 is never looked up). A power of two, at most half
    /// full.
    unique: Vec<u32>,
    /// Lossy, direct mapped: the operation (condition, then, else; or another), and its result.
    cache: Vec<[u32; 4]>,
    budget: Budget,
    steps: u64,
}

/// Marks the first operand of a cached operation that is not if-then-else; no node has it.
const OTHER_OPERATION: u32 = 1 << 31;

impl Default for Store {
    fn default() -> Store {
        Store::new(Budget::default())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({} nodes, {} steps)", self.nodes.len(), self.steps)
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
        Store {
            nodes: vec![truth(FALSE), truth(TRUE)],
            unique: vec![0; 1 << 12],
            cache: vec![[u32::MAX; 4]; 1 << 11],
            budget,
            steps: 0,
        }
    }

    /// How many nodes were made so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was made yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 2
    }

    /// The function that is this verdict for every call.
    ///
    /// # Errors
    /// [`OutOfBudget`], as every operation that makes nodes.
    pub fn verdict(&mut self, verdict: Verdict) -> Result<Func, OutOfBudget> {
        self.intern(Stored { var: VERDICT, low: verdict.0, high: verdict.0 }).map(Func)
    }

    /// The verdict of a function that has but one.
    pub fn as_verdict(&self, func: Func) -> Option<Verdict> {
        let node = self.nodes[func.0 as usize];
        (node.var == VERDICT).then_some(Verdict(node.low))
    }

    /// A terminal that stands for a function.
    pub fn placeholder(&mut self, func: Func) -> Result<Func, OutOfBudget> {
        self.intern(Stored { var: PLACEHOLDER, low: func.0, high: func.0 }).map(Func)
    }

    /// What a placeholder stands for; any other function is itself.
    pub fn behind(&self, func: Func) -> Func {
        let node = self.nodes[func.0 as usize];
        if node.var == PLACEHOLDER { Func(node.low) } else { func }
    }

    /// The first word that the function looks at; `None` when it is constant.
    pub fn top_word(&self, func: Func) -> Option<Word> {
        Word::from_index(usize::from(self.var(func) / 32))
    }

    /// The first variable; [`VARS`] for a constant.
    pub fn var<N: Node>(&self, node: N) -> Var {
        (self.nodes[node.id() as usize].var as Var).min(TERMINAL)
    }

    /// Both children; a terminal is its own.
    pub fn children<N: Node>(&self, node: N) -> (N, N) {
        let stored = self.nodes[node.id() as usize];
        if stored.var >= VERDICT { (node, node) } else { (N::of(stored.low), N::of(stored.high)) }
    }

    /// What becomes of the node when `var`, which is not after its own, is fixed.
    pub fn cofactors<N: Node>(&self, node: N, var: Var) -> (N, N) {
        let stored = self.nodes[node.id() as usize];
        if stored.var == u32::from(var) {
            (N::of(stored.low), N::of(stored.high))
        } else {
            (node, node)
        }
    }

    /// The node that tests `var`; both children must test later ones.
    pub fn make<N: Node>(&mut self, var: Var, low: N, high: N) -> Result<N, OutOfBudget> {
        debug_assert!(self.var(low) > var && self.var(high) > var);
        if low == high {
            return Ok(low);
        }
        self.intern(Stored { var: u32::from(var), low: low.id(), high: high.id() }).map(N::of)
    }

    fn intern(&mut self, node: Stored) -> Result<u32, OutOfBudget> {
        self.charge()?;
        let mask = self.unique.len() - 1;
        let mut slot = mix(node.low, node.high, node.var) & mask;
        loop {
            let id = self.unique[slot];
            if id == 0 {
                break;
            }
            if self.nodes[id as usize] == node {
                return Ok(id);
            }
            slot = (slot + 1) & mask;
        }
        if self.nodes.len() >= self.budget.nodes {
            return Err(OutOfBudget(Exhausted::Nodes { limit: self.budget.nodes }));
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(node);
        self.unique[slot] = id;
        if self.nodes.len() * 2 > self.unique.len() {
            self.grow();
        }
        Ok(id)
    }

    fn grow(&mut self) {
        let size = self.unique.len() * 4;
        self.unique.clear();
        self.unique.resize(size, 0);
        for (id, node) in self.nodes.iter().enumerate().skip(2) {
            let mut slot = mix(node.low, node.high, node.var) & (size - 1);
            while self.unique[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.unique[slot] = id as u32;
        }
        // The cache grows with the store, so that it keeps being useful; what it held is forgotten.
        self.cache = vec![[u32::MAX; 4]; (size / 4).min(1 << 20)];
    }

    /// Whether a program may reach one state more when it has reached so many. A state may take about
    /// as much memory as [`NODES_PER_STATE`] nodes.
    pub fn charge_state(&mut self, states: usize) -> Result<(), OutOfBudget> {
        let limit = self.budget.nodes / NODES_PER_STATE;
        if states >= limit {
            return Err(OutOfBudget(Exhausted::States { limit }));
        }
        self.charge()
    }

    /// Lets the steps count from zero again: each part of a compilation has the whole budget.
    pub fn begin(&mut self) {
        self.steps = 0;
    }

    /// Counts one step of work against the budget.
    pub fn charge(&mut self) -> Result<(), OutOfBudget> {
        self.charge_steps(1)
    }

    /// Counts work against the budget that is done with the store but makes no nodes.
    pub fn charge_steps(&mut self, steps: u64) -> Result<(), OutOfBudget> {
        self.steps += steps;
        if self.steps > self.budget.steps {
            let nodes = self.nodes.len();
            return Err(OutOfBudget(Exhausted::Steps { limit: self.budget.steps, nodes }));
        }
        Ok(())
    }

    /// `then` where the condition holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// [`OutOfBudget`].
    pub fn select(
        &mut self,
        condition: Pred,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, OutOfBudget> {
        self.if_then_else(condition, then, otherwise)
    }

    /// Both hold.
    ///
    /// # Errors
    /// [`OutOfBudget`].
    pub fn and(&mut self, a: Pred, b: Pred) -> Result<Pred, OutOfBudget> {
        self.if_then_else(a, b, Pred::NEVER)
    }

    /// At least one holds.
    ///
    /// # Errors
    /// [`OutOfBudget`].
    pub fn or(&mut self, a: Pred, b: Pred) -> Result<Pred, OutOfBudget> {
        self.if_then_else(a, Pred::ALWAYS, b)
    }

    /// Exactly one holds.
    ///
    /// # Errors
    /// [`OutOfBudget`].
    pub fn xor(&mut self, a: Pred, b: Pred) -> Result<Pred, OutOfBudget> {
        let not_b = self.not(b)?;
        self.if_then_else(a, not_b, b)
    }

    /// It does not hold.
    ///
    /// # Errors
    /// [`OutOfBudget`].
    pub fn not(&mut self, a: Pred) -> Result<Pred, OutOfBudget> {
        self.if_then_else(a, Pred::NEVER, Pred::ALWAYS)
    }

    pub fn if_then_else<N: Node>(&mut self, c: Pred, t: N, e: N) -> Result<N, OutOfBudget> {
        if c.0 == TRUE || t == e {
            return Ok(t);
        }
        if c.0 == FALSE {
            return Ok(e);
        }
        if t.id() == TRUE && e.id() == FALSE {
            return Ok(N::of(c.0));
        }
        self.charge()?;
        let operation = [c.0, t.id(), e.id()];
        if let Some(result) = self.cached(operation) {
            return Ok(result);
        }
        let var = self.var(c).min(self.var(t)).min(self.var(e));
        let ((c0, c1), (t0, t1), (e0, e1)) =
            (self.cofactors(c, var), self.cofactors(t, var), self.cofactors(e, var));
        let low = self.if_then_else(c0, t0, e0)?;
        let high = self.if_then_else(c1, t1, e1)?;
        let node = self.make(var, low, high)?;
        self.cache_result(operation, node);
        Ok(node)
    }

    /// The cached result of an operation other than if-then-else, if it is still cached. The first
    /// operand must be below 2^31.
    pub fn remembered<N: Node>(&self, [a, b, c]: [u32; 3]) -> Option<N> {
        self.cached([a | OTHER_OPERATION, b, c])
    }

    /// Caches the result of an operation other than if-then-else, for [`Store::remembered`].
    pub fn remember<N: Node>(&mut self, [a, b, c]: [u32; 3], result: N) {
        self.cache_result([a | OTHER_OPERATION, b, c], result);
    }

    /// The cached result of an operation. Its first operand is a node, or has [`OTHER_OPERATION`] set.
    fn cached<N: Node>(&self, operation: [u32; 3]) -> Option<N> {
        let [a, b, c, result] = self.cache[self.slot(operation)];
        (operation == [a, b, c]).then(|| N::of(result))
    }

    fn cache_result<N: Node>(&mut self, operation: [u32; 3], result: N) {
        let slot = self.slot(operation);
        let [a, b, c] = operation;
        self.cache[slot] = [a, b, c, result.id()];
    }

    fn slot(&self, [a, b, c]: [u32; 3]) -> usize {
        mix(a, b, c) & (self.cache.len() - 1)
    }
}
