//! Names of syscalls and architectures in Kafel.
//!
//! Kafel's tables of 32-bit x86 and Arm name a syscall after the kernel's function (`tools/gen_syscalls`), so `chown` is
//! the syscall `chown32`, and `chown16` is `chown`. Its table of m68k does so for these IDs only: `getuid` is `getuid32`,
//! but `stat` is `stat`. Elsewhere the names are those of the kernel's tables, except for a few functions such as
//! `newuname`. A name that only the kernel's table has means what it means there.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{Argument, ArgumentError, known_name};
use callgate_core::Arch;

/// A name of Kafel, and the name in the kernel's table of the syscalls; the first one that the architecture has counts.
const INTERNAL: &[(&str, &str)] = &[
    // Older versions, which lost their names to later ones.
    ("fstat", "oldfstat"),
    ("getrlimit", "ugetrlimit"),
    ("lstat", "oldlstat"),
    ("olduname", "oldolduname"),
    ("select", "_newselect"),
    ("stat", "oldstat"),
    ("umount", "umount2"),
    ("uname", "olduname"),
    // Names of functions that are names of no syscall.
    ("llseek", "_llseek"),
    ("mmap_pgoff", "mmap2"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newstat", "stat"),
    ("newuname", "uname"),
    ("old_getrlimit", "getrlimit"),
    ("old_mmap", "mmap"),
    ("old_readdir", "readdir"),
    ("old_select", "select"),
    ("oldumount", "umount"),
    ("sysctl", "_sysctl"),
];

/// Functions with a version for 16-bit IDs, which has the suffix, and one for 32-bit IDs.
const IDS: &[&str] = &[
    "chown",
    "fchown",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getresgid",
    "getresuid",
    "getuid",
    "lchown",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setuid",
];

/// The name in the kernel's table of what Kafel calls `name`. The result is `name` itself if Kafel has no other
/// meaning for it; the architecture may lack it.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_formats::kafel::names::name_in_table;
///
/// assert_eq!(name_in_table(Arch::X86_64, "newuname"), "uname");
/// assert_eq!(name_in_table(Arch::X86, "getuid"), "getuid32");
/// assert_eq!(name_in_table(Arch::X86, "getuid16"), "getuid");
/// ```
pub fn name_in_table(arch: Arch, name: &str) -> &str {
    let has = |name: &&str| arch.number(name).is_some();
    // Kafel's tables of the other architectures have the names of the kernel's tables where these exist; that of m68k
    // names functions with IDs as those of x86 and Arm do.
    let names_functions = matches!(arch, Arch::X86 | Arch::Arm);
    let names_ids = names_functions || arch == Arch::M68k;
    if !names_functions && has(&name) {
        return if names_ids { wide_name(arch, name) } else { name };
    }
    let mut functions =
        INTERNAL.iter().filter(|(kafel, _)| *kafel == name).map(|(_, table)| *table);
    if let Some(table) = functions.find(has) {
        return table;
    }
    if let Some(plain) = name.strip_suffix("16").filter(|plain| IDS.contains(plain)) {
        return plain;
    }
    if has(&name) {
        return wide_name(arch, name);
    }
    match name {
        "sendfile64" => "sendfile",
        "sync_file_range2" => "sync_file_range",
        _ => name,
    }
}

/// Syscalls that Kafel's tables of 64-bit architectures lack.
const ABSENT: &[(Arch, &[&str])] = &[
    (Arch::X86_64, &["listns", "rseq_slice_yield", "uprobe"]),
    (
        Arch::Aarch64,
        &[
            "io_pgetevents",
            "listns",
            "pkey_alloc",
            "pkey_free",
            "pkey_mprotect",
            "rseq_slice_yield",
        ],
    ),
    (
        Arch::Riscv64,
        &[
            "io_pgetevents",
            "listns",
            "pkey_alloc",
            "pkey_free",
            "pkey_mprotect",
            "riscv_flush_icache",
            "riscv_hwprobe",
            "rseq_slice_yield",
        ],
    ),
];

/// Names for a syscall of the kernel's table in Kafel, the best first: those of Kafel's tables, then those that only the reader
/// takes. Some may mean another syscall ([`name_in_table`]). None if Kafel's table lacks the syscall.
pub(super) fn names_in_kafel(arch: Arch, name: &str) -> Vec<String> {
    if ABSENT.iter().any(|(own, names)| *own == arch && names.contains(&name)) {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    let is_own = |kafel: &str| match arch {
        Arch::X86 => true,
        Arch::Arm => kafel != "mmap_pgoff",
        Arch::X86_64 | Arch::Aarch64 | Arch::Riscv64 => {
            kafel.starts_with("new") || matches!(kafel, "umount" | "sysctl")
        }
        _ => false,
    };
    let own = INTERNAL.iter().filter(|(kafel, table)| *table == name && is_own(kafel));
    names.extend(own.map(|(kafel, _)| (*kafel).to_owned()));
    match (arch, name) {
        (Arch::X86_64, "sendfile") => names.push("sendfile64".to_owned()),
        (Arch::Aarch64 | Arch::Riscv64, "sync_file_range") => {
            names.push("sync_file_range2".to_owned());
        }
        (Arch::X86 | Arch::Arm | Arch::M68k, _) => {
            let wide = name.strip_suffix("32").filter(|plain| IDS.contains(plain));
            names.extend(wide.map(str::to_owned));
        }
        _ => {}
    }
    names.extend(["", "new", "old_", "old"].map(|prefix| format!("{prefix}{name}")));
    names.push(format!("{name}16"));
    names
}

/// The version for 32-bit IDs of a function in [`IDS`], if the architecture has it; otherwise `name`.
fn wide_name(arch: Arch, name: &str) -> &str {
    let wide = IDS.contains(&name).then(|| known_name(&format!("{name}32"))).flatten();
    wide.filter(|wide| arch.number(wide).is_some()).unwrap_or(name)
}

/// The names of Kafel that the kernel's tables do not have, for "did you mean …?".
pub fn internal_names() -> impl Iterator<Item = &'static str> {
    INTERNAL.iter().map(|(name, _)| *name)
}

/// An architecture as Kafel names it, in any case.
pub(super) fn arch_of_name(name: &str) -> Option<Arch> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "mipso32" => Some(Arch::Mips),
        "rv64" => Some(Arch::Riscv64),
        name => Arch::from_name(name),
    }
}

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
pub(crate) fn has_argument(syscall: &str, name: &str) -> bool {
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
    fn names_are_those_of_functions() {
        for (arch, name, table) in [
            (Arch::X86_64, "getuid", "getuid"),
            (Arch::X86_64, "stat", "stat"),
            (Arch::X86_64, "newstat", "stat"),
            (Arch::X86_64, "umount", "umount2"),
            (Arch::X86_64, "umount2", "umount2"),
            (Arch::X86_64, "sendfile64", "sendfile"),
            (Arch::X86_64, "sysctl", "_sysctl"),
            (Arch::X86_64, "select", "select"),
            (Arch::X86, "stat", "oldstat"),
            (Arch::X86, "uname", "olduname"),
            (Arch::X86, "olduname", "oldolduname"),
            (Arch::X86, "newuname", "uname"),
            (Arch::X86, "select", "_newselect"),
            (Arch::X86, "old_select", "select"),
            (Arch::X86, "oldumount", "umount"),
            (Arch::X86, "setresuid", "setresuid32"),
            (Arch::X86, "setresuid16", "setresuid"),
            (Arch::X86, "sendfile64", "sendfile64"),
            (Arch::X86, "getrlimit", "ugetrlimit"),
            (Arch::Arm, "chown", "chown32"),
            (Arch::Arm, "getrlimit", "ugetrlimit"),
            (Arch::Aarch64, "getuid", "getuid"),
            (Arch::X86_64, "nothing", "nothing"),
            (Arch::M68k, "stat", "stat"),
            (Arch::M68k, "uname", "uname"),
            (Arch::M68k, "select", "select"),
            (Arch::M68k, "umount", "umount"),
            (Arch::M68k, "getuid", "getuid32"),
            (Arch::M68k, "getuid16", "getuid"),
            (Arch::M68k, "lchown", "lchown32"),
            (Arch::M68k, "setfsgid", "setfsgid32"),
            (Arch::M68k, "getgroups", "getgroups32"),
            (Arch::M68k, "setgroups16", "setgroups"),
            (Arch::Ppc64le, "stat", "stat"),
            (Arch::Mips, "newstat", "stat"),
        ] {
            assert_eq!(name_in_table(arch, name), table, "{arch} {name}");
        }
        assert!(IDS.iter().all(|plain| known_name(&format!("{plain}32")).is_some()));
    }

    #[test]
    fn the_best_name_is_that_of_the_table() {
        for (arch, name, best) in [
            (Arch::X86_64, "fstat", Some("newfstat")),
            (Arch::X86_64, "mmap", Some("mmap")),
            (Arch::X86_64, "umount2", Some("umount")),
            (Arch::X86_64, "listns", None),
            (Arch::X86, "chown32", Some("chown")),
            (Arch::X86, "chown", Some("chown16")),
            (Arch::X86, "_newselect", Some("select")),
            (Arch::X86, "mmap2", Some("mmap_pgoff")),
            (Arch::Arm, "mmap2", Some("mmap2")),
            (Arch::Mips64, "fstat", Some("fstat")),
        ] {
            let names = names_in_kafel(arch, name);
            let found = names.iter().find(|kafel| name_in_table(arch, kafel) == name);
            assert_eq!(found.map(String::as_str), best, "{arch} {name}");
        }
    }

    #[test]
    fn architectures_have_the_names_of_kafel() {
        for (name, arch) in [
            ("x86_64", Arch::X86_64),
            ("AMD64", Arch::X86_64),
            ("i386", Arch::X86),
            ("rv64", Arch::Riscv64),
            ("mipso32", Arch::Mips),
        ] {
            assert_eq!(arch_of_name(name), Some(arch), "{name}");
        }
        assert_eq!(arch_of_name("madeup"), None);
    }

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
