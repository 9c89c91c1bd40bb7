//! The exact warnings.

use callgate::Arch;
use callgate_formats::android::{ListKind, ReadOptions};

use crate::android::support::{base, list, options, warnings};

#[test]
fn a_blocked_syscall_that_is_allowed_is_a_warning() {
    let lists = [
        base("read() all\nmount() all"),
        list(ListKind::Allow, "mount() arm"),
        list(ListKind::Block, "# c\nmount() all"),
    ];
    assert_eq!(
        warnings(&lists, &options()),
        "3 2:1: `mount` is allowed on arm although it is blocked here: an allow list has it, too (remove it from one \
         of the two lists)"
    );
}

#[test]
fn an_architecture_that_no_entry_names_is_a_warning() {
    let of = |text: &str, arch| warnings(&[base(text)], &ReadOptions::new(arch));
    let help = "Android 10 and earlier have mips and mips64, Android 14 and later riscv64";
    let missing = |name| {
        format!("1 1:1: no entry names {name}, so this version of bionic may not have it ({help})")
    };
    assert_eq!(of("read() all\nclose() lp64", Arch::Riscv64), missing("riscv64"));
    assert_eq!(of("read() all\nclose() arm,riscv64", Arch::Riscv64), "");
    assert_eq!(of("read() all\nclose() mips64", Arch::Mipsel64), missing("mips"));
    assert_eq!(of("read() all", Arch::X86_64), "");
    let allow = [list(ListKind::Allow, "read() all")];
    assert_eq!(warnings(&allow, &ReadOptions::new(Arch::Riscv64)), "");
}

#[test]
fn a_single_list_may_have_no_syscalls_of_an_architecture() {
    assert_eq!(
        warnings(&[list(ListKind::Allow, "read() arm64")], &options()),
        "1 1:1: no syscall is allowed on arm: every syscall gets TRAP (add an entry for this architecture)"
    );
}
