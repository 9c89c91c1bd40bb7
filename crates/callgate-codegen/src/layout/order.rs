//! Orders of the nodes of a code graph.
//!
//! An order is the reverse of a depth-first postorder, which is topological. Of two successors, the one that is visited
//! last becomes the next instruction of a branch, unless it was visited before.

use super::frequencies::Counts;
use crate::code::{Code, CodeId, Graph};

/// What an order prefers.
#[derive(Clone, Debug, Default)]
pub(super) struct Preferences {
    /// Nodes to be visited before all others: returns.
    pub(super) ends: Vec<CodeId>,
    /// In the order of their priority.
    pub(super) neighbours: Vec<Neighbours>,
}

/// A branch, and the successor that is to be its next instruction.
///
/// Other predecessors of the successor must come before the branch. So wherever one side leads to the branch and the other
/// one to the successor only, the former is visited first.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    branch: CodeId,
    next: CodeId,
    /// Per node, whether it leads to the branch.
    leads_to_branch: Vec<bool>,
    /// Per node, whether it leads to the successor.
    leads_to_next: Vec<bool>,
}

impl Neighbours {
    /// `None` if the successor also follows the other side of the branch, and so cannot be the next instruction.
    pub(super) fn new(graph: &Graph, branch: CodeId, next: CodeId) -> Option<Neighbours> {
        let leads_to_next = leading_to(graph, next);
        let other = graph.get(branch).successors().find(|id| *id != next)?;
        if leads_to_next[other.0 as usize] {
            return None;
        }
        Some(Neighbours { branch, next, leads_to_branch: leading_to(graph, branch), leads_to_next })
    }

    /// Of two successors of a node, the one to be visited last, if it matters.
    fn last_of(&self, node: CodeId, one: CodeId, other: CodeId) -> Option<CodeId> {
        if node == self.branch {
            return Some(self.next);
        }
        let [leads, other_leads] = [one, other].map(|id| self.leads_to_branch[id.0 as usize]);
        let outside = match (leads, other_leads) {
            (true, false) => other,
            (false, true) => one,
            _ => return None,
        };
        self.leads_to_next[outside.0 as usize].then_some(outside)
    }
}

/// Per node, whether it leads to this one. Successors have smaller indexes.
fn leading_to(graph: &Graph, target: CodeId) -> Vec<bool> {
    let mut leads = vec![false; graph.len()];
    for id in (target.0..graph.len() as u32).map(CodeId) {
        let mut successors = graph.get(id).successors();
        leads[id.0 as usize] = id == target || successors.any(|next| leads[next.0 as usize]);
    }
    leads
}

/// All nodes reachable from `root`, each after its successors; of the two successors of a branch, the more frequent one
/// last, unless the preferences differ.
pub(super) fn postorder(
    graph: &Graph,
    root: CodeId,
    counts: &Counts,
    preferences: &Preferences,
) -> Vec<CodeId> {
    let mut order = Vec::with_capacity(graph.len());
    let mut visited = vec![false; graph.len()];
    for end in &preferences.ends {
        visited[end.0 as usize] = true;
        order.push(*end);
    }
    let mut stack = Vec::with_capacity(64);
    stack.push((root, false));
    while let Some((id, expanded)) = stack.pop() {
        if expanded {
            order.push(id);
            continue;
        }
        if std::mem::replace(&mut visited[id.0 as usize], true) {
            continue;
        }
        stack.push((id, true));
        let mut successors = graph.get(id).successors();
        match (successors.next(), successors.next()) {
            (Some(one), Some(other)) => {
                let mut neighbours = preferences.neighbours.iter();
                let last = neighbours.find_map(|pair| pair.last_of(id, one, other));
                let frequent = || match counts.reached(one) >= counts.reached(other) {
                    true => one,
                    false => other,
                };
                let last = last.unwrap_or_else(frequent);
                let first = if last == one { other } else { one };
                // A stack reverses the order.
                stack.extend([(last, false), (first, false)]);
            }
            (next, _) => stack.extend(next.map(|next| (next, false))),
        }
    }
    order
}

/// The returns that are reachable from `root`, the rarest first.
pub(super) fn returns(graph: &Graph, root: CodeId, counts: &Counts) -> Vec<CodeId> {
    let mut reachable = vec![false; graph.len()];
    let mut returns = Vec::new();
    // Successors have smaller indexes.
    for id in (0..=root.0).rev().map(CodeId) {
        if id != root && !reachable[id.0 as usize] {
            continue;
        }
        match graph.get(id) {
            Code::Return(_) => returns.push(id),
            code => code.successors().for_each(|next| reachable[next.0 as usize] = true),
        }
    }
    returns.sort_by(|a, b| counts.reached(*a).total_cmp(&counts.reached(*b)));
    returns
}
