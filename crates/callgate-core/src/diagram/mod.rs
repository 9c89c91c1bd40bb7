//! Multi-terminal binary decision diagrams (MTBDDs): the canonical representation of filters.
//!
//! A filter is a function from the 64 bytes of `struct seccomp_data` to a 32-bit verdict. It is
//! represented as a hash-consed, reduced, ordered MTBDD over the 512 bits of the sixteen words (arch,
//! nr, instruction pointer, arguments; high word before low, most significant bit first). In one
//! [`Store`], two filters are equal exactly when they are the same node: equality is one
//! comparison. If two filters differ, a path to a difference is a concrete syscall.
//!
//! Comparisons with variables, whose values are set when a filter is installed, and of two arguments are further variables of the
//! diagram: see [`Store::variable_test`] and [`Store::field_test`].
//!
//! [`Store::policy`] and [`Store::program`] build functions; [`Store::evaluate`] and [`Store::witness`]
//! query them. Queries that the proof does not need are in the crate `callgate-codegen`.
//!
//! ```
//! use callgate_core::diagram::Store;
//! use callgate_core::SyscallSet;
//! use callgate_core::policy::{Condition, Policy, Rule, Section};
//! use callgate_core::{Arch, Verdict};
//!
//! let filter = |syscalls| {
//!     let rules = vec![Rule { syscalls, when: Condition::always(), verdict: Verdict::ALLOW }];
//!     let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
//!     Policy::new(vec![section], Verdict::KILL_THREAD).unwrap()
//! };
//! let mut store = Store::default();
//! let a = store.policy(&filter(SyscallSet::range(0, 2)))?;
//! let b = store.policy(&filter([2, 1, 0].into_iter().collect()))?;
//! assert_eq!(a, b);
//! # Ok::<(), callgate_core::diagram::DiagramError>(())
//! ```

mod branch;
mod by_interval;
mod choice;
mod compare;
mod comparison;
mod conjunctions;
mod error;
mod exits;
mod from_policy;
pub mod from_program;
mod ite;
mod join;
mod node;
mod node_set;
mod node_table;
mod operation_cache;
mod outline;
mod packet_load;
mod pieces;
mod placeholders;
mod sets;
mod shifted;
mod stack;
mod store;
pub mod symbolic;
mod value_sets;
mod variables;
mod witness;

pub use compare::{Split, var_of};
pub use comparison::{Compared, Comparison, MAX_COMPARISONS};
pub use error::{Budget, DiagramError, UnmodelledLoad};
pub use node::{Func, Node, Pred};
pub use node_set::NodeSet;
pub use node_table::{BITS, VARS, Var};
pub use store::Store;
