//! `cargo lab pasted-c`: compares the reader of C as text with gcc. Random texts with macros, conditionals, comments,
//! continued lines and constant expressions must give the array that gcc compiles, or be refused. Some have functions that use
//! the array; one that changes it is executed, and then the array is compared.
//!
//! [`random`], [`expression`] and [`stores`] make texts, [`compiler`] runs gcc on many of them at once, [`run`](mod@run) compares and counts.

mod compiler;
mod expression;
mod options;
mod random;
mod run;
mod stores;

pub(crate) use options::HELP;
pub(crate) use run::run;
