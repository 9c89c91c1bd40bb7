//! Namespaces, and which of them a profile lets programs create.
//!
//! Source: `include/uapi/linux/sched.h` of Linux 6.18.

use callgate_core::Arch;

/// Flags of a new namespace, with the name of the namespace as in `RestrictNamespaces=` of systemd.
pub const NAMESPACES: [(u64, &str); 8] = [
    (0x0200_0000, "cgroup"),
    (0x0800_0000, "ipc"),
    (0x4000_0000, "net"),
    (0x0002_0000, "mnt"),
    (0x2000_0000, "pid"),
    (0x1000_0000, "user"),
    (0x0400_0000, "uts"),
    (NEW_TIME, "time"),
];

/// CLONE_NEWTIME.
const NEW_TIME: u64 = 0x80;
/// All flags of namespaces.
pub(super) const ALL: u64 = CLONE | NEW_TIME;
/// Those that `clone` knows.
pub(super) const CLONE: u64 = 0x7e02_0000;

/// The flags of `clone` that libraries use if `clone3` fails: those of threads of glibc and musl, of `fork` and of
/// `posix_spawn`.
const CLONE_FALLBACKS: [u64; 4] = [0x3d_0f00, 0x7d_0f00, 0x120_0011, 0x4111];

/// The argument with the flags of `clone` and `unshare`.
fn flags_argument(arch: Arch, syscall: &str) -> u8 {
    u8::from(syscall == "clone" && matches!(arch, Arch::S390 | Arch::S390x))
}

/// What libraries call instead of a `clone3` that fails with ENOSYS: the argument and its value of each `clone`.
pub fn clone_fallbacks(arch: Arch) -> [(u8, u64); 4] {
    CLONE_FALLBACKS.map(|flags| (flags_argument(arch, "clone"), flags))
}

/// The names of the namespaces that a syscall with these arguments creates: all if its flags may have any value, or are in
/// memory; none if it is not a syscall that creates namespaces.
pub fn created_namespaces(arch: Arch, syscall: &str, args: &[(u8, u64)]) -> Vec<&'static str> {
    let flags = args.iter().find(|(arg, _)| *arg == flags_argument(arch, syscall));
    let flags = flags.map_or(ALL, |(_, flags)| *flags);
    namespace_names(match syscall {
        "clone" => flags & CLONE,
        "unshare" => flags & ALL,
        "clone3" => ALL,
        _ => 0,
    })
}

/// Which namespaces a profile lets programs create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedNamespaces {
    /// Those that were recorded, and those of these flags.
    Recorded {
        /// Flags of [`NAMESPACES`].
        and: u64,
    },
    /// All: `clone3` is granted if it was recorded, and other flags are limited like other arguments.
    Any,
}

/// Namespaces that a profile lets programs create with a syscall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedNamespaces {
    /// `clone`, `clone3` or `unshare`.
    pub syscall: &'static str,
    /// Their names; all that the syscall can create if the filter does not decide by the flags.
    pub names: Vec<&'static str>,
    /// Whether calls with these flags were recorded.
    pub is_recorded: bool,
}

/// The names of flags.
pub(super) fn namespace_names(flags: u64) -> Vec<&'static str> {
    NAMESPACES.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| *name).collect()
}
