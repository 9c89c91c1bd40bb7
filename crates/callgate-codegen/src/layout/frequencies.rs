//! How often the nodes of a code graph are reached.

use crate::code::{Code, CodeId, Graph};
use crate::lower::NumberWord;
use crate::weights::{Shares, WeightedSyscall};
use callgate_core::io_uring::Decision;
use callgate_core::{Layout, Op, Relation, Word, slack_within};

/// How often the nodes are reached in the mean syscall, weighted as in a model.
#[derive(Debug)]
pub(crate) struct Frequencies {
    /// By syscalls with a weight.
    pub(super) weighted: Counts,
    /// By all syscalls: those without a weight are rare, but decide where nothing else does.
    pub(super) all: Counts,
}

impl Frequencies {
    /// Those under syscalls with these shares.
    pub(crate) fn new(
        graph: &Graph,
        root: CodeId,
        layout: Layout,
        (syscalls, Shares { all, weighted }): (&[WeightedSyscall], &Shares),
    ) -> Frequencies {
        let number = NumberWord::of(layout);
        let mut frequencies = Frequencies { weighted: Counts::new(graph), all: Counts::new(graph) };
        let mut walk = Walk { graph, root, number, path: Vec::new() };
        let mut start = 0;
        while let Some(rest) = syscalls.get(start..).filter(|rest| !rest.is_empty()) {
            let end = start + walk.follow(rest);
            frequencies.all.add(&walk.path, &all[start..end]);
            frequencies.weighted.add(&walk.path, &weighted[start..end]);
            start = end;
        }
        let permits = permitting(graph, layout);
        for counts in [&mut frequencies.weighted, &mut frequencies.all] {
            counts.propagate(graph, number, &permits);
        }
        frequencies
    }
}

/// Follows syscalls, or requests, up to their first argument.
///
/// Consecutive syscalls mostly take the same path, so that one walk is enough for them: it finds the largest number for
/// which every comparison on the path has the same result.
struct Walk<'g> {
    graph: &'g Graph,
    root: CodeId,
    number: NumberWord,
    /// The path of the last walk, with the results of branches; false for other nodes.
    path: Vec<(CodeId, bool)>,
}

impl Walk<'_> {
    /// Follows the first of these syscalls, which are sorted. Returns how many take the same path, at least one.
    fn follow(&mut self, syscalls: &[WeightedSyscall]) -> usize {
        let Some(first) = syscalls.first() else { return 0 };
        let last = self.path_of(first);
        let start = self.number.value(first.nr);
        let same = syscalls.iter().skip(1).take_while(|syscall| {
            let value = self.number.value(syscall.nr);
            syscall.token == first.token && (start..=last).contains(&value)
        });
        1 + same.count()
    }

    /// Finds the path of a syscall. Returns the largest value of the word of the number up to which, from that of the
    /// syscall on, all values take the same path.
    fn path_of(&mut self, syscall: &WeightedSyscall) -> u32 {
        self.path.clear();
        let (mut at, mut value) = (self.root, 0);
        // How far the number, and with it `value`, may increase without another result.
        let mut slack = u32::MAX;
        // Words that select rules come first.
        let selects = |word: Word| word <= self.number.word;
        loop {
            // How far `value` may increase; what is masked before it increases alike.
            let (holds, further, next) = match self.graph.get(at) {
                Code::Load { word, next } if selects(word) => {
                    let is_number = word == self.number.word;
                    value = if is_number { self.number.value(syscall.nr) } else { syscall.token };
                    (false, u32::MAX, next)
                }
                Code::And { held, mask, next } if selects(held.word) => {
                    let further = slack_within(value, mask.trailing_ones());
                    value &= mask;
                    (false, further, next)
                }
                Code::Branch { held, op, k, then, otherwise } if selects(held.word) => {
                    let relation = match op {
                        Op::JeqK => Relation::Equal,
                        Op::JgeK => Relation::AtLeast,
                        _ => Relation::Shares,
                    };
                    let (holds, further) = (relation.holds(value, k), relation.slack(value, k));
                    let further = if held.word == self.number.word { further } else { u32::MAX };
                    (holds, further, if holds { then } else { otherwise })
                }
                Code::Bitset { held, base, bits, then, otherwise } if selects(held.word) => {
                    let holds = bits >> (value.wrapping_sub(base) % 32) & 1 == 1;
                    (holds, 0, if holds { then } else { otherwise })
                }
                _ => break,
            };
            self.path.push((at, holds));
            slack = slack.min(further);
            at = next;
        }
        self.path.push((at, false));
        self.number.value(syscall.nr).saturating_add(slack)
    }
}

/// A node and one of its successors.
pub(super) type Edge = (CodeId, CodeId);

/// How often each node is reached, and how often the first edge of each branch is followed.
///
/// For arch and number this is exact. For arguments, both edges of a branch are equally likely, except an edge after which
/// nothing is permitted: programs mostly use permitted syscalls.
#[derive(Debug)]
pub(super) struct Counts {
    reached: Vec<f64>,
    then: Vec<f64>,
}

/// The assumed probability of an edge after which nothing is permitted.
const DENIED: f64 = 0.05;

impl Counts {
    /// How often a node is reached.
    pub(super) fn reached(&self, id: CodeId) -> f64 {
        self.reached[id.0 as usize]
    }

    /// How often each edge of a branch is followed, the first one first.
    pub(super) fn edges(&self, id: CodeId) -> [f64; 2] {
        let then = self.then[id.0 as usize];
        [then, self.reached(id) - then]
    }

    /// How often an edge is followed.
    pub(super) fn edge(&self, graph: &Graph, (from, to): Edge) -> f64 {
        let mut successors = graph.get(from).successors();
        match (successors.next(), successors.next()) {
            (Some(then), Some(_)) => self.edges(from)[usize::from(then != to)],
            _ => self.reached(from),
        }
    }

    fn new(graph: &Graph) -> Counts {
        let none = vec![0.0; graph.len()];
        Counts { reached: none.clone(), then: none }
    }

    /// Adds syscalls with these weights that all take this path.
    fn add(&mut self, path: &[(CodeId, bool)], weights: &[f64]) {
        // Nodes that the same syscalls reach have exactly the same sums: these are always added together.
        let sum: f64 = weights.iter().sum();
        if sum == 0.0 {
            return;
        }
        for (id, holds) in path {
            let at = id.0 as usize;
            self.reached[at] += sum;
            if *holds {
                self.then[at] += sum;
            }
        }
    }

    /// From the first loads of arguments to all that follows. Successors have smaller indexes.
    fn propagate(&mut self, graph: &Graph, number: NumberWord, permits: &[bool]) {
        for id in (0..graph.len() as u32).rev().map(CodeId) {
            let code = graph.get(id);
            match code {
                Code::Load { word, .. } if word > number.word => {}
                Code::And { held, .. } | Code::Branch { held, .. } | Code::Bitset { held, .. }
                    if held.word > number.word => {}
                Code::Compare { .. } | Code::CompareWords { .. } | Code::Tax { .. } => {}
                _ => continue,
            }
            let reached = self.reached(id);
            let mut successors = code.successors();
            let (Some(first), second) = (successors.next(), successors.next()) else { continue };
            let permits = |id: CodeId| permits[id.0 as usize];
            let share = match second.map(permits) {
                None => 1.0,
                Some(second) if second == permits(first) => 0.5,
                Some(true) => DENIED,
                Some(false) => 1.0 - DENIED,
            };
            self.then[id.0 as usize] = share * reached;
            self.reached[first.0 as usize] += share * reached;
            if let Some(second) = second {
                self.reached[second.0 as usize] += (1.0 - share) * reached;
            }
        }
    }
}

/// Per node, whether a permitting verdict is reachable.
fn permitting(graph: &Graph, layout: Layout) -> Vec<bool> {
    let mut permits = vec![false; graph.len()];
    for id in (0..graph.len() as u32).map(CodeId) {
        permits[id.0 as usize] = match graph.get(id) {
            Code::Return(verdict) => match layout {
                Layout::Seccomp => verdict.permits(),
                Layout::IoUring(_) => Decision::of(verdict.0) == Decision::Allow,
                Layout::Packet => verdict.0 > 0,
            },
            code => code.successors().any(|next| permits[next.0 as usize]),
        };
    }
    permits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Held;
    use crate::weights::Permission;
    use callgate_core::Verdict;

    #[test]
    fn edges_to_denials_are_rare() {
        let mut graph = Graph::default();
        let held = Held::whole(Word::IP_LOW);
        let [refuse, allow, log] =
            [Verdict::errno(1), Verdict::ALLOW, Verdict::LOG].map(|verdict| graph.ret(verdict));
        let mut test = |then, otherwise| graph.branch(held, Op::JgeK, 1, then, otherwise);
        let open = test(allow, log);
        let first = test(refuse, open);
        let root = graph.load(Word::IP_LOW, first);
        let permission = Permission::Filtered;
        let syscall = WeightedSyscall { token: 0, nr: 0, weight: 7.0, permission };
        let shares = Shares::of(&[1.0]);
        let frequencies = Frequencies::new(&graph, root, Layout::Seccomp, (&[syscall], &shares));
        let of = |id: CodeId| frequencies.weighted.reached(id);
        assert_eq!((of(root), of(first), of(refuse)), (1.0, 1.0, DENIED));
        assert_eq!((of(open), of(allow)), (1.0 - DENIED, (1.0 - DENIED) / 2.0));
        assert_eq!(of(allow), of(log));
        assert_eq!(frequencies.weighted.edges(first), [DENIED, 1.0 - DENIED]);
    }

    /// Comparisons of every kind, before and after a mask.
    #[test]
    fn syscalls_that_are_counted_together_take_the_same_path() {
        let mut graph = Graph::default();
        let returns = (0..4).map(|errno| graph.ret(Verdict::errno(errno)));
        let returns: Vec<CodeId> = returns.collect();
        let held = Held::whole(Word::NR);
        let (mut roots, mut seed) = (returns, 1u32);
        for step in 0..200usize {
            let mut random = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed >> 16
            };
            let [then, otherwise] = [(); 2].map(|()| roots[random() as usize % roots.len()]);
            let k = random() % 70;
            roots.push(graph.add(match step % 5 {
                0 => Code::And { held, mask: !(1 << (k % 6)), next: then },
                1 => Code::Bitset { held, base: 0, bits: k * 0x0204_0801, then, otherwise },
                kind => {
                    let op = [Op::JeqK, Op::JgeK, Op::JsetK][kind - 2];
                    Code::Branch { held, op, k, then, otherwise }
                }
            }));
        }
        let syscalls = (0..64).filter(|nr| nr % 7 != 3).map(|nr| WeightedSyscall {
            token: u32::from(nr >= 60),
            nr,
            weight: 1.0,
            permission: Permission::Always,
        });
        let syscalls: Vec<WeightedSyscall> = syscalls.collect();
        let mut together = 0;
        for next in roots {
            let root = graph.load(Word::NR, next);
            let number = NumberWord::of(Layout::Seccomp);
            let mut walk = Walk { graph: &graph, root, number, path: Vec::new() };
            let mut rest = &syscalls[..];
            while !rest.is_empty() {
                let (same, others) = rest.split_at(walk.follow(rest));
                let path = walk.path.clone();
                for syscall in same {
                    walk.path_of(syscall);
                    assert_eq!(walk.path, path, "{syscall:?}");
                }
                together += same.len() - 1;
                rest = others;
            }
        }
        assert!(together > 1000, "{together}");
    }

    #[test]
    fn numbers_are_followed_after_a_mask() {
        let mut graph = Graph::default();
        let held = Held::whole(Word::NR);
        let [refuse, allow] = [Verdict::errno(1), Verdict::ALLOW].map(|verdict| graph.ret(verdict));
        let (op, k) = (Op::JeqK, 7);
        let test = graph.branch(held, op, k, allow, refuse);
        let masked = graph.and(held, 7, test);
        let root = graph.load(Word::NR, masked);
        let syscalls = [7, 15, 16].map(|nr| WeightedSyscall {
            token: 0,
            nr,
            weight: 1.0,
            permission: if nr == 16 { Permission::Never } else { Permission::Always },
        });
        let shares = Shares::of(&[1.0 / 3.0; 3]);
        let frequencies = Frequencies::new(&graph, root, Layout::Seccomp, (&syscalls, &shares));
        let third = |thirds: f64| move |is: f64| (is - thirds / 3.0).abs() < 1e-9;
        assert!(third(2.0)(frequencies.all.reached(allow)));
        assert!(third(1.0)(frequencies.all.edges(test)[1]));
    }
}
