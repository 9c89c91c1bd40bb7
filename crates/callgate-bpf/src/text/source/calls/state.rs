//! The states of a program that is run.

use std::rc::Rc;

use super::datum::{Datum, Place, Unknown, Why};
use super::memory::Memory;
use crate::diagnostic::Position;

/// A program at some point.
#[derive(Clone)]
pub(super) struct State<'a, L> {
    pub(super) frames: Vec<Frame<'a, L>>,
    pub(super) stack: Vec<Datum<'a>>,
    pub(super) memory: Memory<'a>,
    pub(super) library: L,
    pub(super) turns: Vec<Turn<'a>>,
    /// Whether the code outside functions has ended.
    pub(super) is_started: bool,
}

/// A function that is run.
#[derive(Clone)]
pub(super) struct Frame<'a, L> {
    pub(super) function: usize,
    pub(super) at: usize,
    /// The index of its first variable.
    pub(super) base: usize,
    /// The height of the stack before it.
    pub(super) height: usize,
    /// The loops that were repeated with variables that are not known.
    pub(super) repeated: Vec<usize>,
    /// The state before the call, if the function is tried.
    pub(super) before: Option<Rc<Attempt<'a, L>>>,
}

pub(super) struct Attempt<'a, L> {
    pub(super) state: State<'a, L>,
    pub(super) function: &'a str,
    pub(super) arguments: usize,
    pub(super) position: Position,
    /// The number of steps at its begin.
    pub(super) steps: usize,
}

/// What was assumed about a condition that is not known.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) position: Position,
    pub(super) unknown: Unknown<'a>,
    pub(super) is_jump: bool,
}

/// Whether a state goes on.
#[derive(PartialEq, Eq)]
pub(super) enum Flow {
    On,
    /// It ended, as a program that runs would.
    End,
    /// It is the same as another one.
    Drop,
}

impl<'a, L> State<'a, L> {
    /// The same at the begin of a function without parameters.
    pub(super) fn entered(mut self, function: usize) -> Self {
        let (base, height) = (self.memory.objects.len(), self.stack.len());
        let repeated = Vec::new();
        self.frames.push(Frame { function, at: 0, base, height, repeated, before: None });
        self
    }

    pub(super) fn pop(&mut self) -> Datum<'a> {
        let missing = || Datum::unknown(Why::Not("this value is not known"));
        self.stack.pop().unwrap_or_else(missing)
    }

    /// The last values of the stack, in their order.
    pub(super) fn popped(&mut self, count: usize) -> Vec<Datum<'a>> {
        let from = self.stack.len().saturating_sub(count);
        self.stack.split_off(from)
    }

    pub(super) fn read(&self, place: &Place) -> Datum<'a> {
        let missing = || Datum::unknown(Why::Not("this element does not exist"));
        self.memory.read(place).unwrap_or_else(missing)
    }

    pub(super) fn jump(&mut self, target: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.at = target;
        }
    }
}
