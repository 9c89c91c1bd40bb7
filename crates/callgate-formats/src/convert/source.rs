//! What is converted.

use callgate_core::diagram::Func;

/// A filter that is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it does where it is installed.
    pub applied: Func,
    /// What it does without the rules that a container runtime adds to a profile.
    pub own: Func,
}

impl From<Func> for Source {
    /// A filter to which no runtime adds rules, or of which they are a part.
    fn from(func: Func) -> Source {
        Source { applied: func, own: func }
    }
}
