//! The functions of the API, by the groups of the man pages.
//!
//! All of them are declared in `include/seccomp.h`, with the meaning of their arguments. Three rules hold for all:
//! an invalid context, pointer or constant is an error code and never undefined behaviour, as far as a pointer can be
//! checked; a panic becomes `EFAULT`; a context is used by one thread at a time.

mod call;
mod contexts;
mod load;
mod names;
mod registry;
mod rules;

#[cfg(test)]
mod tests;

pub use contexts::{
    seccomp_arch_add, seccomp_arch_exist, seccomp_arch_native, seccomp_arch_remove,
    seccomp_arch_resolve_name, seccomp_attr_get, seccomp_attr_set, seccomp_init, seccomp_merge,
    seccomp_precompute, seccomp_release, seccomp_reset, seccomp_transaction_commit,
    seccomp_transaction_reject, seccomp_transaction_start,
};
pub use load::{
    policy_of, seccomp_export_bpf, seccomp_export_bpf_mem, seccomp_export_pfc, seccomp_load,
    seccomp_notify_addfd, seccomp_notify_alloc, seccomp_notify_fd, seccomp_notify_free,
    seccomp_notify_id_valid, seccomp_notify_receive, seccomp_notify_respond,
};
pub use names::{
    Version, seccomp_api_get, seccomp_api_set, seccomp_syscall_resolve_name,
    seccomp_syscall_resolve_name_arch, seccomp_syscall_resolve_name_rewrite,
    seccomp_syscall_resolve_num_arch, seccomp_version,
};
pub use registry::Handle;
pub use rules::{
    ArgCmp, seccomp_rule_add, seccomp_rule_add_array, seccomp_rule_add_exact,
    seccomp_rule_add_exact_array, seccomp_syscall_priority,
};
