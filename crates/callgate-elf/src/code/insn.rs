//! What an instruction refers to, and what it does to registers and memory, for both architectures; what registers are for.

use crate::image::Machine;

/// A general-purpose register, by its number in encodings; 31 is the stack pointer of aarch64, 4 that of x86-64.
pub(crate) type Reg = u8;

/// A value that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Const(u64),
    Reg(Reg),
    /// This part of a register, with zeros above.
    Part(Part),
    /// One of two constants, depending on a condition.
    Either(u64, u64),
}

/// Some bytes of a register, such as AL or AH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) register: Reg,
    /// The lowest bit.
    pub(crate) shift: u8,
    /// In bytes.
    pub(crate) size: u8,
}

impl Part {
    /// The lowest bytes of a register.
    pub(crate) fn low(register: Reg, size: u8) -> Part {
        Part { register, shift: 0, size }
    }

    /// The whole register.
    pub(crate) fn whole(register: Reg) -> Part {
        Part::low(register, 8)
    }

    /// The whole register, or its lower half.
    pub(crate) fn of_width(register: Reg, wide: bool) -> Part {
        Part::low(register, if wide { 8 } else { 4 })
    }
}

/// An address that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `None` for a constant address.
    pub(crate) base: Option<Reg>,
    pub(crate) offset: i64,
    /// Whether the address is this one. Otherwise it may be any; if it is computed from registers, the base and the index
    /// are these.
    pub(crate) is_known: bool,
    pub(crate) index: Option<Reg>,
}

impl Place {
    pub(crate) fn at(base: Reg, offset: i64) -> Place {
        Place { base: Some(base), offset, is_known: true, index: None }
    }

    pub(crate) fn fixed(address: u64) -> Place {
        Place { base: None, offset: address as i64, is_known: true, index: None }
    }

    pub(crate) fn unknown() -> Place {
        Place::indexed(None, None)
    }

    /// An address that is computed from these registers, and is not known.
    pub(crate) fn indexed(base: Option<Reg>, index: Option<Reg>) -> Place {
        Place { base, offset: 0, is_known: false, index }
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

/// One step of an instruction. A step that computes 32 bits of a register clears the upper half; smaller parts are replaced, and the
/// others stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Move {
        to: Part,
        from: Source,
    },
    Binary {
        op: BinaryOp,
        to: Part,
        left: Source,
        right: Source,
    },
    /// One of both, depending on a condition.
    Either {
        to: Part,
        first: Source,
        second: Source,
    },
    /// `size` bytes, with zeros above.
    Load {
        to: Part,
        place: Place,
        size: u8,
    },
    /// The lowest `size` bytes get their sign above.
    Extend {
        to: Part,
        size: u8,
    },
    /// What the flags say; `None`: something else.
    Flags(Option<Comparison>),
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
    /// A constant is added to a register.
    pub(super) fn add(to: Reg, value: i64) -> Effect {
        let (left, right) = (Source::Reg(to), Source::Const(value as u64));
        Effect::Binary { op: BinaryOp::Add, to: Part::whole(to), left, right }
    }
}

/// What a comparison looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared<M = Place> {
    Part(Part),
    /// Where it is in memory, and its size.
    Memory(M, u8),
}

/// How a comparison sets the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against<V = Source> {
    /// As the subtraction of this value.
    Value(V),
    /// As a conjunction with these bits.
    Mask(u64),
    /// The value is the result of arithmetic: it is zero or not, and has a sign.
    Result,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparison<M = Place, V = Source> {
    pub(crate) left: Compared<M>,
    pub(crate) against: Against<V>,
}

/// When a branch is taken, by the result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Equal,
    NotEqual,
    Below,
    AboveOrEqual,
    BelowOrEqual,
    Above,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Greater,
    Negative,
    NotNegative,
}

impl Condition {
    /// Whether it depends on the result alone, and not on carry or overflow.
    pub(crate) fn is_of_result(self) -> bool {
        matches!(
            self,
            Condition::Equal | Condition::NotEqual | Condition::Negative | Condition::NotNegative
        )
    }

    /// That of the other edge.
    pub(crate) fn inverse(self) -> Condition {
        match self {
            Condition::Equal => Condition::NotEqual,
            Condition::NotEqual => Condition::Equal,
            Condition::Below => Condition::AboveOrEqual,
            Condition::AboveOrEqual => Condition::Below,
            Condition::BelowOrEqual => Condition::Above,
            Condition::Above => Condition::BelowOrEqual,
            Condition::Less => Condition::GreaterOrEqual,
            Condition::GreaterOrEqual => Condition::Less,
            Condition::LessOrEqual => Condition::Greater,
            Condition::Greater => Condition::LessOrEqual,
            Condition::Negative => Condition::NotNegative,
            Condition::NotNegative => Condition::Negative,
        }
    }
}

/// What a branch depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) condition: Condition,
    /// `None`: what the flags say.
    pub(crate) comparison: Option<Comparison>,
}

/// What is called or jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Address(u64),
    /// The address in a word of memory, or in a register.
    Indirect,
}

/// Where the target of an indirect call or jump is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    Register(Reg),
    Memory(Place),
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
    /// HLT, a trap behind which compilers continue: they know it only as assembly code.
    Halt,
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
    /// What a branch depends on, if it is known.
    pub(crate) test: Option<Test>,
    /// Where an indirect call or jump has its target, unless it is a word at a constant address.
    pub(crate) through: Option<Through>,
    /// The registers that an instruction reads whose steps are not known, as a set of bits. The base of an address that is
    /// known does not count.
    pub(crate) reads: u32,
    /// The memory that an instruction reads whose steps are not known, and its size.
    pub(crate) copies: Option<(Place, u8)>,
    /// Whether it calls a function that may return more than once, such as setjmp(3).
    pub(crate) returns_twice: bool,
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
            test: None,
            through: None,
            reads: 0,
            copies: None,
            returns_twice: false,
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

/// What an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The address that it refers to.
    pub(crate) target: u64,
    /// The address of the instruction.
    pub(crate) at: u64,
    pub(crate) kind: ReferenceKind,
    /// How many bytes are loaded.
    pub(crate) size: u8,
}

/// How an instruction refers to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceKind {
    /// A call.
    Call,
    /// A jump out of the function.
    Jump,
    /// A call of the function whose address is in this word.
    CallThrough,
    /// A jump to the function whose address is in this word.
    JumpThrough,
    /// The address itself is computed.
    Address,
    /// Memory is read or written.
    Memory,
    /// The instruction makes a syscall.
    Syscall,
    /// The instruction makes a syscall of a 32-bit architecture.
    OtherSyscall,
    /// A jump to an address in a register, as from a jump table.
    IndirectJump,
}

impl ReferenceKind {
    /// Whether the target is executed, and not only known.
    pub(crate) fn is_transfer(self) -> bool {
        matches!(
            self,
            ReferenceKind::Call
                | ReferenceKind::Jump
                | ReferenceKind::CallThrough
                | ReferenceKind::JumpThrough
        )
    }
}

/// How a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The last instruction is a jump or a return.
    Stops,
    /// The last instruction is a call, which does not return if the function is complete.
    Calls,
    /// The code after the function is executed next.
    Continues,
}

/// The registers of an architecture that matter for syscalls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convention {
    /// How many registers are tracked.
    pub(crate) registers: u8,
    pub(crate) stack: Reg,
    /// The number of a syscall.
    pub(crate) number: Reg,
    /// Where syscalls have their results, and other registers that they change.
    pub(crate) changed_by_syscall: &'static [Reg],
    /// What calls of functions may change.
    pub(crate) changed_by_call: &'static [Reg],
    /// How much a call moves the stack pointer before the first instruction of the function.
    pub(crate) pushed: i64,
    /// Syscalls that do not return: exit, exit_group and rt_sigreturn.
    pub(crate) final_syscalls: &'static [u64],
    /// Syscalls after which a child may continue in the same memory: clone, vfork and clone3.
    pub(crate) forking_syscalls: &'static [u64],
    /// The arguments of a function and of a syscall, in order, and results.
    pub(crate) arguments: &'static [Reg],
    pub(crate) syscall_arguments: &'static [Reg],
    pub(crate) results: &'static [Reg],
}

impl Convention {
    pub(crate) fn of(machine: Machine) -> Convention {
        match machine {
            Machine::X86_64 => Convention {
                registers: 16,
                stack: 4,
                number: 0,
                changed_by_syscall: &[0, 1, 11],
                changed_by_call: &[0, 1, 2, 6, 7, 8, 9, 10, 11],
                pushed: 8,
                final_syscalls: &[60, 231, 15],
                forking_syscalls: &[56, 58, 435],
                // RDI, RSI, RDX, RCX, R8 and R9; R10 for RCX; RAX and RDX.
                arguments: &[7, 6, 2, 1, 8, 9],
                syscall_arguments: &[7, 6, 2, 10, 8, 9],
                results: &[0, 2],
            },
            Machine::Aarch64 => Convention {
                registers: 32,
                stack: 31,
                number: 8,
                changed_by_syscall: &[0],
                changed_by_call: &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30,
                ],
                pushed: 0,
                final_syscalls: &[93, 94, 139],
                forking_syscalls: &[220, 435],
                // X8 is the address of a large result.
                arguments: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
                syscall_arguments: &[0, 1, 2, 3, 4, 5],
                results: &[0, 1],
            },
        }
    }
}
