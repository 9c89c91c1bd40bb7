//! Built-in profiles: the project's own, and the default profiles of container engines, each in several versions.
//!
//! A source names one as `NAME`, which is its newest version, or as `NAME@VERSION`. The profiles of engines are facts in a
//! [table](table) of this project's own form, one for each engine; what holds in a version becomes a text in Docker's format, so that
//! capabilities, kernel versions and the semantics of runtimes come from [its reader](crate::oci).
//!
//! A [`Release`] is the number of a release. An engine and the library with its profile may number their releases on their own: both
//! are series of one table.

pub(crate) mod defaults;
mod meant;
mod registry;
mod release;
mod rule;
mod table;

pub use meant::meant;
pub use registry::{BUILT_INS, BuiltIn, BuiltInText, built_in};
