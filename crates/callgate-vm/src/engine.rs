//! The traits of engines, which run a filter on a syscall or on a packet without allocating, and stacks of engines.

use std::fmt;

use callgate_core::{Ancillary, Endian, SeccompData, Verdict};

/// An engine for a seccomp filter.
///
/// The engine's `new` takes a [`Program`](callgate_core::Program) and the byte order of its machine, which determines the
/// offsets of the two halves of an argument. With a foreign byte order, an engine returns what a machine with that byte order
/// would.
pub trait SeccompEngine: Send + Sync {
    /// The filter's verdict on a syscall.
    fn verdict(&self, data: &SeccompData) -> Verdict;

    /// The verdict on the bytes of `struct seccomp_data` in native byte order.
    fn verdict_of_bytes(&self, data: &[u8; 64]) -> Verdict {
        self.verdict(&SeccompData::from_bytes(data, Endian::NATIVE))
    }

    /// The size in bytes of the engine's code and tables.
    fn code_bytes(&self) -> usize;
}

/// An engine for a socket filter.
///
/// The engine's `new_packet` takes a [`SocketProgram`](callgate_core::SocketProgram).
pub trait PacketEngine: Send + Sync {
    /// How many bytes of the packet to keep; 0 drops it. `ancillary` provides ancillary words and the
    /// offsets of headers; [`NoAncillary`](callgate_core::NoAncillary) has defaults for all of them.
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32;

    /// The size in bytes of the engine's code and tables.
    fn code_bytes(&self) -> usize;
}

impl<E: SeccompEngine + ?Sized> SeccompEngine for Box<E> {
    fn verdict(&self, data: &SeccompData) -> Verdict {
        (**self).verdict(data)
    }

    fn verdict_of_bytes(&self, data: &[u8; 64]) -> Verdict {
        (**self).verdict_of_bytes(data)
    }

    fn code_bytes(&self) -> usize {
        (**self).code_bytes()
    }
}

/// An engine, or why it cannot be created.
pub(crate) type Result<E> = std::result::Result<E, EngineError>;

/// Why an engine cannot be created: the machine does not support it, or the system denies what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    engine: &'static str,
    why: String,
}

impl EngineError {
    /// An error about the engine of this name.
    pub fn new(engine: &'static str, why: impl Into<String>) -> EngineError {
        EngineError { engine, why: why.into() }
    }

    /// The name of the engine.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// The reason, without the name.
    pub fn reason(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the engine `{}` cannot be used here: {}", self.engine, self.why)
    }
}

impl std::error::Error for EngineError {}

/// Engines for a stack of filters. All of them run, the newest first, and the first verdict whose action
/// has the highest precedence is returned. An empty stack allows every syscall.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::{Endian, SeccompData, Verdict};
/// use callgate_vm::{Decoded, EngineStack, SeccompEngine};
///
/// let filter = |verdict: Verdict| Program::new(vec![Insn::new(Op::RetK, verdict.0)]);
/// let (older, newer) = (filter(Verdict::errno(1))?, filter(Verdict::errno(38))?);
/// let stack = EngineStack::new([&older, &newer].map(|filter| Decoded::new(filter, Endian::NATIVE)));
/// assert_eq!(stack.verdict(&SeccompData::default()), Verdict::errno(38), "the data of the newer filter");
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EngineStack<E> {
    /// Newest first.
    engines: Vec<E>,
}

impl<E: SeccompEngine> EngineStack<E> {
    /// A stack of these engines, oldest first.
    pub fn new(engines: impl IntoIterator<Item = E>) -> EngineStack<E> {
        let mut engines: Vec<E> = engines.into_iter().collect();
        engines.reverse();
        EngineStack { engines }
    }
}

impl<E: SeccompEngine> SeccompEngine for EngineStack<E> {
    fn verdict(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.engines.iter().map(|engine| engine.verdict(data)))
    }

    fn code_bytes(&self) -> usize {
        self.engines.iter().map(SeccompEngine::code_bytes).sum()
    }
}
