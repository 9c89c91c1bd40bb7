//! Conversion of filters to policy languages.
//!
//! A filter of any form becomes an MTBDD, and the MTBDD a policy in a language such as Docker's profiles, lists of
//! systemd or Kafel. The result is read back with this project's reader of the language and must be the same node;
//! otherwise there is an error and no text.
//!
//! A language that cannot express a filter is an error, too: [`ConvertError::losses`] names the reasons, each with
//! an example. [`ConvertOptions::closest`] asks for the nearest stricter policy instead. Stricter means: for every
//! syscall the policy permits no more, by the order ALLOW, LOG, TRACE, USER_NOTIF, and equal to each other all actions
//! that do not run the syscall. This is proved from the MTBDDs of both.
//!
//! # Rules of the runtime
//!
//! runc lets numbers above the largest one that a profile names fail with ENOSYS. This rule belongs to the runtime, not to the
//! profile, so a conversion neither writes nor loses it: the filter and the policy are compared both without it, or both with
//! it ([`Source`]). A policy for other programs has the rule where the language can express it.
//! [`Converted::notes`] says which syscalls then get another verdict than under the runtime of the source.
//!
//! # Steps
//!
//! | step | where | what it does |
//! |---|---|---|
//! | attempt | `attempts.rs` | with or without the rules of the runtime |
//! | fit | `fit.rs` | replaces what the target cannot express, and notes each loss |
//! | conditions | `alternatives.rs` | disjunctions of conjunctions per verdict, from the MTBDD |
//! | write | `languages` | the text |
//! | prove | `prove.rs` | reads the text back and compares nodes |
//!
//! ```
//! use callgate::convert::{ConvertOptions, Target, convert};
//! use callgate::{Arch, Filter, Verdict, arg};
//!
//! let filter = Filter::builder(Arch::X86_64)
//!     .bad_arch(Verdict::KILL_THREAD)
//!     .default(Verdict::KILL_THREAD)
//!     .allow(["read", "write"])?
//!     .allow_if("socket", arg("family").eq(1))?
//!     .build()?;
//! let converted = convert(&filter, &ConvertOptions::new(Target::Kafel))?;
//! assert!(converted.text.contains("family == AF_UNIX"), "{}", converted.text);
//!
//! let error = convert(&filter, &ConvertOptions::new(Target::Systemd)).unwrap_err();
//! assert!(error.to_string().contains("socket"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alternatives;
mod attempts;
mod converted;
mod error;
mod fit;
mod languages;
mod limits;
mod list_form;
mod loss;
mod options;
mod prove;
mod runtime_notes;
mod source;
mod strictness;
mod target;

pub use converted::{Converted, convert, convert_diagram};
pub use error::ConvertError;
pub use list_form::{ListForm, UNNAMED};
pub use loss::{Example, Loss};
pub use options::ConvertOptions;
pub use source::Source;
pub use target::Target;
