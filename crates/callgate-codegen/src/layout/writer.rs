//! Emission: the instructions of a code graph in a given order, and what they cost.

use callgate_core::template::Patch;
use callgate_core::{Endian, Insn, Layout, Op};

use super::forms::{Branch, Forms};
use super::frequencies::{Edge, Frequencies};
use crate::code::{Code, CodeId, Graph};
use crate::native::{Kernel, Next, TAKEN};

/// The maximum displacement of a conditional jump.
const MAX_DISPLACEMENT: usize = 255;

/// A program, and what it costs.
pub(super) struct Emitted {
    pub(super) program: Program,
    /// The trampolines that are jumps.
    pub(super) trampolines: Vec<Trampoline>,
    /// What everything whose cost depends on the order costs the kernel for the mean syscall.
    pub(super) native: f64,
    /// What branches could save, with the successor that would be their next instruction.
    pub(super) savings: Vec<Saving>,
}

/// A jump to code that is out of reach, or that cannot follow directly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trampoline {
    pub(super) to: Edge,
    position: usize,
    /// How often the mean syscall with a weight executes it.
    pub(super) executed: f64,
}

/// The edges at which the successor is copied.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// Instead of a trampoline.
    pub(super) for_trampolines: Vec<Edge>,
    /// So that a branch has a next side.
    pub(super) for_branches: Vec<Edge>,
}

impl Copies {
    fn are_none(&self) -> bool {
        self.for_trampolines.is_empty() && self.for_branches.is_empty()
    }
}

/// What a branch would save if a successor were its next instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saving {
    pub(super) branch: CodeId,
    pub(super) next: CodeId,
    pub(super) native: f64,
}

/// What all orders of a graph have in common.
pub(super) struct Setting<'g> {
    graph: &'g Graph,
    frequencies: &'g Frequencies,
    kernel: &'g Kernel,
    forms: Forms,
    /// The layout of the structure with the loaded words, and the byte order of the machine.
    input: (Layout, Endian),
}

impl<'g> Setting<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        frequencies: &'g Frequencies,
        kernel: &'g Kernel,
        input: (Layout, Endian),
    ) -> Setting<'g> {
        let forms = Forms::new(graph, &frequencies.all, kernel);
        Setting { graph, frequencies, kernel, forms, input }
    }

    /// The program with the nodes of the graph in the reverse of this order, and copies.
    pub(super) fn write(&self, order: &[CodeId], copies: &Copies) -> Emitted {
        let mut writer = Writer::new(self, copies);
        for id in order {
            writer.write(*id);
        }
        let native = writer.native + writer.cost_of_returns();
        writer.written.reverse();
        // An instruction was written at its distance from the end.
        let last = writer.written.len().saturating_sub(1);
        for patch in &mut writer.patches {
            patch.insn = last - patch.insn;
            writer.written[patch.insn].k = 0;
        }
        let program = Program { insns: writer.written, patches: writer.patches };
        // Other nodes are reached, if only by `ja`, unless there is a copy.
        let is_reached =
            copies.are_none() && writer.returns.iter().all(|(_, reached)| reached.is_some());
        Emitted {
            program: if is_reached { program } else { remove_unreachable(program) },
            trampolines: writer.trampolines,
            native,
            savings: writer.savings,
        }
    }
}

struct Writer<'g> {
    of: &'g Setting<'g>,
    copies: &'g Copies,
    /// While a copy is being written, the share of the syscalls that it takes from the node that is copied.
    copying: Option<f64>,
    /// Per branch, what the first one written costs.
    costs: Vec<f64>,
    /// In reverse order.
    written: Vec<Insn>,
    /// The patches; in place of the index of an instruction, the number of instructions after it.
    patches: Vec<Patch>,
    /// Per node, the position of its last copy: the number of instructions emitted so far, itself included.
    home: Vec<usize>,
    /// Per node, the position of its nearest trampoline, or its own.
    nearest: Vec<usize>,
    /// The positions of returns and their copies, and how often each is reached; `None` if never.
    returns: Vec<(usize, Option<f64>)>,
    trampolines: Vec<Trampoline>,
    native: f64,
    savings: Vec<Saving>,
}

impl<'g> Writer<'g> {
    fn new(of: &'g Setting<'g>, copies: &'g Copies) -> Writer<'g> {
        let nodes = of.graph.len();
        Writer {
            of,
            copies,
            copying: None,
            costs: vec![0.0; nodes],
            written: Vec::with_capacity(nodes + 16),
            patches: Vec::new(),
            home: vec![0; nodes],
            nearest: vec![0; nodes],
            returns: Vec::new(),
            trampolines: Vec::new(),
            native: 0.0,
            savings: Vec::with_capacity(nodes),
        }
    }

    /// Emits a node. The depth of the recursion by copies is that of the edges in `copies`.
    fn write(&mut self, id: CodeId) {
        let insn = match self.of.graph.get(id) {
            Code::Return(verdict) => {
                self.returns.push((self.written.len() + 1, None));
                Insn::new(Op::RetK, verdict.0)
            }
            Code::Load { word, next } => {
                self.fall_into(id, next);
                // Every word of a graph has a place; no program loads from the other offset.
                let (layout, endian) = self.of.input;
                let offset = layout.place(word, endian).map_or(u32::MAX, |place| place.offset);
                Insn::new(Op::LdWordAbs, offset)
            }
            Code::And { mask, next, .. } => {
                self.fall_into(id, next);
                Insn::new(Op::AndK, mask)
            }
            Code::Branch { then, otherwise, .. } => self.branch(id, then, otherwise),
            Code::Compare { symbol, half, then, otherwise, .. } => {
                let jump = self.branch(id, then, otherwise);
                self.patches.push(Patch { insn: self.written.len(), symbol, half });
                jump
            }
            Code::Tax { next, .. } => {
                self.fall_into(id, next);
                Insn::new(Op::Tax, 0)
            }
            Code::CompareWords { then, otherwise, .. } => {
                let jump = self.branch(id, then, otherwise);
                Insn { op: with_x(jump.op), k: 0, ..jump }
            }
            Code::Bitset { base, bits, then, otherwise, .. } => {
                let jump = self.branch(id, then, otherwise);
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
    fn branch(&mut self, id: CodeId, then: CodeId, otherwise: CodeId) -> Insn {
        let mut sides = [then, otherwise].map(|target| self.distance(target));
        let farthest = sides[0].max(sides[1]);
        if farthest > MAX_DISPLACEMENT || !self.copies.for_branches.is_empty() {
            self.approach(id, then, otherwise);
            sides = [then, otherwise].map(|target| self.distance(target).min(MAX_DISPLACEMENT));
        }
        let next = Next::of(sides[0], sides[1]);
        let forms = &self.of.forms;
        // Every branch has a form; no program contains the other instruction.
        let Some(branch) = forms.of(id) else { return Insn::new(Op::Ja, u32::MAX) };
        let form = branch.cheapest(next);
        let [jt, jf] = if form.swapped { [sides[1], sides[0]] } else { sides };
        let insn = Insn::branch(form.op, form.k, jt as u8, jf as u8);
        let cost = form.cost(next);
        match self.copying {
            Some(share) => self.native += share * (cost - self.costs[id.0 as usize]),
            None => {
                self.costs[id.0 as usize] = cost;
                self.native += cost;
                self.add_savings(id, cost, branch, [then, otherwise]);
            }
        }
        let [all, weighted] =
            [&self.of.frequencies.all, &self.of.frequencies.weighted].map(|of| of.edges(id));
        self.follow(then, all[0], weighted[0]);
        self.follow(otherwise, all[1], weighted[1]);
        insn
    }

    /// Emits the trampolines, and the copies to be the next instruction, of a branch.
    #[cold]
    fn approach(&mut self, id: CodeId, then: CodeId, otherwise: CodeId) {
        // A trampoline for one target increases the displacement of the other by one. So the nearer target is
        // checked last; its own trampoline keeps the first within reach.
        let (near, far) = if self.distance(then) < self.distance(otherwise) {
            (then, otherwise)
        } else {
            (otherwise, then)
        };
        for target in [far, near] {
            if self.distance(target) > MAX_DISPLACEMENT {
                self.trampoline((id, target));
            }
        }
        // A copy that is to be the next instruction.
        for target in [far, near] {
            if self.distance(target) > 0 && self.copies.for_branches.contains(&(id, target)) {
                self.trampoline((id, target));
            }
        }
    }

    /// Adds what a branch of this cost would save with another next side.
    fn add_savings(&mut self, id: CodeId, cost: f64, branch: &Branch, sides: [CodeId; 2]) {
        for (next, target) in [Next::True, Next::False].into_iter().zip(sides) {
            let native = cost - branch.given.cost(next);
            if native > 0.0 {
                self.savings.push(Saving { branch: id, next: target, native });
            }
        }
    }

    /// Accounts for an edge to a node that all syscalls, and those with a weight, follow this often.
    fn follow(&mut self, target: CodeId, all: f64, weighted: f64) {
        // What a copy takes from the node that is copied still counts there, too.
        let share = self.copying.unwrap_or(1.0);
        let (all, weighted) = (share * all, share * weighted);
        let nearest = self.nearest[target.0 as usize];
        if let Code::Return(_) = self.of.graph.get(target) {
            let found = self.returns.iter_mut().rev().find(|(position, _)| *position == nearest);
            if let Some((_, reached)) = found {
                *reached.get_or_insert(0.0) += all;
            }
        } else if nearest != self.home[target.0 as usize] {
            let mut jumps = self.trampolines.iter_mut().rev();
            if let Some(jump) = jumps.find(|jump| jump.position == nearest) {
                jump.executed += weighted;
            }
            self.native += all * (f64::from(self.of.kernel.ja) + TAKEN);
        }
    }

    /// The further cost of all returns but the cheapest.
    fn cost_of_returns(&self) -> f64 {
        let reached: Vec<f64> = self.returns.iter().filter_map(|(_, reached)| *reached).collect();
        let [first, between, last] = self.of.kernel.returns.map(f64::from);
        // The last one was written first.
        let Some((last_reached, others)) = reached.split_first() else { return 0.0 };
        let Some((first_reached, others)) = others.split_last() else { return 0.0 };
        first * first_reached + last * last_reached + between * others.iter().sum::<f64>()
    }

    /// The displacement of a node from an instruction that is emitted now.
    fn distance(&self, id: CodeId) -> usize {
        self.written.len() - self.nearest[id.0 as usize]
    }

    /// Ensures that an instruction emitted now falls through to this node.
    fn fall_into(&mut self, id: CodeId, next: CodeId) {
        if self.distance(next) > 0 {
            self.trampoline((id, next));
        }
        let Frequencies { all, weighted } = self.of.frequencies;
        self.follow(next, all.reached(id), weighted.reached(id));
    }

    /// The share of the syscalls at the second node that come from the first one.
    fn share(&self, edge: Edge) -> f64 {
        let all = &self.of.frequencies.all;
        let reached = all.reached(edge.1);
        if reached > 0.0 { all.edge(self.of.graph, edge) / reached } else { 0.0 }
    }

    /// Emits a copy of a return, or of a node that is to be copied, or a jump to the node.
    fn trampoline(&mut self, edge: Edge) {
        let (_, to) = edge;
        let Copies { for_trampolines, for_branches } = self.copies;
        if for_trampolines.contains(&edge) || for_branches.contains(&edge) {
            let outer = self.copying;
            self.copying = outer.or_else(|| Some(self.share(edge)));
            self.write(to);
            self.copying = outer;
            return;
        }
        let insn = match self.of.graph.get(to) {
            Code::Return(verdict) => {
                self.returns.push((self.written.len() + 1, None));
                Insn::new(Op::RetK, verdict.0)
            }
            _ => {
                let position = self.written.len() + 1;
                self.trampolines.push(Trampoline { to: edge, position, executed: 0.0 });
                Insn::new(Op::Ja, (self.written.len() - self.home[to.0 as usize]) as u32)
            }
        };
        self.written.push(insn);
        self.nearest[to.0 as usize] = self.written.len();
    }
}

/// The jump on X for a jump on a constant.
fn with_x(op: Op) -> Op {
    match op {
        Op::JeqK => Op::JeqX,
        Op::JgtK => Op::JgtX,
        Op::JgeK => Op::JgeX,
        Op::JsetK => Op::JsetX,
        other => other,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::template::{Half, Symbol};
    use callgate_core::{Arch, Verdict, Word};

    use super::super::forms::VARIABLE;
    use crate::code::Held;
    use crate::native;
    use crate::weights::{Permission, Shares, WeightedSyscall};

    const HELD: Held = Held::whole(Word::IP_LOW);

    fn kernel() -> &'static Kernel {
        native::kernel(Arch::X86_64.token())
    }

    /// Frequencies of a graph in which a single syscall reaches the root.
    fn frequencies(graph: &Graph, root: CodeId) -> Frequencies {
        let permission = Permission::Filtered;
        let syscall = WeightedSyscall { token: 0, nr: 0, weight: 1.0, permission };
        Frequencies::new(graph, root, Layout::Seccomp, (&[syscall], &Shares::of(&[1.0])))
    }

    fn setting<'g>(graph: &'g Graph, frequencies: &'g Frequencies) -> Setting<'g> {
        Setting::new(graph, frequencies, kernel(), (Layout::Seccomp, Endian::Little))
    }

    const NO_COPIES: &Copies = &Copies { for_trampolines: Vec::new(), for_branches: Vec::new() };

    fn writer<'g>(of: &'g Setting<'g>, written: usize, home: Vec<usize>) -> Writer<'g> {
        let written = vec![Insn::new(Op::Ja, 0); written];
        Writer { written, nearest: home.clone(), home, ..Writer::new(of, NO_COPIES) }
    }

    /// A branch with targets at these displacements: its number of trampolines, and its displacements.
    fn branch(then: usize, otherwise: usize) -> (usize, u8, u8) {
        let mut graph = Graph::default();
        let [a, b] = [Verdict::ALLOW, Verdict::LOG].map(|verdict| graph.ret(verdict));
        let (held, op, k) = (HELD, Op::JeqK, 7);
        let id = graph.branch(held, op, k, a, b);
        let frequencies = frequencies(&graph, id);
        let written = then.max(otherwise) + 1;
        let home = vec![written - then, written - otherwise, 0];
        let setting = setting(&graph, &frequencies);
        let mut writer = writer(&setting, written, home);
        let insn = writer.branch(id, a, b);
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

    /// A jump of which the second side is frequent, with the sides 5 and `near` instructions away.
    fn jump(near: usize, op: Op, k: u32) -> Insn {
        let mut graph = Graph::default();
        let [rare, frequent] =
            [Verdict::errno(1), Verdict::ALLOW].map(|verdict| graph.ret(verdict));
        let id = graph.branch(HELD, op, k, rare, frequent);
        let root = graph.load(Word::IP_LOW, id);
        let frequencies = frequencies(&graph, root);
        let home = vec![5, 10 - near, 0, 0];
        let setting = setting(&graph, &frequencies);
        writer(&setting, 10, home).branch(id, rare, frequent)
    }

    #[test]
    fn without_a_next_side_the_true_one_is_frequent() {
        assert_eq!(jump(1, Op::JgeK, 1), Insn::branch(Op::JeqK, 0, 1, 5));
        assert_eq!(jump(1, Op::JeqK, 0), Insn::branch(Op::JgeK, 1, 1, 5));
        assert_eq!(jump(0, Op::JgeK, 1), Insn::branch(Op::JgeK, 1, 5, 0), "one side is next");
        assert_eq!(jump(1, Op::JgeK, 2), Insn::branch(Op::JgeK, 2, 5, 1), "there is no negation");
    }

    #[test]
    fn constants_that_need_no_register_are_preferred() {
        let (high, lower) = (0x8000_0000, 0x7fff_ffff);
        assert_eq!(jump(0, Op::JgeK, high), Insn::branch(Op::JgtK, lower, 5, 0));
        assert_eq!(jump(0, Op::JgeK, high + 1), Insn::branch(Op::JgeK, high + 1, 5, 0));
        assert_eq!(jump(0, Op::JgeK, lower), Insn::branch(Op::JgeK, lower, 5, 0));
        assert_eq!(jump(0, Op::JgeK, 0), Insn::branch(Op::JgeK, 0, 5, 0));
        assert_eq!(jump(0, Op::JeqK, high), Insn::branch(Op::JeqK, high, 5, 0));
    }

    #[test]
    fn constants_of_variables_are_not_changed() {
        let mut graph = Graph::default();
        let [a, b] = [Verdict::ALLOW, Verdict::LOG].map(|verdict| graph.ret(verdict));
        let (op, symbol, half) = (Op::JgeK, Symbol::new(0), Half::Low);
        let id = graph.add(Code::Compare { held: HELD, op, symbol, half, then: a, otherwise: b });
        let frequencies = frequencies(&graph, id);
        let setting = setting(&graph, &frequencies);
        let mut writer = writer(&setting, 10, vec![5, 10, 0]);
        let insn = writer.branch(id, a, b);
        assert_eq!(insn, Insn::branch(Op::JgeK, VARIABLE, 5, 0));
    }

    /// Programs with the returns in this order, of which the first in `verdicts` is never permitted.
    fn cost(kernel: &Kernel, frequent_first: bool) -> f64 {
        let mut graph = Graph::default();
        let [rare, frequent] =
            [Verdict::errno(1), Verdict::ALLOW].map(|verdict| graph.ret(verdict));
        let (held, op, k) = (HELD, Op::JeqK, 7);
        let id = graph.branch(held, op, k, rare, frequent);
        let root = graph.load(Word::IP_LOW, id);
        let frequencies = frequencies(&graph, root);
        let ends = if frequent_first { [rare, frequent] } else { [frequent, rare] };
        let order = [&ends[..], &[id, root]].concat();
        let input = (Layout::Seccomp, Endian::Little);
        let setting = Setting::new(&graph, &frequencies, kernel, input);
        let mut writer = writer(&setting, 0, vec![0; 4]);
        order.iter().for_each(|id| writer.write(*id));
        writer.cost_of_returns()
    }

    #[test]
    fn a_frequent_return_costs_less_at_one_end() {
        for (arch, frequent_first) in [(Arch::X86_64, true), (Arch::Aarch64, false)] {
            let kernel = native::kernel(arch.token());
            let good = cost(kernel, frequent_first);
            let bad = cost(kernel, !frequent_first);
            assert!((good - 0.05).abs() < 1e-9 && (bad - 0.95).abs() < 1e-9, "{good} {bad}");
        }
    }

    /// A copy for the only predecessor of a node replaces the node.
    #[test]
    fn code_without_predecessors_is_removed() {
        let mut graph = Graph::default();
        let [deny, allow] = [Verdict::errno(1), Verdict::ALLOW].map(|verdict| graph.ret(verdict));
        let mut check = |word: Word, k| {
            let held = Held::whole(word);
            let (op, then, otherwise) = (Op::JeqK, allow, deny);
            let check = graph.branch(held, op, k, then, otherwise);
            (check, graph.load(word, check))
        };
        let (only_check, only) = check(Word::IP_LOW, 5);
        let (other_check, other) = check(Word::IP_HIGH, 6);
        let (op, k) = (Op::JeqK, 7);
        let test = graph.branch(HELD, op, k, other, only);
        let root = graph.load(Word::IP_LOW, test);
        let frequencies = frequencies(&graph, root);
        let setting = setting(&graph, &frequencies);
        let order = [deny, allow, only_check, only, other_check, other, test, root];
        let insns = |copies: &Copies| setting.write(&order, copies).program.insns;
        let for_branches = vec![(test, only), (only, only_check)];
        let copied = insns(&Copies { for_branches, ..Copies::default() });
        assert_eq!((copied.len(), insns(NO_COPIES).len()), (8, 8), "{copied:?}");
        assert_eq!(copied[1], Insn::branch(Op::JeqK, 7, 2, 0), "the copy is next");
    }
}
