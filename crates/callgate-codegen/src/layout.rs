//! Layout: from the code graph to a program.
//!
//! Jumps go forward only, and the displacement of a conditional jump is at most 255. The program is emitted
//! backwards: when an instruction is emitted, all its successors have their positions, so that every displacement
//! is known and final. If a target is out of reach, a trampoline (a copy of the return, or a `ja` to the target) is
//! emitted first, directly after the branch, and serves all earlier instructions from then on. So one pass
//! suffices: each node of the graph is emitted once, with at most two trampolines.
//!
//! The order is the reverse of a depth-first postorder, which is topological. Of two successors, the more frequent
//! is visited last, and so becomes the fall-through.

use super::Model;
use super::code::{Code, CodeId, Graph};
use super::lower::NumberWord;
use super::weights::WeightedSyscall;
use callgate_bpf::data::{Endian, Word};
use callgate_bpf::io_uring::Decision;
use callgate_bpf::template::Patch;
use callgate_bpf::{Insn, Layout, Op};

/// The maximum displacement of a conditional jump.
const MAX_DISPLACEMENT: usize = 255;

/// The instructions of the code graph from `root`. `frequency` is how often each node is reached, by the index of its
/// [`CodeId`]; `input` is the layout of the structure with the loaded words, and the byte order of the machine.
pub(super) fn lay_out(
    graph: &Graph,
    root: CodeId,
    frequency: &[f64],
    input: (Layout, Endian),
) -> Program {
    let (home, nearest) = (vec![0; graph.len()], vec![0; graph.len()]);
    let patches = Vec::new();
    let mut writer = Writer { frequency, written: Vec::new(), patches, home, nearest };
    for id in postorder(graph, root, frequency) {
        writer.write(graph, id, input);
    }
    writer.written.reverse();
    // An instruction was written at its distance from the end.
    let last = writer.written.len().saturating_sub(1);
    for patch in &mut writer.patches {
        patch.insn = last - patch.insn;
        writer.written[patch.insn].k = 0;
    }
    remove_unreachable(Program { insns: writer.written, patches: writer.patches })
}

/// Instructions, and the patches of those that compare with variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The instructions; there may be more than the kernel accepts.
    pub insns: Vec<Insn>,
    /// The patches, in no particular order.
    pub patches: Vec<Patch>,
}

/// Removes unreachable instructions: returns of which only trampolines are used. Displacements only decrease.
fn remove_unreachable(program: Program) -> Program {
    let Program { mut insns, mut patches } = program;
    let mut live = vec![false; insns.len()];
    // The number of live instructions before each.
    let mut before = Vec::with_capacity(insns.len() + 1);
    before.push(0);
    if let Some(first) = live.first_mut() {
        *first = true;
    }
    for (at, insn) in insns.iter().enumerate() {
        before.push(before[at] + usize::from(live[at]));
        if !live[at] {
            continue;
        }
        let targets = match insn.op {
            op if op.is_branch() => [Some(usize::from(insn.jt)), Some(usize::from(insn.jf))],
            Op::Ja => [Some(insn.k as usize), None],
            op if op.is_return() => [None, None],
            _ => [Some(0), None],
        };
        for target in targets.into_iter().flatten() {
            if let Some(live) = live.get_mut(at + 1 + target) {
                *live = true;
            }
        }
    }
    if live.iter().all(|live| *live) {
        return Program { insns, patches };
    }
    for (at, insn) in insns.iter_mut().enumerate().filter(|(at, _)| live[*at]) {
        let distance = |old: usize| before[at + 1 + old] - before[at + 1];
        if insn.op.is_branch() {
            insn.jt = distance(usize::from(insn.jt)) as u8;
            insn.jf = distance(usize::from(insn.jf)) as u8;
        } else if insn.op == Op::Ja {
            insn.k = distance(insn.k as usize) as u32;
        }
    }
    patches.retain(|patch| live[patch.insn]);
    for patch in &mut patches {
        patch.insn = before[patch.insn];
    }
    let mut live = live.into_iter();
    insns.retain(|_| live.next().unwrap_or(true));
    Program { insns, patches }
}

/// How often each node is reached, by the index of its [`CodeId`], weighted as in this model. For arch and number this
/// is exact. For arguments, both edges of a branch are equally likely, except an edge after which nothing is
/// permitted: programs mostly use permitted syscalls.
pub(super) fn frequencies(
    graph: &Graph,
    root: CodeId,
    layout: Layout,
    syscalls: &[WeightedSyscall],
    model: Model,
) -> Vec<f64> {
    let mut frequency = vec![0.0; graph.len()];
    let number = NumberWord::of(layout);
    // Words that select rules come first.
    let selects = |word: Word| word <= number.word;
    for syscall in syscalls.iter().filter(|syscall| syscall.weight > 0.0) {
        let (weight, value) = (model.weigh(syscall), number.value(syscall.nr));
        let mut at = root;
        loop {
            frequency[at.0 as usize] += weight;
            at = match graph.get(at) {
                Code::Load { word, next } if selects(word) => next,
                Code::Branch { held, op, k, then, otherwise } if selects(held.word) => {
                    let value = if held.word == number.word { value } else { syscall.token };
                    let value = value & held.mask;
                    let holds = match op {
                        Op::JeqK => value == k,
                        Op::JgeK => value >= k,
                        _ => value & k != 0,
                    };
                    if holds { then } else { otherwise }
                }
                Code::And { held, next, .. } if layout != Layout::Seccomp && selects(held.word) => {
                    next
                }
                Code::Bitset { held, base, bits, then, otherwise } if selects(held.word) => {
                    if bits >> (value.wrapping_sub(base) % 32) & 1 == 1 { then } else { otherwise }
                }
                _ => break,
            };
        }
    }
    // Successors have smaller indexes.
    let permits = permitting(graph, layout);
    for id in (0..graph.len() as u32).rev().map(CodeId) {
        let code = graph.get(id);
        match code {
            Code::Load { word, .. } if !selects(word) => {}
            Code::And { held, .. } | Code::Branch { held, .. } | Code::Bitset { held, .. }
                if !selects(held.word) => {}
            Code::Compare { .. } => {}
            _ => continue,
        }
        let permits = |id: &CodeId| permits[id.0 as usize];
        let (some, all) = (code.successors().any(|id| permits(&id)), code.successors().count());
        let refused = code.successors().filter(|id| some && !permits(id)).count();
        for next in code.successors() {
            let share = match some && !permits(&next) {
                true => DENIED,
                false => (1.0 - DENIED * refused as f64) / (all - refused) as f64,
            };
            frequency[next.0 as usize] += share * frequency[id.0 as usize];
        }
    }
    frequency
}

/// The assumed probability of an edge after which nothing is permitted.
const DENIED: f64 = 0.05;

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

/// All nodes reachable from `root`, each after its successors; of the two successors of a branch, the more frequent
/// last.
fn postorder(graph: &Graph, root: CodeId, frequency: &[f64]) -> Vec<CodeId> {
    let mut order = Vec::with_capacity(graph.len());
    let mut visited = vec![false; graph.len()];
    let mut stack = vec![(root, false)];
    while let Some((id, expanded)) = stack.pop() {
        if expanded {
            order.push(id);
            continue;
        }
        if std::mem::replace(&mut visited[id.0 as usize], true) {
            continue;
        }
        stack.push((id, true));
        let mut successors: Vec<CodeId> = graph.get(id).successors().collect();
        // A stack reverses the order: the first pushed is visited last.
        successors.sort_by(|a, b| {
            let of = |id: &CodeId| frequency.get(id.0 as usize).copied().unwrap_or(0.0);
            of(b).total_cmp(&of(a))
        });
        stack.extend(successors.into_iter().map(|id| (id, false)));
    }
    order
}

/// The negated comparison, if there is one. If neither edge of a branch is a fall-through, the kernel emits a second
/// jump for the edge that is not taken (`bpf_convert_filter` in `net/core/filter.c`), so the taken edge should be
/// the more frequent one.
fn negated(op: Op, k: u32) -> Option<(Op, u32)> {
    match (op, k) {
        (Op::JgeK, 1) => Some((Op::JeqK, 0)),
        (Op::JeqK, 0) => Some((Op::JgeK, 1)),
        _ => None,
    }
}

/// The constant of an instruction with a patch: one that no comparison is negated for.
const VARIABLE: u32 = u32::MAX;

struct Writer<'f> {
    frequency: &'f [f64],
    /// In reverse order.
    written: Vec<Insn>,
    /// The patches; in place of the index of an instruction, the number of instructions after it.
    patches: Vec<Patch>,
    /// Per node, its position: the number of instructions emitted so far, itself included.
    home: Vec<usize>,
    /// Per node, the position of its nearest trampoline, or its own.
    nearest: Vec<usize>,
}

impl Writer<'_> {
    fn write(&mut self, graph: &Graph, id: CodeId, (layout, endian): (Layout, Endian)) {
        let insn = match graph.get(id) {
            Code::Return(verdict) => Insn::new(Op::RetK, verdict.0),
            Code::Load { word, next } => {
                self.fall_into(graph, next);
                // Every word of a graph has a place; no program loads from the other offset.
                let offset = layout.place(word, endian).map_or(u32::MAX, |place| place.offset);
                Insn::new(Op::LdWordAbs, offset)
            }
            Code::And { mask, next, .. } => {
                self.fall_into(graph, next);
                Insn::new(Op::AndK, mask)
            }
            Code::Branch { op, k, then, otherwise, .. } => {
                self.branch(graph, op, k, then, otherwise)
            }
            Code::Compare { op, symbol, half, then, otherwise, .. } => {
                let jump = self.branch(graph, op, VARIABLE, then, otherwise);
                self.patches.push(Patch { insn: self.written.len(), symbol, half });
                jump
            }
            Code::Bitset { base, bits, then, otherwise, .. } => {
                let jump = self.branch(graph, Op::JsetK, 1, then, otherwise);
                let look_up = [jump, Insn::new(Op::RshX, 0), Insn::new(Op::LdImm, bits)];
                self.written.extend(look_up);
                if base == 0 {
                    Insn::new(Op::Tax, 0)
                } else {
                    self.written.push(Insn::new(Op::Tax, 0));
                    Insn::new(Op::SubK, base)
                }
            }
        };
        self.written.push(insn);
        self.home[id.0 as usize] = self.written.len();
        self.nearest[id.0 as usize] = self.written.len();
    }

    /// A conditional jump, after the trampolines for targets out of reach.
    fn branch(&mut self, graph: &Graph, op: Op, k: u32, then: CodeId, otherwise: CodeId) -> Insn {
        // A trampoline for one target increases the displacement of the other by one. So the nearer target is
        // checked last; its own trampoline keeps the first within reach.
        let (near, far) = if self.distance(then) < self.distance(otherwise) {
            (then, otherwise)
        } else {
            (otherwise, then)
        };
        for target in [far, near] {
            if self.distance(target) > MAX_DISPLACEMENT {
                self.trampoline(graph, target);
            }
        }
        let (jt, jf) = (self.distance(then), self.distance(otherwise));
        let (jt, jf) = (jt.min(MAX_DISPLACEMENT) as u8, jf.min(MAX_DISPLACEMENT) as u8);
        match negated(op, k) {
            Some((op, k)) if jt > 0 && jf > 0 && self.is_rarer(then, otherwise) => {
                Insn::branch(op, k, jf, jt)
            }
            _ => Insn::branch(op, k, jt, jf),
        }
    }

    fn is_rarer(&self, one: CodeId, other: CodeId) -> bool {
        let of = |id: CodeId| self.frequency.get(id.0 as usize).copied().unwrap_or(0.0);
        of(one) < of(other)
    }

    /// The displacement of a node from an instruction that is emitted now.
    fn distance(&self, id: CodeId) -> usize {
        self.written.len() - self.nearest[id.0 as usize]
    }

    /// Ensures that an instruction emitted now falls through to this node.
    fn fall_into(&mut self, graph: &Graph, next: CodeId) {
        if self.distance(next) > 0 {
            self.trampoline(graph, next);
        }
    }

    /// Emits a copy of a return, or a jump to the node.
    fn trampoline(&mut self, graph: &Graph, id: CodeId) {
        let insn = match graph.get(id) {
            Code::Return(verdict) => Insn::new(Op::RetK, verdict.0),
            _ => Insn::new(Op::Ja, (self.written.len() - self.home[id.0 as usize]) as u32),
        };
        self.written.push(insn);
        self.nearest[id.0 as usize] = self.written.len();
    }
}

#[cfg(test)]
mod tests {
    use super::super::code::Held;
    use super::*;
    use callgate_bpf::verdict::Verdict;

    /// A branch with targets at these displacements: its number of trampolines, and its displacements.
    fn branch(then: usize, otherwise: usize) -> (usize, u8, u8) {
        let mut graph = Graph::default();
        let sides = [Verdict::ALLOW, Verdict::LOG].map(|verdict| graph.add(Code::Return(verdict)));
        let written = then.max(otherwise) + 1;
        let home = vec![written - then, written - otherwise];
        let mut writer = Writer {
            frequency: &[],
            written: vec![Insn::new(Op::Ja, 0); written],
            patches: Vec::new(),
            home: home.clone(),
            nearest: home,
        };
        let insn = writer.branch(&graph, Op::JeqK, 0, sides[0], sides[1]);
        let copies = writer.written.len() - written;
        let lands = |distance: u8| writer.written[writer.written.len() - 1 - usize::from(distance)];
        for (distance, far, k) in
            [(insn.jt, then, Verdict::ALLOW.0), (insn.jf, otherwise, Verdict::LOG.0)]
        {
            // Either a trampoline, or the original target.
            let copied = lands(distance) == Insn::new(Op::RetK, k);
            assert!(copied || usize::from(distance) == far + copies, "{then} {otherwise}");
        }
        (copies, insn.jt, insn.jf)
    }

    #[test]
    fn only_targets_out_of_reach_get_trampolines() {
        assert_eq!(branch(255, 255), (0, 255, 255));
        assert_eq!(branch(256, 0), (1, 0, 1));
        assert_eq!(branch(256, 253), (1, 0, 254));
        // The trampoline increases the displacement of the other target to the maximum …
        assert_eq!(branch(256, 254), (1, 0, 255));
        assert_eq!(branch(254, 256), (1, 255, 0));
        // … and above it.
        assert_eq!(branch(256, 255), (2, 1, 0));
        assert_eq!(branch(255, 256), (2, 0, 1));
        assert_eq!(branch(1000, 1000), (2, 1, 0));
    }

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
        let syscall = WeightedSyscall { token: 0, nr: 0, weight: 1.0, always_allowed: false };
        let frequency = frequencies(&graph, root, Layout::Seccomp, &[syscall], Model::Uncached);
        let of = |id: CodeId| frequency[id.0 as usize];
        assert_eq!((of(root), of(first), of(refuse)), (1.0, 1.0, DENIED));
        assert_eq!((of(open), of(allow)), (1.0 - DENIED, (1.0 - DENIED) / 2.0));
        assert_eq!(of(allow), of(log));
    }

    #[test]
    fn without_a_fall_through_the_taken_edge_is_the_frequent_one() {
        let mut graph = Graph::default();
        let [rare, frequent] =
            [Verdict::LOG, Verdict::ALLOW].map(|verdict| graph.add(Code::Return(verdict)));
        let written = |near: usize, op, k| {
            let written = vec![Insn::new(Op::Ja, 0); near + 10];
            let home = vec![10, 5];
            let mut writer = Writer {
                frequency: &[1.0, 2.0],
                written,
                patches: Vec::new(),
                home: home.clone(),
                nearest: home,
            };
            writer.branch(&graph, op, k, rare, frequent)
        };
        assert_eq!(written(1, Op::JgeK, 1), Insn::branch(Op::JeqK, 0, 6, 1));
        assert_eq!(written(1, Op::JeqK, 0), Insn::branch(Op::JgeK, 1, 6, 1));
        assert_eq!(
            written(0, Op::JgeK, 1),
            Insn::branch(Op::JgeK, 1, 0, 5),
            "it has a fall-through"
        );
        assert_eq!(written(1, Op::JgeK, 2), Insn::branch(Op::JgeK, 2, 1, 6), "it has no negation");
    }
}
