//! Removal of what a new rule makes superfluous.

use super::node::{Branch, Edge, Id, Slot};
use super::tree::{InsertError, StepBudget, Tree};

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
        verdict: u32,
        found: &mut u8,
        steps: &mut StepBudget,
    ) -> Result<usize, InsertError> {
        let mut removed = 0;
        let mut here = *found;
        let is_broken = *found & (seen::MATCH | seen::ONCE) == seen::ONCE;
        if let (Some(level), Some(new), false) = (level, new, is_broken) {
            let ends =
                self.prune_level(level, new, verdict, (*found, &mut here), &mut removed, steps)?;
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
        verdict: u32,
        (above, here): (u8, &mut u8),
        removed: &mut usize,
        steps: &mut StepBudget,
    ) -> Result<Scan, InsertError> {
        let mut at = Some(self.head(level, steps)?);
        while let Some(id) = at {
            steps.take()?;
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
                *removed += self.prune(level, next, verdict, &mut below, steps)?;
                let released = self.release(id, steps)?;
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
            if (is_shorter || is_redundant)
                && self.other_verdict(Some(id), verdict, steps)?.is_none()
            {
                if !is_shorter {
                    return Ok(Scan::Stopped);
                }
                *removed += self.remove(Slot::Root, id, steps)?;
                if self.root.is_none() {
                    return Ok(Scan::Stopped);
                }
            }
        }
        Ok(Scan::Complete)
    }
}
