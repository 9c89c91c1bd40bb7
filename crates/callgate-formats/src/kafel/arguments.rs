//! Arguments by name: those that the policy names, and the syscall's own.

use callgate_bpf::syscalls::{Arch, Argument, ArgumentError};

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
}
