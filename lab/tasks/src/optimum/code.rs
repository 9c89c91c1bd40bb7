//! Programs for small values as graphs of instructions, and their translation to classic BPF.

use super::function::{Function, HIGHER, wide_mask};
use callgate_core::{Insn, Op, Verdict};

/// A test of what A holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Test {
    /// `jeq #k`, with `k` below 64.
    Equal(u8),
    /// `jge #k`, with `k` from 1 to 64; `jgt` makes the same tests.
    AtLeast(u8),
    /// `jset #mask`.
    AnyBit(u8),
}

impl Test {
    pub(super) fn holds(self, a: u8) -> bool {
        match self {
            Test::Equal(k) => a == k,
            Test::AtLeast(k) => a >= k,
            Test::AnyBit(mask) => a & mask != 0,
        }
    }

    /// All tests.
    pub(super) fn all() -> impl Iterator<Item = Test> {
        let equal = (0..HIGHER).map(Test::Equal);
        let at_least = (1..=HIGHER).map(Test::AtLeast);
        equal.chain(at_least).chain((1..2 * HIGHER).map(Test::AnyBit))
    }
}

/// A successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The return of a class.
    Class(u8),
    /// An instruction, by its index in [`Code::nodes`].
    Node(usize),
}

/// An instruction, or a bitset test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A conditional jump.
    Test { test: Test, then: Target, otherwise: Target },
    /// `and #mask`.
    And { mask: u8, next: Target },
    /// The load of the word.
    Load { next: Target },
    /// The test of bit `A - base` of a constant.
    Bitset { base: u8, bits: u32, set: u8, clear: u8 },
}

impl Node {
    fn successors(self) -> impl Iterator<Item = Target> {
        let pair = match self {
            Node::Test { then, otherwise, .. } => [Some(then), Some(otherwise)],
            Node::And { next, .. } | Node::Load { next } => [Some(next), None],
            Node::Bitset { set, clear, .. } => {
                [Some(Target::Class(set)), Some(Target::Class(clear))]
            }
        };
        pair.into_iter().flatten()
    }

    /// The successor that must be the next instruction, unless there is a `ja`.
    fn follower(self) -> Option<usize> {
        match self {
            Node::And { next: Target::Node(next), .. }
            | Node::Load { next: Target::Node(next) } => Some(next),
            _ => None,
        }
    }
}

/// The number of instructions of a bitset test.
pub(super) fn bitset_insns(base: u8) -> u32 {
    if base == 0 { 4 } else { 5 }
}

/// The instructions between the load of the word and the returns. A node precedes its successors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) nodes: Vec<Node>,
}

impl Code {
    /// The class that a value is led to.
    pub(super) fn run(&self, value: u8) -> Option<u8> {
        let (mut a, mut at) = (value, 0);
        loop {
            let target = match *self.nodes.get(at)? {
                Node::Test { test, then, otherwise } => {
                    if test.holds(a) {
                        then
                    } else {
                        otherwise
                    }
                }
                Node::And { mask, next } => {
                    a &= mask;
                    next
                }
                Node::Load { next } => {
                    a = value;
                    next
                }
                Node::Bitset { base, bits, set, clear } => {
                    let bit = u32::from(a.checked_sub(base).filter(|bit| *bit < 32)?);
                    Target::Class(if bits >> bit & 1 == 1 { set } else { clear })
                }
            };
            match target {
                Target::Class(class) => return Some(class),
                Target::Node(next) => at = next,
            }
        }
    }

    /// A value that is not led to its class.
    pub(super) fn counterexample(&self, function: &Function) -> Option<u8> {
        let wrong = |value: &u8| self.run(*value) != Some(function.class(*value));
        (0..2 * HIGHER).find(wrong)
    }

    /// The program: loads the word at this offset, and returns a verdict for each class.
    pub(super) fn program(&self, offset: u32, verdicts: &[Verdict]) -> Vec<Insn> {
        let mut program = vec![Insn::new(Op::LdWordAbs, offset)];
        let order = self.order();
        // The position of each node, after the load.
        let mut position = vec![0; self.nodes.len()];
        let mut next = 1;
        for (at, node) in order.iter().enumerate() {
            if let Some(of) = position.get_mut(*node) {
                *of = next;
            }
            next += self.length(*node, order.get(at + 1).copied());
        }
        let returns = next;
        let at = |target: Target| match target {
            Target::Class(class) => returns + usize::from(class),
            Target::Node(node) => position.get(node).copied().unwrap_or(returns),
        };
        for (index, node) in order.iter().enumerate() {
            let after = order.get(index + 1).copied();
            let Some(node) = self.nodes.get(*node) else { continue };
            let branch = |program: &Vec<Insn>, op, k, then, otherwise| {
                let skip = |target| (at(target) - program.len() - 1) as u8;
                Insn::branch(op, k, skip(then), skip(otherwise))
            };
            match *node {
                Node::Test { test, then, otherwise } => {
                    let (op, k) = match test {
                        Test::Equal(k) => (Op::JeqK, u32::from(k)),
                        Test::AtLeast(k) => (Op::JgeK, u32::from(k)),
                        Test::AnyBit(mask) => (Op::JsetK, wide_mask(mask)),
                    };
                    program.push(branch(&program, op, k, then, otherwise));
                }
                Node::And { mask, .. } => program.push(Insn::new(Op::AndK, wide_mask(mask))),
                Node::Load { .. } => program.push(Insn::new(Op::LdWordAbs, offset)),
                Node::Bitset { base, bits, set, clear } => {
                    if base != 0 {
                        program.push(Insn::new(Op::SubK, u32::from(base)));
                    }
                    program.push(Insn::new(Op::Tax, 0));
                    program.push(Insn::new(Op::LdImm, bits));
                    program.push(Insn::new(Op::RshX, 0));
                    let (set, clear) = (Target::Class(set), Target::Class(clear));
                    program.push(branch(&program, Op::JsetK, 1, set, clear));
                }
            }
            if let Some(follower) = node.follower().filter(|follower| Some(*follower) != after) {
                let skip = at(Target::Node(follower)) - program.len() - 1;
                program.push(Insn::new(Op::Ja, skip as u32));
            }
        }
        program.extend(verdicts.iter().map(|verdict| Insn::new(Op::RetK, verdict.0)));
        program
    }

    /// The number of instructions of a node, with the `ja` after it.
    fn length(&self, node: usize, after: Option<usize>) -> usize {
        let Some(node) = self.nodes.get(node) else { return 0 };
        match *node {
            Node::Bitset { base, .. } => bitset_insns(base) as usize,
            _ => 1 + usize::from(node.follower().is_some_and(|next| Some(next) != after)),
        }
    }

    /// A topological order that places as many nodes as possible directly before their follower. The first node stays the
    /// first.
    fn order(&self) -> Vec<usize> {
        // The last node with a follower is directly before it; the others need a `ja`.
        let mut leader = vec![None; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            if let Some(of) = node.follower().and_then(|next| leader.get_mut(next)) {
                *of = Some(at);
            }
        }
        let mut written = vec![false; self.nodes.len()];
        let mut order = Vec::new();
        while order.len() < self.nodes.len() {
            // A chain may be written when all other predecessors of its members are.
            let chain_from = |first: usize| {
                std::iter::successors(Some(first), |at| {
                    let next = self.nodes.get(*at)?.follower()?;
                    (leader.get(next) == Some(&Some(*at))).then_some(next)
                })
            };
            let predecessors_written = |at: usize, chain: &[usize]| {
                self.nodes.iter().enumerate().all(|(before, node)| {
                    let leads = node.successors().any(|next| next == Target::Node(at));
                    !leads || written[before] || chain.contains(&before)
                })
            };
            let ready = (0..self.nodes.len()).find_map(|first| {
                let chain: Vec<usize> = chain_from(first).collect();
                let is_first = leader.get(first) == Some(&None) && !written[first];
                let is_ready = is_first && chain.iter().all(|at| predecessors_written(*at, &chain));
                is_ready.then_some(chain)
            });
            // The graph is acyclic.
            let Some(chain) = ready else { break };
            for at in &chain {
                written[*at] = true;
            }
            order.extend(chain);
        }
        order
    }
}
