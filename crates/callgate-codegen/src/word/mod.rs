//! The plan for one argument word: the choice between search trees and masks.
//!
//! Candidates are derived from the function itself, not from a list of known patterns. For each exit `E` of a
//! word, the diagram provides the common bits of the values that do *not* lead to `E`:
//! - bits that are clear in all of them: if any is set, the exit is `E`; one `jset`;
//! - a bit that is set in all of them: if it is clear, the exit is `E`; one `jset`;
//! - both together: `and` and `jeq`.
//!
//! The cofactor for these bits is smaller; it is planned in the same way.
//!
//! If some bits do not matter for most values (such as the size bits of an `ioctl` number), the values for which
//! they matter are separated first; then `and` clears these bits, and the rest is planned without them. An
//! irredundant sum of products (ISOP) suggests the bits to try.
//!
//! Alternatives are a search tree over the intervals of values and, if there are many intervals, a test per bit as in
//! the diagram. The alternative with the lowest cost is chosen.

mod plan;
mod planner;

pub(crate) use plan::{After, Plan, State, charge_search, is_scattered, weighted};
pub(crate) use planner::{FEW_INTERVALS, Planner};
