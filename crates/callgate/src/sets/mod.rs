//! Filters as sets of syscalls: comparison (which filter permits more) and combination.
//!
//! The sets are ordered by the kernel's order of actions (`seccomp_run_filters` in `kernel/seccomp.c`): for one syscall,
//! the verdict whose action has higher [precedence](crate::Verdict::precedence) is the stricter one. The data of a verdict
//! (an error number) make it neither stricter nor looser. ALLOW and LOG permit a syscall.
//!
//! | operation | sign | verdict for a syscall |
//! |---|---|---|
//! | [`Operation::Union`] | `+` | where the second filter permits it, the looser one of both; elsewhere that of the first one |
//! | [`Operation::Intersect`] | `^` | the stricter one of both, as for a stack of both filters |
//! | [`Operation::Subtract`] | `-` | of the first filter; but if the second one permits it, a denial, unless the first filter is stricter |
//!
//! If both verdicts have the same action, the data of the first filter apply.
//!
//! **A denylist is an operand of `^` only.** A filter that allows the syscalls that it does not name would make a union
//! that allows everything, and a difference that denies everything. So both are errors that name `^`. Whether a filter
//! is a denylist is decided by its function, so it does not depend on the form of the filter: an architecture has
//! numbers that no syscall has, and a denylist allows [most of them](Expression).
//!
//! **Arguments.** The kernel reads only the low 32 bits of many arguments, and filters see 64.
//! [`as_the_kernel_reads`] restricts functions to the bits that the kernel reads, so that a comparison ignores the others.

mod compare;
mod defaults;
mod expression;
mod operation;
#[cfg(test)]
mod tests;

pub use compare::{
    Arguments, as_the_kernel_reads, not_in, not_in_func, permitted, permitted_alike,
};
pub use expression::Expression;
pub use operation::{Operation, SetError};
