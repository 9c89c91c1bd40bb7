//! Programs in C that build a filter with libseccomp, and their reader: the filter is that of the calls that the program makes.
//!
//! `callgate_bpf::text::calls` runs the function that makes the filter, and this gives the calls their meaning, that of libseccomp
//! 2.6.1 (`seccomp_init(3)` and the other man pages, `src/api.c` and `src/db.c`):
//!
//! - `seccomp_init` and `seccomp_reset` make a context for the architecture of the program, `seccomp_arch_add` and
//!   `seccomp_arch_remove` change its architectures. A new architecture gets no rules that were added before.
//! - `seccomp_rule_add`, `seccomp_rule_add_exact` and their forms with arrays add [rules](crate::ruleset), which
//!   [`IncrementalRules`](crate::ruleset::IncrementalRules) accepts or rejects as libseccomp does. A call that libseccomp refuses
//!   returns its error, with a warning, and the program goes on as it would.
//! - `seccomp_attr_set` sets the action for other architectures, and flags. Other attributes do not change the filter.
//! - `seccomp_load` installs the filter; filters that are installed later are on top. Without it, the filter is what
//!   `seccomp_export_bpf` writes, or if the program calls neither, the context at the end of the function.
//! - `seccomp_merge` and transactions do what they do in libseccomp. All other functions do not change a filter; what they return is
//!   known (`seccomp_syscall_resolve_name`, `seccomp_arch_native`) or unknown (`seccomp_api_get`).
//!
//! A program that makes a rule or an action depend on what only a run shows is refused, at the place where that matters.
//!
//! The program is compiled for one architecture, whose numbers and constants it has. Names of syscalls that it does not have are
//! accepted as by libseccomp: they matter only for other architectures of the filter.

mod answers;
mod context;
mod header;
mod language;
mod library;
mod read;

#[cfg(test)]
mod tests;

pub(crate) use header::{ATTRIBUTES, token};
pub use language::LANGUAGE;
pub(crate) use library::Calls;
pub(crate) use read::profiles_of;
pub use read::{ReadOptions, read};
