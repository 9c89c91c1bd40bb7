//! The destinations of all values of A in a sequence of comparisons with constants.
//!
//! A walk begins at a comparison with the interval of all values and follows the branches until an
//! instruction is not a comparison. `jgt` and `jge` split an interval; the lower part is followed first,
//! so intervals reach their destinations in ascending order. A value that `jeq` takes out of an interval
//! is kept as a point, which overrides the interval at the end. `jset` splits an interval if that results
//! in few parts; otherwise the interval ends there.
//!
//! Each value follows one path, whose points are found in order, also where paths meet.

use callgate_core::cfg::Successors;
use callgate_core::{Insn, Op, Relation, Source};

use super::simplified::Flow;

/// The widest interval that a `jset` splits value by value.
const NARROW: u32 = 1024;

/// Which comparisons a walk follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// `jeq` that is only reachable from this walk.
    OwnEqualities,
    /// `jeq`, `jgt` and `jge` that are only reachable from this walk.
    Own,
    /// Any comparison with a constant.
    All,
}

/// Values from `low` to `high` with one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) to: u16,
    /// Equal for equivalent destinations: returns of the same value.
    pub(crate) key: u64,
}

/// A walk. Its memory can be reused for the next one.
#[derive(Default)]
pub(crate) struct Walk {
    members: Vec<u16>,
    /// Intervals to be followed, the lowest last.
    pending: Vec<Pending>,
    /// Intervals at their destinations, in ascending order.
    intervals: Vec<Range>,
    /// Values and their destinations; of two entries with the same value the first counts.
    points: Vec<(u32, u16)>,
}

#[derive(Clone, Copy)]
struct Interval {
    low: u32,
    high: u32,
}

struct Pending {
    interval: Interval,
    to: usize,
    /// The interval ends at `to`.
    ends: bool,
}

/// The effect of an instruction on an interval.
enum Visit {
    /// The instruction does not belong to the walk.
    Outside,
    /// The lowest values of the interval follow this edge; the others are pending.
    Inside(Interval, usize),
    /// The whole interval is pending.
    Done,
}

/// Identifies equivalent destinations.
fn key(flow: &Flow, to: usize) -> u64 {
    match flow.insn(to) {
        Some(Insn { op: Op::RetK, k, .. }) => 1 << 32 | u64::from(k),
        _ => to as u64,
    }
}

impl Walk {
    /// Walks from a comparison on. `None` if that takes more than `work` steps, or if the first comparison
    /// cannot split the values.
    pub(crate) fn start(
        &mut self,
        flow: &Flow,
        head: usize,
        follow: Follow,
        work: &mut usize,
    ) -> Option<()> {
        self.members.clear();
        self.pending.clear();
        self.intervals.clear();
        self.points.clear();
        let head_interval = Interval { low: 0, high: u32::MAX };
        let mut next = self.visit(flow, head, head_interval, follow, work)?;
        if matches!(next, Visit::Outside) || self.pending.iter().any(|pending| pending.ends) {
            return None;
        }
        loop {
            // The lowest remaining values.
            let (interval, to) = match next {
                Visit::Inside(interval, to) => (interval, to),
                _ => match self.pending.pop() {
                    None => break,
                    Some(Pending { interval, to, ends: false }) => (interval, to),
                    Some(Pending { interval, to, ends: true }) => {
                        self.arrive(flow, interval, to);
                        next = Visit::Done;
                        continue;
                    }
                },
            };
            next = match follow.comparison(flow, to) {
                Some(at) => self.visit(flow, at, interval, follow, work)?,
                None => Visit::Outside,
            };
            if let Visit::Outside = next {
                self.arrive(flow, interval, flow.dest(to));
            }
        }
        Some(())
    }

    /// Ends an interval at its destination.
    fn arrive(&mut self, flow: &Flow, Interval { low, high }: Interval, to: usize) {
        let key = key(flow, to);
        append(&mut self.intervals, Range { low, high, to: to as u16, key });
    }

    /// Follows an interval into an instruction.
    #[inline(always)]
    fn visit(
        &mut self,
        flow: &Flow,
        at: usize,
        interval: Interval,
        follow: Follow,
        work: &mut usize,
    ) -> Option<Visit> {
        let Interval { low, high } = interval;
        let Some(insn) = flow.insn(at) else { return Some(Visit::Outside) };
        let Successors::Branch { taken, otherwise } = insn.successors(at) else {
            return Some(Visit::Outside);
        };
        let Some((relation, Source::K(k))) = insn.comparison() else {
            return Some(Visit::Outside);
        };
        *work = work.checked_sub(1)?;
        let first = match relation {
            Relation::Equal => {
                if (low..=high).contains(&k) {
                    let to = follow.destination(flow, k, taken, work)?;
                    self.points.push((k, to as u16));
                }
                self.members.push(at as u16);
                return Some(Visit::Inside(interval, otherwise));
            }
            _ if follow == Follow::OwnEqualities => return Some(Visit::Outside),
            Relation::Shares if follow == Follow::All => {
                self.members.push(at as u16);
                self.split(at, interval, k, [taken, otherwise], work)?;
                return Some(Visit::Done);
            }
            Relation::Shares => None,
            Relation::AtLeast => Some(k),
            Relation::Greater => k.checked_add(1),
        };
        // Comparisons with one possible outcome were folded; this one ends the walk.
        let Some(first) = first.filter(|&first| first > 0) else { return Some(Visit::Outside) };
        self.members.push(at as u16);
        let above = Interval { low: low.max(first), high };
        if low >= first {
            return Some(Visit::Inside(above, taken));
        }
        if high >= first {
            self.pending.push(Pending { interval: above, to: taken, ends: false });
        }
        Some(Visit::Inside(Interval { low, high: high.min(first - 1) }, otherwise))
    }

    /// Splits an interval by a bit test. All values have the same bits above the highest bit in which the
    /// ends of the interval differ; narrow intervals are split value by value.
    fn split(
        &mut self,
        at: usize,
        interval: Interval,
        bits: u32,
        sides: [usize; 2],
        work: &mut usize,
    ) -> Option<()> {
        let Interval { low, high } = interval;
        let varying = (low ^ high).checked_ilog2().map_or(0, |bit| u32::MAX >> (31 - bit));
        let mut push = |low, high, to, ends| {
            self.pending.push(Pending { interval: Interval { low, high }, to, ends });
        };
        if low & bits & !varying != 0 {
            push(low, high, sides[0], false);
        } else if bits & varying == 0 {
            push(low, high, sides[1], false);
        } else if high - low < NARROW {
            *work = work.checked_sub((high - low) as usize)?;
            let side = |value: u32| sides[usize::from(value & bits == 0)];
            let mut last = high;
            for value in (low..=high).rev() {
                if value == low || side(value - 1) != side(value) {
                    push(value, last, side(value), false);
                    last = value.wrapping_sub(1);
                }
            }
        } else {
            push(low, high, at, true);
        }
        Some(())
    }

    /// The comparisons of the walk, beginning with the first one.
    pub(crate) fn members(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|&at| usize::from(at))
    }

    /// The number of comparisons. With [`Follow::All`], those where paths meet count several times.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are more different comparisons than this number, which is small.
    pub(crate) fn has_more_than(&self, few: usize) -> bool {
        let mut different: Vec<u16> = Vec::with_capacity(few + 1);
        for member in &self.members {
            if !different.contains(member) {
                different.push(*member);
            }
            if different.len() > few {
                return true;
            }
        }
        false
    }

    /// The destinations of all values, in ascending order.
    pub(crate) fn ranges(&mut self, flow: &Flow) -> Vec<Range> {
        self.points.sort_by_key(|&(k, _)| k);
        let mut points = self.points.iter().peekable();
        let mut ranges = Vec::with_capacity(self.intervals.len() + 2 * self.points.len());
        for &interval in &self.intervals {
            // Values below this are done.
            let mut low = Some(interval.low);
            while let Some(&(k, to)) = points.next_if(|&&(k, _)| k <= interval.high) {
                let Some(from) = low.filter(|&low| low <= k) else { continue };
                if from < k {
                    append(&mut ranges, Range { low: from, high: k - 1, ..interval });
                }
                let key = key(flow, usize::from(to));
                append(&mut ranges, Range { low: k, high: k, to, key });
                low = k.checked_add(1);
            }
            if let Some(low) = low.filter(|&low| low <= interval.high) {
                append(&mut ranges, Range { low, ..interval });
            }
        }
        ranges
    }
}

impl Follow {
    /// The instruction that an edge leads to, if the walk may follow the edge.
    fn comparison(self, flow: &Flow, mut to: usize) -> Option<usize> {
        if self == Follow::All {
            return Some(flow.dest(to));
        }
        while flow.edges(to) == 1 {
            match flow.insn(to)?.successors(to) {
                Successors::Jump(next) => to = next,
                _ => return Some(to),
            }
        }
        None
    }

    /// The destination of a single value from an edge on.
    #[inline]
    fn destination(self, flow: &Flow, k: u32, to: usize, work: &mut usize) -> Option<usize> {
        let mut at = flow.dest(to);
        while self == Follow::All
            && let Some(insn) = flow.insn(at)
            && let Some((relation, Source::K(other))) = insn.comparison()
            && let Successors::Branch { taken, otherwise } = insn.successors(at)
        {
            *work = work.checked_sub(1)?;
            at = flow.dest(if relation.holds(k, other) { taken } else { otherwise });
        }
        Some(at)
    }
}

/// Appends a range, or extends the last one.
fn append(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.key == range.key => last.high = range.high,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::random::Rng;
    use callgate_core::{Endian, Program};

    use super::super::simplified::{Input, compares_constant};

    const CONSTANTS: [u32; 12] =
        [0, 1, 2, 3, 7, 8, 500, 1023, 0x4000_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX];

    /// Comparisons of the syscall number with forward branches to anywhere, and returns.
    fn comparisons(rng: &mut Rng) -> Vec<Insn> {
        let len = 3 + rng.below(30);
        let returns = 1 + rng.below(4);
        let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
        for left in (1..=len).rev() {
            let op = rng.pick(&[Op::JeqK, Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK]).unwrap();
            let mut skip = || rng.below((left + returns - 1).min(6)) as u8;
            let (jt, jf) = (skip(), skip());
            insns.push(Insn::branch(op, rng.pick(&CONSTANTS).unwrap(), jt, jf));
        }
        insns.extend((0..returns).map(|value| Insn::new(Op::RetK, value as u32 % 3)));
        insns
    }

    /// The instructions that a value passes, the last of which is not a comparison.
    fn path(flow: &Flow, mut at: usize, value: u32) -> Vec<usize> {
        let mut path = vec![at];
        while let Some((relation, Source::K(k))) = flow.insn(at).unwrap().comparison()
            && let Successors::Branch { taken, otherwise } = flow.insn(at).unwrap().successors(at)
        {
            at = flow.dest(if relation.holds(value, k) { taken } else { otherwise });
            path.push(at);
        }
        path
    }

    #[test]
    fn ranges_agree_with_the_path_of_each_value() {
        // Miri executes some thousand times slower.
        let programs = if cfg!(miri) { 3 } else { 3_000 };
        let mut rng = Rng::new(3);
        let mut checked = 0;
        for _ in 0..programs {
            let program = Program::new(comparisons(&mut rng)).unwrap();
            let flow = Flow::of(program.insns(), Input::Syscall(Endian::Little));
            for follow in [Follow::OwnEqualities, Follow::Own, Follow::All] {
                let head = flow.dest(1);
                let mut walk = Walk::default();
                let found = compares_constant(flow.insn(head).unwrap())
                    && walk.start(&flow, head, follow, &mut 100_000).is_some();
                if !found {
                    continue;
                }
                let ranges = walk.ranges(&flow);
                assert_eq!((ranges[0].low, ranges[ranges.len() - 1].high), (0, u32::MAX));
                assert!(ranges.windows(2).all(|two| two[0].high + 1 == two[1].low));
                let near = |k: u32| [k.wrapping_sub(1), k, k.wrapping_add(1)];
                let random = (0..20).map(|_| rng.next() as u32);
                for value in CONSTANTS.into_iter().flat_map(near).chain(random) {
                    let range = ranges[ranges.partition_point(|range| range.high < value)];
                    let path = path(&flow, head, value);
                    // Where the walk ends early, the destination is on the path.
                    let destination = match follow {
                        Follow::All
                            if !compares_constant(flow.insn(usize::from(range.to)).unwrap()) =>
                        {
                            path.last().is_some_and(|&at| key(&flow, at) == range.key)
                        }
                        _ => path.iter().any(|&at| key(&flow, at) == range.key),
                    };
                    assert!(
                        destination,
                        "{follow:?} {value:#x} {ranges:?}\n{:#?}",
                        program.insns()
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 30 * programs, "{checked}");
    }
}
