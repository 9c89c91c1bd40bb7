//! The instructions of the machine: what statements and expressions become.

use std::rc::Rc;

use super::super::integer::Binary;
use super::datum::{Datum, Shape};
use super::kinds::Kind;
use crate::diagnostic::Position;

/// A variable: the index of one of the function, or of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Local(usize),
    Global(usize),
}

/// How a variable begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    /// With the value on the stack.
    Given,
    Zero,
    /// The value is not known.
    Unset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Negate,
    Complement,
    Plus,
    Not,
}

/// An operation. Operands come from the stack, results go there.
#[derive(Clone, Debug)]
pub(super) enum Op<'a> {
    Push(Datum<'a>),
    /// The address of a variable.
    Variable(Slot),
    /// The value at an address; of an array, the address of its first element.
    Load,
    /// Keeps a value in a place of its own.
    Temporary,
    /// The address of an element: of an array, and an index.
    Index,
    /// The address of a member: of the address of a structure.
    Field(&'a str),
    /// The member of a structure that is a value.
    Member(&'a str),
    /// Assigns a value to an address, with an operator.
    Store(Option<Binary>),
    Bump {
        by: i128,
        is_prefix: bool,
    },
    Unary(Unary),
    Binary(Binary),
    Truth,
    Cast(Kind),
    /// The number of elements of the array at an address.
    Count,
    /// The number of bytes of what is at an address.
    Size,
    Pop,
    Jump(usize),
    /// Jumps if a value is zero, or is not.
    Branch {
        target: usize,
        if_true: bool,
        region: usize,
    },
    /// A loop is entered from outside.
    Enter(usize),
    Call {
        function: &'a str,
        arguments: usize,
    },
    Return,
    Declare {
        slot: Slot,
        kind: Kind,
        initial: Initial,
        is_const: bool,
        name: &'a str,
    },
    Build {
        shape: Rc<Shape<'a>>,
        kind: Kind,
        values: usize,
    },
    /// Variables are changed in a way that is not known.
    Forget(Rc<[(Slot, &'a str)]>),
    /// The program ends.
    Halt,
}

#[derive(Clone, Debug)]
pub(super) struct Instruction<'a> {
    pub(super) op: Op<'a>,
    pub(super) position: Position,
}

/// What a branch decides about.
#[derive(Clone, Debug)]
pub(super) struct Region<'a> {
    /// Where the code goes on after it.
    pub(super) join: usize,
    /// The variables that it may change.
    pub(super) writes: Rc<[(Slot, &'a str)]>,
    /// Whether it leaves a value.
    pub(super) has_value: bool,
    /// Whether it only changes these variables: it contains no call that matters, and nothing leaves it.
    pub(super) is_harmless: bool,
    /// Whether a call in it matters.
    pub(super) matters: bool,
    pub(super) is_loop: bool,
}

/// A compiled function.
#[derive(Clone, Debug)]
pub(super) struct Code<'a> {
    pub(super) instructions: Vec<Instruction<'a>>,
    pub(super) regions: Vec<Region<'a>>,
    /// The number of its variables; the first are its parameters.
    pub(super) slots: usize,
    pub(super) parameters: Vec<(&'a str, Kind)>,
    pub(super) result: Kind,
    /// From which instructions on a call that matters may follow.
    pub(super) leads: Vec<bool>,
}

impl Default for Code<'_> {
    fn default() -> Self {
        Code {
            instructions: Vec::new(),
            regions: Vec::new(),
            slots: 0,
            parameters: Vec::new(),
            result: Kind::Other,
            leads: Vec::new(),
        }
    }
}

impl Code<'_> {
    /// Finds out from where on a call that matters may follow; `matters` says which calls do.
    pub(super) fn trace(&mut self, matters: &dyn Fn(&str) -> bool) {
        let count = self.instructions.len();
        let mut leads = vec![false; count + 1];
        // Backward jumps need another pass; each pass but the last finds more.
        let mut passes = 0;
        loop {
            let mut is_changed = false;
            for (at, instruction) in self.instructions.iter().enumerate().rev() {
                let lead = |to: usize| leads.get(to).copied().unwrap_or(false);
                let holds = match &instruction.op {
                    Op::Call { function, .. } => matters(function) || lead(at + 1),
                    Op::Jump(to) => lead(*to),
                    Op::Branch { target, .. } => lead(*target) || lead(at + 1),
                    Op::Return | Op::Halt => false,
                    _ => lead(at + 1),
                };
                if let Some(known) = leads.get_mut(at).filter(|known| **known != holds) {
                    *known = holds;
                    is_changed = true;
                }
            }
            passes += 1;
            if !is_changed {
                break;
            }
            if passes > MAX_PASSES {
                leads.iter_mut().for_each(|lead| *lead = true);
                break;
            }
        }
        self.leads = leads;
    }
}

/// How many passes are made over the instructions of a function.
const MAX_PASSES: usize = 50;
