//! Edges of the call graph.

/// A function of a file of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId {
    /// The number of the file.
    pub(crate) image: u32,
    /// The number of the function in the file.
    pub(crate) function: u32,
}

/// A call, or a jump to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) callee: FunctionId,
    pub(crate) caller: FunctionId,
    /// The address of the instruction.
    pub(crate) at: u64,
}
