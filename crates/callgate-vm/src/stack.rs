//! Several filters at once, with the kernel's precedence.
//!
//! [`callgate::stack`] says what a stack means, and [`callgate::stack::merge`] makes one program of it,
//! which any engine runs.

use callgate_bpf::Program;
use callgate_bpf::{Endian, SeccompData, Verdict};

use crate::engine::{EngineError, SeccompEngine};
use crate::kind::EngineKind;

/// Engines on top of each other: all are asked, the newest first, and the first of the most severe
/// verdicts counts. Without any, calls are allowed.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program};
/// use callgate_bpf::{Endian, SeccompData, Verdict};
/// use callgate_vm::{Decoded, SeccompEngine, Stack};
///
/// let filter = |verdict: Verdict| Program::new(vec![Insn::new(Op::RetK, verdict.0)]);
/// let (older, newer) = (filter(Verdict::errno(1))?, filter(Verdict::errno(38))?);
/// let stack = Stack::new([&older, &newer].map(|filter| Decoded::new(filter, Endian::NATIVE)));
/// assert_eq!(stack.verdict(&SeccompData::default()), Verdict::errno(38), "the newer one's data");
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack<E> {
    /// The newest first.
    engines: Vec<E>,
}

impl<E: SeccompEngine> Stack<E> {
    /// A stack of these engines, the oldest first.
    pub fn new(engines: impl IntoIterator<Item = E>) -> Stack<E> {
        let mut engines: Vec<E> = engines.into_iter().collect();
        engines.reverse();
        Stack { engines }
    }
}

impl Stack<Box<dyn SeccompEngine>> {
    /// A stack of engines of one kind for these filters, the oldest first.
    ///
    /// # Errors
    /// When this machine has no such engine.
    pub fn of_kind(
        kind: EngineKind,
        programs: &[&Program],
        endian: Endian,
    ) -> Result<Stack<Box<dyn SeccompEngine>>, EngineError> {
        let engines: Result<Vec<_>, _> =
            programs.iter().map(|program| kind.seccomp(program, endian)).collect();
        engines.map(Stack::new)
    }
}

impl<E: SeccompEngine> SeccompEngine for Stack<E> {
    fn verdict(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.engines.iter().map(|engine| engine.verdict(data)))
    }

    fn code_bytes(&self) -> usize {
        self.engines.iter().map(SeccompEngine::code_bytes).sum()
    }
}
