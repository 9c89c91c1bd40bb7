//! Where comparisons of A with constants lead: many in a row become one table.
//!
//! From a comparison on, as long as nothing happens to A but comparisons, each value of A leads to one
//! place. The values are followed all at once, as intervals, front to back.

use callgate::bpf::{Insn, Op};

use super::flow::Flow;
use super::op::Target;
use callgate::bpf::{Relation, Source};

/// Values, first and last, and the instruction at which they go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) target: Target,
}

/// Values that reach an instruction.
struct Values {
    intervals: Vec<(u32, u32)>,
    in_order: bool,
}

/// How few comparisons are made one by one instead: of calls, and of packets.
const FEW: [usize; 2] = [2, 4];

/// The widest interval in which a test of bits is tried value by value.
const NARROW: u32 = 1024;

/// Where all values of A go on when the program is at this comparison, in order; `None` when there are
/// too few comparisons to be worth it, when `work` is used up, and when bits of A decide that the
/// intervals do not show.
pub(super) fn spread(flow: &Flow, at: usize, work: &mut usize) -> Option<Vec<Piece>> {
    // The first instruction is the last one here.
    let mut pending = vec![(at, Values { intervals: vec![(0, u32::MAX)], in_order: true })];
    let mut pieces = Vec::new();
    let mut comparisons = 0;
    while let Some((here, mut values)) = pending.pop() {
        let insn = *flow.insns.get(here)?;
        let Some((cmp, Source::K(_))) = insn.comparison() else {
            pieces.extend(leave(&values.intervals, here)?);
            continue;
        };
        comparisons += 1;
        if !values.in_order {
            *work = work.checked_sub(values.intervals.len())?;
            values.intervals.sort_unstable();
        }
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        if cmp == Relation::Shares {
            *work = work.checked_sub(values.intervals.len())?;
            let mut undecided = Vec::new();
            for interval in values.intervals {
                split_by_bits(interval, insn.k, [&mut yes, &mut no], &mut undecided, work)?;
            }
            if !undecided.is_empty() {
                if here == at {
                    return None;
                }
                pieces.extend(leave(&undecided, here)?);
            }
        } else {
            // Moving what is in order is much cheaper than looking at it.
            *work = work.checked_sub(1 + values.intervals.len() / 64)?;
            no = values.intervals;
            yes = match bounds(cmp, insn.k) {
                Some((from, to)) => take(&mut no, from, to),
                None => Vec::new(),
            };
        }
        for (distance, side) in [(insn.jt, yes), (insn.jf, no)] {
            if !side.is_empty() {
                let target = flow.resolve(here + 1 + usize::from(distance));
                match pending.binary_search_by(|(other, _)| target.cmp(other)) {
                    Ok(place) => {
                        let values = &mut pending[place].1;
                        values.intervals.extend(side);
                        values.in_order = false;
                    }
                    Err(place) => {
                        *work = work.checked_sub((pending.len() - place) / 64)?;
                        let values = Values { intervals: side, in_order: true };
                        pending.insert(place, (target, values));
                    }
                }
            }
        }
    }
    (comparisons > FEW[usize::from(!flow.of_calls)]).then(|| in_order(flow, pieces))
}

pub(super) fn is_constant_branch(op: Op) -> bool {
    matches!(op, Op::JeqK | Op::JgtK | Op::JgeK | Op::JsetK)
}

/// The values for which an ordering test holds; `None` when for none.
fn bounds(cmp: Relation, k: u32) -> Option<(u32, u32)> {
    match cmp {
        Relation::Equal => Some((k, k)),
        Relation::Greater => Some((k.checked_add(1)?, u32::MAX)),
        Relation::AtLeast => Some((k, u32::MAX)),
        Relation::Shares => None,
    }
}

fn leave(intervals: &[(u32, u32)], here: usize) -> Option<Vec<Piece>> {
    let target = Target::try_from(here).ok()?;
    Some(intervals.iter().map(|&(first, last)| Piece { first, last, target }).collect())
}

/// Takes the values in a range out of intervals that are in order.
fn take(intervals: &mut Vec<(u32, u32)>, from: u32, to: u32) -> Vec<(u32, u32)> {
    let start = intervals.partition_point(|&(_, last)| last < from);
    let count = intervals[start..].partition_point(|&(first, _)| first <= to);
    let affected = &mut intervals[start..start + count];
    let (Some(&(first, _)), Some(&(_, last))) = (affected.first(), affected.last()) else {
        return Vec::new();
    };
    let before = (first < from).then(|| (first, from - 1));
    let after = (to < last).then(|| (to + 1, last));
    if let ([interval], Some(rest)) = (affected, before.or(after)) {
        // As most often, one interval becomes shorter, or two.
        *interval = rest;
        if let (Some(_), Some(after)) = (before, after) {
            intervals.insert(start + 1, after);
        }
        return vec![(first.max(from), last.min(to))];
    }
    let rest = before.into_iter().chain(after);
    let mut taken: Vec<_> = intervals.splice(start..start + count, rest).collect();
    if let Some(interval) = taken.first_mut() {
        interval.0 = interval.0.max(from);
    }
    if let Some(interval) = taken.last_mut() {
        interval.1 = interval.1.min(to);
    }
    taken
}

/// A test of bits: bits above the highest in which the ends of the interval differ are the same for
/// all of it, and a narrow interval is tried value by value.
fn split_by_bits(
    (first, last): (u32, u32),
    bits: u32,
    sides: [&mut Vec<(u32, u32)>; 2],
    undecided: &mut Vec<(u32, u32)>,
    work: &mut usize,
) -> Option<()> {
    let varying = (first ^ last).checked_ilog2().map_or(0, |bit| u32::MAX >> (31 - bit));
    if first & bits & !varying != 0 {
        sides[0].push((first, last));
    } else if bits & varying == 0 {
        sides[1].push((first, last));
    } else if last - first < NARROW {
        *work = work.checked_sub((last - first) as usize)?;
        let mut start = first;
        for value in first..=last {
            let side = usize::from(value & bits == 0);
            if value == last || usize::from((value + 1) & bits == 0) != side {
                sides[side].push((start, value));
                start = value.wrapping_add(1);
            }
        }
    } else {
        undecided.push((first, last));
    }
    Some(())
}

/// In the order of the values, neighbours with the same target as one. Returns of the same value are
/// the same target.
fn in_order(flow: &Flow, mut pieces: Vec<Piece>) -> Vec<Piece> {
    let mut returns: Vec<(Insn, Target)> = Vec::new();
    for piece in &mut pieces {
        let Some(&insn) = flow.insns.get(usize::from(piece.target)) else { continue };
        if insn.op == Op::RetK {
            match returns.iter().find(|(other, _)| other.k == insn.k) {
                Some(&(_, target)) => piece.target = target,
                None => returns.push((insn, piece.target)),
            }
        }
    }
    pieces.sort_unstable_by_key(|piece| piece.first);
    pieces.dedup_by(|next, kept| {
        let same = next.target == kept.target;
        if same {
            kept.last = next.last;
        }
        same
    });
    pieces
}
