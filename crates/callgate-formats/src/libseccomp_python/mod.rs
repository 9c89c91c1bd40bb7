//! Programs in Python that make filters with libseccomp's binding: the modules `seccomp` and `pyseccomp`.
//!
//! The program is run on the values that its text shows: statements at the top, then the only function that makes a filter, or the
//! one that is chosen. Lists of names and loops over them are known; what only a run shows, such as the arguments of the
//! program, is not. A condition or a loop that is not known is skipped if it does nothing with filters, and refused
//! otherwise. A call that libseccomp refuses raises an exception, as in the binding; `except` catches it.
//!
//! Calls do what [`libseccomp_c`](crate::libseccomp_c) does for C. `sys.stdin`, `sys.stdout` and `sys.stderr` have the descriptors 0, 1
//! and 2, with a warning.
//!
//! Limits: 200,000 steps, forty levels of blocks, calls and parentheses.
//!
//! Source: `src/python/seccomp.pyx` of libseccomp 2.6, whose functions `pyseccomp` has as well.

mod binding;
mod expression;
mod language;
mod lines;
mod run;
#[cfg(test)]
mod tests;
mod tokens;

pub use language::LANGUAGE;
