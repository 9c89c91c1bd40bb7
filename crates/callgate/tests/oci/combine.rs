//! What conditions compare, and how entries combine.

use callgate::Arch;
use callgate_formats::oci::Dialect;

use crate::oci::support::{
    args, entry, errors, on, options, read, syscall, text, verdict_of, warnings,
};

#[test]
fn every_action_has_its_verdict() {
    let expected = [
        ("ALLOW", "", "ALLOW"),
        ("ERRNO", "\"errnoRet\": 2", "ERRNO(ENOENT)"),
        ("ERRNO", "\"errnoRet\": 4094", "ERRNO(4094)"),
        ("ERRNO", "\"errnoRet\": 0", "ERRNO(0)"),
        ("KILL", "", "KILL_THREAD"),
        ("KILL_THREAD", "", "KILL_THREAD"),
        ("KILL_PROCESS", "", "KILL_PROCESS"),
        ("TRAP", "", "TRAP"),
        ("TRACE", "", "TRACE(1)"),
        ("TRACE", "\"errnoRet\": 40000", "TRACE(40000)"),
        ("LOG", "", "LOG"),
        ("NOTIFY", "", "USER_NOTIF"),
    ];
    for (action, more, verdict) in expected {
        let profile = read(&[entry("getpid", action, more)], &options(Dialect::Runc));
        assert_eq!(syscall(&profile, "getpid", &[]), verdict, "{action} {more}");
        assert_eq!(syscall(&profile, "getppid", &[]), "ERRNO(EPERM)");
    }
}

#[test]
fn every_comparison_is_unsigned_and_64_bits_wide() {
    let big = 0x8000_0000_0000_0000;
    let table: [(&str, &[u64], &[u64]); 7] = [
        ("1 EQ 5", &[5], &[4, 6, 0x1_0000_0005]),
        ("1 NE 5", &[4, 6, 0x1_0000_0005], &[5]),
        ("1 LT 5", &[0, 4], &[5, 6, big]),
        ("1 LE 5", &[0, 5], &[6, big, 0x1_0000_0000]),
        ("1 GT 5", &[6, big, 0x1_0000_0000], &[5, 0]),
        ("1 GE 5", &[5, big, 0x1_0000_0000], &[4, 0]),
        ("1 MASKED_EQ 0xf0f 0x105", &[0x105, 0x1f5, u64::MAX - 0xf0f + 0x105], &[5, 0x104, 0x100]),
    ];
    for (condition, holds, fails) in table {
        let entries = [entry("openat", "ALLOW", &args(&[condition]))];
        let profile = read(&entries, &options(Dialect::Runc));
        for value in holds {
            assert_eq!(
                syscall(&profile, "openat", &[7, *value]),
                "ALLOW",
                "{condition} {value:#x}"
            );
        }
        for value in fails {
            let verdict = syscall(&profile, "openat", &[7, *value]);
            assert_eq!(verdict, "ERRNO(EPERM)", "{condition} {value:#x}");
        }
    }
}

#[test]
fn conditions_of_one_entry_must_all_hold_and_entries_add_up() {
    let entries = [
        entry("fcntl", "ALLOW", &args(&["0 EQ 1", "1 EQ 2"])),
        entry("fcntl", "ALLOW", &args(&["2 EQ 9"])),
    ];
    let profile = read(&entries, &options(Dialect::Runc));
    for (given, verdict) in [
        ([1, 2, 0], "ALLOW"),
        ([1, 3, 0], "ERRNO(EPERM)"),
        ([0, 2, 0], "ERRNO(EPERM)"),
        ([0, 0, 9], "ALLOW"),
    ] {
        assert_eq!(syscall(&profile, "fcntl", &given), verdict, "{given:?}");
    }
}

#[test]
fn null_and_empty_args_are_no_condition() {
    for given in ["\"args\": null", "\"args\": []", ""] {
        let profile = read(&[entry("dup", "ALLOW", given)], &options(Dialect::Runc));
        assert_eq!(syscall(&profile, "dup", &[3]), "ALLOW");
    }
}

#[test]
fn the_first_unconditional_rule_of_a_syscall_decides_it() {
    let conditional = entry("dup", "LOG", &args(&["0 EQ 1"]));
    let allow = entry("dup", "ALLOW", "");
    let kill = entry("dup", "KILL", "");
    for (entries, verdict) in [
        ([conditional.clone(), allow.clone(), kill.clone()], "ALLOW"),
        ([allow.clone(), conditional.clone(), kill.clone()], "ALLOW"),
        ([kill, conditional, allow], "KILL_THREAD"),
    ] {
        let profile = read(&entries, &options(Dialect::Runc));
        assert_eq!(syscall(&profile, "dup", &[1]), verdict);
        assert_eq!(syscall(&profile, "dup", &[2]), verdict);
        assert_eq!(warnings(&profile).len(), 2, "{:?}", warnings(&profile));
    }
}

#[test]
fn entries_with_the_default_verdict_are_skipped() {
    let entries = [
        entry("dup", "ERRNO", ""),
        entry("dup", "ERRNO", "\"errnoRet\": 1"),
        entry("dup", "ALLOW", &args(&["0 EQ 1"])),
    ];
    let profile = read(&entries, &options(Dialect::Runc));
    assert_eq!(syscall(&profile, "dup", &[1]), "ALLOW");
    assert_eq!(syscall(&profile, "dup", &[2]), "ERRNO(EPERM)");
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn where_conditions_overlap_the_precedence_of_libseccomp_decides() {
    // Two conditions, arguments that match both, and the first (LOG) decides.
    let table: [(&[&str], &[&str], &[u64]); 7] = [
        (&["1 EQ 2"], &["0 EQ 1"], &[1, 2]),
        (&["0 EQ 1"], &["0 LT 9"], &[1]),
        (&["0 EQ 1"], &["0 GE 0"], &[1]),
        (&["0 LE 5"], &["0 GE 1"], &[3]),
        (&["0 GT 5"], &["0 GT 2"], &[9]),
        (&["0 LT 5"], &["0 LT 9"], &[3]),
        (&["0 EQ 1", "1 EQ 2"], &["0 EQ 1", "1 GE 0"], &[1, 2]),
    ];
    for (first, second, given) in table {
        let mut entries =
            [entry("dup2", "LOG", &args(first)), entry("dup2", "ALLOW", &args(second))];
        for _ in 0..2 {
            let profile = read(&entries, &options(Dialect::Runc));
            assert_eq!(syscall(&profile, "dup2", given), "LOG", "{first:?} {second:?}");
            entries.reverse();
        }
    }
}

#[test]
fn of_conditions_of_equal_rank_the_first_one_decides() {
    // libseccomp's programs compare the high words first, which are equal here except for the mask.
    let table: [(&str, &str, u64); 4] = [
        ("0 MASKED_EQ 0xff 0x5", "0 MASKED_EQ 0xf 0x5", 5),
        ("0 EQ 3", "0 MASKED_EQ 1 1", 3),
        ("0 NE 4", "0 MASKED_EQ 1 1", 3),
        ("0 GT 2", "0 GE 2", 3),
    ];
    for (one, other, given) in table {
        for [first, second] in [[one, other], [other, one]] {
            let entries =
                [entry("dup2", "LOG", &args(&[first])), entry("dup2", "ALLOW", &args(&[second]))];
            let profile = read(&entries, &options(Dialect::Runc));
            assert_eq!(syscall(&profile, "dup2", &[given]), "LOG", "{first} {second}");
        }
    }
}

#[test]
fn a_longer_condition_has_no_effect_after_its_prefix_and_conflicts_before_it() {
    let short = entry("dup2", "ALLOW", &args(&["0 EQ 1"]));
    let long = entry("dup2", "LOG", &args(&["0 EQ 1", "1 EQ 2"]));
    let profile = read(&[short.clone(), long.clone()], &options(Dialect::Runc));
    assert_eq!(syscall(&profile, "dup2", &[1, 2]), "ALLOW");
    assert_eq!(
        warnings(&profile),
        ["this rule for `dup2` has no effect: the rule for `dup2` at 1:61 gives ALLOW whenever \
          this one matches"]
    );
    assert_eq!(
        errors(&[long, short], &options(Dialect::Runc)),
        ["`dup2` gets ALLOW here, but LOG under an overlapping condition at 1:61"]
    );
}

#[test]
fn a_condition_with_more_comparisons_than_another_has_no_effect() {
    let wide = entry("dup2", "ALLOW", &args(&["1 EQ 2"]));
    let narrow = |action| entry("dup2", action, &args(&["0 EQ 1", "1 EQ 2"]));
    for entries in [[wide.clone(), narrow("LOG")], [narrow("LOG"), wide.clone()]] {
        let profile = read(&entries, &options(Dialect::Runc));
        assert_eq!(syscall(&profile, "dup2", &[1, 2]), "ALLOW");
        assert!(warnings(&profile)[0].starts_with("this rule for `dup2` has no effect"));
    }
    // With the same verdict it is dropped, and no longer conflicts with its prefix.
    let prefix = entry("dup2", "LOG", &args(&["0 EQ 1"]));
    let profile = read(&[wide, narrow("ALLOW"), prefix], &options(Dialect::Runc));
    assert_eq!(syscall(&profile, "dup2", &[1, 2]), "ALLOW");
    assert_eq!(syscall(&profile, "dup2", &[1, 3]), "LOG");
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn the_same_condition_with_another_action_is_a_conflict() {
    let entries = [
        entry("dup2", "ALLOW", &args(&["0 EQ 1", "1 NE 2"])),
        entry("dup2", "KILL", &args(&["1 NE 2", "0 EQ 1"])),
    ];
    assert_eq!(
        errors(&entries, &options(Dialect::Crun)),
        ["`dup2` gets KILL_THREAD here, but ALLOW under the same condition at 1:61"]
    );
    let same = [entries[0].clone(), entries[0].clone()];
    assert_eq!(warnings(&read(&same, &options(Dialect::Crun))), [""; 0]);
}

#[test]
fn on_32_bit_architectures_only_low_words_are_compared() {
    let mut options = options(Dialect::Runc);
    options.arches = vec![Arch::X86_64, Arch::X86, Arch::X32];
    let entries = [
        entry("dup2", "ALLOW", &args(&["0 EQ 0x100000005"])),
        entry("dup2", "ALLOW", &args(&["1 MASKED_EQ 0xff00000000 0x100000000"])),
    ];
    let profile = read(&entries, &options);
    let policy = &profile.policy;
    assert_eq!(on(policy, Arch::X86_64, "dup2", &[5]), "ERRNO(EPERM)");
    assert_eq!(on(policy, Arch::X86_64, "dup2", &[0x1_0000_0005]), "ALLOW");
    assert_eq!(on(policy, Arch::X86_64, "dup2", &[0, 0x1_0000_0007]), "ALLOW");
    for arch in [Arch::X86, Arch::X32] {
        // The low word of the second entry's mask is 0, so the syscall is always allowed.
        assert_eq!(on(policy, arch, "dup2", &[6, 7]), "ALLOW", "{arch}");
    }
    assert!(warnings(&profile)[0].contains("compared with 0x5 instead of 0x100000005"));
    let only_first = read(&entries[..1], &options);
    for arch in [Arch::X86, Arch::X32] {
        assert_eq!(on(&only_first.policy, arch, "dup2", &[0x7_0000_0005]), "ALLOW", "{arch}");
        assert_eq!(on(&only_first.policy, arch, "dup2", &[6]), "ERRNO(EPERM)", "{arch}");
    }
}

#[test]
fn x86_64_and_x32_are_distinguished_by_number() {
    let entries = [entry("getpid", "ALLOW", "")];
    type Numbers = &'static [(u32, &'static str)];
    let table: [(&[Arch], Numbers); 3] = [
        (
            &[Arch::X86_64],
            &[
                (39, "ALLOW"),
                (0x3fff_ffff, "ERRNO(EPERM)"),
                (0x4000_0000, "KILL_THREAD"),
                (0x4000_0027, "KILL_THREAD"),
                (0x8000_0000, "KILL_THREAD"),
                (0xffff_fffe, "KILL_THREAD"),
                (0xffff_ffff, "ERRNO(EPERM)"),
            ],
        ),
        (
            &[Arch::X32],
            &[
                (39, "KILL_THREAD"),
                (0x3fff_ffff, "KILL_THREAD"),
                (0x4000_0027, "ALLOW"),
                (0x4000_0028, "ERRNO(EPERM)"),
                (0xffff_ffff, "ERRNO(EPERM)"),
            ],
        ),
        (
            &[Arch::X86_64, Arch::X32],
            &[
                (39, "ALLOW"),
                (40, "ERRNO(EPERM)"),
                (0x4000_0027, "ALLOW"),
                (0x4000_0028, "ERRNO(EPERM)"),
                (0x8000_0000, "ERRNO(EPERM)"),
            ],
        ),
    ];
    for (arches, numbers) in table {
        let mut options = options(Dialect::Runc);
        options.arches = arches.to_vec();
        let profile = read(&entries, &options);
        assert_eq!(profile.policy.sections().len(), 1);
        for (nr, verdict) in numbers {
            let given = verdict_of(&profile.policy, Arch::X86_64, *nr, &[]);
            assert_eq!(given, *verdict, "{arches:?} {nr:#x}");
        }
    }
    let profile = read(&entries, &options(Dialect::Runc));
    assert_eq!(on(&profile.policy, Arch::Aarch64, "getpid", &[]), "KILL_THREAD");
}

#[test]
fn syscalls_behind_a_multiplexer_also_get_a_rule_for_it() {
    let mut options = options(Dialect::Runc);
    options.arches = vec![Arch::X86];
    let entries = [
        entry("connect", "ALLOW", ""),
        entry("socket", "LOG", &args(&["0 EQ 2", "1 EQ 1"])),
        entry("shmget", "TRAP", ""),
    ];
    let profile = read(&entries, &options);
    let policy = &profile.policy;
    for (name, args, verdict) in [
        ("connect", [9, 9], "ALLOW"),
        ("socketcall", [3, 9], "ALLOW"),
        ("socket", [2, 1], "LOG"),
        ("socket", [2, 2], "ERRNO(EPERM)"),
        // There, argument 0 is the number of the sub-call; the condition on argument 1 remains.
        ("socketcall", [1, 1], "LOG"),
        ("socketcall", [1, 2], "ERRNO(EPERM)"),
        ("socketcall", [2, 0], "ERRNO(EPERM)"),
        ("ipc", [23, 0], "TRAP"),
        ("ipc", [24, 0], "ERRNO(EPERM)"),
        ("shmget", [0, 0], "TRAP"),
    ] {
        assert_eq!(on(policy, Arch::X86, name, &args), verdict, "{name} {args:?}");
    }
    assert_eq!(
        warnings(&profile),
        ["on x86, programs can also reach `socket` through `socketcall`, where a filter cannot \
          see its arguments; this rule does not check them there"]
    );
    let allowed = read(&[entry("socketcall", "LOG", ""), entries[1].clone()], &options);
    assert_eq!(on(&allowed.policy, Arch::X86, "socketcall", &[1, 2]), "LOG");
    assert_eq!(warnings(&allowed), [""; 0]);

    let contradiction =
        [entry("socket", "ALLOW", &args(&["0 EQ 1"])), entry("socket", "LOG", &args(&["0 EQ 2"]))];
    assert_eq!(
        errors(&contradiction, &options),
        ["`socket` gets LOG here, but ALLOW under the same condition at 1:61 (through \
          `socketcall` on x86)"]
    );
    options.arches = vec![Arch::X86_64];
    assert_eq!(warnings(&read(&contradiction, &options)), [""; 0]);
}

#[test]
fn rules_that_libseccomp_rejects_are_errors_except_in_oci() {
    // libseccomp 2.5.4 rejects each of these with EEXIST.
    type Rules = &'static [(&'static str, &'static [&'static str])];
    let table: [(Rules, &str); 5] = [
        (
            // Both compare the high word of argument 0 with the same value.
            &[("ALLOW", &["0 GT 5", "1 EQ 0"]), ("KILL", &["0 GT 9"])],
            "`dup2` gets KILL_THREAD here, but ALLOW under an overlapping condition at 1:61",
        ),
        (
            &[("ALLOW", &["0 EQ 1", "1 EQ 2"]), ("LOG", &["0 EQ 1"])],
            "`dup2` gets LOG here, but ALLOW under an overlapping condition at 1:61",
        ),
        (
            &[("ALLOW", &["0 NE 1", "1 EQ 2"]), ("LOG", &["0 NE 2"])],
            "`dup2` gets LOG here, but ALLOW under an overlapping condition at 1:61",
        ),
        (
            &[("ALLOW", &["0 LT 7"]), ("LOG", &["1 EQ 1"]), ("KILL", &["0 LT 7"])],
            "`dup2` gets KILL_THREAD here, but ALLOW under the same condition at 1:61",
        ),
        (
            &[("ALLOW", &["0 GE 5", "1 EQ 0"]), ("LOG", &["0 GT 5"])],
            "`dup2` gets LOG here, but ALLOW under an overlapping condition at 1:61",
        ),
    ];
    for (rules, message) in table {
        let entries: Vec<String> =
            rules.iter().map(|(action, tests)| entry("dup2", action, &args(tests))).collect();
        for dialect in [Dialect::Runc, Dialect::Crun, Dialect::Docker, Dialect::Podman] {
            assert_eq!(errors(&entries, &options(dialect)), [message], "{dialect} {rules:?}");
        }
        // By the specification, only the same condition is a contradiction.
        let is_same = message.contains("the same condition");
        let read = callgate_formats::oci::read(&text(&entries.join(",")), &options(Dialect::Oci));
        assert_eq!(read.is_err(), is_same, "{rules:?}");
    }
}

#[test]
fn on_32_bit_architectures_no_high_words_are_shared() {
    let mut options = options(Dialect::Runc);
    options.arches = vec![Arch::X86];
    let entries = [
        entry("dup2", "ALLOW", &args(&["0 GT 5", "1 EQ 0"])),
        entry("dup2", "KILL", &args(&["0 GT 9"])),
    ];
    let profile = read(&entries, &options);
    assert_eq!(on(&profile.policy, Arch::X86, "dup2", &[10, 0]), "KILL_THREAD");
    assert_eq!(on(&profile.policy, Arch::X86, "dup2", &[9, 0]), "ALLOW");
}

#[test]
fn conflicting_rules_for_a_missing_syscall_are_rejected() {
    // x86_64 does not have `send`; libseccomp keeps the rules under a pseudo syscall number.
    let entries = [
        entry("send", "ALLOW", &args(&["0 EQ 1"])),
        entry("send", "LOG", &args(&["0 EQ 1"])),
        entry("getpid", "ALLOW", ""),
    ];
    assert_eq!(
        errors(&entries, &options(Dialect::Runc)),
        ["`send` gets LOG here, but ALLOW under the same condition at 1:61 (on x86_64, which \
             does not have this syscall)"]
    );
    assert_eq!(warnings(&read(&entries, &options(Dialect::Oci))), [""; 0]);
}

#[test]
fn libseccomp_rejects_errno_4095() {
    for dialect in Dialect::ALL {
        let entries = [entry("dup2", "ERRNO", "\"errnoRet\": 4095")];
        let read = callgate_formats::oci::read(&text(&entries.join(",")), &options(dialect));
        assert_eq!(read.is_ok(), dialect == Dialect::Oci, "{dialect}");
    }
}

#[test]
fn crun_uses_six_conditions() {
    let six = ["0 EQ 1", "1 EQ 1", "2 EQ 1", "3 EQ 1", "4 EQ 1", "5 EQ 1"];
    let entries = [entry("dup2", "ALLOW", &args(&[&six[..], &["5 EQ 2"]].concat()))];
    for (dialect, all, one) in [
        (Dialect::Crun, "ALLOW", "ERRNO(EPERM)"),
        (Dialect::Podman, "ALLOW", "ERRNO(EPERM)"),
        // A repeated index makes each condition a separate rule.
        (Dialect::Runc, "ALLOW", "ALLOW"),
        (Dialect::Docker, "ALLOW", "ALLOW"),
        (Dialect::Oci, "ERRNO(EPERM)", "ERRNO(EPERM)"),
    ] {
        let profile = read(&entries, &options(dialect));
        assert_eq!(syscall(&profile, "dup2", &[1, 1, 1, 1, 1, 1]), all, "{dialect}");
        assert_eq!(syscall(&profile, "dup2", &[0, 0, 0, 0, 0, 2]), one, "{dialect}");
    }
}
