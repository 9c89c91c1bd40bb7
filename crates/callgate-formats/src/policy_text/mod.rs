//! Policy texts: the [`Policy`](callgate_core::policy::Policy) that a source amounts to, as a text that a person can review and a
//! small program can read (`docs/reference/languages/policy-text.md`).
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_formats::policy_text;
//!
//! let text = "callgate-policy 1\nbyte-order little\nfilter 0\narch 0xc000003e 0x50001\nrule 0x7fff0000\n  nr 0 - 1 # read, write\n";
//! let read = policy_text::read(text)?;
//! assert!(read.policies[0].arches().eq([Arch::X86_64]));
//! let written = policy_text::write(&read.policies, read.is_stack, &["read and written".to_owned()])?;
//! assert!(written.contains("  nr 0 - 1                              # read, write\n"), "{written}");
//! assert_eq!(policy_text::read(&written)?, read);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants:
//! - What is written is read as the same policies, rule by rule.
//! - Everything that is read is read alike by the parser of the checker that is proved in Coq (`verified/Text.v`); that accepts
//!   more, such as comparisons of some bits of two arguments, which no [`Policy`](callgate_core::policy::Policy) has.
//!
//! Limits: 10 MiB of text; conditions are nested [`MAX_DEPTH`] deep.

mod language;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use language::LANGUAGE;
pub use read::{MAX_DEPTH, PolicyText, read};
pub use write::{Unwritable, write};
