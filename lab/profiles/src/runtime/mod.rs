//! The filter that a runtime builds from a profile: which entries apply, which rules it adds to libseccomp's filter,
//! and which profiles it refuses.
//!
//! Sources of the facts: moby's `profiles/seccomp`, containers/common's `pkg/seccomp`, runc's
//! `libcontainer/specconv` and `libcontainer/seccomp` with `patchbpf` (1.1 to 1.5), crun's
//! `src/libcrun/seccomp.c`, libseccomp-golang, libseccomp's `src/db.c`, `src/arch.c`, `src/syscalls.c`
//! and `src/gen_bpf.c` (2.5.4 and 2.6.1).

mod action;
mod filter;
mod host;
mod meaning;
mod profile;
mod refusal;

pub use filter::{Call, Contradiction, Filter};
pub use host::{Dialect, Host, Runc};
pub use meaning::{Meaning, read};
pub use refusal::Refusal;
