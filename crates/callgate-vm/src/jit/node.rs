//! The intermediate representation: one [`Node`] per instruction, in the order of the program, with
//! absolute targets. All jumps go forward.

use callgate_core::cfg::{Registers, Successors};
use callgate_core::{
    Alu, AncillaryWord, Endian, Insn, Op, Relation, SECCOMP_DATA_SIZE, Source, Width, Word,
};

use crate::flow::{Flow, Input, end, is_special};

/// One of the two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reg {
    A,
    X,
}

/// What compiled code requests from [`super::helper`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// An ancillary word, into A.
    Word,
    /// A load relative to a header, into A.
    Load(Width),
    /// The length of an IP header at an offset relative to a header, into X.
    HeaderLength,
}

/// The translation of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Unreachable, or part of another node.
    Dead,
    /// No effect.
    Nop,
    /// A constant.
    Imm(Reg, u32),
    /// The length of the packet.
    Length(Reg),
    /// A load into A. With `check`, the program ends with 0 if the packet is too short.
    Load { width: Width, offset: u32, check: bool },
    /// Ends the program with 0 if the packet has fewer bytes.
    Check(u32),
    /// X = four times the low four bits of a byte.
    HeaderLength { offset: u32, check: bool },
    /// A load into A at X + `offset`. The sum wraps, unless it is `near`: then it is below 2^31.
    Indexed { width: Width, offset: u32, near: bool },
    /// A call of [`super::helper`].
    Helper { request: Request, offset: u32 },
    /// A load of a scratch word.
    Fetch(Reg, u8),
    /// A store to a scratch word.
    Store(Reg, u8),
    /// A = A op the source.
    Alu(Alu, Source),
    /// A = -A.
    Neg,
    /// X = A.
    Tax,
    /// A = X.
    Txa,
    /// A jump to another place than the next.
    Jump(u16),
    /// A comparison of A.
    Branch { test: Relation, operand: Source, yes: u16, no: u16 },
    /// Returns a constant.
    Ret(u32),
    /// Returns A.
    RetA,
}

/// The nodes of a simplified program.
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) flow: Flow,
}

impl Graph {
    pub(super) fn of(flow: Flow) -> Graph {
        Graph {
            nodes: flow.insns().enumerate().map(|(at, insn)| node(&flow, at, insn)).collect(),
            flow,
        }
    }

    /// The first node from this one on that has an effect.
    pub(super) fn target(&self, at: u16) -> Node {
        self.nodes[self.flow.dest(usize::from(at))]
    }

    /// The value that a jump to this node returns, if it only returns a constant.
    pub(super) fn returned(&self, at: u16) -> Option<u32> {
        match self.target(at) {
            Node::Ret(value) => Some(value),
            _ => None,
        }
    }
}

/// Translates an instruction. Inlined, so that the node is written once: to read it at once from where its fields were written
/// would make processors wait.
#[inline(always)]
fn node(flow: &Flow, at: usize, insn: Insn) -> Node {
    if flow.edges(at) == 0 {
        return Node::Dead;
    }
    match insn.successors(at) {
        Successors::Branch { taken, otherwise } => {
            if let Some((test, operand)) = insn.comparison() {
                return Node::Branch { test, operand, yes: taken as u16, no: otherwise as u16 };
            }
        }
        Successors::Jump(to) if to == at + 1 => return Node::Nop,
        Successors::Jump(to) => return Node::Jump(to as u16),
        Successors::Return | Successors::Next(_) => {}
    }
    let (k, check) = (insn.k, !flow.succeeds(at));
    let is_live = |register| flow.live_after(at).intersects(register);
    match insn.op {
        Op::RetK => Node::Ret(k),
        Op::RetA => Node::RetA,
        Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs => {
            let width = insn.op.width().unwrap_or(Width::Word);
            match flow.input {
                Input::Syscall(endian) => {
                    // The input is in native byte order, whatever byte order the program is for.
                    let word = Word::from_offset(k, endian).unwrap_or(Word::NR);
                    Node::Load { width, offset: word.offset(Endian::NATIVE), check: false }
                }
                Input::Packet if AncillaryWord::from_offset(k).is_some() => {
                    Node::Helper { request: Request::Word, offset: k }
                }
                Input::Packet if is_special(k) => {
                    Node::Helper { request: Request::Load(width), offset: k }
                }
                Input::Packet if check && !is_live(Registers::A) => Node::Check(end(k, width)),
                Input::Packet => Node::Load { width, offset: k, check },
            }
        }
        Op::LdWordInd | Op::LdHalfInd | Op::LdByteInd => {
            let width = insn.op.width().unwrap_or(Width::Word);
            Node::Indexed { width, offset: k, near: flow.is_near(at) }
        }
        Op::LdxMsh if is_special(k) => Node::Helper { request: Request::HeaderLength, offset: k },
        Op::LdxMsh if check && !is_live(Registers::X) => Node::Check(end(k, Width::Byte)),
        Op::LdxMsh => Node::HeaderLength { offset: k, check },
        Op::LdLen | Op::LdxLen => {
            let register = if insn.op == Op::LdLen { Reg::A } else { Reg::X };
            match flow.input {
                Input::Syscall(_) => Node::Imm(register, SECCOMP_DATA_SIZE),
                Input::Packet => Node::Length(register),
            }
        }
        Op::LdImm => Node::Imm(Reg::A, k),
        Op::LdxImm => Node::Imm(Reg::X, k),
        Op::LdMem => Node::Fetch(Reg::A, k as u8),
        Op::LdxMem => Node::Fetch(Reg::X, k as u8),
        Op::St => Node::Store(Reg::A, k as u8),
        Op::Stx => Node::Store(Reg::X, k as u8),
        Op::Neg => Node::Neg,
        Op::Tax => Node::Tax,
        Op::Txa => Node::Txa,
        _ => insn.arithmetic().map_or(Node::Nop, |(alu, operand)| Node::Alu(alu, operand)),
    }
}
