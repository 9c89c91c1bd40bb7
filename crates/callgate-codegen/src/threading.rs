//! Jump threading: branches whose result is known where they are reached from are passed over.
//!
//! Code that tests clause after clause repeats tests. What a path has found out about the words of arguments is a set of
//! literals, which is that of all paths to a node: what only some of them found out is forgotten where they meet. Each edge then
//! goes on to the first node whose result is not known, without loads that nothing needs. A branch both of whose sides lead to the
//! same node under these literals is passed over, too.
//!
//! No node is copied, except that a load may get a twin for code further on. So code executes no more instructions than before, and
//! is not longer but for such loads.

use std::collections::BTreeMap;

use callgate_core::{Literal, Op, Word, WordTest};
use rustc_hash::FxHashMap as HashMap;

use super::code::{Code, CodeId, Graph};

/// The maximum number of literals that are known at a node.
const MAX_FACTS: usize = 24;

/// The maximum number of undecided branches after each other that are passed over.
const MAX_DEPTH: usize = 5;

/// The maximum number of nodes at which edges are followed.
const MAX_STEPS: usize = 100_000;

/// Code for arguments, which loads what it tests, with the same results and fewer branches; the given code if there is none.
pub(super) fn threaded(graph: &mut Graph, root: CodeId) -> CodeId {
    let mut threading = Threading { graph, steps: 0 };
    let start = threading.target(Place { held: None, load: None, at: root }, &[], MAX_DEPTH);
    let mut pending: BTreeMap<CodeId, Vec<Literal>> = BTreeMap::from([(start.at, Vec::new())]);
    let mut targets: BTreeMap<CodeId, [Target; 2]> = BTreeMap::new();
    // Successors have smaller indexes, so all edges to a node are known.
    while let Some((id, facts)) = pending.pop_last() {
        let edges = threading.edges(id, &facts);
        if threading.steps > MAX_STEPS {
            return root;
        }
        targets.insert(id, edges.each_ref().map(|(target, _)| *target));
        for (Target { at, .. }, facts) in edges.into_iter().filter(|(target, _)| target.at != id) {
            match pending.get_mut(&at) {
                Some(known) => known.retain(|fact| facts.contains(fact)),
                None => drop(pending.insert(at, facts)),
            }
        }
    }
    let mut made: HashMap<CodeId, CodeId> = HashMap::default();
    let make = |graph: &mut Graph, made: &HashMap<CodeId, CodeId>, Target { load, at }| {
        let code = made.get(&at).copied().unwrap_or(at);
        match load {
            Some(word) => graph.load(word, code),
            None => code,
        }
    };
    for (id, targets) in targets {
        let [first, second] = targets.map(|target| make(graph, &made, target));
        let code = match graph.get(id) {
            code @ (Code::Return(_)
            | Code::Load { .. }
            | Code::Tax { .. }
            | Code::CompareWords { .. }) => code,
            Code::And { held, mask, .. } => Code::And { held, mask, next: first },
            Code::Branch { held, op, k, .. } => {
                Code::Branch { held, op, k, then: first, otherwise: second }
            }
            Code::Compare { held, op, symbol, half, .. } => {
                Code::Compare { held, op, symbol, half, then: first, otherwise: second }
            }
            Code::Bitset { held, base, bits, .. } => {
                Code::Bitset { held, base, bits, then: first, otherwise: second }
            }
        };
        made.insert(id, graph.add(code));
    }
    make(graph, &made, start)
}

/// Where an edge goes to: a node, before which a word is loaded or not.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Target {
    load: Option<Word>,
    at: CodeId,
}

/// A node on the way of an edge.
#[derive(Clone, Copy)]
struct Place {
    /// The word that A holds where the edge starts.
    held: Option<Word>,
    /// The word that is to be loaded before the node.
    load: Option<Word>,
    at: CodeId,
}

struct Threading<'g> {
    graph: &'g Graph,
    steps: usize,
}

impl Threading<'_> {
    /// The edges of a node where these literals are known, with what is known after each; twice the same node if it has none.
    fn edges(&mut self, id: CodeId, facts: &[Literal]) -> [(Target, Vec<Literal>); 2] {
        let code = self.graph.get(id);
        let held = match code {
            Code::Branch { held, .. } if held.mask == u32::MAX => Some(held.word),
            _ => None,
        };
        let test = literal_of(code);
        let sides = match code {
            // What compares two words stays as it is.
            Code::Return(_) | Code::Load { .. } | Code::Tax { .. } | Code::CompareWords { .. } => {
                [id; 2]
            }
            // The next node needs A as it is.
            Code::And { next, .. } => {
                let target = Target { load: None, at: next };
                return [(); 2].map(|()| (target, facts.to_vec()));
            }
            Code::Branch { then, otherwise, .. }
            | Code::Compare { then, otherwise, .. }
            | Code::Bitset { then, otherwise, .. } => [then, otherwise],
        };
        [true, false].map(|holds| {
            let at = sides[usize::from(!holds)];
            if at == id {
                return (Target { load: None, at }, Vec::new());
            }
            let facts = with(facts, test, holds);
            (self.target(Place { held, load: None, at }, &facts, MAX_DEPTH), facts)
        })
    }

    /// Where an edge goes to if these literals are known. The depth of the recursion is at most `depth`.
    fn target(&mut self, place: Place, facts: &[Literal], depth: usize) -> Target {
        let Place { held, mut load, mut at } = place;
        loop {
            self.steps += 1;
            let here = Target { load, at };
            let code = self.graph.get(at);
            match code {
                Code::Return(_) => return Target { load: None, at },
                Code::Load { word, next } => {
                    load = Some(word).filter(|word| held != Some(*word));
                    at = next;
                }
                Code::And { next, .. } => {
                    // What follows the test must not need A, of which bits are cleared.
                    let test = self.graph.get(next);
                    let result = literal_of(test).and_then(|one| decided(facts, one));
                    match result.and_then(|result| test.successors().nth(usize::from(!result))) {
                        Some(side) if !self.needs_a(side) => (load, at) = (None, side),
                        _ => return here,
                    }
                }
                Code::Branch { then, otherwise, .. } => {
                    let test = literal_of(code);
                    match test.and_then(|test| decided(facts, test)) {
                        Some(true) => at = then,
                        Some(false) => at = otherwise,
                        None if depth == 0 || self.steps > MAX_STEPS => return here,
                        None => {
                            let mut side = |at, holds| {
                                let facts = with(facts, test, holds);
                                self.target(Place { held, load, at }, &facts, depth - 1)
                            };
                            let (then, otherwise) = (side(then, true), side(otherwise, false));
                            return if then == otherwise { then } else { here };
                        }
                    }
                }
                Code::Compare { .. }
                | Code::Tax { .. }
                | Code::CompareWords { .. }
                | Code::Bitset { .. } => return here,
            }
        }
    }

    fn needs_a(&self, id: CodeId) -> bool {
        !matches!(self.graph.get(id), Code::Return(_) | Code::Load { .. })
    }
}

/// What holds exactly if the first side of a branch is taken; `None` for other nodes.
fn literal_of(code: Code) -> Option<Literal> {
    let Code::Branch { held, op, k, .. } = code else { return None };
    let word = held.word;
    Some(match op {
        Op::JeqK => Literal {
            test: WordTest { word, mask: held.mask, is_order: false, value: k },
            holds: true,
        },
        // As clauses have it.
        Op::JgeK if k == held.mask & held.mask.wrapping_neg() => Literal {
            test: WordTest { word, mask: held.mask, is_order: false, value: 0 },
            holds: false,
        },
        Op::JgeK => Literal {
            test: WordTest { word, mask: held.mask, is_order: true, value: k },
            holds: true,
        },
        _ => Literal {
            test: WordTest { word, mask: held.mask & k, is_order: false, value: 0 },
            holds: false,
        },
    })
}

/// Whether a literal holds where these do, if one of them says so.
fn decided(facts: &[Literal], literal: Literal) -> Option<bool> {
    facts.iter().find_map(|fact| fact.decides(literal))
}

/// The literals that are known after a test.
fn with(facts: &[Literal], test: Option<Literal>, holds: bool) -> Vec<Literal> {
    let mut facts = facts.to_vec();
    let fact = test.map(|one| Literal { holds: one.holds == holds, ..one });
    facts.extend(fact.filter(|fact| !facts.contains(fact)));
    if facts.len() > MAX_FACTS {
        facts.remove(0);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Held;
    use callgate_core::{SeccompData, Verdict};
    use callgate_testing::random::Rng;

    /// Random code for three words of two bits: the same results, never more executed instructions, and mostly fewer.
    #[test]
    fn results_are_the_same_and_less_is_executed() {
        let mut rng = Rng::new(7);
        let (mut less, mut all) = (0, 0);
        for _ in 0..300 {
            let mut graph = Graph::default();
            let mut codes: Vec<CodeId> =
                (0..3).map(|errno| graph.ret(Verdict::errno(errno))).collect();
            for _ in 0..12 {
                let word = Word::arg_low(rng.below(3) as u8).unwrap();
                let held = Held::whole(word);
                let k = 1 + rng.below(3) as u32;
                let last = &codes[codes.len().saturating_sub(8)..];
                let mut pick = || last[rng.below(last.len())];
                let (then, otherwise) = (pick(), pick());
                let test = match rng.below(4) {
                    0 => graph.branch(held, Op::JgeK, k, then, otherwise),
                    1 => graph.branch(held, Op::JsetK, k, then, otherwise),
                    2 => {
                        let masked = Held { word, mask: k };
                        let test = graph.branch(masked, Op::JeqK, k, then, otherwise);
                        graph.and(held, k, test)
                    }
                    _ => graph.branch(held, Op::JeqK, k, then, otherwise),
                };
                codes.push(if test == then { then } else { graph.load(word, test) });
            }
            let root = codes[codes.len() - 1];
            let threaded = threaded(&mut graph, root);
            for number in 0..64 {
                let args = [number % 4, number / 4 % 4, number / 16, 0, 0, 0];
                let data = SeccompData { args, ..SeccompData::default() };
                assert_eq!(verdict(&graph, threaded, &data), verdict(&graph, root, &data));
                let [ours, before] = [threaded, root].map(|code| graph.executed(code, &data));
                assert!(ours <= before, "{ours} {before}");
                less += usize::from(ours < before);
                all += 1;
            }
        }
        assert!(4 * less > all, "{less} of {all}");
    }

    fn verdict(graph: &Graph, from: CodeId, data: &SeccompData) -> Verdict {
        let (mut at, mut a) = (from, 0);
        loop {
            at = match graph.get(at) {
                Code::Return(verdict) => return verdict,
                Code::Load { word, next } => {
                    a = data.word(word);
                    next
                }
                Code::And { mask, next, .. } => {
                    a &= mask;
                    next
                }
                Code::Branch { op, k, then, otherwise, .. } => {
                    let holds = match op {
                        Op::JeqK => a == k,
                        Op::JgeK => a >= k,
                        _ => a & k != 0,
                    };
                    if holds { then } else { otherwise }
                }
                code => panic!("{code:?}"),
            };
        }
    }
}
