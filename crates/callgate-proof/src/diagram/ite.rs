//! If-then-else (ITE), and the Boolean operations that it expresses. Each recursion is at least one variable deeper.

use super::error::DiagramError;
use super::node::{FALSE, Func, Node, Pred, TRUE};
use super::node_table::Var;
use super::store::Store;

impl Store {
    /// If-then-else: `then` where the condition holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn select(
        &mut self,
        condition: Pred,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        self.check_owner(condition)?;
        self.check_owner(then)?;
        self.check_owner(otherwise)?;
        self.if_then_else(condition, then, otherwise)
    }

    /// The conjunction.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn and(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.check_owner(a)?;
        self.check_owner(b)?;
        self.if_then_else(a, b, Pred::NEVER)
    }

    /// The disjunction.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn or(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.check_owner(a)?;
        self.check_owner(b)?;
        self.if_then_else(a, Pred::ALWAYS, b)
    }

    /// The difference: `a` holds and `b` does not.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn and_not(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.check_owner(a)?;
        self.check_owner(b)?;
        self.if_then_else(b, Pred::NEVER, a)
    }

    /// The exclusive disjunction.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn xor(&mut self, a: Pred, b: Pred) -> Result<Pred, DiagramError> {
        self.check_owner(a)?;
        let not_b = self.not(b)?;
        self.if_then_else(a, not_b, b)
    }

    /// The negation.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn not(&mut self, a: Pred) -> Result<Pred, DiagramError> {
        self.check_owner(a)?;
        self.if_then_else(a, Pred::NEVER, Pred::ALWAYS)
    }

    /// If-then-else of nodes that are known to belong to this store; the cache does not distinguish stores.
    pub(super) fn if_then_else<N: Node>(&mut self, c: Pred, t: N, e: N) -> Result<N, DiagramError> {
        // An operation that failed left its path.
        self.path.clear();
        let id = self.ite([c.id(), t.id(), e.id()])?;
        Ok(self.handle(id))
    }

    /// Along a path where one child of each node is known at once, nothing is looked up, and nothing recurses.
    fn ite(&mut self, operation: [u32; 3]) -> Result<u32, DiagramError> {
        if let Some(node) = known(operation) {
            return Ok(node);
        }
        if let Some(node) = self.cache.get(operation) {
            return Ok(node);
        }
        let (mut rest, start) = (operation, self.path.len());
        let mut node = loop {
            self.charge()?;
            let (var, low, high) = self.expand_ite(rest);
            let (other, is_low) = match [known(low), known(high)] {
                [Some(low), Some(high)] => break self.node(var, low, high)?,
                // Other operations may end with the rest of a long path: it gets an entry in the cache.
                [None, None] => {
                    let low = self.ite(low)?;
                    let high = self.ite(high)?;
                    break self.node(var, low, high)?;
                }
                [Some(low), None] => {
                    rest = high;
                    (low, true)
                }
                [None, Some(high)] => {
                    rest = low;
                    (high, false)
                }
            };
            self.path.push(Step { var, other, is_low });
            if self.path.len() - start >= MAX_PATH {
                break self.ite(rest)?;
            }
        };
        while self.path.len() > start {
            let Some(Step { var, other, is_low }) = self.path.pop() else { break };
            let (low, high) = if is_low { (other, node) } else { (node, other) };
            node = self.node(var, low, high)?;
        }
        self.cache.insert(operation, node);
        Ok(node)
    }

    /// The first variable that one of three nodes tests, and the operation on their low and on their high children.
    #[inline]
    fn expand_ite(&self, operation: [u32; 3]) -> (Var, [u32; 3], [u32; 3]) {
        let [c, t, e] = operation.map(|id| self.stored_at(id));
        let var = c.test().min(t.test()).min(e.test());
        let (mut low, mut high) = (operation, operation);
        for ((stored, low), high) in [c, t, e].into_iter().zip(&mut low).zip(&mut high) {
            if stored.tests(var) {
                (*low, *high) = (stored.low, stored.high);
            }
        }
        (var, low, high)
    }
}

/// The longest path without an entry in the cache.
const MAX_PATH: usize = 16;

/// A node of a path: its variable, and one of its children.
#[derive(Clone, Copy)]
pub(super) struct Step {
    var: Var,
    other: u32,
    is_low: bool,
}

/// The result of if-then-else, if it is one of its nodes.
#[inline]
fn known([c, t, e]: [u32; 3]) -> Option<u32> {
    match c {
        _ if t == e => Some(t),
        TRUE => Some(t),
        FALSE => Some(e),
        _ if t == TRUE && e == FALSE => Some(c),
        _ => None,
    }
}
