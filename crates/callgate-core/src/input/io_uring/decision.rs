//! The result of an io_uring filter.

/// The result of an io_uring filter: whether the request is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// The request fails with EACCES.
    Deny,
    /// The request is executed, unless another filter denies it.
    Allow,
}

impl Decision {
    /// The decision of a filter that returns this value: 0 denies, any other value allows.
    pub const fn of(value: u32) -> Decision {
        if value == 0 { Decision::Deny } else { Decision::Allow }
    }

    /// The value that a filter returns for the decision: 0 or 1.
    pub const fn value(self) -> u32 {
        match self {
            Decision::Deny => 0,
            Decision::Allow => 1,
        }
    }

    /// The decision of a stack of filters: a request is allowed if all filters for its opcode allow it, also if there are
    /// none. The order does not matter (`__io_uring_run_bpf_filters`).
    ///
    /// ```
    /// use callgate_core::io_uring::Decision::{self, Allow, Deny};
    ///
    /// assert_eq!(Decision::of_stack([Allow, Deny]), Deny);
    /// assert_eq!(Decision::of_stack([]), Allow);
    /// ```
    pub fn of_stack(decisions: impl IntoIterator<Item = Decision>) -> Decision {
        decisions.into_iter().min().unwrap_or(Decision::Allow)
    }
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Decision::Deny => "DENY",
            Decision::Allow => "ALLOW",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_but_zero_allows() {
        let values = [0, 1, 2, 0x7fff_0000, 0x8000_0000, u32::MAX];
        let allows = values.map(|value| Decision::of(value) == Decision::Allow);
        assert_eq!(allows, [false, true, true, true, true, true]);
        for decision in [Decision::Deny, Decision::Allow] {
            assert_eq!(Decision::of(decision.value()), decision);
        }
    }
}
