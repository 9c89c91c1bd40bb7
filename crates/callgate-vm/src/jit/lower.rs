//! Code generation, from the last node to the first, for any [`Target`].
//!
//! A return is emitted at its place, and again instead of each jump to it. A branch between two returns
//! selects the value without a jump, and so does a short list of groups that return constants. A load is
//! fused with the comparison after it if nothing else reads the value.

use callgate_core::{Insn, Width};

use super::buffer::Pos;
use super::node::{Graph, Node, Reg};
use super::switch::{self, Group, LIST, OTHER, Shape, Switch};
use super::target::{Cond, Needs, Target};
use callgate_core::cfg::Registers;
use callgate_core::{Alu, Relation, Source};

use crate::flow::{Flow, Input, end};

/// The code and what it needs; `None` if it is longer than the reach of a jump.
pub(super) fn compile<T: Target>(insns: &[Insn], input: Input) -> Option<(T, Needs)> {
    let mut graph = Graph::of(Flow::of(insns, input));
    let switches = switch::find(&mut graph);
    let needs = needs(&graph, input);
    let len = graph.nodes.len();
    let mut target = T::new(needs, len);
    let tables = reserve(&mut target, &graph, &switches);
    let start = target.here();
    if graph.nodes.iter().any(may_end) {
        target.ret_constant(0);
    }
    let zero = target.here();
    let stub = if needs.helper { target.helper_stub() } else { start };
    let places = vec![start; len];
    let mut lower = Lower { target, graph, places, zero, stub, joined: None };
    let mut switches = switches.iter().zip(&tables).rev().peekable();
    for index in (0..len).rev() {
        if matches!(lower.graph.nodes[index], Node::Dead) {
            continue;
        }
        match switches.next_if(|(switch, _)| usize::from(switch.head) == index) {
            Some((switch, tables)) => {
                lower.search(&switch.groups, switch.other, tables);
            }
            None => lower.node(index),
        }
        if lower.target.here().0 > T::REACH {
            return None;
        }
        lower.places[index] = lower.target.here();
    }
    lower.entry();
    (lower.target.here().0 <= T::REACH).then_some((lower.target, needs))
}

/// Whether a node may end the program with 0.
fn may_end(node: &Node) -> bool {
    match node {
        Node::Load { check, .. } | Node::HeaderLength { check, .. } => *check,
        Node::Check(_) | Node::Indexed { .. } | Node::Helper { .. } => true,
        Node::Alu(alu, Source::X) => matches!(alu, Alu::Div | Alu::Mod),
        _ => false,
    }
}

fn needs(graph: &Graph, input: Input) -> Needs {
    let mut needs = Needs { packet: input == Input::Packet, helper: false, scratch: 0 };
    for node in &graph.nodes {
        match node {
            Node::Helper { .. } | Node::Indexed { near: false, .. } => needs.helper = true,
            Node::Fetch(_, index) | Node::Store(_, index) => needs.scratch |= 1 << index,
            _ => {}
        }
    }
    needs
}

/// The tables of a group.
#[derive(Clone, Copy)]
struct Tables {
    /// Displacements, or verdicts if all targets return one.
    ways: Pos,
    /// Verdicts, if most targets return one, and the word that marks the other targets.
    values: Option<(Pos, u32)>,
}

/// Reserves the tables of each switch, after all code, and returns their places, group by group.
fn reserve<T: Target>(
    target: &mut T,
    graph: &Graph,
    switches: &[Switch],
) -> Vec<Vec<Option<Tables>>> {
    let mut place = |group: &Group, other: u16| match &group.shape {
        Shape::Table { to, .. } => {
            let ways = target.data(to.len());
            let other_word = other_word(graph, to, other);
            let values = other_word.map(|word| (target.data(to.len()), word));
            Some(Tables { ways, values })
        }
        _ => None,
    };
    let of_switch = |switch: &Switch| {
        switch.groups.iter().map(|group| place(group, switch.other)).collect::<Vec<_>>()
    };
    switches.iter().map(of_switch).collect()
}

/// The target for each value of a table.
fn targets(to: &[u16], other: u16) -> impl Iterator<Item = u16> + Clone {
    to.iter().map(move |&to| if to == OTHER { other } else { to })
}

/// A word that no target returns, if most targets return a value, but not all.
///
/// Reading a verdict from a table cannot be mispredicted, whereas an indirect jump can.
fn other_word(graph: &Graph, to: &[u16], other: u16) -> Option<u32> {
    let values = targets(to, other).filter_map(|to| graph.returned(to));
    let others = to.len() - values.clone().count();
    if others == 0 || others > to.len() / 4 {
        return None;
    }
    // Of the greatest words, one more than there are values, one is free.
    let mut taken = vec![false; to.len() + 1];
    for value in values {
        if let Some(taken) = taken.get_mut((u32::MAX - value) as usize) {
            *taken = true;
        }
    }
    taken.iter().position(|&taken| !taken).map(|free| u32::MAX - free as u32)
}

/// A constant in network byte order, to compare with a value that was loaded without a byte swap.
fn byte_swapped(k: u32, width: Width) -> u32 {
    match width {
        Width::Byte => k,
        Width::Half => (k as u16).swap_bytes().into(),
        Width::Word => k.swap_bytes(),
    }
}

struct Lower<T> {
    target: T,
    graph: Graph,
    /// The start of the code of each node.
    places: Vec<Pos>,
    /// The code that ends the program with 0, if it is needed.
    zero: Pos,
    /// The stub that calls the helper, if it is needed.
    stub: Pos,
    /// How the next load was fused with the comparison that was emitted last.
    joined: Option<Joined>,
}

/// A load whose value only the comparison after it reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// The comparison has a memory operand.
    Load,
    /// The load needs no byte swap, because the constant was swapped.
    Order,
}

impl<T: Target> Lower<T> {
    fn place(&self, index: u16) -> Pos {
        self.places[self.graph.flow.dest(usize::from(index))]
    }

    /// Continues at a node: by falling through, returning, or jumping.
    fn go(&mut self, index: u16) {
        let to = self.place(index);
        if to == self.target.here() {
            return;
        }
        match self.graph.target(index) {
            Node::Ret(value) => self.target.ret_constant(value),
            Node::RetA => self.target.ret(),
            _ => self.target.jump(to),
        }
    }

    /// After a comparison: continues at one node or the other.
    fn ways(&mut self, when: Cond, yes: u16, no: u16) {
        if let (Some(yes), Some(no)) = (self.graph.returned(yes), self.graph.returned(no)) {
            return self.target.ret_select(when, yes, no);
        }
        if self.place(yes) == self.target.here() {
            self.target.branch(when.not(), self.place(no));
        } else {
            self.go(no);
            self.target.branch(when, self.place(yes));
        }
    }

    fn branch(&mut self, index: usize, test: Relation, operand: Source, yes: u16, no: u16) {
        self.ways(Cond::of(test), yes, no);
        let Source::K(k) = operand else { return self.target.compare(test, operand) };
        let alone = !self.graph.flow.live_after(index).intersects(Registers::A);
        match self.before(index).filter(|_| alone) {
            Some(Node::Load { width, offset, .. }) if self.target.can_compare_load(test, width) => {
                self.target.compare_load(test, k, width, offset);
                self.joined = Some(Joined::Load);
            }
            Some(Node::Indexed { width, near: true, .. })
                if self.target.can_compare_load(test, width) =>
            {
                self.target.compare(test, Source::K(byte_swapped(k, width)));
                self.joined = Some(Joined::Order);
            }
            _ => self.target.compare(test, operand),
        }
    }

    /// The node before this one, if it is its only predecessor; nodes without effect are skipped.
    fn before(&self, mut index: usize) -> Option<Node> {
        while self.graph.flow.edges(index) == 1 {
            index = index.checked_sub(1)?;
            match self.graph.nodes[index] {
                Node::Nop => {}
                Node::Dead | Node::Jump(_) | Node::Branch { .. } | Node::Ret(_) | Node::RetA => {
                    break;
                }
                node => return Some(node),
            }
        }
        None
    }

    fn node(&mut self, index: usize) {
        let node = self.graph.nodes[index];
        match node {
            Node::Dead | Node::Nop | Node::Jump(_) => return,
            Node::Ret(value) => return self.target.ret_constant(value),
            Node::RetA => return self.target.ret(),
            Node::Branch { test, operand, yes, no } => {
                return self.branch(index, test, operand, yes, no);
            }
            _ => {}
        }
        let joined = self.joined.take();
        if joined.is_none() {
            self.go(index as u16 + 1);
        }
        let is_stored = match node {
            Node::Fetch(reg, word) => self.before(index) == Some(Node::Store(reg, word)),
            _ => false,
        };
        let (target, zero, stub) = (&mut self.target, self.zero, self.stub);
        match node {
            // The register still holds the stored value.
            Node::Fetch(..) if is_stored => {}
            Node::Imm(reg, k) => target.constant(reg, k),
            Node::Length(reg) => target.length(reg),
            Node::Load { width, offset, check } => {
                if joined.is_none() {
                    target.load(width, offset);
                }
                if check {
                    target.check(end(offset, width), zero);
                }
            }
            Node::Check(bytes) => target.check(bytes, zero),
            Node::HeaderLength { offset, check } => {
                target.header_length(offset);
                if check {
                    target.check(offset + 1, zero);
                }
            }
            Node::Indexed { width, offset, near } => {
                let stub = (!near).then_some(stub);
                target.indexed(width, offset, joined.is_some(), stub, zero);
            }
            Node::Helper { request, offset } => target.call_helper(request, offset, stub, zero),
            Node::Fetch(reg, index) => target.fetch(reg, index),
            Node::Store(reg, index) => target.store(reg, index),
            Node::Alu(alu, operand) => target.alu(alu, operand, zero),
            Node::Neg => target.negate(),
            Node::Tax => target.tax(),
            Node::Txa => target.txa(),
            Node::Dead | Node::Nop | Node::Jump(_) => {}
            Node::Branch { .. } | Node::Ret(_) | Node::RetA => {}
        }
    }

    /// A binary search for the group of a value.
    fn search(&mut self, groups: &[Group], other: u16, tables: &[Option<Tables>]) {
        if groups.len() <= LIST {
            self.list(groups, other, tables);
            return;
        }
        let middle = groups.len() / 2;
        self.search(&groups[middle..], other, &tables[middle..]);
        let upper = self.target.here();
        self.search(&groups[..middle], other, &tables[..middle]);
        self.target.branch(Cond::AboveOrEqual, upper);
        self.target.compare(Relation::AtLeast, Source::K(groups[middle].low));
    }

    fn list(&mut self, groups: &[Group], other: u16, tables: &[Option<Tables>]) {
        if let Some(verdicts) = self.verdicts(groups, other) {
            return self.choice(groups, &verdicts);
        }
        let mut rest = groups.iter().zip(tables).rev();
        match rest.next() {
            None => self.go(other),
            Some((group, &tables)) => self.group(group, tables, other, true),
        }
        for (group, &tables) in rest {
            self.group(group, tables, other, false);
        }
    }

    /// What a list of groups returns, if each returns a constant without a table: that for other values first.
    fn verdicts(&self, groups: &[Group], other: u16) -> Option<[u32; LIST + 1]> {
        // These need no jump anyway.
        if matches!(groups, [] | [Group { shape: Shape::All(_), .. }]) {
            return None;
        }
        let mut verdicts = [self.graph.returned(other)?; LIST + 1];
        for (group, verdict) in groups.iter().zip(&mut verdicts[1..]) {
            let (Shape::All(to) | Shape::Mask { to, .. }) = group.shape else { return None };
            *verdict = self.graph.returned(to)?;
        }
        Some(verdicts)
    }

    /// Returns one of these verdicts, without jumps, because which group a number is in can hardly be predicted.
    fn choice(&mut self, groups: &[Group], verdicts: &[u32; LIST + 1]) {
        self.target.ret_chosen();
        for (group, &verdict) in groups.iter().zip(&verdicts[1..]).rev() {
            let &Group { low, high, ref shape } = group;
            match *shape {
                Shape::Mask { base, mask, .. } => {
                    self.target.choose(Cond::BitSet, verdict);
                    self.target.bit_within(base, mask, high - base);
                }
                _ if low == high => {
                    self.target.choose(Cond::Eq, verdict);
                    self.target.compare(Relation::Equal, Source::K(low));
                }
                _ => {
                    self.target.choose(Cond::BelowOrEqual, verdict);
                    self.target.check_index(low, high - low);
                }
            }
        }
        self.target.choice(verdicts[0]);
    }

    /// Tests one group. Other values fall through, or after the last group go to `other`.
    fn group(&mut self, group: &Group, tables: Option<Tables>, other: u16, last: bool) {
        match &group.shape {
            &Shape::All(to) => {
                let single = group.low == group.high;
                self.test(if single { Cond::Eq } else { Cond::BelowOrEqual }, to, other, last);
                if single {
                    self.target.compare(Relation::Equal, Source::K(group.low));
                } else {
                    self.target.check_index(group.low, group.high - group.low);
                }
            }
            &Shape::Mask { to, base, mask } => {
                // Values below the base wrap around, so they are above the last value.
                let behind = self.target.here();
                self.test(Cond::BitSet, to, other, last);
                self.target.bit(base, mask);
                let outside = if last { self.place(other) } else { behind };
                self.target.branch(Cond::Above, outside);
                self.target.check_index(base, group.high - base);
            }
            Shape::Table { base, to } => {
                if last {
                    self.go(other);
                }
                let behind = self.target.here();
                if let Some(tables) = tables {
                    self.table(*base, to, other, tables);
                }
                self.target.branch(Cond::Above, behind);
                self.target.check_index(*base, group.high - base);
            }
        }
    }

    fn test(&mut self, when: Cond, to: u16, other: u16, last: bool) {
        if last {
            self.ways(when, to, other);
        } else {
            self.target.branch(when, self.place(to));
        }
    }

    fn table(&mut self, base: u32, to: &[u16], other: u16, tables: Tables) {
        let Tables { ways, values } = tables;
        if targets(to, other).all(|to| self.graph.returned(to).is_some()) {
            self.target.ret_table(base, ways);
            return self.set_values(ways, to, other, 0);
        }
        self.target.jump_table(base, ways);
        for (index, to) in targets(to, other).enumerate() {
            // Tables are after all code, so displacements are negative.
            let back = self.place(to).distance(ways);
            self.target.set_data(ways, index, back.wrapping_neg());
        }
        if let Some((values, word)) = values {
            let jump = self.target.here();
            self.target.ret_table_unless(base, values, word, jump);
            self.set_values(values, to, other, word);
        }
    }

    /// Fills a table with verdicts, and with `word` for other targets.
    fn set_values(&mut self, table: Pos, to: &[u16], other: u16, word: u32) {
        for (index, to) in targets(to, other).enumerate() {
            let value = self.graph.returned(to).unwrap_or(word);
            self.target.set_data(table, index, value);
        }
    }

    fn entry(&mut self) {
        self.go(0);
        let live = self.graph.flow.live_before(0);
        let zero: &[Reg] = match (live.intersects(Registers::A), live.intersects(Registers::X)) {
            (true, true) => &[Reg::A, Reg::X],
            (true, false) => &[Reg::A],
            (false, true) => &[Reg::X],
            (false, false) => &[],
        };
        self.target.entry(zero);
    }
}
