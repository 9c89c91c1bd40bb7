//! libseccomp's rule set: how the rules of one syscall combine, in whatever order they were added.
//!
//! A [`RuleSet`] holds the rules for one architecture and turns them into the ordered rules of a
//! [`Section`](callgate_core::policy::Section). The container runtimes pass every entry of a profile to
//! libseccomp, so this defines what a profile means. From `seccomp_rule_add(3)` and `src/db.c` of libseccomp 2.6:
//!
//! - The first unconditional rule of a syscall decides it: it replaces the conditional rules added before, and
//!   later rules of that syscall are dropped.
//! - Conditional rules form a union. Where several match, these criteria decide, in this order: the rule whose
//!   first comparison has the **higher** argument; EQ, NE and MASKED_EQ before LT and LE, and these before GT and
//!   GE; the larger value, or for LT and LE the smaller one; the same criteria for the next argument. A condition
//!   that is a prefix of another one decides before it, so a rule whose comparisons include all comparisons of
//!   another rule has no effect. Of rules that are equal in all this, the one that was added first decides. The
//!   comparisons are those of 32-bit words, the high word of an argument first (`comparison`).
//! - On 32-bit ABIs (including x32) only the low words are compared, and the high word of a value is dropped. A
//!   comparison whose mask is then 0 is dropped.
//! - Where `socketcall(2)` or `ipc(2)` exist, a rule for a syscall that they reach also becomes a rule for them, in
//!   which argument 0 equals the number of the sub-call instead of what the rule says about argument 0.
//!
//! libseccomp does not accept every set of rules. [`RuleSet::refused`] returns exactly those that it rejects with
//! `-EEXIST`, because it keeps libseccomp's own data structure (`libseccomp`). libseccomp rejects the same condition
//! with another verdict, a condition that is a prefix of an earlier one with another verdict, and some pairs that
//! only share a comparison: `a0 > 5 && a1 == 0` and then `a0 > 9` share the comparison of the high word of
//! argument 0. It can also reject rules for a syscall that the architecture does not have.
//! [`IncrementalRules`] rejects them one at a time, as they are added. [`RuleSet::contradictions`] returns the part that does not depend on libseccomp: the same condition with two
//! verdicts.
//!
//! libseccomp's programs do not always do what its rules say: up to 2.6.1, nodes that rules with ordered comparisons
//! or NE share let other values through, and the program for an architecture that lacks the syscall with the fewest
//! comparisons may not compare the syscall number at all. These defects are not reproduced.
//!
//! A [`RuleSet`] does not know the default verdict: callers skip rules that have it, because libseccomp rejects
//! them.

mod by_syscall;
mod comparison;
mod incremental;
mod libseccomp;
mod outcome;
mod rule_set;

pub use comparison::{Comparison, Op};
pub use incremental::{IncrementalRules, Refused, SyscallTree};
pub use libseccomp::{ChainEnd, ChainNode, ChainOp};
pub use rule_set::{
    Conflict, LibseccompVersion, Overridden, Refusals, RuleSet, UnknownSyscall, sections,
};
