//! The answer for a set of rules.

/// The result for a set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Taken,
    /// This rule is the first that is refused.
    Refused(usize),
    /// The library crashed or did not end, or callgate ran out of steps.
    Unknown,
}
