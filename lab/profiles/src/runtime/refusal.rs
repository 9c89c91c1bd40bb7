//! Why a runtime refuses a profile.

/// Why a runtime refuses a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: String,
    /// Whether the refusal is certain ([`crate::tree`]).
    pub is_certain: bool,
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal { why, is_certain: true }
    }
}
