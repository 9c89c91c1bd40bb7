//! Stacks: several filters on one thread, and one program with the same meaning.
//!
//! A thread may install several filters, and the kernel runs all of them for every syscall, newest first. It
//! starts with ALLOW, and the verdict of a filter replaces the current one only if its action has higher precedence
//! ([`Verdict::of_stack`](crate::Verdict::of_stack)). So if actions are equal, the data of the newest filter apply, and
//! data of ALLOW never do. [`Stack::run`] computes this for one syscall; [`merge`] makes a program of it.
//!
//! **Proof.** The loop keeps the first of the verdicts with the highest precedence, whichever neighbours are compared first. So each
//! choice between two groups of filters is computed for all syscalls at once in the diagram
//! ([`Store::highest_precedence`](callgate_core::diagram::Store::highest_precedence)). As in every compilation, symbolic
//! execution of the generated program must yield the same node. A second pass checks the choices: it enumerates
//! every combination of verdicts of the newer group, the older one and the result for one syscall, and compares
//! it with an iteration of the loop. For each combination, one concrete syscall is also evaluated without the diagram: the policies
//! by their rules and the programs in the interpreter, in the kernel's order, against the merged program in the
//! interpreter.
//!
//! **What does not merge** ([`Stack::new`], [`merge`]): properties that the kernel keeps per filter. A notification
//! goes to the listener of the filter that requested it; the LOG flag applies to the verdicts of its own filter;
//! TSYNC determines which threads have which filters. SPEC_ALLOW merges: a single filter without it enables the
//! mitigation permanently. A program does not record its flags; it is assumed to have none.
//!
//! **Limits.** A merged program is installed at once, so the verdicts of older filters for the syscalls that install the
//! newer ones do not apply. The precedence of actions is that of Linux 4.14 and later; before, there was no
//! KILL_PROCESS.
//!
//! Sources: `kernel/seccomp.c`: `seccomp_run_filters` and `ACTION_ONLY` (the loop),
//! `__seccomp_filter` and `seccomp_log` (which LOG flag applies), `seccomp_do_user_notification` (which
//! listener), `seccomp_sync_threads` (TSYNC), `seccomp_assign_mode` (SPEC_ALLOW),
//! `seccomp_set_mode_filter` (WAIT_KILLABLE_RECV without a listener is EINVAL).

mod error;
mod merge;
#[cfg(test)]
mod tests;

pub use error::StackError;
pub use merge::{Merged, Stack, merge, merge_observed};
