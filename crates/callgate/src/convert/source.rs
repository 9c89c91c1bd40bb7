//! What is converted.

use crate::error::Result;
use crate::{Description, compile};
use callgate_core::diagram::{Func, Store};

/// A filter that is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it does where it is installed.
    pub applied: Func,
    /// What it does without the rules that a container runtime adds to a profile.
    pub own: Func,
}

impl Source {
    /// The functions of a description.
    ///
    /// # Errors
    /// If the filter is too complex.
    pub fn of(store: &mut Store, filter: &Description<'_>) -> Result<Source> {
        let applied = filter.diagram(store)?;
        let own = match filter.profile.and_then(|profile| profile.own_policy()) {
            Some(policy) => compile::diagram(store, &policy)?,
            None => applied,
        };
        Ok(Source { applied, own })
    }
}

impl From<Func> for Source {
    /// A filter to which no runtime adds rules, or of which they are a part.
    fn from(func: Func) -> Source {
        Source { applied: func, own: func }
    }
}
