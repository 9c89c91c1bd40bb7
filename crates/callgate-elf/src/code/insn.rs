//! What an instruction does to registers and memory, for both architectures.

/// A general-purpose register, by its number in encodings; 31 is the stack pointer of aarch64, 4 that of x86-64.
pub(crate) type Reg = u8;

/// A value that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Const(u64),
    Reg(Reg),
    /// One of two constants, depending on a condition.
    Either(u64, u64),
}

/// An address that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `None` for a constant address.
    pub(crate) base: Option<Reg>,
    pub(crate) offset: i64,
    /// Whether the address is this one. Otherwise it may be any.
    pub(crate) is_known: bool,
}

impl Place {
    pub(crate) fn at(base: Reg, offset: i64) -> Place {
        Place { base: Some(base), offset, is_known: true }
    }

    pub(crate) fn fixed(address: u64) -> Place {
        Place { base: None, offset: address as i64, is_known: true }
    }

    pub(crate) fn unknown() -> Place {
        Place { base: None, offset: 0, is_known: false }
    }
}

/// An operation with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Mul,
}

impl BinaryOp {
    pub(crate) fn apply(self, left: u64, right: u64) -> u64 {
        match self {
            BinaryOp::Add => left.wrapping_add(right),
            BinaryOp::Sub => left.wrapping_sub(right),
            BinaryOp::And => left & right,
            BinaryOp::Or => left | right,
            BinaryOp::Xor => left ^ right,
            BinaryOp::Mul => left.wrapping_mul(right),
        }
    }
}

/// One step of an instruction. Steps that are not `wide` compute 32 bits, and clear the upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Move {
        to: Reg,
        from: Source,
        wide: bool,
    },
    Binary {
        op: BinaryOp,
        to: Reg,
        left: Source,
        right: Source,
        wide: bool,
    },
    /// One of both, depending on a condition.
    Either {
        to: Reg,
        first: Source,
        second: Source,
        wide: bool,
    },
    Load {
        to: Reg,
        place: Place,
        size: u8,
        signed: bool,
    },
    /// `None`: a value that is not tracked.
    Store {
        place: Place,
        from: Option<Source>,
        size: u8,
    },
    /// The register may have any value.
    Forget(Reg),
}

impl Effect {
    pub(crate) fn mov(to: Reg, from: Source, wide: bool) -> Effect {
        Effect::Move { to, from, wide }
    }

    pub(crate) fn binary(op: BinaryOp, to: Reg, left: Source, right: Source, wide: bool) -> Effect {
        Effect::Binary { op, to, left, right, wide }
    }
}

/// What is called or jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Address(u64),
    /// The address in a word of memory, or in a register.
    Indirect,
}

/// Where execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Jump(u64),
    /// To the target or to the next instruction.
    Branch(u64),
    Call(Callee),
    /// An indirect jump.
    JumpAnywhere,
    Return,
    /// A trap.
    Stop,
    /// A syscall, then the next instruction.
    Syscall,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Insn {
    pub(crate) at: u64,
    pub(crate) next: u64,
    pub(crate) effects: Vec<Effect>,
    pub(crate) flow: Flow,
    /// Whether it does nothing.
    pub(crate) is_padding: bool,
}

impl Insn {
    pub(super) fn new(at: u64, size: u64) -> Insn {
        Insn {
            at,
            next: at.wrapping_add(size),
            effects: Vec::new(),
            flow: Flow::Next,
            is_padding: false,
        }
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Adds a step, unless its register is the zero register.
    pub(super) fn set(&mut self, to: Option<Reg>, effect: Effect) {
        if to.is_some() {
            self.effects.push(effect);
        }
    }
}
