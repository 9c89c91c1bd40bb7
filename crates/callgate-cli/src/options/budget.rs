//! The budget of subcommands that read arbitrary programs.

use callgate_core::diagram::Budget;

/// The budget for arbitrary programs: at most half a second (0.26 s was the maximum for 150 random programs
/// with arithmetic) and 100 MB. Filters in use need some ten thousand nodes. `compile` has the larger default,
/// because policies of ten thousand rules that fit into a program may need it.
pub(crate) const PROMPT: Budget = Budget { nodes: 800_000, steps: 4_000_000 };
