//! Stacks: several filters on one thread, and the one program that means the same.
//!
//! A thread may install filter after filter, and the kernel runs all of them for every call: newest
//! first, beginning with ALLOW, and a filter's verdict replaces the one kept so far only when its
//! action is more severe ([`Verdict::of_stack`]). So among equal actions the data of the newest filter
//! count, and data of ALLOW never do. [`Stack::run`] does it for one call; [`merge`] makes a program
//! of it.
//!
//! **Proof.** Each turn of that loop is done for all calls at once in the diagram
//! ([`Store::highest_precedence`]), and the program made of the result is executed symbolically and gives the
//! same node, as in every compilation. The turns themselves are checked in a second pass that goes
//! through all calls: every combination of verdicts that the kept function, the next filter and the
//! result have for the same call must be what the loop does with them. For each of these
//! combinations one concrete call is run both ways, from the sources to the merged program: every
//! policy by its rules and every program in the interpreter, one after the other as the kernel does,
//! against the merged program in the interpreter.
//!
//! **What does not merge** ([`Stack::new`], [`merge`]): what the kernel keeps per filter beside its
//! program. A notification goes to the listener of the filter that asked for it; the LOG flag logs
//! the verdicts of its own filter; TSYNC decides which threads have which filters.
//! SPEC_ALLOW merges: one filter without it is enough to switch the mitigation on, for good.
//! A program does not say with which flags it is installed; it is taken to have none.
//!
//! **Limits.** A merged program is installed at once, so what the older filters say about the calls
//! that install the newer ones is not part of it. The order of actions is that of Linux 4.14 and
//! later; before, there was no KILL_PROCESS.
//!
//! Sources: `kernel/seccomp.c`: `seccomp_run_filters` and `ACTION_ONLY` (the loop),
//! `__seccomp_filter` and `seccomp_log` (whose LOG flag counts), `seccomp_do_user_notification` (whose
//! listener), `seccomp_sync_threads` (TSYNC), `seccomp_assign_mode` (SPEC_ALLOW),
//! `seccomp_set_mode_filter` (WAIT_KILLABLE_RECV without a listener is EINVAL).

mod definition;
mod error;
mod merge;

pub use definition::Stack;
pub use error::StackError;
pub use merge::{Merged, merge, merge_observed};

#[cfg(test)]
mod tests;
