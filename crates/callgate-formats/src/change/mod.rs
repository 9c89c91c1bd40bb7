//! The smallest change of a profile that allows a denied syscall, in the profile's own language, with a proof.
//!
//! | step | where | input and output |
//! |---|---|---|
//! | propose | `edits` of each language, such as in `kafel/edit.rs` | text, reason and syscall → [`Candidate`]s, the smallest first |
//! | apply | [`apply`] | edits → the changed text, which the caller reads with the options of the original |
//! | verify | [`verify`] | MTBDDs before and after → whether the change allows this syscall and nothing else |
//! | show | [`unified_diff`] | both texts → a patch for `patch(1)` and `git apply` |
//!
//! A candidate is only a guess about the text; nothing relies on it before [`verify`] compared the functions. So the
//! languages need no writer and no knowledge of how rules combine: a wrong guess is dropped.
//!
//! ```
//! use callgate_bpf::syscalls::KernelVersion;
//! use callgate_core::{Arch, SeccompData};
//! use callgate_formats::change::{Allowed, Candidates, apply, candidates, unified_diff, verify};
//! use callgate_formats::oci::{self, ReadOptions};
//! use callgate_formats::why::why;
//! use callgate_core::diagram::Store;
//!
//! let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
//!                "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_ALLOW"}]}"#;
//! let kernel = KernelVersion { major: 6, minor: 18 };
//! let options = ReadOptions { statements: true, ..ReadOptions::new(Arch::X86_64, kernel) };
//! let profile = oci::read(text, &options)?;
//! let statements = profile.statements.as_ref().ok_or("they were asked for")?;
//! let read = SeccompData { nr: 0, arch: Arch::X86_64.token(), ..SeccompData::default() };
//! let found = why(&profile.policy, statements, &read, Some("read"));
//!
//! let wanted = Allowed::all(Arch::X86_64, "read");
//! let language = "oci".parse()?;
//! let input =
//!     Candidates { language, role: "", text, file: None, statements, why: &found, wanted: &wanted };
//! let first = candidates(&input).into_iter().next().ok_or("there is a list")?;
//! let changed = apply(text, &first.edits).ok_or("the edits fit")?;
//!
//! let mut store = Store::default();
//! let before = store.policy(&profile.policy)?;
//! let after = store.policy(&oci::read(&changed, &options)?.policy)?;
//! assert!(verify(&mut store, before, after, &[wanted]).is_ok());
//! let patch = unified_diff("p.json", text, &changed);
//! assert!(patch.contains(r#"+               "syscalls": [{"names": ["getpid", "read"], "action""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candidates;
pub(crate) mod entries;
pub(crate) mod input;
mod unified;
pub(crate) mod verify;

pub use candidates::{Candidates, candidates};
pub use input::{Candidate, Edit, EditInput, apply};
pub use unified::{new_file_diff, unified_diff};
pub use verify::{Allowed, SideEffect, Unverified, Verified, verify};
