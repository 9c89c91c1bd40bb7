//! The decision diagram: the one canonical form of a filter.
//!
//! A filter is a function from the 64 bytes of `struct seccomp_data` to a 32-bit verdict. Here it is
//! a hash-consed, reduced, ordered decision diagram over the 512 bits of its sixteen words (arch,
//! nr, instruction pointer, arguments; high word before low, most significant bit first). In one
//! [`Store`], two filters are equal exactly when they are the same node: equality is one
//! comparison, and where two differ, a path to the difference is a concrete call.
//!
//! Ways in: [`Store::policy`] and [`Store::program`]. Ways out: the code generator, and the
//! questions asked here ([`Store::evaluate`], [`Store::differences`], [`Store::count`],
//! [`Store::partition`]).
//!
//! ```
//! use callgate::diagram::Store;
//! use callgate::policy::{CallSet, Condition, Policy, Rule, Section};
//! use callgate::{Arch, Verdict};
//!
//! let filter = |calls| {
//!     let rules = vec![Rule { calls, when: Condition::always(), verdict: Verdict::ALLOW }];
//!     let token = Arch::X86_64.token();
//!     let section = Section { token, arches: vec![Arch::X86_64], rules, default: Verdict::errno(1) };
//!     Policy::new(vec![section], Verdict::KILL_THREAD).unwrap()
//! };
//! let mut store = Store::default();
//! let a = store.policy(&filter(CallSet::range(0, 2)))?;
//! let b = store.policy(&filter([2, 1, 0].into_iter().collect()))?;
//! assert_eq!(a, b);
//! # Ok::<(), callgate::diagram::OutOfBudget>(())
//! ```

mod bits;
mod compare;
mod count;
mod cover;
mod difference;
mod from_policy;
mod from_program;
mod outline;
mod partition;
mod permitted;
mod reach;
mod reorder;
mod seen;
mod stacked;
mod store;
mod symbolic;
mod values;

pub use count::Count;
pub use difference::Difference;
pub use partition::Interval;
pub use reach::{Reach, Reachable};
pub use store::{Budget, Func, OutOfBudget, Pred, Store, VARS};

pub(crate) use bits::Bounds;
pub(crate) use compare::Split;
pub(crate) use cover::{Cube, Product};

#[cfg(test)]
mod tests;
