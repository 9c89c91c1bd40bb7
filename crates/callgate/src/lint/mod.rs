//! Lint: finds misleading rules, and filters that can be evaded.
//!
//! Each [`Finding`] has a [`Check`] with a stable identifier, a position if the filter has a text, and advice. A finding about
//! what the filter does has concrete syscalls as evidence. They come from the MTBDD of the filter, and [`lint`] runs the filter
//! on each of them before it returns the finding.
//!
//! ```
//! use callgate_formats::oci::{self, ReadOptions};
//! use callgate::lint::{Check, Subject, lint};
//! use callgate_bpf::syscalls::KernelVersion;
//! use callgate::Arch;
//!
//! // The kernel reads 32 bits of the address family, but the runtime compares 64.
//! let text = r#"{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
//!     {"names": ["socket"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "op": "SCMP_CMP_EQ", "value": 40}]}]}"#;
//! let kernel = KernelVersion { major: 6, minor: 18 };
//! let options = ReadOptions { statements: true, ..ReadOptions::new(Arch::X86_64, kernel) };
//! let profile = oci::read(text, &options)?;
//! let findings = lint(&[Subject::profile(&profile)], &[Arch::X86_64])?;
//! let found = findings.iter().find(|finding| finding.check == Check::HighBits).ok_or("it is found")?;
//! assert_eq!(found.site.as_ref().map(|site| site.position.line), Some(2));
//! let [denied, allowed] = found.examples.as_slice() else { return Err("two examples".into()) };
//! assert_eq!(denied.data.args[0], 40);
//! assert_eq!(allowed.data.args[0] as u32, 40, "the same family for the kernel");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allow;
mod check;
mod checks;
mod finding;
mod run;
mod view;

pub use allow::{Allow, AllowError, AllowText, Allowed, allow};
pub use check::{Check, Level};
pub use finding::{Example, Finding};
pub use run::{evasions, lint};
pub use view::Subject;
