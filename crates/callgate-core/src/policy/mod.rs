//! The policy: a filter as ordered rules per architecture. Every policy language is translated to it.
//!
//! A policy has one [`Section`] per arch token, each with an ordered list of [`Rule`]s. The first
//! rule that matches a syscall decides; without a match, the default of the section does. Syscalls of any
//! other arch get [`Policy::bad_arch`]. Readers of languages with other rules of combination (libseccomp's
//! union, systemd's sets) translate them to this order. A [`RequestPolicy`] is the same for io_uring requests, which have an
//! opcode instead of arch and syscall number.
//!
//! Invariants, enforced by the constructors: sections have distinct tokens and one byte order; sets of
//! syscall numbers and conditions are in normal form, so equal ones compare equal; the fields of conditions are those of the
//! input that the policy is about.

mod comparison;
mod condition;
mod error;
mod intervals;
mod requests;
mod rules;
mod section;
#[cfg(feature = "serde")]
mod serialize;

pub use crate::SyscallSet;
pub use comparison::{Cmp, Field, FieldTest, Test, VariableRelation, VariableTest};
pub use condition::{Condition, Shape};
pub use error::PolicyError;
pub(crate) use intervals::for_each_interval;
pub use requests::{RequestPolicy, RequestRule};
pub use rules::Policy;
pub use section::{Rule, Section};
