//! If-then-else (ITE), and the Boolean operations that it expresses. Each recursion is at least one variable deeper.

use super::error::DiagramError;
use super::node::{FALSE, Func, Node, Pred, TRUE};
use super::node_table::TERMINAL;
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
        let id = self.ite(c.id(), t.id(), e.id())?;
        Ok(self.handle(id))
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
        if let Some(result) = self.cache.get(operation) {
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
        self.cache.insert(operation, node);
        Ok(node)
    }
}
