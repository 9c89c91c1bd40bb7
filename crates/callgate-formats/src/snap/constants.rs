//! The constants that snap-seccomp knows (`seccompResolver` in `cmd/snap-seccomp/main.go`).

use callgate_bpf::constants;
use callgate_core::Arch;

/// The value of a constant that snap-seccomp knows.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_formats::snap::constant;
/// assert_eq!(constant(Arch::X86_64, "AF_NETLINK"), Some(16));
/// assert_eq!(constant(Arch::X86_64, "AF_VSOCKET"), None);
/// ```
pub fn value(arch: Arch, name: &str) -> Option<u64> {
    if let Some((_, value)) = OWN.iter().find(|(own, _)| *own == name) {
        return Some(*value);
    }
    if let Some((_, first)) = SYNONYMS.iter().find(|(second, _)| *second == name) {
        return constants::value(arch, first);
    }
    let family = name.strip_prefix("PF_").map(|family| format!("AF_{family}"));
    let name = family.as_deref().unwrap_or(name);
    if name == "AF_CONN" {
        return Some(AF_CONN);
    }
    NAMES.binary_search(&name).ok().and_then(|_| constants::value(arch, name))
}

/// All names, without those that begin with `PF_`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().chain(OWN.iter().map(|(name, _)| *name)).chain(["AF_CONN"])
}

/// The address family of SCTP's user-space stack.
const AF_CONN: u64 = 123;

/// Constants that the kernel's headers do not have under this name.
const OWN: &[(&str, u64)] = &[
    ("Q_XQUOTAON", 0x5801),
    ("Q_XQUOTAOFF", 0x5802),
    ("Q_XGETQUOTA", 0x5803),
    ("Q_XSETQLIM", 0x5804),
    ("Q_XGETQSTAT", 0x5805),
    ("Q_XQUOTARM", 0x5806),
];

/// Second names of the kernel's constants.
const SYNONYMS: &[(&str, &str)] =
    &[("PTRACE_PEEKUSER", "PTRACE_PEEKUSR"), ("O_NOTIFICATION_PIPE", "O_EXCL")];

/// The kernel's constants that snap-seccomp knows, sorted. For each `AF_` there is also a `PF_`.
const NAMES: &[&str] = &[
    "AF_ALG",
    "AF_APPLETALK",
    "AF_ASH",
    "AF_ATMPVC",
    "AF_AX25",
    "AF_BLUETOOTH",
    "AF_BRIDGE",
    "AF_CAIF",
    "AF_CAN",
    "AF_ECONET",
    "AF_IB",
    "AF_IEEE802154",
    "AF_INET",
    "AF_INET6",
    "AF_IPX",
    "AF_IRDA",
    "AF_ISDN",
    "AF_IUCV",
    "AF_KEY",
    "AF_LLC",
    "AF_LOCAL",
    "AF_MPLS",
    "AF_NETBEUI",
    "AF_NETLINK",
    "AF_NETROM",
    "AF_NFC",
    "AF_PACKET",
    "AF_PHONET",
    "AF_PPPOX",
    "AF_QIPCRTR",
    "AF_RDS",
    "AF_ROSE",
    "AF_RXRPC",
    "AF_SECURITY",
    "AF_SNA",
    "AF_TIPC",
    "AF_UNIX",
    "AF_VSOCK",
    "AF_WANPIPE",
    "AF_X25",
    "AF_XDP",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "KCMP_EPOLL_TFD",
    "KCMP_FILE",
    "KCMP_FILES",
    "KCMP_FS",
    "KCMP_IO",
    "KCMP_SIGHAND",
    "KCMP_SYSVSEM",
    "KCMP_VM",
    "NETLINK_AUDIT",
    "NETLINK_CONNECTOR",
    "NETLINK_CRYPTO",
    "NETLINK_DNRTMSG",
    "NETLINK_ECRYPTFS",
    "NETLINK_FIB_LOOKUP",
    "NETLINK_FIREWALL",
    "NETLINK_GENERIC",
    "NETLINK_INET_DIAG",
    "NETLINK_IP6_FW",
    "NETLINK_ISCSI",
    "NETLINK_KOBJECT_UEVENT",
    "NETLINK_NETFILTER",
    "NETLINK_NFLOG",
    "NETLINK_RDMA",
    "NETLINK_ROUTE",
    "NETLINK_SCSITRANSPORT",
    "NETLINK_SELINUX",
    "NETLINK_SOCK_DIAG",
    "NETLINK_USERSOCK",
    "NETLINK_XFRM",
    "O_CREAT",
    "O_TMPFILE",
    "PRIO_PGRP",
    "PRIO_PROCESS",
    "PRIO_USER",
    "PR_CAPBSET_DROP",
    "PR_CAPBSET_READ",
    "PR_CAP_AMBIENT",
    "PR_CAP_AMBIENT_CLEAR_ALL",
    "PR_CAP_AMBIENT_IS_SET",
    "PR_CAP_AMBIENT_LOWER",
    "PR_CAP_AMBIENT_RAISE",
    "PR_GET_CHILD_SUBREAPER",
    "PR_GET_DUMPABLE",
    "PR_GET_ENDIAN",
    "PR_GET_FPEMU",
    "PR_GET_FPEXC",
    "PR_GET_KEEPCAPS",
    "PR_GET_NAME",
    "PR_GET_NO_NEW_PRIVS",
    "PR_GET_PDEATHSIG",
    "PR_GET_SECCOMP",
    "PR_GET_SECUREBITS",
    "PR_GET_THP_DISABLE",
    "PR_GET_TID_ADDRESS",
    "PR_GET_TIMERSLACK",
    "PR_GET_TIMING",
    "PR_GET_TSC",
    "PR_GET_UNALIGN",
    "PR_MCE_KILL",
    "PR_MCE_KILL_GET",
    "PR_MPX_DISABLE_MANAGEMENT",
    "PR_MPX_ENABLE_MANAGEMENT",
    "PR_SET_CHILD_SUBREAPER",
    "PR_SET_DUMPABLE",
    "PR_SET_ENDIAN",
    "PR_SET_FPEMU",
    "PR_SET_FPEXC",
    "PR_SET_KEEPCAPS",
    "PR_SET_MM",
    "PR_SET_MM_ARG_END",
    "PR_SET_MM_ARG_START",
    "PR_SET_MM_AUXV",
    "PR_SET_MM_BRK",
    "PR_SET_MM_END_CODE",
    "PR_SET_MM_END_DATA",
    "PR_SET_MM_ENV_END",
    "PR_SET_MM_ENV_START",
    "PR_SET_MM_EXE_FILE",
    "PR_SET_MM_START_BRK",
    "PR_SET_MM_START_CODE",
    "PR_SET_MM_START_DATA",
    "PR_SET_MM_START_STACK",
    "PR_SET_NAME",
    "PR_SET_NO_NEW_PRIVS",
    "PR_SET_PDEATHSIG",
    "PR_SET_PTRACER",
    "PR_SET_SECCOMP",
    "PR_SET_SECUREBITS",
    "PR_SET_THP_DISABLE",
    "PR_SET_TIMERSLACK",
    "PR_SET_TIMING",
    "PR_SET_TSC",
    "PR_SET_UNALIGN",
    "PR_TASK_PERF_EVENTS_DISABLE",
    "PR_TASK_PERF_EVENTS_ENABLE",
    "PTRACE_ATTACH",
    "PTRACE_CONT",
    "PTRACE_DETACH",
    "PTRACE_GETFPREGS",
    "PTRACE_GETFPXREGS",
    "PTRACE_GETREGS",
    "PTRACE_GETREGSET",
    "PTRACE_PEEKDATA",
    "PTRACE_PEEKUSR",
    "Q_GETFMT",
    "Q_GETINFO",
    "Q_GETQUOTA",
    "Q_QUOTAOFF",
    "Q_QUOTAON",
    "Q_SETINFO",
    "Q_SETQUOTA",
    "Q_SYNC",
    "SOCK_DGRAM",
    "SOCK_PACKET",
    "SOCK_RAW",
    "SOCK_RDM",
    "SOCK_SEQPACKET",
    "SOCK_STREAM",
    "S_IFBLK",
    "S_IFCHR",
    "S_IFIFO",
    "S_IFREG",
    "S_IFSOCK",
    "S_ISGID",
    "S_ISUID",
    "TIOCLINUX",
    "TIOCSTI",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_value() {
        assert!(NAMES.is_sorted());
        for name in names() {
            assert!(value(Arch::X86_64, name).is_some(), "{name}");
        }
    }

    #[test]
    fn constants_have_synonyms() {
        assert_eq!(value(Arch::X86_64, "PF_UNIX"), Some(1));
        assert_eq!(value(Arch::X86_64, "PTRACE_PEEKUSER"), Some(3));
        assert_eq!(value(Arch::X86_64, "O_NOTIFICATION_PIPE"), Some(0x80));
        assert_eq!(value(Arch::X86_64, "O_EXCL"), None);
    }
}
