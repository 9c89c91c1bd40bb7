//! Trees of comparisons with constants.
//!
//! All values start at the first comparison, as one interval. Each comparison cuts an interval into the
//! values for which it holds and those below and above, the lowest of which goes on first: so intervals
//! leave the tree in ascending order.

use super::super::live::Flow;
use super::super::node::Node;
use super::{Range, after, key};
use crate::operation::{Cmp, Operand};

/// So many intervals may come to a comparison on average; a long list would take more.
const STEPS: usize = 12;

/// Where a comparison leads.
#[derive(Clone, Copy)]
enum Way {
    /// To another one of the tree.
    Inside(usize),
    Out(u16),
}

struct Member {
    index: usize,
    /// For which values it holds.
    first: u32,
    last: u32,
    yes: Way,
    no: Way,
}

/// Comparisons of one value with constants, of which only the first is reached from elsewhere.
pub(super) struct Tree {
    members: Vec<Member>,
}

impl Tree {
    /// The tree below a comparison.
    pub(super) fn below(flow: &Flow, head: usize) -> Tree {
        let mut tree = Tree { members: Vec::new() };
        tree.members.extend(member(flow, head));
        let mut at = 0;
        while at < tree.members.len() {
            let Member { yes, no, .. } = tree.members[at];
            let yes = tree.follow(flow, yes);
            let no = tree.follow(flow, no);
            (tree.members[at].yes, tree.members[at].no) = (yes, no);
            at += 1;
        }
        tree
    }

    fn follow(&mut self, flow: &Flow, way: Way) -> Way {
        let Way::Out(to) = way else { return way };
        match after(flow, to).and_then(|index| member(flow, index)) {
            Some(member) => {
                self.members.push(member);
                Way::Inside(self.members.len() - 1)
            }
            None => way,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The nodes, the head first.
    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|member| member.index)
    }

    /// What values lead to: ranges with targets in ascending order, which cover everything; `None` when
    /// it is more a list than a tree.
    pub(super) fn ranges(&self, flow: &Flow) -> Option<Vec<Range>> {
        let mut steps = STEPS * self.members.len();
        let mut ranges: Vec<Range> = Vec::with_capacity(2 * self.members.len());
        let mut pending = vec![(Way::Inside(0), 0, u32::MAX)];
        while let Some((way, low, high)) = pending.pop() {
            let index = match way {
                Way::Inside(index) => index,
                Way::Out(to) => {
                    let key = key(flow, to);
                    match ranges.last_mut() {
                        Some(range) if range.key == key => range.high = high,
                        _ => ranges.push(Range { low, high, to, key }),
                    }
                    continue;
                }
            };
            steps = steps.checked_sub(1)?;
            let Member { yes, no, first, last, .. } = self.members[index];
            if high > last {
                pending.push((no, low.max(last + 1), high));
            }
            if high >= first && low <= last {
                pending.push((yes, low.max(first), high.min(last)));
            }
            if low < first {
                pending.push((no, low, high.min(first - 1)));
            }
        }
        Some(ranges)
    }
}

fn member(flow: &Flow, index: usize) -> Option<Member> {
    let Node::Branch { test, operand: Operand::K(k), yes, no } = flow.nodes[index] else {
        return None;
    };
    let (first, last) = match test {
        Cmp::Eq => (k, k),
        Cmp::Gt => (k.checked_add(1)?, u32::MAX),
        Cmp::Ge => (k, u32::MAX),
        Cmp::Set => return None,
    };
    Some(Member { index, first, last, yes: Way::Out(yes), no: Way::Out(no) })
}
