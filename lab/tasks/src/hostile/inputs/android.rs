//! Lists of Android's C library.

use super::input::{Input, Reader, input, unit};
use callgate::Arch;
use callgate_bpf::SyscallTable;
use std::io::Write;

const ALL: &str = "read() all\nio_setup() all\nrestart_syscall() all\n";

/// A line with the name of a syscall.
fn known_name(n: u64, out: &mut Vec<u8>) {
    let names = Arch::X86_64.syscalls().count() as u64;
    let name = Arch::X86_64.syscalls().nth((n % names) as usize).map_or("read", |(_, name)| name);
    let _ = writeln!(out, "{name}");
}

pub(super) const READERS: &[Reader] = &[
    Reader {
        name: "Android list",
        file: "list.txt",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["compile android:list.txt --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("one entry", "", ["read()all\n"], ""),
            input!("entries", ALL, ["f{}:close(int) x86,lp64\n", |n| n], ""),
            input!("unknown names", ALL, ["x{}() all\n", |n| n], ""),
            input!("unknown architectures", ALL, ["read() a{}\n", |n| n], ""),
            input!("architectures", "read() x86_64", [",x86"], "\n"),
            input!("types", "", ["int "], "read() all\n"),
            input!("aliases", "read|", ["a,"], "() all\n"),
            input!("lines without parentheses", ALL, ["read\n"], ""),
            input!("newlines", ALL, ["\n"], ""),
        ],
    },
    Reader {
        name: "Android lists",
        file: "SYSCALLS.TXT",
        beside: &[
            ("SECCOMP_ALLOWLIST_COMMON.TXT", "write() all\n"),
            ("SECCOMP_ALLOWLIST_APP.TXT", ""),
            ("SECCOMP_BLOCKLIST_COMMON.TXT", ""),
            ("SECCOMP_BLOCKLIST_APP.TXT", "io_setup() all\n"),
            ("SECCOMP_PRIORITY.TXT", "futex\n"),
        ],
        most: Some((16 << 10) - 1),
        is_log: false,
        commands: &["compile android:.#app --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("one entry", ALL, ["read()all\n"], "futex() all\n"),
            input!("unknown names", ALL, ["x{}() all\n", |n| n], ""),
        ],
    },
    Reader {
        name: "priorities of Android",
        file: "SECCOMP_PRIORITY.TXT",
        beside: &[
            ("SYSCALLS.TXT", ALL),
            ("SECCOMP_ALLOWLIST_COMMON.TXT", ""),
            ("SECCOMP_ALLOWLIST_APP.TXT", ""),
            ("SECCOMP_BLOCKLIST_COMMON.TXT", ""),
            ("SECCOMP_BLOCKLIST_APP.TXT", ""),
        ],
        most: Some((16 << 10) - 1),
        is_log: false,
        commands: &["compile android:.#app --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("one name", "", ["read\n"], ""),
            Input::new("all names", "", known_name, ""),
            input!("unknown names", "", ["x{}\n", |n| n], ""),
            input!("lines with several words", "", ["x {}\n", |n| n], ""),
        ],
    },
];
