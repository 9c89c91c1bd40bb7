//! A stack of filters, evaluated with the kernel's action precedence ([`Verdict::of_stack`]).

use callgate_core::{SeccompData, Verdict};

use crate::engine::SeccompEngine;

/// Engines for a stack of filters. All of them run, the newest first, and the first verdict whose action
/// has the highest precedence is returned. An empty stack allows every syscall.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::{Endian, SeccompData, Verdict};
/// use callgate_vm::{Decoded, SeccompEngine, Stack};
///
/// let filter = |verdict: Verdict| Program::new(vec![Insn::new(Op::RetK, verdict.0)]);
/// let (older, newer) = (filter(Verdict::errno(1))?, filter(Verdict::errno(38))?);
/// let stack = Stack::new([&older, &newer].map(|filter| Decoded::new(filter, Endian::NATIVE)));
/// assert_eq!(stack.verdict(&SeccompData::default()), Verdict::errno(38), "the data of the newer filter");
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack<E> {
    /// Newest first.
    engines: Vec<E>,
}

impl<E: SeccompEngine> Stack<E> {
    /// A stack of these engines, oldest first.
    pub fn new(engines: impl IntoIterator<Item = E>) -> Stack<E> {
        let mut engines: Vec<E> = engines.into_iter().collect();
        engines.reverse();
        Stack { engines }
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
