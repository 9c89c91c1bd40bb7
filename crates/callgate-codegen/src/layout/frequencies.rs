//! How often the nodes of a code graph are reached.

use crate::Model;
use crate::code::{Code, CodeId, Graph};
use crate::lower::NumberWord;
use crate::shares::shares;
use crate::weights::WeightedSyscall;
use callgate_bpf::data::Word;
use callgate_bpf::io_uring::Decision;
use callgate_bpf::{Layout, Op};

/// How often the nodes are reached in the mean syscall, weighted as in a model.
#[derive(Debug)]
pub(crate) struct Frequencies {
    /// By syscalls with a weight.
    pub(super) weighted: Counts,
    /// By all syscalls: those without a weight are rare, but decide where nothing else does.
    pub(super) all: Counts,
}

impl Frequencies {
    pub(crate) fn new(
        graph: &Graph,
        root: CodeId,
        layout: Layout,
        syscalls: &[WeightedSyscall],
        model: Model,
    ) -> Frequencies {
        let permits = permitting(graph, layout);
        let number = NumberWord::of(layout);
        let counts = |is_counted: fn(&WeightedSyscall) -> bool| {
            let none = vec![0.0; graph.len()];
            let mut counts = Counts { reached: none.clone(), then: none };
            for (syscall, weight) in syscalls.iter().zip(shares(syscalls, model)) {
                if is_counted(syscall) {
                    counts.walk(graph, root, number, syscall, weight);
                }
            }
            counts.propagate(graph, number, &permits);
            counts
        };
        Frequencies { weighted: counts(|syscall| syscall.weight > 0.0), all: counts(|_| true) }
    }
}

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

    /// Adds a syscall, or a request, up to its first argument.
    fn walk(
        &mut self,
        graph: &Graph,
        root: CodeId,
        number: NumberWord,
        syscall: &WeightedSyscall,
        weight: f64,
    ) {
        let (mut at, mut value) = (root, 0);
        // Words that select rules come first.
        let selects = |word: Word| word <= number.word;
        loop {
            self.reached[at.0 as usize] += weight;
            let (holds, then, otherwise) = match graph.get(at) {
                Code::Load { word, next } if selects(word) => {
                    let is_number = word == number.word;
                    value = if is_number { number.value(syscall.nr) } else { syscall.token };
                    at = next;
                    continue;
                }
                Code::And { held, mask, next } if selects(held.word) => {
                    value &= mask;
                    at = next;
                    continue;
                }
                Code::Branch { held, op, k, then, otherwise } if selects(held.word) => {
                    let holds = match op {
                        Op::JeqK => value == k,
                        Op::JgeK => value >= k,
                        _ => value & k != 0,
                    };
                    (holds, then, otherwise)
                }
                Code::Bitset { held, base, bits, then, otherwise } if selects(held.word) => {
                    (bits >> (value.wrapping_sub(base) % 32) & 1 == 1, then, otherwise)
                }
                _ => break,
            };
            self.then[at.0 as usize] += if holds { weight } else { 0.0 };
            at = if holds { then } else { otherwise };
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
                Code::Compare { .. } => {}
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
    use callgate_bpf::verdict::Verdict;

    #[test]
    fn edges_to_denials_are_rare() {
        let mut graph = Graph::default();
        let held = Held { word: Word::IP_LOW, mask: u32::MAX };
        let [refuse, allow, log] = [Verdict::errno(1), Verdict::ALLOW, Verdict::LOG]
            .map(|verdict| graph.add(Code::Return(verdict)));
        let mut test =
            |then, otherwise| graph.add(Code::Branch { held, op: Op::JgeK, k: 1, then, otherwise });
        let open = test(allow, log);
        let first = test(refuse, open);
        let root = graph.add(Code::Load { word: Word::IP_LOW, next: first });
        let syscall = WeightedSyscall { token: 0, nr: 0, weight: 7.0, always_allowed: false };
        let frequencies =
            Frequencies::new(&graph, root, Layout::Seccomp, &[syscall], Model::Uncached);
        let of = |id: CodeId| frequencies.weighted.reached(id);
        assert_eq!((of(root), of(first), of(refuse)), (1.0, 1.0, DENIED));
        assert_eq!((of(open), of(allow)), (1.0 - DENIED, (1.0 - DENIED) / 2.0));
        assert_eq!(of(allow), of(log));
        assert_eq!(frequencies.weighted.edges(first), [DENIED, 1.0 - DENIED]);
    }

    #[test]
    fn numbers_are_followed_after_a_mask() {
        let mut graph = Graph::default();
        let held = Held { word: Word::NR, mask: u32::MAX };
        let [refuse, allow] =
            [Verdict::errno(1), Verdict::ALLOW].map(|verdict| graph.add(Code::Return(verdict)));
        let (op, k) = (Op::JeqK, 7);
        let test = graph.add(Code::Branch { held, op, k, then: allow, otherwise: refuse });
        let masked = graph.add(Code::And { held, mask: 7, next: test });
        let root = graph.add(Code::Load { word: Word::NR, next: masked });
        let syscalls = [7, 15, 16].map(|nr| WeightedSyscall {
            token: 0,
            nr,
            weight: 1.0,
            always_allowed: nr != 16,
        });
        let frequencies =
            Frequencies::new(&graph, root, Layout::Seccomp, &syscalls, Model::Uncached);
        let third = |thirds: f64| move |is: f64| (is - thirds / 3.0).abs() < 1e-9;
        assert!(third(2.0)(frequencies.all.reached(allow)));
        assert!(third(1.0)(frequencies.all.edges(test)[1]));
    }
}
