//! Namespaces, and which of them a profile lets programs create.
//!
//! They have the names of `RestrictNamespaces=` of systemd.

use callgate_core::Arch;
use callgate_formats::systemd;

/// All flags of namespaces; a test compares them with those of systemd's names.
pub(super) const ALL: u64 = CLONE | CLONE_NEWTIME;
/// Those that `clone` knows.
pub(super) const CLONE: u64 = 0x7e02_0000;
const CLONE_NEWTIME: u64 = 0x80;

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
        /// Flags of [`systemd::namespaces`].
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
    systemd::namespaces().filter(|(_, flag)| flags & flag != 0).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_all_flags() {
        let of_all = systemd::namespaces().fold(0, |all, (_, flag)| all | flag);
        assert_eq!((ALL, CLONE_NEWTIME), (of_all, ALL & !CLONE));
        assert_eq!(namespace_names(CLONE_NEWTIME), ["time"]);
        assert_eq!(namespace_names(CLONE).len(), systemd::namespaces().count() - 1);
    }
}
