//! Trees of comparisons with constants.
//!
//! All values start at the first comparison, as one interval. `jgt` and `jge` cut an interval in two, the
//! lower of which goes on first: so intervals leave the tree in ascending order, and each comparison sees
//! one of them. What `jeq` takes out of an interval is a point, which is put on top of it in the end.

use super::super::live::Flow;
use super::super::node::Node;
use super::{Range, after, key};
use callgate::bpf::{Relation, Source};

/// Comparisons of one value with constants, of which only the first is reached from elsewhere. The
/// memory of one serves for the next.
#[derive(Default)]
pub(super) struct Tree {
    members: Vec<u16>,
    /// Where to go on, with which values.
    pending: Vec<(u16, u32, u32)>,
    intervals: Vec<Range>,
    /// Values and where they go; of two with the same value the first counts.
    points: Vec<(u32, u16)>,
}

impl Tree {
    /// Becomes the tree below a comparison.
    pub(super) fn go_below(&mut self, flow: &Flow, head: usize) {
        self.members.clear();
        self.intervals.clear();
        self.points.clear();
        self.enter(flow, head, 0, u32::MAX);
        while let Some((to, low, high)) = self.pending.pop() {
            let inside = after(flow, to).is_some_and(|index| self.enter(flow, index, low, high));
            if !inside {
                append(&mut self.intervals, Range { low, high, to, key: key(flow, to) });
            }
        }
    }

    /// Brings an interval to a comparison; whether there is one that belongs to a tree.
    fn enter(&mut self, flow: &Flow, index: usize, low: u32, high: u32) -> bool {
        let Node::Branch { test, operand: Source::K(k), yes, no } = flow.nodes[index] else {
            return false;
        };
        let first = match test {
            Relation::Equal => {
                if (low..=high).contains(&k) {
                    self.points.push((k, yes));
                }
                self.pending.push((no, low, high));
                self.members.push(index as u16);
                return true;
            }
            Relation::AtLeast => Some(k),
            Relation::Greater => k.checked_add(1),
            Relation::Shares => None,
        };
        let Some(first) = first.filter(|&first| first > 0) else { return false };
        if high >= first {
            self.pending.push((yes, low.max(first), high));
        }
        if low < first {
            self.pending.push((no, low, high.min(first - 1)));
        }
        self.members.push(index as u16);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The nodes, the head first.
    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|&index| usize::from(index))
    }

    /// What values lead to: ranges with targets in ascending order, which cover everything.
    pub(super) fn ranges(&mut self, flow: &Flow) -> Vec<Range> {
        self.points.sort_by_key(|&(k, _)| k);
        let mut points = self.points.iter().peekable();
        let mut ranges = Vec::with_capacity(self.intervals.len() + 2 * self.points.len());
        for &interval in &self.intervals {
            // The values below are done.
            let mut low = Some(interval.low);
            while let Some(&(k, to)) = points.next_if(|&&(k, _)| k <= interval.high) {
                let Some(from) = low.filter(|&low| low <= k) else { continue };
                if from < k {
                    append(&mut ranges, Range { low: from, high: k - 1, ..interval });
                }
                append(&mut ranges, Range { low: k, high: k, to, key: key(flow, to) });
                low = k.checked_add(1);
            }
            if let Some(low) = low.filter(|&low| low <= interval.high) {
                append(&mut ranges, Range { low, ..interval });
            }
        }
        ranges
    }
}

/// Adds a range behind the others, or to the last one.
fn append(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.key == range.key => last.high = range.high,
        _ => ranges.push(range),
    }
}
