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
//! it ([`Original`]). A policy for other programs has the rule where the language can express it.
//! [`Converted::notes`] says which syscalls then get another verdict than under the runtime of the source.
//!
//! # Steps
//!
//! | step | where | what it does |
//! |---|---|---|
//! | attempt | `converted.rs` | with or without the rules of the runtime |
//! | fit | `fit.rs` | replaces what the target cannot express, and notes each loss |
//! | conditions | `alternatives.rs` | disjunctions of conjunctions per verdict, from the MTBDD |
//! | write | `write.rs` of each language | the text |
//! | prove | `options.rs` | reads the text back and compares nodes |
//!
//! Writers share these pieces:
//!
//! | languages | rules |
//! |---|---|
//! | container profiles, LXC, snaps | `named_rules.rs`: libseccomp's, one comparison per argument, for all architectures |
//! | Firecracker, minijail | `atoms.rs`: alternatives of comparisons, for one architecture |
//! | Kafel | expressions, for any numbers and architectures |
//! | systemd | names and groups without conditions, and `RestrictNamespaces=` |
//!
//! Of these, container profiles, snaps and systemd have rules for `socketcall` and `ipc`, too: `named_rules.rs`.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_formats::convert::{ConvertOptions, convert_diagram};
//! use callgate_formats::kafel;
//! use callgate_core::diagram::Store;
//!
//! let text = "ALLOW { read, write, socket { family == AF_UNIX } } DEFAULT KILL";
//! let policy = kafel::read(text, &kafel::ReadOptions::new(Arch::X86_64))?.policy;
//! let mut store = Store::default();
//! let func = store.policy(&policy)?;
//! let mut options = ConvertOptions::new("minijail".parse()?);
//! options.arches = vec![Arch::X86_64];
//! let converted = convert_diagram(&mut store, func, &options)?;
//! assert!(converted.text.contains("\nsocket: arg0 "), "{}", converted.text);
//!
//! options.target = "systemd".parse()?;
//! let error = convert_diagram(&mut store, func, &options).unwrap_err();
//! assert!(error.to_string().contains("socket"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod alternatives;
pub(crate) mod atoms;
pub(crate) mod comparisons;
pub(crate) mod converted;
pub(crate) mod error;
pub(crate) mod fit;
pub(crate) mod named_rules;
pub(crate) mod numbering;
pub(crate) mod options;

pub use converted::{Converted, Original, convert_diagram};
pub use error::{ConvertError, Example, Loss};
pub use options::ConvertOptions;
