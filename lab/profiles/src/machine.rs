//! Architectures, their tokens and their syscall numbers.
//!
//! Numbers come from the `syscalls` crate, not from Callgate's tables. It lacks three ABIs, whose numbers are
//! derived from those of a related ABI with few exceptions: x32 from x86_64
//! (`arch/x86/entry/syscalls/syscall_64.tbl`), s390 from s390x (`arch/s390/kernel/syscalls/syscall.tbl`)
//! and n32 from n64 (`arch/mips/kernel/syscalls/syscall_n32.tbl`). Tokens: `include/uapi/linux/audit.h`.

mod derived;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use derived::{TIME64, n32, s390, x32};

pub use derived::X32_BIT;

/// An architecture, as distinguished by libseccomp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the architectures")]
pub enum Machine {
    X86_64,
    X86,
    X32,
    Aarch64,
    Arm,
    Mips64,
    Mips64n32,
    Mips,
    Mipsel64,
    Mipsel64n32,
    Mipsel,
    S390x,
    S390,
    Ppc64le,
    Ppc64,
    Ppc,
    Riscv64,
    Loongarch64,
}

use Machine::*;

/// One row of facts.
struct Row {
    name: &'static str,
    token: u32,
    /// The native architecture's name in `includes.arches` of Docker's profiles: the Go name, with the exceptions of
    /// `goToNative` in moby's `seccomp_linux.go`.
    docker: &'static str,
    /// The same for Podman: libseccomp-golang's `ScmpArch.String`.
    podman: &'static str,
    wide: bool,
    big_endian: bool,
}

/// Socket calls by the number that `socketcall(2)` takes, `include/uapi/linux/net.h`.
const SOCKET_CALLS: [&str; 20] = [
    "socket",
    "bind",
    "connect",
    "listen",
    "accept",
    "getsockname",
    "getpeername",
    "socketpair",
    "send",
    "recv",
    "sendto",
    "recvfrom",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "sendmsg",
    "recvmsg",
    "accept4",
    "recvmmsg",
    "sendmmsg",
];

/// IPC calls by the number that `ipc(2)` takes, `include/uapi/linux/ipc.h`.
const IPC_CALLS: [(&str, u64); 12] = [
    ("semop", 1),
    ("semget", 2),
    ("semctl", 3),
    ("semtimedop", 4),
    ("msgsnd", 11),
    ("msgrcv", 12),
    ("msgget", 13),
    ("msgctl", 14),
    ("shmat", 21),
    ("shmdt", 22),
    ("shmget", 23),
    ("shmctl", 24),
];

/// A syscall that can also be made by `socketcall(2)` or `ipc(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplexed {
    /// The number of `socketcall` or `ipc`.
    pub number: u32,
    /// Its first argument.
    pub call: u64,
}

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 18] = [
        X86_64,
        X86,
        X32,
        Aarch64,
        Arm,
        Mips64,
        Mips64n32,
        Mips,
        Mipsel64,
        Mipsel64n32,
        Mipsel,
        S390x,
        S390,
        Ppc64le,
        Ppc64,
        Ppc,
        Riscv64,
        Loongarch64,
    ];

    #[rustfmt::skip]
    const fn row(self) -> Row {
        const fn row(
            name: &'static str, token: u32, docker: &'static str, podman: &'static str, wide: bool,
            big_endian: bool,
        ) -> Row {
            Row { name, token, docker, podman, wide, big_endian }
        }
        match self {
            X86_64 => row("x86_64", 0xc000_003e, "amd64", "amd64", true, false),
            X86 => row("x86", 0x4000_0003, "x86", "x86", false, false),
            X32 => row("x32", 0xc000_003e, "", "x32", false, false),
            Aarch64 => row("aarch64", 0xc000_00b7, "arm64", "arm64", true, false),
            Arm => row("arm", 0x4000_0028, "arm", "arm", false, false),
            Mips64 => row("mips64", 0x8000_0008, "mips64", "mips64", true, true),
            Mips64n32 => row("mips64n32", 0xa000_0008, "mips64n32", "mips64n32", false, true),
            Mips => row("mips", 0x0000_0008, "", "mips", false, true),
            Mipsel64 => row("mipsel64", 0xc000_0008, "mipsel64", "mipsel64", true, false),
            Mipsel64n32 => row("mipsel64n32", 0xe000_0008, "mips3l64n32", "mipsel64n32", false, false),
            Mipsel => row("mipsel", 0x4000_0008, "mipsel", "mipsel", false, false),
            S390x => row("s390x", 0x8000_0016, "s390x", "s390x", true, true),
            S390 => row("s390", 0x0000_0016, "s390", "s390", false, true),
            Ppc64le => row("ppc64le", 0xc000_0015, "ppc64le", "ppc64le", true, false),
            Ppc64 => row("ppc64", 0x8000_0015, "ppc64", "ppc64", true, true),
            Ppc => row("ppc", 0x0000_0014, "ppc", "ppc", false, true),
            Riscv64 => row("riscv64", 0xc000_00f3, "riscv64", "riscv64", true, false),
            Loongarch64 => row("loongarch64", 0xc000_0102, "loongarch64", "loong64", true, false),
        }
    }

    /// The name in libseccomp.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The machine with this name.
    pub fn from_name(name: &str) -> Option<Machine> {
        Machine::ALL.into_iter().find(|machine| machine.name() == name)
    }

    /// The name in OCI profiles.
    pub fn oci_name(self) -> String {
        format!("SCMP_ARCH_{}", self.name().to_uppercase())
    }

    /// The value of the `arch` word.
    pub fn token(self) -> u32 {
        self.row().token
    }

    /// The name in `arches` of Docker's profiles; empty if Docker knows none.
    pub fn docker_name(self) -> &'static str {
        self.row().docker
    }

    /// The name in `arches` of Podman's profiles.
    pub fn podman_name(self) -> &'static str {
        self.row().podman
    }

    /// Whether libseccomp compares all 64 bits of arguments, not only the low 32.
    pub fn is_wide(self) -> bool {
        self.row().wide
    }

    /// Whether the high half of an argument comes first.
    pub fn is_big_endian(self) -> bool {
        self.row().big_endian
    }

    /// The number of `ENOSYS` (`arch/mips/include/uapi/asm/errno.h` differs from the rest).
    pub fn enosys(self) -> u32 {
        if self.name().starts_with("mips") { 89 } else { 38 }
    }

    /// The number of a syscall.
    pub fn number(self, name: &str) -> Option<u32> {
        let table = self.table();
        table.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| table[at].1)
    }

    /// All syscalls, by name.
    pub fn table(self) -> &'static [(&'static str, u32)] {
        static TABLES: [OnceLock<Vec<(&'static str, u32)>>; 18] = [const { OnceLock::new() }; 18];
        TABLES[self as usize].get_or_init(|| self.make_table())
    }

    fn make_table(self) -> Vec<(&'static str, u32)> {
        macro_rules! calls {
            ($module:ident) => {
                syscalls::$module::Sysno::iter()
                    .map(|call| (call.name(), call.id() as u32))
                    .collect()
            };
        }
        let mut table: Vec<(&'static str, u32)> = match self {
            X86_64 => calls!(x86_64),
            X86 => calls!(x86),
            X32 => X86_64.table().iter().filter_map(|call| x32(*call)).collect(),
            Aarch64 => calls!(aarch64),
            Arm => calls!(arm),
            Mips64 | Mipsel64 => calls!(mips64),
            Mips64n32 | Mipsel64n32 => n32(Mips64.table()),
            Mips | Mipsel => calls!(mips),
            S390x => calls!(s390x),
            S390 => s390(S390x.table()),
            Ppc64le | Ppc64 => calls!(powerpc64),
            Ppc => calls!(powerpc),
            Riscv64 => calls!(riscv64),
            Loongarch64 => calls!(loongarch64),
        };
        // Unused numbers in the tables, and syscalls of 64-bit ABIs that the crate lists by mistake.
        table.retain(|(name, _)| !name.starts_with("unused") && !name.starts_with("reserved"));
        match self {
            Aarch64 | Loongarch64 => {
                table.retain(|(name, _)| !TIME64.iter().any(|(other, _)| name == other));
                for call in &mut table {
                    if call.0 == "fstatat" {
                        call.0 = "newfstatat";
                    }
                }
            }
            Mips64 | Mipsel64 => table.push(("set_mempolicy_home_node", 5450)),
            // A second name of a syscall, and Arm's private syscalls, `arch/arm/include/uapi/asm/unistd.h`.
            Arm => table.extend([
                ("sync_file_range2", 341),
                ("breakpoint", 0xf_0001),
                ("cacheflush", 0xf_0002),
                ("usr26", 0xf_0003),
                ("usr32", 0xf_0004),
                ("set_tls", 0xf_0005),
                ("get_tls", 0xf_0006),
            ]),
            _ => {}
        }
        for call in &mut table {
            // A keyword of Rust.
            if call.0 == "r#break" {
                call.0 = "break";
            }
        }
        if self == Loongarch64 {
            let absent = ["renameat", "getrlimit", "setrlimit"];
            table.retain(|(name, _)| !absent.contains(name));
        }
        table.sort_unstable();
        table
    }

    /// Whether libseccomp supports `socketcall(2)` and `ipc(2)` on this architecture.
    pub fn multiplexes(self) -> bool {
        self.multiplexed("socket").is_some()
    }

    /// How `socketcall(2)` or `ipc(2)` makes the syscall with this name, on architectures that have them.
    pub fn multiplexed(self, name: &str) -> Option<Multiplexed> {
        let base = match self {
            X86 | S390x | S390 | Ppc64le | Ppc64 | Ppc => 0,
            Mips | Mipsel => 4000,
            _ => return None,
        };
        let socket = SOCKET_CALLS.iter().position(|call| *call == name);
        let socket = socket.map(|at| Multiplexed { number: base + 102, call: at as u64 + 1 });
        let ipc = IPC_CALLS.iter().find(|(call, _)| *call == name);
        socket.or(ipc.map(|(_, call)| Multiplexed { number: base + 117, call: *call }))
    }
}

/// The names that libseccomp knows: those of all architectures, and those of `socketcall` and `ipc`.
pub fn known_names() -> &'static BTreeSet<&'static str> {
    static NAMES: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let tables =
            Machine::ALL.into_iter().flat_map(|machine| machine.table().iter().map(|call| call.0));
        tables.chain(multiplexed_names()).collect()
    })
}

/// The syscalls that `socketcall(2)` and `ipc(2)` make.
pub fn multiplexed_names() -> impl Iterator<Item = &'static str> {
    SOCKET_CALLS.into_iter().chain(IPC_CALLS.into_iter().map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_tables_have_the_numbers_of_the_kernel() {
        let facts = [
            (X32, "execve", X32_BIT | 520),
            (X32, "read", X32_BIT),
            (S390, "getuid", 24),
            (S390, "getuid32", 199),
            (S390, "socketcall", 102),
            (Mips64n32, "getdents64", 6299),
            (Mips64n32, "epoll_pwait", 6276),
            (Mipsel64n32, "openat2", 6437),
            (Arm, "set_tls", 0xf_0005),
            (Aarch64, "newfstatat", 79),
        ];
        for (machine, name, number) in facts {
            assert_eq!(machine.number(name), Some(number), "{name} of {machine:?}");
        }
        assert_eq!(Aarch64.number("futex_time64"), None);
        assert_eq!(S390.number("select"), None);
    }

    #[test]
    fn no_table_has_a_name_twice() {
        for machine in Machine::ALL {
            let names: BTreeSet<&str> = machine.table().iter().map(|call| call.0).collect();
            assert_eq!(names.len(), machine.table().len(), "{machine:?}");
        }
    }
}
