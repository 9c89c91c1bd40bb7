//! Filters built from rules.

mod arg;
mod builder;
mod comparisons;
mod definition;
mod error;
mod expr;
mod operand;
mod syscall;
mod value;
mod variable;

pub use arg::{Arg, ArgRef, arg, instruction_pointer};
pub use builder::{Arches, FilterBuilder};
pub use definition::Filter;
pub(crate) use error::write_errno;
pub use error::{RuleError, RuleErrorKind};
pub use expr::Expr;
pub use syscall::Syscall;
pub use value::ArgValue;
pub use variable::{Comparand, Var, var};
