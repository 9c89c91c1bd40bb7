//! A parsed policy, before names of syscalls and arguments are resolved.

use crate::included::{Place, Span};
use callgate_core::policy::Cmp;
use callgate_core::{Arch, Verdict};

/// All statements of a text with its included files.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The statements at the top level come first, then those of the policies, in the order of their definition.
    pub(super) policies: Vec<PolicyBody>,
    /// The default action, and where it is given.
    pub(super) default: Option<(Verdict, Place)>,
}

/// The statements of a policy.
#[derive(Debug, Default)]
pub(super) struct PolicyBody {
    /// The name; `None` for the top level.
    pub(super) name: Option<Span>,
    pub(super) statements: Vec<Statement>,
}

#[derive(Debug)]
pub(super) enum Statement {
    /// The index of another policy.
    Use { policy: usize, at: Place },
    /// Rules with the same verdict.
    Block { verdict: Verdict, filters: Vec<Filter> },
}

/// A syscall, perhaps with a condition.
#[derive(Debug)]
pub(super) struct Filter {
    /// Its number in the order of the text, from 0.
    pub(super) index: usize,
    pub(super) syscall: Syscall,
    /// Where the syscall is named.
    pub(super) at: Span,
    /// The names that the policy gives to the arguments.
    pub(super) parameters: Option<Vec<Span>>,
    /// The architectures after `ON`.
    pub(super) arches: Option<Vec<Arch>>,
    /// The condition in postfix order; empty for none.
    pub(super) condition: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syscall {
    /// By its name.
    Named,
    Number(u32),
    /// A number with a defined name.
    Defined(u32),
}

/// A part of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    pub(super) at: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Number(u64),
    /// A defined name; the number may be also the name of an argument.
    Defined(u64),
    /// A defined name of one of the kernel's constants, whose value depends on the architecture.
    Constant(Span),
    /// An argument or one of the kernel's constants.
    Name,
    /// A variable: `$name`, perhaps with a number added, or complemented.
    Variable {
        addend: u64,
        is_complement: bool,
    },
    BitAnd,
    BitOr,
    Compare(Cmp),
    Not,
    And,
    Or,
}
