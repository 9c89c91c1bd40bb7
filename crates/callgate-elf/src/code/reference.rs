//! What an instruction refers to.

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
