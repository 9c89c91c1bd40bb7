//! The syscalls that versions of systemd know.
//!
//! systemd accepts the names that its libseccomp knows. Each version is paired with the libseccomp that was current at
//! its release: 2.5.5 for systemd 255, 2.6.0 for systemd 258.
//!
//! Source: `src/syscalls.csv` of libseccomp 2.5.4, 2.5.5, 2.6.0, and of its main branch after 2.6.1 for the syscalls
//! that no release knows.

/// The first version of systemd that knows a syscall, for syscalls that [`OLDEST`] does not know.
#[rustfmt::skip]
static SINCE: &[(u16, &[&str])] = &[
    (255, &["cachestat", "fchmodat2", "futex_requeue", "futex_wait", "futex_wake", "map_shadow_stack"]),
    (258, &[
        "atomic_barrier", "atomic_cmpxchg_32", "getpagesize", "getxattrat", "listmount", "listxattrat",
        "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr", "mseal", "removexattrat",
        "riscv_hwprobe", "setxattrat", "statmount", "uretprobe",
    ]),
    (u16::MAX, &[
        "file_getattr", "file_setattr", "listns", "open_tree_attr", "rseq_slice_yield", "uprobe",
    ]),
];

/// The oldest supported version of systemd.
pub const OLDEST: u16 = 252;
/// The default version of systemd, with the newest supported libseccomp.
pub const NEWEST: u16 = 258;

/// Whether a version of systemd knows a syscall.
pub(super) fn knows(version: u16, syscall: &str) -> bool {
    let since = SINCE.iter().find(|(_, syscalls)| syscalls.contains(&syscall));
    since.is_none_or(|(since, _)| *since <= version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::syscalls::is_known_name;

    #[test]
    fn newer_names_are_syscalls() {
        for (since, syscalls) in SINCE {
            assert!(*since > OLDEST);
            // No name is in two rows.
            assert!(
                syscalls.iter().all(|syscall| is_known_name(syscall) && knows(*since, syscall))
            );
        }
        assert!(!knows(252, "uretprobe") && knows(258, "uretprobe") && knows(252, "openat2"));
        assert!(!knows(NEWEST, "listns"));
    }
}
