//! The forward pass: instructions become nodes, simpler where something is known.
//!
//! Jumps only go forward, so in one pass every way into an instruction has been seen before the
//! instruction itself, and what holds on all of them is exact as far as it goes: between which
//! bounds A and X lie, which load they hold the value of, and how many bytes the packet has at least.
//! With that, constants fold, loads are not repeated, a branch that always goes one way is a jump,
//! and a packet is checked for its length only where that is news.

use callgate::bpf::cfg;
use callgate::bpf::{AncillaryWord, Insn, Op, Width};
use callgate::{Endian, Word};

use super::node::{Ask, Node, Reg, end, largest};
use callgate::bpf::{Alu, Relation, Source};

/// What a program reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// `struct seccomp_data` of this machine, for a filter that believes to be on a machine of this
    /// byte order.
    Call(Endian),
    /// A packet of less than 2^31 bytes.
    Packet,
}

/// Nodes, and from how many edges each of them is reached.
pub(super) struct Forward {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<u16>,
}

/// No packet is longer; see [`Input::Packet`].
pub(super) const MAX_PACKET: u32 = i32::MAX as u32;

/// What is known about a register.
#[derive(Clone, Copy)]
struct Value {
    min: u32,
    max: u32,
    /// The load that it holds the value of; see [`name`].
    load: u64,
}

const NO_LOAD: u64 = u64::MAX;

/// What tells loads apart: where they load, and what.
fn name(offset: u32, what: u8) -> u64 {
    u64::from(offset) << 8 | u64::from(what)
}

/// The length of an IP header, as `ldxb 4*([k]&0xf)` loads it. Programs compute it in A, too, by way of
/// [`LOW_BITS`] of a byte.
const HEADER_LENGTH: u8 = 0x10;
const LOW_BITS: u8 = 0x11;
const BYTE: u8 = 1;

/// What a load that was named becomes by an operation, if it has a name.
fn rename(load: u64, alu: Alu, k: u32) -> u64 {
    let what = match (load as u8, alu, k) {
        (BYTE, Alu::And, 0xf) => LOW_BITS,
        (LOW_BITS, Alu::Lsh, 2) => HEADER_LENGTH,
        _ => return NO_LOAD,
    };
    load & !0xff | u64::from(what)
}

impl Value {
    fn between(min: u32, max: u32) -> Value {
        Value { min, max, load: NO_LOAD }
    }

    fn exactly(value: u32) -> Value {
        Value::between(value, value)
    }

    fn constant(self) -> Option<u32> {
        (self.min == self.max).then_some(self.min)
    }

    fn or(self, other: Value) -> Value {
        Value {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            load: if self.load == other.load { self.load } else { NO_LOAD },
        }
    }

    /// What is known of the result of an operation.
    fn after(self, alu: Alu, operand: Value) -> Value {
        let (low, high) = (alu.apply(self.min, operand.min), alu.apply(self.max, operand.max));
        let exact = match (alu, operand.constant()) {
            (Alu::Add, _) => self.max.checked_add(operand.max).is_some(),
            (Alu::Mul, _) => self.max.checked_mul(operand.max).is_some(),
            (Alu::Lsh, Some(by)) => by < 32 && self.max.leading_zeros() >= by,
            (Alu::Sub, Some(by)) => self.min >= by,
            (Alu::Rsh | Alu::Div, Some(_)) => true,
            (Alu::And, _) => return Value::between(0, self.max.min(operand.max)),
            (Alu::Mod, _) => return Value::between(0, self.max.min(operand.max.max(1) - 1)),
            _ => false,
        };
        match (exact, low, high) {
            (true, Some(low), Some(high)) => Value::between(low, high),
            _ => ANY,
        }
    }
}

const ANY: Value = Value { min: 0, max: u32::MAX, load: NO_LOAD };

/// What is known before an instruction.
#[derive(Clone, Copy)]
struct Facts {
    a: Value,
    x: Value,
    /// The packet has at least so many bytes.
    packet: u32,
}

impl cfg::Facts for Facts {
    fn join(&mut self, other: &Facts) {
        self.a = self.a.or(other.a);
        self.x = self.x.or(other.x);
        self.packet = self.packet.min(other.packet);
    }
}

struct Pass<'a> {
    input: Input,
    insns: &'a [Insn],
    analysis: cfg::Forward<Facts>,
    edges: Vec<u16>,
}

/// The nodes of an accepted program.
pub(super) fn forward(insns: &[Insn], input: Input) -> Forward {
    let zero = Value::exactly(0);
    let start = Facts { a: zero, x: zero, packet: 0 };
    let analysis = cfg::Forward::new(insns.len(), start);
    let mut pass = Pass { input, insns, analysis, edges: vec![0; insns.len()] };
    // The first instruction is reached from outside.
    if let Some(edges) = pass.edges.first_mut() {
        *edges = 1;
    }
    let mut nodes = Vec::with_capacity(insns.len());
    for index in 0..insns.len() {
        let facts = pass.analysis.take(index);
        nodes.push(facts.map_or(Node::Dead, |facts| pass.node(index, facts)));
    }
    Forward { nodes, edges: pass.edges }
}

impl Pass<'_> {
    /// Brings facts along an edge.
    fn flow(&mut self, to: usize, facts: Facts) {
        self.edges[to] += 1;
        self.analysis.arrive(to, &facts);
    }

    /// The node of an instruction that is reached.
    fn node(&mut self, index: usize, mut facts: Facts) -> Node {
        let insn = self.insns[index];
        let node = match insn.op {
            Op::RetK => return Node::Ret(insn.k),
            Op::RetA => return facts.a.constant().map_or(Node::RetA, Node::Ret),
            Op::Ja => {
                let to = index + 1 + insn.k as usize;
                self.flow(to, facts);
                return Node::Jump(to as u16);
            }
            _ => match insn.comparison() {
                Some((test, operand)) => return self.branch(index, facts, test, operand),
                None => self.straight(insn, &mut facts),
            },
        };
        if !matches!(node, Node::Ret(_)) {
            self.flow(index + 1, facts);
        }
        node
    }

    /// An instruction that is followed by the next one, and what it changes.
    fn straight(&self, insn: Insn, facts: &mut Facts) -> Node {
        let k = insn.k;
        match insn.op {
            Op::LdWordAbs => self.absolute(k, Width::Word, facts),
            Op::LdHalfAbs => self.absolute(k, Width::Half, facts),
            Op::LdByteAbs => self.absolute(k, Width::Byte, facts),
            Op::LdWordInd => indexed(k, Width::Word, facts),
            Op::LdHalfInd => indexed(k, Width::Half, facts),
            Op::LdByteInd => indexed(k, Width::Byte, facts),
            Op::LdxMsh => header_length(k, facts),
            Op::LdLen => self.length(Reg::A, facts),
            Op::LdxLen => self.length(Reg::X, facts),
            Op::LdImm => constant(Reg::A, k, facts),
            Op::LdxImm => constant(Reg::X, k, facts),
            Op::LdMem => {
                facts.a = ANY;
                Node::Fetch(Reg::A, k as u8)
            }
            Op::LdxMem => {
                facts.x = ANY;
                Node::Fetch(Reg::X, k as u8)
            }
            Op::St => Node::Store(Reg::A, k as u8),
            Op::Stx => Node::Store(Reg::X, k as u8),
            Op::Tax => copy(Reg::X, Node::Tax, facts),
            Op::Txa => copy(Reg::A, Node::Txa, facts),
            Op::Neg => match facts.a.constant() {
                Some(a) => constant(Reg::A, a.wrapping_neg(), facts),
                None => {
                    facts.a = ANY;
                    Node::Neg
                }
            },
            _ => match insn.arithmetic() {
                Some((alu, operand)) => compute(alu, operand, facts),
                None => Node::Nop,
            },
        }
    }

    fn absolute(&self, k: u32, width: Width, facts: &mut Facts) -> Node {
        let offset = match self.input {
            // The words of a call are told apart by what they mean, not by where they lie.
            Input::Call(endian) => match Word::from_offset(k, endian) {
                Some(word) => word.offset(Endian::NATIVE),
                None => return Node::Ret(0),
            },
            Input::Packet => k,
        };
        if self.input == Input::Packet {
            match AncillaryWord::from_offset(k) {
                Some(AncillaryWord::AluXorX) => return compute(Alu::Xor, Source::X, facts),
                Some(_) => {
                    facts.a = ANY;
                    return Node::Outside { ask: Ask::Word, offset: k };
                }
                None => return packet_load(k, width, facts),
            }
        }
        load(offset, width, false, facts)
    }

    fn length(&self, reg: Reg, facts: &mut Facts) -> Node {
        if self.input != Input::Packet {
            return constant(reg, callgate::data::SECCOMP_DATA_SIZE, facts);
        }
        *register(reg, facts) = Value::between(facts.packet.min(MAX_PACKET), MAX_PACKET);
        Node::Length(reg)
    }

    fn branch(&mut self, index: usize, facts: Facts, test: Relation, operand: Source) -> Node {
        let insn = self.insns[index];
        let (yes, no) = (index + 1 + usize::from(insn.jt), index + 1 + usize::from(insn.jf));
        let operand = match (operand, facts.x.constant()) {
            (Source::X, Some(x)) => Source::K(x),
            _ => operand,
        };
        let Source::K(k) = operand else {
            self.flow(yes, facts);
            self.flow(no, facts);
            return Node::Branch { test, operand, yes: yes as u16, no: no as u16 };
        };
        if let Some(holds) = decided(test, facts.a, k) {
            let to = if holds { yes } else { no };
            self.flow(to, facts);
            return Node::Jump(to as u16);
        }
        self.flow(yes, Facts { a: narrowed(test, facts.a, k, true), ..facts });
        self.flow(no, Facts { a: narrowed(test, facts.a, k, false), ..facts });
        Node::Branch { test, operand, yes: yes as u16, no: no as u16 }
    }
}

/// Whether a test holds for every value, or for none.
fn decided(test: Relation, a: Value, k: u32) -> Option<bool> {
    if let Some(a) = a.constant() {
        return Some(test.holds(a, k));
    }
    match test {
        Relation::Equal => (k < a.min || k > a.max).then_some(false),
        Relation::Greater if a.min > k => Some(true),
        Relation::Greater => (a.max <= k).then_some(false),
        Relation::AtLeast if a.min >= k => Some(true),
        Relation::AtLeast => (a.max < k).then_some(false),
        Relation::Shares => (k == 0).then_some(false),
    }
}

/// What is known of A after a test that is not decided.
fn narrowed(test: Relation, a: Value, k: u32, holds: bool) -> Value {
    let Value { min, max, load } = a;
    let (min, max) = match (test, holds) {
        (Relation::Equal, true) => (k, k),
        (Relation::Equal, false) => (min + u32::from(k == min), max - u32::from(k == max)),
        (Relation::Greater, true) => (min.max(k + 1), max),
        (Relation::Greater, false) => (min, max.min(k)),
        (Relation::AtLeast, true) => (min.max(k), max),
        (Relation::AtLeast, false) => (min, max.min(k - 1)),
        (Relation::Shares, _) => (min, max),
    };
    Value { min, max, load }
}

fn register(reg: Reg, facts: &mut Facts) -> &mut Value {
    match reg {
        Reg::A => &mut facts.a,
        Reg::X => &mut facts.x,
    }
}

fn constant(reg: Reg, k: u32, facts: &mut Facts) -> Node {
    let value = register(reg, facts);
    if value.constant() == Some(k) {
        return Node::Nop;
    }
    *value = Value::exactly(k);
    Node::Imm(reg, k)
}

/// One register becomes the other.
fn copy(to: Reg, node: Node, facts: &mut Facts) -> Node {
    let from = if to == Reg::A { facts.x } else { facts.a };
    if let Some(k) = from.constant() {
        return constant(to, k, facts);
    }
    let known = from.load != NO_LOAD && register(to, facts).load == from.load;
    *register(to, facts) = from;
    if known { Node::Nop } else { node }
}

/// A load from the input itself, which is there; or, with `check`, may be there.
fn load(offset: u32, width: Width, check: bool, facts: &mut Facts) -> Node {
    let load = name(offset, width.bytes() as u8);
    if facts.a.load == load {
        return Node::Nop;
    }
    if facts.x.load == load {
        facts.a = facts.x;
        return Node::Txa;
    }
    facts.a = Value { load, ..Value::between(0, largest(width)) };
    Node::Load { width, offset, check }
}

/// A load from a packet at an offset that is no ancillary word.
fn packet_load(offset: u32, width: Width, facts: &mut Facts) -> Node {
    if offset > MAX_PACKET {
        facts.a = Value::between(0, largest(width));
        return Node::Outside { ask: Ask::Load(width), offset };
    }
    let check = reach(offset, width, facts);
    load(offset, width, check, facts)
}

/// Whether it is news that the packet reaches to the end of a load; afterwards it does.
fn reach(offset: u32, width: Width, facts: &mut Facts) -> bool {
    let end = end(offset, width);
    let news = facts.packet < end;
    facts.packet = facts.packet.max(end);
    news
}

fn indexed(k: u32, width: Width, facts: &mut Facts) -> Node {
    if let Some(x) = facts.x.constant() {
        return packet_load(x.wrapping_add(k), width, facts);
    }
    facts.a = Value::between(0, largest(width));
    // Not only below 2^31, but so that it still is with the width added.
    let near = facts.x.max.checked_add(k).is_some_and(|end| end < MAX_PACKET - 8);
    Node::Indexed { width, offset: k, near }
}

fn header_length(offset: u32, facts: &mut Facts) -> Node {
    if offset > MAX_PACKET {
        facts.x = Value::between(0, 60);
        return Node::Outside { ask: Ask::HeaderLength, offset };
    }
    let load = name(offset, HEADER_LENGTH);
    if facts.x.load == load {
        return Node::Nop;
    }
    if facts.a.load == load {
        facts.x = facts.a;
        return Node::Tax;
    }
    facts.x = Value { load, ..Value::between(0, 60) };
    let check = reach(offset, Width::Byte, facts);
    Node::HeaderLength { offset, check }
}

fn compute(alu: Alu, operand: Source, facts: &mut Facts) -> Node {
    let value = match operand {
        Source::K(k) => Value::exactly(k),
        Source::X => facts.x,
    };
    let Some(k) = value.constant() else {
        facts.a = facts.a.after(alu, value);
        return Node::Alu(alu, Source::X);
    };
    let k = if matches!(alu, Alu::Lsh | Alu::Rsh) { k & 31 } else { k };
    if let Some(a) = facts.a.constant() {
        return match alu.apply(a, k) {
            Some(value) => constant(Reg::A, value, facts),
            None => Node::Ret(0),
        };
    }
    match alu {
        Alu::Div | Alu::Mod if k == 0 => return Node::Ret(0),
        Alu::Mod if k == 1 => return constant(Reg::A, 0, facts),
        Alu::Mul | Alu::And if k == 0 => return constant(Reg::A, 0, facts),
        _ if is_identity(alu, k) => return Node::Nop,
        _ => {}
    }
    facts.a = Value { load: rename(facts.a.load, alu, k), ..facts.a.after(alu, Value::exactly(k)) };
    Node::Alu(alu, Source::K(k))
}

/// Whether `a OP k` is `a`, whatever `a` is.
fn is_identity(alu: Alu, k: u32) -> bool {
    match alu {
        Alu::Add | Alu::Sub | Alu::Or | Alu::Xor | Alu::Lsh | Alu::Rsh => k == 0,
        Alu::Mul | Alu::Div => k == 1,
        Alu::And => k == u32::MAX,
        Alu::Mod => false,
    }
}
