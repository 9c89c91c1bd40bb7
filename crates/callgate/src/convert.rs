//! Conversion of filters to policy languages: [`callgate_formats::convert`], for any description of a filter.
//!
//! ```
//! use callgate::convert::{ConvertOptions, convert};
//! use callgate::{Arch, Filter, Verdict, arg};
//!
//! let filter = Filter::builder(Arch::X86_64)
//!     .bad_arch(Verdict::KILL_THREAD)
//!     .default(Verdict::KILL_THREAD)
//!     .allow(["read", "write"])?
//!     .allow_if("socket", arg("family").eq(1))?
//!     .build()?;
//! let converted = convert(&filter, &ConvertOptions::new("kafel".parse()?))?;
//! assert!(converted.text.contains("family == AF_UNIX"), "{}", converted.text);
//!
//! let error = convert(&filter, &ConvertOptions::new("systemd".parse()?)).unwrap_err();
//! assert!(error.to_string().contains("socket"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use callgate_formats::convert::{
    ConvertError, ConvertOptions, Converted, Example, Loss, Original, convert_diagram,
};

pub use crate::list_form::{ListForm, UNNAMED};

use crate::error::Result;
use crate::{Description, compile};
use callgate_core::diagram::Store;

impl Description<'_> {
    /// What is converted: the filter where it is installed, and without the rules that a runtime adds to a profile.
    ///
    /// # Errors
    /// If the filter is too complex.
    pub fn to_convert(&self, store: &mut Store) -> Result<Original> {
        let applied = self.diagram(store)?;
        let own = match self.profile.and_then(|profile| profile.own_policy()) {
            Some(policy) => compile::diagram(store, &policy)?,
            None => applied,
        };
        Ok(Original { applied, own })
    }
}

/// Converts a filter to a policy in another language; see [`callgate_formats::convert`].
///
/// # Errors
/// If the target cannot express the filter, if the filter is too complex, or because of a defect in this crate.
pub fn convert<'a>(
    filter: impl Into<Description<'a>>,
    options: &ConvertOptions,
) -> Result<Converted> {
    let filter = filter.into();
    let mut store = Store::default();
    let source = filter.to_convert(&mut store)?;
    let mut options = options.clone();
    if options.arches.is_empty() {
        options.arches = filter.arches();
    }
    Ok(convert_diagram(&mut store, source, &options)?)
}
