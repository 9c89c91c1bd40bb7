//! Removal of nodes, by reference counts.

use super::node::{Branch, Id, Slot};
use super::tree::{InsertError, StepBudget, Tree};

impl Tree {
    /// Drops a reference to a node. Returns how many nodes are removed because of it.
    pub(super) fn release(&mut self, id: Id, steps: &mut StepBudget) -> Result<usize, InsertError> {
        let mut removed = 0;
        let mut released = vec![id];
        while let Some(id) = released.pop() {
            steps.take()?;
            let Some(node) = self.nodes.get_mut(id) else { continue };
            node.references = node.references.saturating_sub(1);
            if node.references > 0 {
                continue;
            }
            removed += 1;
            // A node without references has no neighbours.
            for child in
                [node.on_true.child.take(), node.on_false.child.take()].into_iter().flatten()
            {
                self.release_level_into(child, &mut released, steps)?;
            }
        }
        Ok(removed)
    }

    /// Drops a reference to a node of a level. The level is removed if only its own nodes refer to it.
    pub(super) fn release_level(
        &mut self,
        id: Id,
        steps: &mut StepBudget,
    ) -> Result<(), InsertError> {
        let mut released = Vec::new();
        self.release_level_into(id, &mut released, steps)?;
        released.into_iter().try_for_each(|id| self.release(id, steps).map(drop))
    }

    /// Like [`Tree::release_level`], but adds the nodes that have to be released next to a list.
    fn release_level_into(
        &mut self,
        id: Id,
        released: &mut Vec<Id>,
        steps: &mut StepBudget,
    ) -> Result<(), InsertError> {
        let Some(node) = self.nodes.get_mut(id) else { return Ok(()) };
        if node.references <= 1 {
            released.push(id);
            return Ok(());
        }
        node.references -= 1;
        // Only the links between neighbours may refer to the nodes of a level that is removed.
        let mut level = Vec::new();
        let mut at = Some(self.head(id, steps)?);
        while let Some(id) = at {
            steps.take()?;
            let Some(node) = self.node(id) else { break };
            let links = u32::from(node.previous.is_some()) + u32::from(node.next.is_some());
            if node.references > links {
                return Ok(());
            }
            level.push(id);
            at = node.next;
        }
        for id in &level {
            self.change(*id, |node| {
                (node.previous, node.next, node.references) = (None, None, 1);
            });
        }
        released.extend(level);
        Ok(())
    }

    /// Unlinks a node from the level in a slot, or from a level below it. The node and those below it are removed if
    /// nothing else refers to them. Returns how many nodes are removed.
    pub(super) fn remove(
        &mut self,
        slot: Slot,
        id: Id,
        steps: &mut StepBudget,
    ) -> Result<usize, InsertError> {
        let Some(start) = self.get(slot) else { return Ok(0) };
        let mut at = self.head(start, steps)?;
        loop {
            steps.take()?;
            if at != id {
                let mut removed = self.remove(Slot::Edge(at, Branch::True), id, steps)?;
                removed += self.remove(Slot::Edge(at, Branch::False), id, steps)?;
                let Some(node) = self.node(at) else { return Ok(removed) };
                // A node whose branches both lead nowhere is removed as well.
                if node.on_true.leads_anywhere() || node.on_false.leads_anywhere() {
                    match node.next {
                        Some(next) if removed == 0 => at = next,
                        _ => return Ok(removed),
                    }
                    continue;
                }
                return Ok(removed + self.unlink(slot, at, steps)?);
            }
            return self.unlink(slot, at, steps);
        }
    }

    fn unlink(&mut self, slot: Slot, id: Id, steps: &mut StepBudget) -> Result<usize, InsertError> {
        let Some(node) = self.node(id) else { return Ok(0) };
        let (previous, next) = (node.previous, node.next);
        if self.get(slot) == Some(id) {
            self.set(slot, previous.or(next));
        }
        if let Some(previous) = previous {
            self.change(previous, |node| node.next = next);
        }
        if let Some(next) = next {
            self.change(next, |node| node.previous = previous);
        }
        self.change(id, |node| (node.previous, node.next) = (None, None));
        self.release(id, steps)
    }
}
