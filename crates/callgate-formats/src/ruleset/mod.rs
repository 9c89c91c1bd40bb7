//! libseccomp's rule set.

mod comparison;
mod libseccomp;
mod order;
mod rule_set;

pub use comparison::{Comparison, Op};
pub use rule_set::{Conflict, Overridden, Refusals, RuleSet, Version, sections};
