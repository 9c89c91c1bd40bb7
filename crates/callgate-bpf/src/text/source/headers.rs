//! Which headers define the names that conditions ask for.
//!
//! A name of a header is defined where the text includes the header. Without the line, it is known to be defined only if the
//! code uses a name of the same headers, because no compiler would accept the text otherwise.

use callgate_core::errno_number;

/// The number of a family: names that the same headers define.
pub(super) type FamilyId = usize;

/// Stands for all error numbers.
const ERRNO: &str = "E…";

/// Names, or `START*` for all that start so, and the headers that define them. Longer starts come before shorter ones.
const FAMILIES: &[(&str, &str)] = &[
    ("SECCOMP_*", "linux/seccomp.h"),
    ("BPF_* SKF_*", "linux/filter.h linux/bpf_common.h linux/bpf.h pcap.h pcap/bpf.h pcap/pcap.h"),
    ("AUDIT_ARCH_* __AUDIT_ARCH_*", "linux/audit.h libaudit.h seccomp.h"),
    ("EM_*", "linux/elf-em.h linux/elf.h elf.h linux/audit.h seccomp.h"),
    ("__NR_* __X32_SYSCALL_BIT*", "asm/unistd.h linux/unistd.h sys/syscall.h syscall.h seccomp.h"),
    ("SYS_*", "sys/syscall.h syscall.h"),
    (ERRNO, "errno.h sys/errno.h linux/errno.h asm/errno.h cerrno"),
    ("CLONE_*", "linux/sched.h sched.h pthread.h"),
    (
        "LONG_MAX ULONG_MAX LONG_BIT CHAR_BIT INT_MAX UINT_MAX UCHAR_MAX USHRT_MAX",
        "limits.h climits sys/param.h",
    ),
    (
        "SIZE_MAX UINTPTR_MAX INT32_MAX UINT32_MAX UINT8_MAX UINT16_MAX UINT64_MAX",
        "stdint.h inttypes.h cstdint seccomp.h",
    ),
    // Any header of the C library.
    (
        "__WORDSIZE",
        "limits.h stdint.h inttypes.h stdio.h stdlib.h string.h unistd.h errno.h fcntl.h \
         signal.h sys/types.h sys/prctl.h sys/syscall.h sys/socket.h elf.h sched.h pthread.h \
         bits/wordsize.h",
    ),
    (
        "__BITS_PER_LONG",
        "asm/bitsperlong.h asm/types.h linux/types.h linux/filter.h linux/seccomp.h \
         linux/audit.h",
    ),
    ("BITS_PER_LONG", "linux/bitops.h"),
    (
        "AF_* PF_* SOCK_* SOL_* SO_* MSG_* SHUT_*",
        "sys/socket.h linux/socket.h netinet/in.h arpa/inet.h netdb.h net/if.h",
    ),
    ("IPPROTO_*", "netinet/in.h linux/in.h arpa/inet.h netdb.h"),
    ("PROT_* MAP_* MADV_* MFD_*", "sys/mman.h linux/mman.h asm/mman.h"),
    ("PRIO_* RLIMIT_*", "sys/resource.h linux/resource.h sys/wait.h"),
    ("PTRACE_*", "sys/ptrace.h linux/ptrace.h asm/ptrace.h"),
    ("PR_*", "sys/prctl.h linux/prctl.h"),
    ("O_* F_* AT_* S_I* LOCK_*", "fcntl.h linux/fcntl.h asm/fcntl.h"),
    ("SIG* SA_*", "signal.h asm/signal.h linux/signal.h sys/wait.h"),
    ("FUTEX_*", "linux/futex.h"),
    ("TIOC*", "sys/ioctl.h asm/ioctls.h termios.h asm/termios.h"),
    ("MS_*", "sys/mount.h linux/mount.h linux/fs.h"),
    ("CAP_*", "linux/capability.h sys/capability.h"),
    ("ARCH_*", "asm/prctl.h sys/prctl.h"),
    ("PER_* ADDR_*", "sys/personality.h linux/personality.h"),
    ("GRND_*", "sys/random.h linux/random.h"),
    ("KEYCTL_*", "linux/keyctl.h keyutils.h"),
    ("NS_*", "linux/nsfs.h"),
    ("ETH_P_*", "linux/if_ether.h net/ethernet.h netinet/if_ether.h"),
    ("ITIMER_*", "sys/time.h linux/time.h"),
];

/// Whether a list of words has a word.
pub(super) fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// The family of a name; `None` for what no header here defines.
pub(super) fn family(name: &str) -> Option<FamilyId> {
    let is_errno = name.starts_with('E') && errno_number(name).is_some();
    let is_own = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern || (is_errno && pattern == ERRNO),
    };
    FAMILIES.iter().position(|(names, _)| names.split(' ').any(is_own))
}

/// The families whose names a header defines.
pub(super) fn defined_by(header: &str, is_gnu: bool) -> impl Iterator<Item = FamilyId> {
    // The C library defines the flags of clone(2) in its own header only as an extension.
    let needs_gnu = !header.starts_with("linux/") && !is_gnu;
    FAMILIES.iter().enumerate().filter_map(move |(at, (names, headers))| {
        (has_word(headers, header) && !(needs_gnu && *names == "CLONE_*")).then_some(at)
    })
}

/// Whether a header belongs to the kernel or to the C or C++ library, so that its names are known. A header in quotes may
/// instead be a file of the program itself. It counts only if its name is unlikely for such a file.
pub(super) fn is_well_known(header: &str, is_quoted: bool) -> bool {
    /// Headers that define no names for filters.
    const OTHERS: &str = " aio alloca argp assert byteswap complex cpio crypt ctype dirent dlfcn endian \
        envz err error execinfo expat features fenv float fmtmsg fnmatch fstab fts ftw getopt glob gnu-versions grp gshadow \
        iconv ifaddrs langinfo libgen libintl link locale malloc math mcheck memory mntent monetary mqueue netdb nl_types \
        nss obstack paths poll printf pty pwd regex resolv search semaphore setjmp sgtty shadow spawn stdalign stdarg \
        stdatomic stdbool stddef stdnoreturn string strings syslog tar termio tgmath threads time ttyent uchar ucontext \
        ulimit utime utmp utmpx values wait wchar wctype wordexp ";
    let is_of_family = FAMILIES.iter().any(|(_, headers)| has_word(headers, header));
    if is_quoted {
        return header.starts_with("linux/") || header.starts_with("asm/") || is_of_family;
    }
    let stem = header.strip_suffix(".h");
    let is_other = stem.is_some_and(|stem| has_word(OTHERS, stem));
    // `<vector>`
    let is_of_cpp = header.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    ["linux/", "asm/", "asm-generic/", "sys/", "bits/", "net/", "netinet/", "arpa/"]
        .iter()
        .any(|start| header.starts_with(start))
        || is_other
        || is_of_cpp
        || is_of_family
}
