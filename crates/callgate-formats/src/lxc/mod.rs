//! LXC seccomp profiles (`lxc.seccomp.profile`), versions 1 and 2, and their reader.
//!
//! The language is that of LXC's `src/lxc/seccomp.c` (LXC 4.0.4 to 7.0): a line with the version, a line with the policy,
//! then in version 2 rules and sections such as `[arm64]`, in version 1 the numbers of allowed syscalls.
//!
//! - `allowlist` and `denylist` (`whitelist`, `blacklist`) with an optional action for syscalls without a rule: by
//!   default `kill` and `allow`. A rule without an action allows in an allow list and kills in a deny list.
//! - The actions are `kill` (the thread), `errno N`, `allow`, `trap` and `notify`. `[INDEX,VALUE,OP]` and
//!   `[INDEX,VALUE,OP,MASK]` after the action are comparisons that must all hold.
//! - A section only says on which hosts its rules are used. Each rule of version 2 applies to all architectures of the
//!   filter (`compat_arches`): on x86_64 also to x86 and x32. Version 1 has the architecture of the host alone.
//! - libseccomp combines the rules, see [`ruleset`](crate::ruleset). LXC adds no rule where `socketcall` or `ipc` reach
//!   the syscall too: on x86, a rule for `socket` has no effect.
//!
//! LXC skips names that libseccomp does not know, and text after an action. Both are warnings; so are sections that look
//! as if they restricted rules to one architecture. What keeps a container from starting is an error: all that LXC
//! refuses, and rules that libseccomp rejects.
//!
//! Limit: 150,000 comparisons, counted for each architecture; a rule without comparisons counts as one.

mod arguments;
mod language;
mod parse;
mod read;
mod write;

pub use language::LANGUAGE;
pub(crate) use parse::compat_arches;
pub use parse::host_of;
pub use read::{ReadOptions, read};
