//! The tables of syscalls agree with an independent one, the crate `syscalls`, for every
//! architecture that it knows; and with each other where the kernel numbers syscalls alike.
#![cfg(target_os = "linux")]

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::facts;

/// Why a syscall of the independent table is not in ours.
fn excused(arch: Arch, name: &str) -> bool {
    let generic = matches!(arch, Arch::Aarch64 | Arch::Loongarch64);
    match name {
        // Slots that MIPS headers name because nothing is in them.
        _ if name.starts_with("reserved") || name.starts_with("unused") => true,
        // 64-bit times are for 32-bit programs; the kernel leaves these numbers empty on 64-bit
        // architectures. The independent table has them from a header that serves both.
        _ if generic && name.ends_with("time64") => true,
        // The same header calls 79 fstatat, the kernel's own ones newfstatat.
        "fstatat" if generic => arch.number("newfstatat") == Some(79),
        // LoongArch came after renameat2 and prlimit64 and never had these.
        "renameat" | "getrlimit" | "setrlimit" => arch == Arch::Loongarch64,
        _ => false,
    }
}

/// Compares all syscalls of the independent table; returns how many.
fn compare(arch: Arch, independent: impl Iterator<Item = (&'static str, i32)>) -> usize {
    let mut count = 0;
    let mut differences = Vec::new();
    for (name, number) in independent {
        let name = name.trim_start_matches("r#");
        let number = u32::try_from(number).unwrap();
        if arch.number(name) != Some(number) && !excused(arch, name) {
            differences.push(format!("{name}: {number} there, {:?} here", arch.number(name)));
        }
        count += 1;
    }
    assert!(differences.is_empty(), "{arch}: {differences:#?}");
    count
}

#[test]
fn numbers_agree_with_an_independent_table() {
    macro_rules! agree {
        ($($arch:ident: $module:ident, $at_least:expr;)*) => {
            $(
                let theirs = syscalls::$module::Sysno::iter().map(|nr| (nr.name(), nr.id()));
                let count = compare(Arch::$arch, theirs);
                assert!(count >= $at_least, "{}: only {count} syscalls compared", Arch::$arch);
            )*
        };
    }
    agree! {
        X86_64: x86_64, 380;
        X86: x86, 450;
        Aarch64: aarch64, 340;
        Arm: arm, 420;
        Riscv64: riscv64, 320;
        S390x: s390x, 380;
        Ppc64: powerpc64, 420;
        Ppc64le: powerpc64, 420;
        Ppc: powerpc, 440;
        Loongarch64: loongarch64, 340;
        Mips: mips, 440;
        Mipsel: mips, 440;
        Mips64: mips64, 370;
        Mipsel64: mips64, 370;
    }
}

/// From 424 on the kernel gives a new syscall one number on all architectures.
#[test]
fn new_syscalls_have_one_number_everywhere() {
    let offset = |arch: Arch| match arch {
        Arch::X32 => 0x4000_0000,
        Arch::Mips | Arch::Mipsel => 4000,
        Arch::Mips64 | Arch::Mipsel64 => 5000,
        Arch::Mips64n32 | Arch::Mipsel64n32 => 6000,
        _ => 0,
    };
    let mut compared = 0;
    for arch in Arch::ALL {
        for (nr, name) in arch.syscalls() {
            let nr = nr - offset(*arch);
            // 512 to 547 are x32's own, and Arm's private syscalls lie far above.
            if (424..512).contains(&nr) {
                assert_eq!(Arch::X86_64.number(name), Some(nr), "{arch} {name}");
                compared += 1;
            }
        }
    }
    assert!(compared > 40 * Arch::ALL.len(), "{compared}");
}

/// x32 shares the numbers of x86_64 apart from the syscalls that need their own entry, from 512 on.
#[test]
fn x32_syscalls_are_those_of_x86_64_or_its_own() {
    for (nr, name) in Arch::X32.syscalls() {
        let nr = nr & !0x4000_0000;
        if nr >= 512 {
            assert!(nr <= 547, "{name}");
            assert!(Arch::X86_64.number(name).is_some_and(|wide| wide < 512), "{name}");
        } else {
            assert_eq!(Arch::X86_64.number(name), Some(nr), "{name}");
        }
    }
}

/// Architectures of both byte orders have one table.
#[test]
fn byte_order_does_not_change_numbers() {
    for (a, b) in [
        (Arch::Mips, Arch::Mipsel),
        (Arch::Mips64, Arch::Mipsel64),
        (Arch::Mips64n32, Arch::Mipsel64n32),
        (Arch::Ppc64, Arch::Ppc64le),
        (Arch::Sh, Arch::Sheb),
    ] {
        assert!(a.syscalls().eq(b.syscalls()), "{a} {b}");
    }
}

#[test]
fn every_syscall_of_every_architecture_has_facts() {
    for arch in Arch::ALL {
        for (_, name) in arch.syscalls() {
            assert_eq!(facts(name).map(|facts| facts.name), Some(name), "{arch}");
        }
    }
}
