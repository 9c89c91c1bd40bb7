//! What lines mean.

use callgate::Arch;
use callgate_formats::snap::{self, IdKind, ReadOptions};

use crate::snap::support::{on, read, read_for, syscall};

const ALLOW: &str = "ALLOW";
const EPERM: &str = "ERRNO(EPERM)";
const EACCES: &str = "ERRNO(EACCES)";

#[test]
fn listed_syscalls_are_allowed_and_others_fail_with_eperm() {
    let filters = read("# comment\n\nread\n write\nclose\r\n");
    for name in ["read", "write", "close"] {
        assert_eq!(syscall(&filters, name, &[]), ALLOW, "{name}");
    }
    assert_eq!(syscall(&filters, "mount", &[]), EPERM);
}

#[test]
fn explicit_denials_are_a_second_filter() {
    let filters = read("ioctl\nmount\n~ioctl - TIOCSTI\n~mount\n~bpf\n");
    assert_eq!(syscall(&filters, "ioctl", &[0, 0x5412]), EACCES);
    assert_eq!(syscall(&filters, "ioctl", &[0, 0x5413]), ALLOW);
    assert_eq!(syscall(&filters, "mount", &[]), EACCES);
    // Both filters deny: the kernel takes the errno of the filter that was installed last.
    assert_eq!(syscall(&filters, "bpf", &[]), EPERM);
}

#[test]
fn complain_logs_other_syscalls_but_not_explicit_denials() {
    let filters = read("read\n  @complain \n~mount\n");
    assert_eq!(syscall(&filters, "read", &[]), ALLOW);
    assert_eq!(syscall(&filters, "write", &[]), "LOG");
    assert_eq!(syscall(&filters, "mount", &[]), EACCES);
}

#[test]
fn arguments_compare_by_position() {
    for (argument, allowed) in [
        ("7", &[7][..]),
        ("007", &[7]),
        ("!7", &[0, 6, 8, 15, 1 << 32 | 7]),
        ("<7", &[0, 6]),
        ("<=7", &[0, 6, 7]),
        (">7", &[8, 15, 1 << 32 | 7]),
        (">=7", &[7, 8, 15, 1 << 32 | 7]),
        ("|7", &[7, 15, 1 << 32 | 7]),
        ("15|7", &[7, 1 << 32 | 7]),
        ("PF_AX25", &[]),
        ("-", &[0, 6, 7, 8, 15, 1 << 32 | 7]),
    ] {
        let filters = read(&format!("read - {argument}\n"));
        let values = [0, 6, 7, 8, 15, 1 << 32 | 7];
        let found: Vec<u64> = values
            .into_iter()
            .filter(|value| syscall(&filters, "read", &[9, *value]) == ALLOW)
            .collect();
        assert_eq!(found, allowed, "{argument}");
    }
}

#[test]
fn constants_are_those_of_the_host() {
    for (line, nr_args) in [
        ("socket AF_UNIX", [1, 0]),
        ("socket PF_CONN", [123, 0]),
        ("socket - O_NOTIFICATION_PIPE", [0, 0x80]),
        ("socket Q_XGETQUOTA", [0x5803, 0]),
    ] {
        let filters = read(line);
        assert_eq!(syscall(&filters, "socket", &nr_args), ALLOW, "{line}");
        assert_eq!(syscall(&filters, "socket", &[99, 99]), EPERM, "{line}");
    }
    let arm = read_for("openat - - O_TMPFILE\n", Arch::Arm);
    assert_eq!(on(&arm, Arch::Arm, "openat", &[0, 0, 0o20_040_000]), ALLOW);
}

/// For syscalls that take IDs, the high halves of the registers do not count.
#[test]
fn ids_have_32_bits() {
    let filters = read("chown - u:root -1\nsetuid +5\nsetgid g:snap_daemon\n");
    assert_eq!(syscall(&filters, "chown", &[0, 0, u64::MAX]), ALLOW);
    assert_eq!(syscall(&filters, "chown", &[0, 1 << 32, 0xffff_ffff]), ALLOW);
    assert_eq!(syscall(&filters, "chown", &[0, 1, 0xffff_ffff]), EPERM);
    assert_eq!(syscall(&filters, "setuid", &[5]), ALLOW);
    assert_eq!(syscall(&filters, "setgid", &[584_788]), ALLOW);
    let other = read("kill u:root\n");
    assert_eq!(syscall(&other, "kill", &[1 << 32]), EPERM);
}

#[test]
fn the_caller_knows_the_users_and_groups_of_the_host() {
    let mut ids = |kind, name: &str| (kind == IdKind::Group && name == "video").then_some(44);
    let options = ReadOptions::new(Arch::X86_64);
    let filters = snap::read("setgid g:video\n", &options, &mut ids).unwrap();
    assert_eq!(syscall(&filters, "setgid", &[44]), ALLOW);
    assert!(snap::read("setuid u:video\n", &options, &mut ids).is_err());
}

#[test]
fn both_filters_have_the_compat_architecture_of_the_host() {
    for (native, expected) in [
        (Arch::X86_64, vec![Arch::X86_64, Arch::X86]),
        (Arch::Aarch64, vec![Arch::Aarch64, Arch::Arm]),
        (Arch::Ppc64, vec![Arch::Ppc64, Arch::Ppc]),
        (Arch::Riscv64, vec![Arch::Riscv64]),
        (Arch::X86, vec![Arch::X86]),
    ] {
        let filters = read_for("read\n~mount\n", native);
        for policy in [&filters.allow, &filters.deny] {
            let mut arches: Vec<Arch> = policy.arches().collect();
            arches.sort_by_key(|arch| *arch != native);
            assert_eq!(arches, expected, "{native}");
        }
    }
    let filters = read("read\n");
    assert_eq!(on(&filters, Arch::X32, "read", &[]), "KILL_THREAD");
    assert_eq!(on(&filters, Arch::Aarch64, "read", &[]), "KILL_THREAD");
}

/// The arguments are behind a pointer there.
#[test]
fn a_rule_for_a_sub_call_of_a_multiplexer_allows_all_its_arguments() {
    let filters = read("socket AF_UNIX\n");
    assert_eq!(on(&filters, Arch::X86, "socketcall", &[1, 5]), ALLOW);
    assert_eq!(on(&filters, Arch::X86, "socketcall", &[2, 5]), EPERM);
    assert_eq!(on(&filters, Arch::X86, "socket", &[1]), ALLOW);
    assert_eq!(on(&filters, Arch::X86, "socket", &[2]), EPERM);
}
