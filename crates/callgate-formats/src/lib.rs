//! Policy languages of seccomp. Readers turn a text into a [`Policy`](callgate_core::policy::Policy), with messages that
//! say what is wrong, at which line and column, and what to do; writers turn a filter into a text ([`convert`]); editors
//! change a text so that it allows a syscall ([`change`]). [`languages`] is the registry of all of them.
//!
//! ```
//! use callgate_bpf::syscalls::KernelVersion;
//! use callgate_core::{Arch, SeccompData, Verdict};
//! use callgate_formats::oci::{self, ReadOptions};
//!
//! let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
//!                "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_ALLOW"}]}"#;
//! let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
//! match oci::read(text, &options) {
//!     Ok(profile) => {
//!         let getpid = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
//!         assert_eq!(profile.policy.evaluate(&getpid), Verdict::ALLOW);
//!     }
//!     Err(messages) => messages.iter().for_each(|message| eprintln!("{message}")),
//! }
//! ```
//!
//! # The parts of a reader
//!
//! | step | where | input and output |
//! |---|---|---|
//! | parse | [`syntax`] | text → a tree with a byte offset at every key and value |
//! | check | a directory per language, such as `oci/parse.rs` | tree → a typed model; each member by itself |
//! | lower | the same directory, such as `oci/lower.rs` | model → rules → policy; how entries combine |
//! | report | [`diagnostics`] | errors and warnings of all steps, with line and column |
//!
//! [`ruleset`] is shared by all languages whose rules libseccomp combines. [`Profile`] is what a reader returns: the
//! policy, how the filter is to be installed, and the warnings. A reader does no I/O, does not use recursion whose
//! depth depends on the input, and has a limit for everything that costs memory or time (`docs/reference/limits.md`).
//!
//! # How to add a language
//!
//! 1. Create the directory `src/<language>/`. Its `mod.rs` describes the language with sources, says what is ignored
//!    and what is an error, and re-exports an options type and `read(&str, &…Options) -> Result<Profile,
//!    Diagnostics>`. See [`oci`] for an example.
//! 2. If the language is written in JSON or YAML, parse it with [`syntax::json::parse`] or [`syntax::yaml::parse`] and
//!    walk the tree with [`syntax::reader::Reader`]. Otherwise write `<language>/parse.rs`, which gives every part of
//!    the text its byte offset, and collect messages in [`diagnostics::messages::Messages`]. Report all errors, not
//!    only the first one, and ignore nothing without a warning.
//! 3. Parse into a typed model.
//! 4. Lower the model: through [`ruleset::RuleSet`] if libseccomp combines the rules; otherwise directly to
//!    [`Section`](callgate_core::policy::Section)s, whose first matching rule decides.
//! 5. Write `<language>/language.rs`: the [`Language`](languages::Language), with its names, how a text in it is recognized
//!    and read, and, if there are, its writer (`write.rs`, on [`convert`]) and its editor (`edits`, on [`change`]). Add its
//!    line to the registry, `languages/registry.rs`. The command, the bindings, build scripts and the web page then know it.
//! 6. Describe it in `docs/<page>.md`.
//! 7. Add tests to `crates/callgate/tests/<language>/`: what each construct means, syscall by syscall, and the exact
//!    message for every error. Add inputs that are made to be expensive to its `hostile.rs`, and sessions with the output of
//!    the command.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod android;
pub mod annotated;
mod arches;
mod built_in;
mod capabilities;
pub mod change;
pub mod convert;
pub mod diagnostics;
mod files;
pub mod firecracker;
pub mod firejail;
pub mod gvisor;
mod hidden;
mod included;
pub mod kafel;
pub mod languages;
pub mod layout;
pub mod libseccomp_c;
pub mod libseccomp_python;
pub mod libseccomp_versions;
pub mod lxc;
pub mod minijail;
pub mod nsjail;
pub mod oci;
pub mod pfc;
pub mod policy_text;
mod presets;
mod profile;
mod rule_readers;
pub mod ruleset;
pub mod snap;
pub mod statements;
pub mod syntax;
pub mod systemd;
pub mod why;

pub use arches::{host_of, only_arch};
pub use built_in::{BUILT_INS, BuiltIn, BuiltInText, built_in, meant};
pub use capabilities::{CapError, CapSet};
pub use hidden::hidden_characters;
pub use presets::{CONTAINER_DEFAULT, PRESETS, abis, container_default, preset};
pub use profile::{Listener, Profile};

/// The example of the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
