//! The ENOSYS check that runc adds in front of a filter: numbers above the largest one that the profile names.
//!
//! The table for x86_64 was measured on runc 1.1.5, syscall by syscall.

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::oci::{self, Dialect, EnosysAbove, ReadOptions};

use crate::oci::support::{args, entry, options, read, text, verdict_of};

fn with_enosys(arches: &[Arch]) -> ReadOptions {
    let mut options = options(Dialect::Runc);
    options.arches = arches.to_vec();
    options.enosys_above = None;
    options
}

fn check(options: &ReadOptions, entries: &[String], token: Arch, table: &[(u32, &str)]) {
    let profile = read(entries, options);
    for (nr, verdict) in table {
        assert_eq!(verdict_of(&profile.policy, token, *nr, &[]), *verdict, "{nr:#x}");
    }
}

#[test]
fn without_x32_the_numbers_of_x32_are_not_affected() {
    let entries = [entry("getpid close_range", "ALLOW", "")];
    let table = [
        (39, "ALLOW"),
        (40, "ERRNO(EPERM)"),
        (436, "ALLOW"),
        (437, "ERRNO(ENOSYS)"),
        (0x3fff_ffff, "ERRNO(ENOSYS)"),
        (0x4000_0000, "KILL_THREAD"),
        (0x7fff_ffff, "KILL_THREAD"),
        (0x8000_0000, "ERRNO(ENOSYS)"),
        (0xbfff_ffff, "ERRNO(ENOSYS)"),
        (0xc000_0000, "KILL_THREAD"),
        (0xffff_fffe, "KILL_THREAD"),
        (0xffff_ffff, "ERRNO(EPERM)"),
    ];
    check(&with_enosys(&[Arch::X86_64]), &entries, Arch::X86_64, &table);
}

#[test]
fn x86_64_and_x32_have_a_bound_each() {
    // rt_sigaction has a different number on x32, 512, which is the bound there.
    let entries = [entry("getpid rt_sigaction", "ALLOW", "")];
    let table = [
        (39, "ALLOW"),
        (38, "ERRNO(EPERM)"),
        (40, "ERRNO(ENOSYS)"),
        (0x4000_0000 + 39, "ALLOW"),
        (0x4000_0000 + 511, "ERRNO(EPERM)"),
        (0x4000_0000 + 512, "ALLOW"),
        (0x4000_0000 + 513, "ERRNO(ENOSYS)"),
        (0x8000_0000, "ERRNO(ENOSYS)"),
        (0xffff_ffff, "ERRNO(ENOSYS)"),
    ];
    check(&with_enosys(&[Arch::X86_64, Arch::X32]), &entries, Arch::X86_64, &table);
}

#[test]
fn names_count_whatever_the_action_of_their_entry() {
    let entries = [
        entry("getpid", "ALLOW", ""),
        entry("getppid", "ERRNO", ""),
        entry("no_such_call", "ALLOW", ""),
        entry("getpgid", "ALLOW", &args(&["0 EQ 1"])),
    ];
    let table = [(110, "ERRNO(EPERM)"), (121, "ERRNO(EPERM)"), (122, "ERRNO(ENOSYS)")];
    check(&with_enosys(&[Arch::X86_64]), &entries, Arch::X86_64, &table);
}

#[test]
fn entries_that_do_not_apply_do_not_count() {
    let gated = entry("getpgid", "ALLOW", "\"includes\": {\"caps\": [\"CAP_BPF\"]}");
    let entries = [entry("getpid", "ALLOW", ""), gated];
    let mut options = with_enosys(&[Arch::X86_64]);
    options.dialect = Some(Dialect::Docker);
    check(&options, &entries, Arch::X86_64, &[(40, "ERRNO(ENOSYS)"), (121, "ERRNO(ENOSYS)")]);
}

#[test]
fn the_check_is_on_for_docker_and_runc_and_can_be_chosen() {
    let entries = [entry("getpid", "ALLOW", "")];
    for dialect in Dialect::ALL {
        let mut options = with_enosys(&[Arch::X86_64]);
        options.dialect = Some(dialect);
        let on = matches!(dialect, Dialect::Docker | Dialect::Runc);
        let (asked_on, asked_off) = (Some(EnosysAbove::On), Some(EnosysAbove::Off));
        for (asked, expected) in [(None, on), (asked_on, true), (asked_off, false)] {
            options.enosys_above = asked;
            let verdict = if expected { "ERRNO(ENOSYS)" } else { "ERRNO(EPERM)" };
            check(&options, &entries, Arch::X86_64, &[(500, verdict)]);
        }
    }
}

#[test]
fn profiles_with_a_permissive_default_do_not_get_the_check() {
    for (action, above) in [
        ("ALLOW", "ALLOW"),
        ("LOG", "LOG"),
        ("TRACE", "TRACE(1)"),
        ("KILL", "ERRNO(ENOSYS)"),
        ("TRAP", "ERRNO(ENOSYS)"),
    ] {
        let text =
            text(&entry("getpid", "ERRNO", "")).replacen("ACT_ERRNO", &format!("ACT_{action}"), 1);
        let profile = oci::read(&text, &with_enosys(&[Arch::X86_64])).unwrap();
        assert_eq!(verdict_of(&profile.policy, Arch::X86_64, 500, &[]), above, "{action}");
        assert_eq!(verdict_of(&profile.policy, Arch::X86_64, 39, &[]), "ERRNO(EPERM)");
    }
}

#[test]
fn other_architectures_have_one_bound_and_ibm_z_also_number_zero() {
    let entries = [entry("getpid openat2", "ALLOW", "")];
    check(
        &with_enosys(&[Arch::Aarch64]),
        &entries,
        Arch::Aarch64,
        &[(0, "ERRNO(EPERM)"), (437, "ALLOW"), (438, "ERRNO(ENOSYS)"), (u32::MAX, "ERRNO(ENOSYS)")],
    );
    check(
        &with_enosys(&[Arch::S390x]),
        &entries,
        Arch::S390x,
        &[(0, "ERRNO(ENOSYS)"), (1, "ERRNO(EPERM)"), (20, "ALLOW"), (438, "ERRNO(ENOSYS)")],
    );
    // ENOSYS is 89 there.
    let profile = read(&entries, &with_enosys(&[Arch::Mipsel64]));
    let mut data = callgate::SeccompData { nr: 5438, ..Default::default() };
    data.arch = Arch::Mipsel64.token();
    assert_eq!(profile.policy.evaluate(&data), callgate::Verdict::errno(89));
}

#[test]
fn syscalls_behind_a_multiplexer_do_not_count_even_with_a_number() {
    // sendmmsg is 345 on x86 and 358 on s390x, semtimedop 392 on s390x: none
    // of them counts, because libseccomp has negative numbers for them.
    for (arch, bound) in [
        (Arch::X86, 20),
        (Arch::S390x, 20),
        (Arch::S390, 20),
        (Arch::Ppc64le, 20),
        (Arch::Ppc, 20),
        (Arch::Mips, 4020),
        (Arch::Mipsel, 4020),
    ] {
        let entries = [entry("getpid sendmmsg recvmmsg accept4 shmget semtimedop", "ALLOW", "")];
        let profile = read(&entries, &with_enosys(&[arch]));
        let verdict = |nr| verdict_of(&profile.policy, arch, nr, &[]);
        assert_eq!(verdict(bound), "ALLOW", "{arch}");
        let enosys = callgate::Verdict::errno(arch.enosys()).to_string();
        assert_eq!(verdict(bound + 1), enosys, "{arch}");
        // So the check overrides the rule for the syscall itself.
        let nr = arch.number("sendmmsg").unwrap();
        assert_eq!(verdict(nr), enosys, "{arch}");
    }
    // On architectures without socketcall, they count.
    let entries = [entry("getpid sendmmsg", "ALLOW", "")];
    check(
        &with_enosys(&[Arch::X86_64]),
        &entries,
        Arch::X86_64,
        &[(307, "ALLOW"), (306, "ERRNO(EPERM)")],
    );
}

#[test]
fn an_architecture_with_only_such_names_gets_no_check() {
    let entries = [entry("socket connect", "ALLOW", "")];
    let table = [(1, "ERRNO(EPERM)"), (359, "ALLOW"), (5000, "ERRNO(EPERM)")];
    check(&with_enosys(&[Arch::X86]), &entries, Arch::X86, &table);
}

/// Measured with `generatePatch` of runc 1.1.5, 1.3.6 and 1.5.0, whose stub has 9 instructions in each of these cases.
#[test]
fn a_default_errno_of_enosys_does_not_disable_the_check() {
    let entry = entry("getpid", "ALLOW", "");
    let with = |action: &str, errno: &str| {
        let given = format!("\"SCMP_ACT_{action}\", \"defaultErrnoRet\": {errno}");
        text(&entry).replacen("\"SCMP_ACT_ERRNO\"", &given, 1).replacen(
            '{',
            "{\"architectures\": [\"SCMP_ARCH_X86_64\"], ",
            1,
        )
    };
    for (action, below) in [
        ("KILL", "KILL_THREAD"),
        ("KILL_THREAD", "KILL_THREAD"),
        ("KILL_PROCESS", "KILL_PROCESS"),
        ("TRAP", "TRAP"),
        ("ERRNO", "ERRNO(ENOSYS)"),
    ] {
        for version in [EnosysAbove::On, EnosysAbove::Runc1_1] {
            let mut options = with_enosys(&[]);
            options.enosys_above = Some(version);
            let profile = oci::read(&with(action, "38"), &options).unwrap();
            let verdict = |nr| verdict_of(&profile.policy, Arch::X86_64, nr, &[]);
            assert_eq!((&*verdict(450), &*verdict(38)), ("ERRNO(ENOSYS)", below), "{action}");
        }
    }
    // The number with which runc compares is not an errno.
    assert!(oci::read(&with("KILL", "327718"), &with_enosys(&[])).is_err());
}

#[test]
fn runc_1_1_adds_the_check_only_for_listed_architectures() {
    let entry = entry("getpid", "ALLOW", "");
    let with =
        |arches: &str| text(&entry).replacen('{', &format!("{{\"architectures\": [{arches}], "), 1);
    let (native, other) = ("\"SCMP_ARCH_X86_64\"", "\"SCMP_ARCH_X86\"");
    let both = format!("{native}, {other}");
    for (arches, enosys, x86_64, x86) in [
        ("", EnosysAbove::Runc1_1, "ERRNO(EPERM)", "KILL_THREAD"),
        (native, EnosysAbove::Runc1_1, "ERRNO(ENOSYS)", "KILL_THREAD"),
        (other, EnosysAbove::Runc1_1, "ERRNO(EPERM)", "ERRNO(ENOSYS)"),
        (&both, EnosysAbove::Runc1_1, "ERRNO(ENOSYS)", "ERRNO(ENOSYS)"),
        ("", EnosysAbove::On, "ERRNO(ENOSYS)", "KILL_THREAD"),
        (other, EnosysAbove::On, "ERRNO(ENOSYS)", "ERRNO(ENOSYS)"),
    ] {
        let mut options = with_enosys(&[]);
        options.enosys_above = Some(enosys);
        let profile = oci::read(&with(arches), &options).unwrap();
        let verdict = |arch| verdict_of(&profile.policy, arch, 500, &[]);
        assert_eq!((&*verdict(Arch::X86_64), &*verdict(Arch::X86)), (x86_64, x86), "{arches}");
    }
}

#[test]
fn the_defaults_of_options_are_those_of_docker() {
    let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
    assert_eq!(options.caps.to_string(), "docker");
    assert_eq!((options.dialect, options.enosys_above, options.strict), (None, None, false));
}
