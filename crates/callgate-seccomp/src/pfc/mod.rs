//! `seccomp_export_pfc(3)`: the rules in a readable form, which programs and tests parse.
//!
//! The form shows libseccomp's tree of comparisons, not the program that is compiled from the same rules.

mod chains;
mod lines;
mod search_tree;
mod writer;

pub(crate) use writer::text;

#[cfg(test)]
mod tests;
