//! The constants that every minijail knows.
//!
//! minijail's table is made of the headers of the machine on which it is built (`gen_constants-inl.h`, without
//! `_GNU_SOURCE`), so it lacks those of other headers, such as `FUTEX_WAIT`, and may lack new ones.

/// Beginnings of names in the headers that are included.
const STARTS: &[&str] = &[
    "AF_", "BLK", "CLONE_", "FIO", "GRND_", "LOOP_", "MADV_", "MAP_", "MCL_", "MREMAP_", "O_",
    "PRIO_", "PROT_", "RLIMIT_", "SEEK_", "SHUT_", "SIG", "SIOC", "SOCK_", "TCGET", "TCSET",
    "TIOC",
];

/// Other names.
const NAMES: &[&str] = &[
    "ARCH_GET_FS",
    "ARCH_GET_GS",
    "ARCH_SET_FS",
    "ARCH_SET_GS",
    "F_DUPFD",
    "F_DUPFD_CLOEXEC",
    "F_GETFD",
    "F_GETFL",
    "F_GETLK",
    "F_GETOWN",
    "F_SETFD",
    "F_SETFL",
    "F_SETLK",
    "F_SETLKW",
    "F_SETOWN",
    "PR_GET_DUMPABLE",
    "PR_GET_KEEPCAPS",
    "PR_GET_NAME",
    "PR_GET_NO_NEW_PRIVS",
    "PR_GET_PDEATHSIG",
    "PR_GET_SECCOMP",
    "PR_SET_DUMPABLE",
    "PR_SET_KEEPCAPS",
    "PR_SET_NAME",
    "PR_SET_NO_NEW_PRIVS",
    "PR_SET_PDEATHSIG",
    "PR_SET_SECCOMP",
];

/// Names with one of the beginnings that need `_GNU_SOURCE`, headers of Linux 5.11 or later, or another architecture.
const EXCEPTIONS: &[&str] = &[
    "AF_MCTP",
    "BLKGETDISKSEQ",
    "CLONE_AUTOREAP",
    "CLONE_EMPTY_MNTNS",
    "CLONE_NNP",
    "CLONE_PIDFD_AUTOKILL",
    "MADV_COLLAPSE",
    "MADV_DONTNEED_LOCKED",
    "MADV_GUARD_INSTALL",
    "MADV_GUARD_REMOVE",
    "MADV_POPULATE_READ",
    "MADV_POPULATE_WRITE",
    "MAP_ABOVE4G",
    "MAP_AUTOGROW",
    "MAP_AUTORSRV",
    "MAP_DROPPABLE",
    "MAP_LOCAL",
    "MAP_RENAME",
    "O_DIRECT",
    "O_EMPTYPATH",
    "O_LARGEFILE",
    "O_NOATIME",
    "O_PATH",
    "O_TMPFILE",
    "PROT_BTI",
    "PROT_MTE",
    "PROT_SAO",
    "SIGEMT",
    "SIGSWI",
    "SIGUNUSED",
    "TIOCGETP",
    "TIOCGLTC",
    "TIOCSETN",
    "TIOCSETP",
    "TIOCSLTC",
    "TIOCSTART",
    "TIOCSTOP",
];

/// Whether every minijail knows a constant.
pub(crate) fn is_known(name: &str) -> bool {
    let is_included = STARTS.iter().any(|start| name.starts_with(start)) || NAMES.contains(&name);
    is_included && !EXCEPTIONS.contains(&name)
}
