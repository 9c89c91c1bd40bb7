//! Arguments by name: those that the policy names, and the syscall's own.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{Argument, ArgumentError};
use callgate_core::Arch;

/// Names of arguments in the kernels from which Kafel's tables were made: the syscall, Kafel's name, today's name.
const OLDER: &[(&str, &str, &str)] = &[
    ("arch_prctl", "addr", "arg2"),
    ("arch_prctl", "code", "option"),
    ("fchownat", "flags", "flag"),
    ("fsconfig", "key", "_key"),
    ("fsconfig", "value", "_value"),
    ("fsopen", "fs_name", "_fs_name"),
    ("getrandom", "buf", "ubuf"),
    ("getrandom", "count", "len"),
    ("io_pgetevents", "sig", "usig"),
    ("lsm_get_self_attr", "size_ptr", "size"),
    ("lsm_list_modules", "size_ptr", "size"),
    ("mmap2", "off", "pgoff"),
    ("mseal", "size", "len"),
    ("nfsservctl", "argp", "arg"),
    ("nfsservctl", "resp", "res"),
    ("openat2", "size", "usize"),
    ("sched_getattr", "size", "usize"),
    ("setns", "nstype", "flags"),
    ("sigpending", "set", "uset"),
    ("statfs64", "pathname", "path"),
    ("statx", "statxbuf", "buffer"),
    ("unlinkat", "flags", "flag"),
    ("vmsplice", "iov", "uiov"),
];

/// An argument that Kafel's tables describe otherwise than the kernel.
pub(super) enum Deviation {
    /// The index in Kafel's tables.
    Place(u8),
    /// The number of bits that Kafel compares.
    Width(u8),
}

/// The arguments whose places differ, with their indexes in Kafel's tables.
const OTHER_PLACES: &[(&str, &str, u8)] = &[
    ("futex_requeue", "flags", 4),
    ("futex_requeue", "nr_requeue", 2),
    ("futex_requeue", "nr_wake", 1),
    ("futex_wait", "flags", 2),
    ("futex_wait", "timeout", 3),
    ("getxattrat", "name", 2),
    ("listmount", "flags", 4),
    ("listxattrat", "list", 2),
    ("listxattrat", "size", 3),
    ("removexattrat", "name", 2),
    ("setxattrat", "name", 2),
    ("statmount", "flags", 4),
];

/// The arguments whose widths differ where registers have 64 bits, with the numbers of bits in Kafel's tables.
const OTHER_WIDTHS: &[(&str, &str, u8)] = &[
    ("futex_wait", "val", 32),
    ("lsm_set_self_attr", "size", 64),
    ("mseal", "flags", 32),
    ("pkey_alloc", "flags", 32),
    ("pkey_alloc", "init_val", 32),
    ("set_mempolicy_home_node", "flags", 32),
    ("set_mempolicy_home_node", "home_node", 32),
];

/// How Kafel's tables describe an argument, if not as the kernel does.
pub(super) fn deviation(arch: Arch, syscall: &str, name: &str) -> Option<Deviation> {
    let find = |table: &[(&str, &str, u8)]| {
        let own = table.iter().find(|(own, argument, _)| (*own, *argument) == (syscall, name));
        own.map(|(_, _, number)| *number)
    };
    let width = || find(OTHER_WIDTHS).filter(|_| arch.has_wide_registers()).map(Deviation::Width);
    find(OTHER_PLACES).map(Deviation::Place).or_else(width)
}

/// Whether Kafel's tables have the argument with this name in today's kernel, at the same place and with the same width.
pub fn has_argument(syscall: &str, name: &str) -> bool {
    let is_own = |(own, argument): (&str, &str)| (own, argument) == (syscall, name);
    let is_newer = OLDER.iter().any(|(own, _, today)| is_own((own, today)));
    let mut differs =
        OTHER_PLACES.iter().chain(OTHER_WIDTHS).map(|(own, argument, _)| (*own, *argument));
    !is_newer && !differs.any(is_own)
}

/// The argument of a syscall with one of its own names.
pub(super) fn own_argument(
    arch: Arch,
    syscall: &str,
    name: &str,
) -> Result<Argument, ArgumentError> {
    arch.argument(syscall, name).or_else(|error| {
        let today = OLDER.iter().find(|(own, older, _)| (*own, *older) == (syscall, name));
        today.map_or(Err(error), |(_, _, today)| arch.argument(syscall, today))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::syscalls::facts;

    #[test]
    fn older_names_are_not_names_of_today() {
        for (syscall, older, today) in OLDER {
            let args = facts(syscall).unwrap().args;
            assert!(args.iter().any(|arg| arg.name == *today), "{syscall} {today}");
            assert!(args.iter().all(|arg| arg.name != *older), "{syscall} {older}");
        }
        assert_eq!(own_argument(Arch::X86_64, "getrandom", "count").unwrap().index, 1);
        assert!(own_argument(Arch::X86_64, "getrandom", "size").is_err());
    }

    #[test]
    fn deviations_differ_from_the_kernel() {
        let of = |syscall, name| Arch::X86_64.argument(syscall, name).unwrap();
        for (syscall, name, place) in OTHER_PLACES {
            assert_ne!(of(syscall, name).index, *place, "{syscall} {name}");
        }
        for (syscall, name, bits) in OTHER_WIDTHS {
            assert_ne!(of(syscall, name).bits, Some(*bits), "{syscall} {name}");
        }
    }
}
