//! The decision diagram: the one canonical form of a filter.
//!
//! A filter is a function from the 64 bytes of `struct seccomp_data` to a 32-bit verdict. Here it is
//! a hash-consed, reduced, ordered decision diagram over the 512 bits of its sixteen words (arch,
//! nr, instruction pointer, arguments; high word before low, most significant bit first). In one
//! [`Store`], two filters are equal exactly when they are the same node: equality is one
//! comparison, and where two differ, a path to the difference is a concrete call.
//!
//! [`Store::policy`] and [`Store::program`] build functions; [`Store::evaluate`] and [`Store::witness`]
//! ask about them. Questions that no proof needs are in the crate `callgate-codegen`.
//!
//! ```
//! use callgate_proof::diagram::Store;
//! use callgate_proof::policy::{CallSet, Condition, Policy, Rule, Section};
//! use callgate_bpf::{Arch, Verdict};
//!
//! let filter = |calls| {
//!     let rules = vec![Rule { calls, when: Condition::always(), verdict: Verdict::ALLOW }];
//!     let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
//!     Policy::new(vec![section], Verdict::KILL_THREAD).unwrap()
//! };
//! let mut store = Store::default();
//! let a = store.policy(&filter(CallSet::range(0, 2)))?;
//! let b = store.policy(&filter([2, 1, 0].into_iter().collect()))?;
//! assert_eq!(a, b);
//! # Ok::<(), callgate_proof::diagram::DiagramError>(())
//! ```

mod compare;
mod error;
mod exits;
mod from_policy;
pub mod from_program;
mod node;
mod outline;
mod seen;
mod stacked;
mod store;
pub mod symbolic;
mod values;
mod witness;

pub use error::{Budget, DiagramError};
pub use node::{Func, Node, Pred};
pub use store::{Store, VARS, Var};

pub use compare::{Split, var_of};
pub use seen::Seen;

#[cfg(test)]
mod tests;
