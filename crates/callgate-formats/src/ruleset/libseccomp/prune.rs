//! Removal of what a new rule makes superfluous.

use super::tree::{Branch, Edge, Id, Insertion, Slot, Tree};

/// What the comparison of a path in the tree with the new rule has found so far, as bits.
pub(super) mod seen {
    /// All nodes since the last difference are the same.
    pub(in crate::ruleset::libseccomp) const MATCH: u8 = 1;
    /// At least one node was the same.
    pub(in crate::ruleset::libseccomp) const ONCE: u8 = 2;
    /// The path in the tree ends.
    pub(in crate::ruleset::libseccomp) const TREE_ENDS: u8 = 4;
    /// The rule ends.
    pub(in crate::ruleset::libseccomp) const RULE_ENDS: u8 = 8;
    /// Nodes of the tree were skipped.
    pub(in crate::ruleset::libseccomp) const TREE_LONGER: u8 = 16;
    /// Nodes of the rule were skipped.
    pub(in crate::ruleset::libseccomp) const RULE_LONGER: u8 = 32;
    /// The rule holds only where the tree already decides.
    pub(in crate::ruleset::libseccomp) const REDUNDANT: u8 = MATCH | TREE_ENDS | RULE_LONGER;
}

/// How the scan of a level ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scan {
    /// Before the end of the level.
    Stopped,
    /// At the end of the level.
    Complete,
}

impl Tree {
    /// Removes what the new rule makes superfluous. Returns how many nodes are removed. `found` has the bits of
    /// [`seen`] for the path to this level, and afterwards also those for this level.
    pub(super) fn prune(
        &mut self,
        level: Option<Id>,
        new: Option<Id>,
        found: &mut u8,
    ) -> Insertion<usize> {
        let mut removed = 0;
        let mut here = *found;
        let is_broken = *found & (seen::MATCH | seen::ONCE) == seen::ONCE;
        if let (Some(level), Some(new), false) = (level, new, is_broken) {
            let ends = self.prune_level(level, new, (*found, &mut here), &mut removed)?;
            if ends == Scan::Complete {
                here &= !seen::MATCH;
            }
        }
        if here & seen::MATCH != 0 {
            *found |= here;
        } else {
            *found &= !seen::MATCH;
        }
        Ok(removed)
    }

    fn prune_level(
        &mut self,
        level: Id,
        new: Id,
        (above, here): (u8, &mut u8),
        removed: &mut usize,
    ) -> Insertion<Scan> {
        let mut at = Some(self.head(level)?);
        while let Some(id) = at {
            self.step()?;
            let (Some(node), Some(rule)) = (self.node(id).copied(), self.node(new).copied()) else {
                break;
            };
            at = node.next;
            let is_same = node.compares_like(&rule);
            let is_longer = !is_same && node.comes_after(&rule);
            // Either the tree or the rule may have additional nodes, not both.
            let bar = if is_longer { seen::RULE_LONGER } else { seen::TREE_LONGER };
            if !is_same && above & bar != 0 {
                return Ok(Scan::Stopped);
            }
            if is_same {
                *here |= seen::MATCH | seen::ONCE;
                *here |= if rule.is_leaf() { seen::RULE_ENDS } else { 0 };
                *here |= if node.is_leaf() { seen::TREE_ENDS } else { 0 };
                let branches = [(node.on_true, rule.on_true), (node.on_false, rule.on_false)];
                if branches
                    .iter()
                    .any(|(node, rule)| node.leads_anywhere() && !rule.leads_anywhere())
                {
                    return Ok(Scan::Stopped);
                }
                let both_end = seen::RULE_ENDS | seen::TREE_ENDS;
                let differ = |(node, rule): &(Edge, Edge)| {
                    (node.decided, node.verdict) != (rule.decided, rule.verdict)
                };
                if *here & both_end == both_end && branches.iter().any(differ) {
                    return Ok(Scan::Stopped);
                }
            }
            let mut is_removed = false;
            for branch in [Branch::True, Branch::False] {
                // Descend in both, only in the tree, or only in the rule.
                let (node, rule) = (self.edge(id, branch).child, self.edge(new, branch).child);
                let (level, next, mut below) = if is_same {
                    (node, rule, above | seen::MATCH | seen::ONCE)
                } else if is_longer {
                    (node, Some(new), above & !seen::MATCH | seen::TREE_LONGER)
                } else {
                    (Some(id), rule, above & !seen::MATCH | seen::RULE_LONGER)
                };
                if (if is_longer { node } else { rule }).is_none() {
                    continue;
                }
                self.hold(id);
                *removed += self.prune(level, next, &mut below)?;
                let released = self.release(id)?;
                *removed += released;
                if below & seen::MATCH != 0 {
                    *here |= below;
                    if !is_same {
                        return Ok(Scan::Stopped);
                    }
                }
                if released > 0 {
                    is_removed = true;
                    break;
                }
            }
            if is_removed || !is_same {
                continue;
            }
            let shorter = seen::MATCH | seen::RULE_ENDS | seen::TREE_LONGER;
            let redundant = seen::REDUNDANT;
            let (is_shorter, is_redundant) =
                (*here & shorter == shorter, *here & redundant == redundant);
            if (is_shorter || is_redundant) && self.other_verdict(Some(id), self.verdict)?.is_none()
            {
                if !is_shorter {
                    return Ok(Scan::Stopped);
                }
                *removed += self.remove(Slot::Root, id)?;
                if self.root.is_none() {
                    return Ok(Scan::Stopped);
                }
            }
        }
        Ok(Scan::Complete)
    }
}

impl Tree {
    /// Drops a reference to a node. Returns how many nodes are removed because of it.
    pub(super) fn release(&mut self, id: Id) -> Insertion<usize> {
        let mut removed = 0;
        let mut released = vec![id];
        while let Some(id) = released.pop() {
            self.step()?;
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
                self.release_level_into(child, &mut released)?;
            }
        }
        Ok(removed)
    }

    /// Drops a reference to a node of a level. The level is removed if only its own nodes refer to it.
    pub(super) fn release_level(&mut self, id: Id) -> Insertion {
        let mut released = Vec::new();
        self.release_level_into(id, &mut released)?;
        released.into_iter().try_for_each(|id| self.release(id).map(drop))
    }

    /// Like [`Tree::release_level`], but adds the nodes that have to be released next to a list.
    fn release_level_into(&mut self, id: Id, released: &mut Vec<Id>) -> Insertion {
        let Some(node) = self.nodes.get_mut(id) else { return Ok(()) };
        if node.references <= 1 {
            released.push(id);
            return Ok(());
        }
        node.references -= 1;
        // Only the links between neighbours may refer to the nodes of a level that is removed.
        let mut level = Vec::new();
        let mut at = Some(self.head(id)?);
        while let Some(id) = at {
            self.step()?;
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
    pub(super) fn remove(&mut self, slot: Slot, id: Id) -> Insertion<usize> {
        let Some(start) = self.get(slot) else { return Ok(0) };
        let mut at = self.head(start)?;
        loop {
            self.step()?;
            if at != id {
                let mut removed = self.remove(Slot::Edge(at, Branch::True), id)?;
                removed += self.remove(Slot::Edge(at, Branch::False), id)?;
                let Some(node) = self.node(at) else { return Ok(removed) };
                // A node whose branches both lead nowhere is removed as well.
                if node.on_true.leads_anywhere() || node.on_false.leads_anywhere() {
                    match node.next {
                        Some(next) if removed == 0 => at = next,
                        _ => return Ok(removed),
                    }
                    continue;
                }
                return Ok(removed + self.unlink(slot, at)?);
            }
            return self.unlink(slot, at);
        }
    }

    fn unlink(&mut self, slot: Slot, id: Id) -> Insertion<usize> {
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
        self.release(id)
    }
}
