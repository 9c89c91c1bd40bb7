//! The programs that the libseccomp of this machine makes of a policy, as a baseline.
//!
//! A helper process, `cargo lab libseccomp-program`, loads `libseccomp.so.2`, gives it the rules and prints the program:
//! the process that measures never runs the library. With our drop-in installed, `libseccomp.so.2` is ours. So each
//! answer names the version and the file of the library, and whether it is ours.
//!
//! [`Libseccomp::list`] is what libseccomp makes by default: one `jeq` per syscall, most of which fall through to the next.
//! [`Libseccomp::tree`] is what it makes with `SCMP_FLTATR_CTL_OPTIMIZE` set to 2: a binary search over the numbers. That a
//! program means what its policy means is proved here, each time.
//!
//! 1. `rules.rs`: a policy as libseccomp's rules, an action per syscall or combinations of argument tests;
//! 2. `question.rs`: the rules as text, for the helper;
//! 3. `helper.rs`: the helper, which calls the functions of `library.rs`;
//! 4. `compiler.rs`: starts the helper, and checks its answer.
//!
//! Limits: what libseccomp has no rules for is an error ([`LibseccompError`]), and so are rules of which one covers another.
//! Priorities set by the caller do not exist here.

mod compiler;
mod error;
mod helper;
mod library;
mod question;
mod rules;

pub use compiler::{Identity, Libseccomp};
pub use error::LibseccompError;
pub use helper::answer;
pub use library::{ArgCmp, Context, Library};
