//! What an entry means.

use callgate::Arch;
use callgate_formats::android::{ReadOptions, arches};

use crate::android::support::{allowed, base, read, read_for};

/// Entries, and what they allow on arm64 and on arm. `read` belongs to no other entry.
const ENTRIES: &[(&str, &[&str], &[&str])] = &[
    ("close(int) all", &["close"], &["close"]),
    ("close(int) lp64", &["close"], &[]),
    ("close(int) lp32", &[], &["close"]),
    ("close(int) arm64", &["close"], &[]),
    ("close(int) x86,arm", &[], &["close"]),
    ("close(int) x86,lp64", &["close"], &[]),
    ("close(int) x86_64,x86,riscv64,mips,mips64", &[], &[]),
    ("__close:close(int) all", &["close"], &["close"]),
    ("getuid:getuid32() lp32", &[], &["getuid32"]),
    ("lseek|lseek64(int, off_t, int) lp64", &["lseek"], &[]),
    ("fstat64|fstat:fstat64(int, struct stat*) lp32", &[], &["fstat64"]),
    ("a|b,c:close|d(int) all", &["close"], &["close"]),
    // The number of a sub-call does not matter: `socketcall` has all or none.
    ("__socket:socketcall:1(int, int, int) x86", &[], &[]),
    ("sync(void)  all", &["sync"], &["sync"]),
    ("open(const char*, int, ... /* (mode) */) arm", &[], &["open"]),
    ("__set_tls:__ARM_NR_set_tls(void*)   arm", &[], &["set_tls"]),
    ("  close(int)\tall  ", &["close"], &["close"]),
    ("close(int) all\r\nsync() all\r\n", &["close", "sync"], &["close", "sync"]),
    ("close(int) all\rsync() all", &["close", "sync"], &["close", "sync"]),
    ("# close(int) all\n\n   # sync() all", &[], &[]),
    ("close(int) all\nclose(int) all\nclose(int) arm", &["close"], &["close"]),
];

#[test]
fn an_entry_allows_a_syscall_on_its_architectures() {
    for (entry, arm64, arm) in ENTRIES {
        let policy = read(&format!("read(int, void*, size_t) all\n{entry}"));
        for (arch, expected) in [(Arch::Aarch64, arm64), (Arch::Arm, arm)] {
            let mut others = allowed(&policy, arch);
            others.retain(|name| *name != "read");
            assert_eq!(others, *expected, "{entry} on {arch}");
        }
    }
}

#[test]
fn until_android_15_a_type_stands_before_the_function() {
    let policy = read(
        "ssize_t read(int, void*, size_t) all\nvoid* __brk:brk(void*)\tall\nint  pipe2 (int*, int) all\n\
         const char *  close(int) all\n",
    );
    assert_eq!(allowed(&policy, Arch::Aarch64), ["brk", "close", "pipe2", "read"]);
}

#[test]
fn socketcall_is_one_syscall_without_the_others() {
    let text = "read() all\n__socket:socketcall:1(int, int, int) x86\nbind:socketcall:2(int) x86\n";
    let policy = read_for(&[base(text)], &ReadOptions::new(Arch::X86_64));
    assert_eq!(allowed(&policy, Arch::X86), ["read", "socketcall"]);
}

#[test]
fn a_filter_is_for_all_architectures_of_the_host() {
    for (native, expected) in [
        (Arch::X86_64, &[Arch::X86_64, Arch::X86][..]),
        (Arch::X86, &[Arch::X86_64, Arch::X86]),
        (Arch::Aarch64, &[Arch::Aarch64, Arch::Arm]),
        (Arch::Arm, &[Arch::Aarch64, Arch::Arm]),
        (Arch::Riscv64, &[Arch::Riscv64]),
        (Arch::Mipsel64, &[Arch::Mipsel64, Arch::Mipsel]),
    ] {
        let policy = read_for(&[base("close(int) all")], &ReadOptions::new(native)).policy;
        assert_eq!(policy.arches().collect::<Vec<_>>(), expected);
        assert_eq!(arches(native), expected);
    }
    assert!(arches(Arch::S390x).is_empty());
}
