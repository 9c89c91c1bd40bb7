//! The functions of the API, by the groups of the man pages.
//!
//! All of them are declared in `include/seccomp.h`, with the meaning of their arguments. Three rules hold for all:
//! an invalid context, pointer or constant is an error code and never undefined behaviour, as far as a pointer can be
//! checked; a panic becomes `EFAULT`; a context is used by one thread at a time.

mod api_level;
mod arches;
mod attributes;
mod call;
mod contexts;
mod environment;
mod export;
mod load;
mod names;
mod notify;
mod registry;
mod rule_args;
mod rules;
mod transactions;

pub use api_level::{Version, seccomp_api_get, seccomp_api_set, seccomp_version};
pub use arches::{
    seccomp_arch_add, seccomp_arch_exist, seccomp_arch_native, seccomp_arch_remove,
    seccomp_arch_resolve_name,
};
pub use attributes::{seccomp_attr_get, seccomp_attr_set};
pub use contexts::{seccomp_init, seccomp_merge, seccomp_release, seccomp_reset};
pub use export::{seccomp_export_bpf, seccomp_export_bpf_mem, seccomp_export_pfc};
pub use load::seccomp_load;
pub use names::{
    seccomp_syscall_resolve_name, seccomp_syscall_resolve_name_arch,
    seccomp_syscall_resolve_name_rewrite, seccomp_syscall_resolve_num_arch,
};
pub use notify::{
    seccomp_notify_alloc, seccomp_notify_fd, seccomp_notify_free, seccomp_notify_id_valid,
    seccomp_notify_receive, seccomp_notify_respond,
};
pub use registry::Handle;
pub use rule_args::ArgCmp;
pub use rules::{
    seccomp_rule_add, seccomp_rule_add_array, seccomp_rule_add_exact, seccomp_rule_add_exact_array,
    seccomp_syscall_priority,
};
pub use transactions::{
    seccomp_precompute, seccomp_transaction_commit, seccomp_transaction_reject,
    seccomp_transaction_start,
};

#[cfg(test)]
mod tests;
