//! Functions that install a filter, in all threads of a process or in the calling one, as source code.
//!
//! A filter without `SECCOMP_FILTER_FLAG_TSYNC` is that of the calling thread and of those that it starts later; in Go, others
//! always exist. With the flag the kernel also sets `no_new_privs` for all threads (`seccomp_sync_threads` in
//! kernel/seccomp.c), and returns the ID of a thread that cannot take the filter, because it has filters that the calling
//! thread does not have. So threads with different filters, such as one for each virtual machine, install them alone.
//!
//! The functions of a filter that notifies a listener return the descriptor of the listener, and have other names than those of
//! a filter that does not: a caller of the others, who would lose the descriptor, does not compile. The functions of a filter
//! without a listener refuse `SECCOMP_FILTER_FLAG_NEW_LISTENER` before the call: afterwards, the filter would be installed,
//! and the descriptor lost. With a listener and TSYNC, the kernel needs `SECCOMP_FILTER_FLAG_TSYNC_ESRCH`, because the result
//! cannot be both a descriptor and the ID of a thread.

mod c;
mod functions;
mod go;
mod manner;
mod rust;

pub(super) use c::guarded;
pub(super) use functions::functions;
pub(super) use go::imports as go_imports;
pub(super) use manner::{Installed, Manner};
