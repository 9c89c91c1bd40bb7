//! Which headers define the names that conditions ask for.
//!
//! A name of a header is defined where the text includes the header. Without the line, it is known to be defined only if the
//! code uses a name of the same headers, because no compiler would accept the text otherwise.

use callgate_core::errno_number;

/// Names that the same headers define.
struct Family {
    starts: &'static [&'static str],
    names: &'static [&'static str],
    headers: &'static [&'static str],
}

/// The number of a family.
pub(super) type FamilyId = usize;

const fn family_of(starts: &'static [&'static str], headers: &'static [&'static str]) -> Family {
    Family { starts, names: &[], headers }
}

const LIMITS: &[&str] = &[
    "LONG_MAX",
    "ULONG_MAX",
    "LONG_BIT",
    "CHAR_BIT",
    "INT_MAX",
    "UINT_MAX",
    "UCHAR_MAX",
    "USHRT_MAX",
];
const STDINT: &[&str] = &[
    "SIZE_MAX",
    "UINTPTR_MAX",
    "INT32_MAX",
    "UINT32_MAX",
    "UINT8_MAX",
    "UINT16_MAX",
    "UINT64_MAX",
];
const SOCKETS: &[&str] =
    &["sys/socket.h", "linux/socket.h", "netinet/in.h", "arpa/inet.h", "netdb.h", "net/if.h"];

/// Longer starts come before shorter ones.
const FAMILIES: &[Family] = &[
    family_of(&["SECCOMP_"], &["linux/seccomp.h"]),
    family_of(
        &["BPF_", "SKF_"],
        &[
            "linux/filter.h",
            "linux/bpf_common.h",
            "linux/bpf.h",
            "pcap.h",
            "pcap/bpf.h",
            "pcap/pcap.h",
        ],
    ),
    family_of(&["AUDIT_ARCH_", "__AUDIT_ARCH_"], &["linux/audit.h", "libaudit.h", "seccomp.h"]),
    family_of(&["EM_"], &["linux/elf-em.h", "linux/elf.h", "elf.h", "linux/audit.h", "seccomp.h"]),
    family_of(
        &["__NR_", "__X32_SYSCALL_BIT"],
        &["asm/unistd.h", "linux/unistd.h", "sys/syscall.h", "syscall.h", "seccomp.h"],
    ),
    family_of(&["SYS_"], &["sys/syscall.h", "syscall.h"]),
    Family {
        starts: &[],
        names: &[],
        headers: &["errno.h", "sys/errno.h", "linux/errno.h", "asm/errno.h", "cerrno"],
    },
    family_of(&["CLONE_"], &["linux/sched.h", "sched.h", "pthread.h"]),
    Family { starts: &[], names: LIMITS, headers: &["limits.h", "climits", "sys/param.h"] },
    Family {
        starts: &[],
        names: STDINT,
        headers: &["stdint.h", "inttypes.h", "cstdint", "seccomp.h"],
    },
    // Any header of the C library.
    Family {
        starts: &[],
        names: &["__WORDSIZE"],
        headers: &[
            "limits.h",
            "stdint.h",
            "inttypes.h",
            "stdio.h",
            "stdlib.h",
            "string.h",
            "unistd.h",
            "errno.h",
            "fcntl.h",
            "signal.h",
            "sys/types.h",
            "sys/prctl.h",
            "sys/syscall.h",
            "sys/socket.h",
            "elf.h",
            "sched.h",
            "pthread.h",
            "bits/wordsize.h",
        ],
    },
    Family {
        starts: &[],
        names: &["__BITS_PER_LONG"],
        headers: &[
            "asm/bitsperlong.h",
            "asm/types.h",
            "linux/types.h",
            "linux/filter.h",
            "linux/seccomp.h",
            "linux/audit.h",
        ],
    },
    Family { starts: &[], names: &["BITS_PER_LONG"], headers: &["linux/bitops.h"] },
    family_of(&["AF_", "PF_", "SOCK_", "SOL_", "SO_", "MSG_", "SHUT_"], SOCKETS),
    family_of(&["IPPROTO_"], &["netinet/in.h", "linux/in.h", "arpa/inet.h", "netdb.h"]),
    family_of(&["PROT_", "MAP_", "MADV_", "MFD_"], &["sys/mman.h", "linux/mman.h", "asm/mman.h"]),
    family_of(&["PRIO_", "RLIMIT_"], &["sys/resource.h", "linux/resource.h", "sys/wait.h"]),
    family_of(&["PTRACE_"], &["sys/ptrace.h", "linux/ptrace.h", "asm/ptrace.h"]),
    family_of(&["PR_"], &["sys/prctl.h", "linux/prctl.h"]),
    family_of(&["O_", "F_", "AT_", "S_I", "LOCK_"], &["fcntl.h", "linux/fcntl.h", "asm/fcntl.h"]),
    family_of(&["SIG", "SA_"], &["signal.h", "asm/signal.h", "linux/signal.h", "sys/wait.h"]),
    family_of(&["FUTEX_"], &["linux/futex.h"]),
    family_of(&["TIOC"], &["sys/ioctl.h", "asm/ioctls.h", "termios.h", "asm/termios.h"]),
    family_of(&["MS_"], &["sys/mount.h", "linux/mount.h", "linux/fs.h"]),
    family_of(&["CAP_"], &["linux/capability.h", "sys/capability.h"]),
    family_of(&["ARCH_"], &["asm/prctl.h", "sys/prctl.h"]),
    family_of(&["PER_", "ADDR_"], &["sys/personality.h", "linux/personality.h"]),
    family_of(&["GRND_"], &["sys/random.h", "linux/random.h"]),
    family_of(&["KEYCTL_"], &["linux/keyctl.h", "keyutils.h"]),
    family_of(&["NS_"], &["linux/nsfs.h"]),
    family_of(&["ETH_P_"], &["linux/if_ether.h", "net/ethernet.h", "netinet/if_ether.h"]),
    family_of(&["ITIMER_"], &["sys/time.h", "linux/time.h"]),
];

/// The family of a name; `None` for what no header here defines.
pub(super) fn family(name: &str) -> Option<FamilyId> {
    let is_errno = name.starts_with('E') && errno_number(name).is_some();
    FAMILIES.iter().position(|family| {
        family.names.contains(&name)
            || family.starts.iter().any(|start| name.starts_with(start))
            || (is_errno && family.headers.contains(&"errno.h") && family.names.is_empty())
    })
}

/// The families whose names a header defines.
pub(super) fn defined_by(header: &str, is_gnu: bool) -> impl Iterator<Item = FamilyId> {
    // The C library defines the flags of clone(2) in its own header only as an extension.
    let needs_gnu = move |family: &Family| {
        family.starts.contains(&"CLONE_") && !header.starts_with("linux/") && !is_gnu
    };
    let defines = move |family: &Family| family.headers.contains(&header) && !needs_gnu(family);
    FAMILIES.iter().enumerate().filter(move |(_, one)| defines(one)).map(|(at, _)| at)
}

/// Whether a header is the kernel's or that of the C or C++ library, and so defines what is known of it. A name in quotes may
/// be that of a file beside the text, so only those count that such files do not have.
pub(super) fn is_well_known(header: &str, is_quoted: bool) -> bool {
    /// Those that define no name of a filter.
    const OTHERS: &str = " aio alloca argp assert byteswap complex cpio crypt ctype dirent dlfcn endian \
        envz err error execinfo expat features fenv float fmtmsg fnmatch fstab fts ftw getopt glob gnu-versions grp gshadow \
        iconv ifaddrs langinfo libgen libintl link locale malloc math mcheck memory mntent monetary mqueue netdb nl_types \
        nss obstack paths poll printf pty pwd regex resolv search semaphore setjmp sgtty shadow spawn stdalign stdarg \
        stdatomic stdbool stddef stdnoreturn string strings syslog tar termio tgmath threads time ttyent uchar ucontext \
        ulimit utime utmp utmpx values wait wchar wctype wordexp ";
    let is_of_family = FAMILIES.iter().any(|family| family.headers.contains(&header));
    if is_quoted {
        return header.starts_with("linux/") || header.starts_with("asm/") || is_of_family;
    }
    let stem = header.strip_suffix(".h");
    let is_other = stem.is_some_and(|stem| OTHERS.split_whitespace().any(|known| known == stem));
    // `<vector>`
    let is_of_cpp = header.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    ["linux/", "asm/", "asm-generic/", "sys/", "bits/", "net/", "netinet/", "arpa/"]
        .iter()
        .any(|start| header.starts_with(start))
        || is_other
        || is_of_cpp
        || is_of_family
}
