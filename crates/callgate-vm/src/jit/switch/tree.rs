//! Trees of comparisons with constants.
//!
//! Between two neighbours among all constants of a tree, every value takes the same way, so one walk
//! through the tree for each such interval says what it leads to.

use super::super::live::Flow;
use super::super::node::Node;
use super::{Range, after, key};
use crate::operation::{Cmp, Operand};

/// A tree gets so many steps per comparison; a list would take more.
const STEPS: usize = 32;

/// Where a comparison leads.
#[derive(Clone, Copy)]
enum Way {
    /// To another one of the tree.
    Inside(usize),
    Out(u16),
}

struct Member {
    index: usize,
    test: Cmp,
    k: u32,
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
        let mut starts = vec![0];
        for &Member { test, k, .. } in &self.members {
            if test != Cmp::Gt {
                starts.push(k);
            }
            if test != Cmp::Ge {
                starts.extend(k.checked_add(1));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        let mut steps = STEPS * self.members.len();
        let mut ranges: Vec<Range> = Vec::with_capacity(starts.len());
        for (at, &low) in starts.iter().enumerate() {
            let high = starts.get(at + 1).map_or(u32::MAX, |next| next - 1);
            let to = self.walk(low, &mut steps)?;
            let key = key(flow, to);
            match ranges.last_mut() {
                Some(range) if range.key == key => range.high = high,
                _ => ranges.push(Range { low, high, to, key }),
            }
        }
        Some(ranges)
    }

    fn walk(&self, value: u32, steps: &mut usize) -> Option<u16> {
        let mut at = 0;
        loop {
            *steps = steps.checked_sub(1)?;
            let member = &self.members[at];
            match if member.test.holds(value, member.k) { member.yes } else { member.no } {
                Way::Inside(next) => at = next,
                Way::Out(to) => return Some(to),
            }
        }
    }
}

fn member(flow: &Flow, index: usize) -> Option<Member> {
    match flow.nodes[index] {
        Node::Branch { test, operand: Operand::K(k), yes, no } if test != Cmp::Set => {
            Some(Member { index, test, k, yes: Way::Out(yes), no: Way::Out(no) })
        }
        _ => None,
    }
}
