//! The nearest stricter policy.

use callgate::convert::{ConvertOptions, ListForm, convert, convert_diagram};
use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::SyscallSet;
use callgate_core::diagram::Store;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_formats::kafel;
use callgate_formats::oci::{self, Dialect};
use callgate_testing::languages::to;
use callgate_testing::reader::{call, numbered};

use super::support::{closest, closest_options, policy};

fn verdict(policy: &Policy, name: &str, args: &[u64]) -> Verdict {
    policy.evaluate(&call(Arch::X86_64, name, args))
}

#[test]
fn a_conditional_syscall_is_denied_where_there_are_no_conditions() {
    let text = "ALLOW { read, write, socket(f) { f == 1 } } DEFAULT ERRNO(1)";
    let converted = closest(text, to("systemd"));
    assert!(!converted.text.contains("socket"), "{}", converted.text);
    assert!(converted.text.contains("SystemCallErrorNumber=EPERM"), "{}", converted.text);
    let why: Vec<&str> = converted.losses.iter().map(|loss| loss.why.as_str()).collect();
    assert!(why.contains(&"SystemCallFilter= has no conditions on arguments"), "{why:?}");
}

#[test]
fn nothing_else_changes() {
    let text = "ALLOW { read, write, SYSCALL[400] } TRAP(7) { mount } \
                ALLOW { socket(f) { f == 1 } } DEFAULT KILL";
    let converted = closest(text, to("oci"));
    let mut options = oci::ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
    options.dialect = Some(Dialect::Oci);
    let written = oci::read(&converted.text, &options).unwrap().policy;
    let source = policy(text, &[Arch::X86_64]);
    for (name, args) in [("read", &[][..]), ("socket", &[1]), ("socket", &[2]), ("getpid", &[])] {
        assert_eq!(verdict(&written, name, args), verdict(&source, name, args), "{name}");
    }
    assert_eq!(verdict(&written, "mount", &[]), Verdict::trap(0));
    assert_eq!(converted.losses.len(), 2, "{:?}", converted.losses);
}

#[test]
fn a_list_of_denied_syscalls_stays_one() {
    let text = "ERRNO(1) { mount, umount2, ptrace } DEFAULT ALLOW";
    let converted = closest(text, to("systemd"));
    assert!(
        converted.text.contains("SystemCallFilter=~mount ptrace umount2"),
        "{}",
        converted.text
    );
    assert!(converted.text.contains("SystemCallErrorNumber=EPERM"), "{}", converted.text);
}

#[test]
fn logged_syscalls_stay_logged() {
    let text = "ALLOW { read, write, exit_group } LOG { socket } DEFAULT ERRNO(1)";
    let converted = closest(text, to("systemd"));
    assert!(converted.text.contains("SystemCallLog=socket"), "{}", converted.text);
}

#[test]
fn kafel_needs_no_nearest_policy_for_conditions() {
    let text = "ALLOW { openat(d, p, f, m) { (f & 3) == 0 && d > 5 || m <= 0x1ffffffff } } DEFAULT ERRNO(1)";
    let converted = closest(text, to("kafel"));
    assert_eq!(converted.losses, []);
    let options = kafel::ReadOptions::new(Arch::X86_64);
    let written = kafel::read(&converted.text, &options).unwrap().policy;
    let source = policy(text, &[Arch::X86_64]);
    for args in
        [[6, 0, 4, 1 << 40], [5, 0, 4, 1 << 40], [6, 0, 1, 1 << 40], [0, 0, 3, 0x1_ffff_ffff]]
    {
        assert_eq!(
            verdict(&written, "openat", &args),
            verdict(&source, "openat", &args),
            "{args:?}"
        );
    }
}

#[test]
fn systemd_decides_about_the_architectures_of_its_build_only() {
    // On a machine of x86-64 no syscall has another architecture.
    let arches = [Arch::X86_64, Arch::X86, Arch::X32];
    let policy = policy("ALLOW { read, write, exit_group } DEFAULT ERRNO(1)", &arches);
    let converted = convert(&policy, &closest_options(to("systemd"))).unwrap();
    assert!(converted.losses.iter().any(|loss| loss.why.contains("does not know")));
    assert!(converted.text.contains("SystemCallErrorNumber=EPERM\n"), "{}", converted.text);
}

/// systemd reads `ENOSYS` for the main architecture: 89 on MIPS, where 38 has no such name.
#[test]
fn systemd_gets_enosys_of_the_main_architecture() {
    for (errno, written) in [(38, "38"), (89, "ENOSYS"), (1, "EPERM")] {
        let section = |arch, nr| {
            let syscalls = SyscallSet::one(nr);
            let verdict = Verdict::errno(errno);
            let rule = Rule { syscalls, when: Condition::always(), verdict };
            Section::new(arch, vec![rule], Verdict::ALLOW)
        };
        // shmat, which is also reached through ipc on the second one.
        let sections = vec![section(Arch::Mips64, 5029), section(Arch::Mips, 4397)];
        let policy = Policy::new(sections, Verdict::KILL_THREAD).unwrap();
        let converted = convert(&policy, &closest_options(to("systemd"))).unwrap();
        let expected = format!("SystemCallErrorNumber={written}\nSystemCallFilter=~shmat\n");
        assert!(converted.text.ends_with(&expected), "{}", converted.text);
        let lost: Vec<_> = converted.losses.iter().flat_map(|loss| &loss.syscalls).collect();
        assert_eq!(lost, [&(Arch::Mips, "ipc")]);
    }
}

/// `recvmmsg` and the `socketcall` behind which it is get rules of both conditions, with different verdicts.
#[test]
fn no_profile_has_rules_that_contradict_each_other_behind_socketcall() {
    let rule = |numbers, arg, mask, value, verdict| {
        let test = Test { mask, ..Test::new(Field::arg(arg).unwrap(), Cmp::Ne, value) };
        let syscalls = SyscallSet::from_ranges([numbers]);
        Rule { syscalls, when: Condition::test(test), verdict }
    };
    let rules = vec![
        rule((0, 357), 0, !2, 0x9d8f_70f9, Verdict::ALLOW),
        rule((8, 0x183e_d30f), 1, 1024, 0x16ab_9335, Verdict::LOG),
    ];
    let section = Section::new(Arch::S390x, rules, Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
    let error = convert(&policy, &closest_options(to("podman"))).unwrap_err().to_string();
    assert!(error.starts_with("libseccomp also applies rules to socketcall"), "{error}");
}

/// The entry for `socketcall` is after the one for `socket`, so the reader names `socketcall`.
#[test]
fn no_profile_has_rules_for_socketcall_that_contradict_those_behind_it() {
    let rule = |name, when, verdict| {
        let syscalls = SyscallSet::one(Arch::X86.number(name).unwrap());
        Rule { syscalls, when, verdict }
    };
    let is_socket = Condition::test(Test::new(Field::arg_low(0).unwrap(), Cmp::Eq, 1));
    let rules = vec![
        rule("socketcall", is_socket, Verdict::ALLOW),
        rule("socket", Condition::always(), Verdict::KILL_PROCESS),
    ];
    let x86 = Section::new(Arch::X86, rules, Verdict::errno(1));
    let aarch64 = Section::new(Arch::Aarch64, Vec::new(), Verdict::ALLOW);

    let policy = Policy::new(vec![x86.clone()], Verdict::KILL_THREAD).unwrap();
    let error = convert(&policy, &closest_options(to("oci"))).unwrap_err().to_string();
    assert_eq!(error, "libseccomp also applies rules to socketcall and ipc of x86");

    let policy = Policy::new(vec![x86, aarch64], Verdict::KILL_THREAD).unwrap();
    let converted = convert(&policy, &closest_options(to("oci"))).unwrap();
    assert_eq!(converted.arches, [Arch::Aarch64]);
    let why = "libseccomp also applies rules to socketcall and ipc of x86, so this is not an architecture of the profile";
    assert!(converted.losses.iter().any(|loss| loss.why == why), "{:?}", converted.losses);
}

/// Minijail's default action may be USER_NOTIF, which permits more than the errno of all other syscalls.
#[test]
fn the_default_action_of_minijail_permits_no_more_than_that_of_the_filter() {
    let when = Condition::always();
    let rule = Rule { syscalls: SyscallSet::one(220), when, verdict: Verdict::user_notif(0) };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(0));
    let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
    let converted = convert(&policy, &closest_options(to("minijail"))).unwrap();
    assert!(converted.text.contains("\n@default kill-process\n"), "{}", converted.text);
    assert!(converted.text.contains("\nsemtimedop: user-notify\n"), "{}", converted.text);
}

/// No host has x32 alone: LXC's rules are for x86-64, too.
#[test]
fn a_filter_for_x32_becomes_a_profile_of_lxc_for_its_host() {
    let when = Condition::always();
    let syscalls = SyscallSet::one(Arch::X32.number("read").unwrap());
    let rule = Rule { syscalls, when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
    let converted = convert(&policy, &closest_options(to("lxc"))).unwrap();
    assert_eq!(converted.arches, [Arch::X86_64, Arch::X86, Arch::X32]);
    assert_eq!(converted.text, "2\nallowlist errno 1\n[all]\n");
}

/// systemd has no `SystemCallErrorNumber=0`, but entries with this errno.
#[test]
fn systemd_gets_errno_0_for_single_syscalls() {
    for (names, expected) in [
        (
            [("semget", 0), ("mount", 0), ("chown", 1)],
            "SystemCallErrorNumber=EPERM\nSystemCallFilter=~chown mount semget\nSystemCallFilter=~mount:0 semget:0\n",
        ),
        (
            [("semget", 0), ("mount", 0), ("chown", 0)],
            "SystemCallFilter=~chown mount semget\nSystemCallFilter=~chown:0 mount:0 semget:0\n",
        ),
    ] {
        let rule = |(name, errno)| Rule {
            syscalls: SyscallSet::one(Arch::X86_64.number(name).unwrap()),
            when: Condition::always(),
            verdict: Verdict::errno(errno),
        };
        let section = Section::new(Arch::X86_64, names.map(rule).into(), Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
        let converted = convert(&policy, &closest_options(to("systemd"))).unwrap();
        assert!(converted.text.ends_with(expected), "{}", converted.text);
        let lost = converted.losses.iter().flat_map(|loss| &loss.syscalls);
        assert!(lost.copied().all(|(arch, _)| arch == Arch::X32), "{:?}", converted.losses);
    }
}

/// The meaning of a profile or a resource without the rules of runtimes.
fn read(text: &str, arches: &[Arch]) -> Policy {
    let mut options = oci::ReadOptions::new(arches[0], KernelVersion { major: 6, minor: 18 });
    options.dialect = Some(Dialect::Oci);
    options.arches = arches.to_vec();
    oci::read(text, &options).unwrap().policy
}

#[test]
fn values_are_listed_where_a_mask_would_be_too_large() {
    let families = (100..=104).map(|family| format!("f == {family}")).collect::<Vec<_>>();
    let text =
        format!("ALLOW {{ read, socket(f) {{ {} }} }} DEFAULT ERRNO(1)", families.join(" || "));
    for target in [to("oci"), to("docker"), to("podman"), to("k8s")] {
        let converted = closest(&text, target);
        let lost: Vec<_> = converted.losses.iter().flat_map(|loss| &loss.syscalls).collect();
        assert!(lost.iter().all(|(arch, _)| *arch == Arch::X32), "{target} {lost:?}");
        let numbers = converted.text.split(|c: char| !c.is_ascii_digit());
        assert!(numbers.filter_map(|one| one.parse::<u64>().ok()).all(|one| one < 1 << 53));
        assert_eq!(
            verdict(&read(&converted.text, &[Arch::X86_64]), "socket", &[104]),
            Verdict::ALLOW
        );
    }
}

#[test]
fn only_what_a_resource_cannot_say_is_lost() {
    let text = "ALLOW { read, lseek(fd, offset) { offset == 7 || offset == 0x8000000000000000 } } \
                ERRNO(2) { write(fd, buf, count) { fd == 3 && count == 0xffffffffffffffff } } \
                ALLOW { write } DEFAULT ERRNO(1)";
    let converted = closest(text, to("k8s"));
    let written = read(&converted.text, &[Arch::X86_64]);
    assert_eq!(verdict(&written, "lseek", &[0, 7]), Verdict::ALLOW);
    assert_eq!(verdict(&written, "lseek", &[0, 1 << 63]), Verdict::errno(1));
    // What is denied with one count only is denied with all, but for this descriptor only.
    assert_eq!(verdict(&written, "write", &[4, 0, u64::MAX]), Verdict::ALLOW);
    assert!(!verdict(&written, "write", &[3, 0, u64::MAX]).permits());
    let why = "values and masks of the resource are below 2^63";
    let loss = converted.losses.iter().find(|loss| loss.why == why).unwrap();
    assert_eq!(loss.names(), ["lseek", "write"]);
}

/// Each architecture permits other arguments; all permit what is written.
#[test]
fn a_syscall_gets_what_all_architectures_permit() {
    let rule = |arch: Arch, values: &[u64]| {
        let tests = values
            .iter()
            .map(|value| Condition::test(Test::new(Field::arg_low(0).unwrap(), Cmp::Eq, *value)));
        let syscalls = SyscallSet::one(arch.number("personality").unwrap());
        vec![Rule { syscalls, when: Condition::any(tests), verdict: Verdict::ALLOW }]
    };
    let section = |arch, values| Section::new(arch, rule(arch, values), Verdict::errno(1));
    let sections = vec![section(Arch::X86_64, &[1, 2, 3]), section(Arch::X86, &[2, 3, 4])];
    let policy = Policy::new(sections, Verdict::KILL_THREAD).unwrap();
    let converted = convert(&policy, &closest_options(to("podman"))).unwrap();
    let written = read(&converted.text, &[Arch::X86_64, Arch::X86]);
    for arch in [Arch::X86_64, Arch::X86] {
        let of = |value| {
            let nr = arch.number("personality").unwrap();
            let args = [value, 0, 0, 0, 0, 0];
            written.evaluate(&numbered(arch, nr, &args))
        };
        let found: Vec<u64> = (0..6).filter(|value| of(*value).permits()).collect();
        assert_eq!(found, [2, 3], "{arch}");
    }
}

/// A denial of some arguments of `socket` denies all sockets of `socketcall`, but x86 stays an architecture of the profile.
#[test]
fn a_denial_behind_a_multiplexer_costs_no_architecture() {
    let arches = [Arch::X86_64, Arch::X86, Arch::X32];
    let rule = |arch: Arch| {
        let family = if arch.is_64bit() { Field::arg(0) } else { Field::arg_low(0) };
        let when = Condition::test(Test::new(family.unwrap(), Cmp::Eq, 38));
        let syscalls = SyscallSet::one(arch.number("socket").unwrap());
        Rule { syscalls, when, verdict: Verdict::errno(1) }
    };
    let both = vec![rule(Arch::X86_64), rule(Arch::X32)];
    let both = Section::new(Arch::X86_64, both, Verdict::ALLOW).and_arch(Arch::X32).unwrap();
    let x86 = Section::new(Arch::X86, vec![rule(Arch::X86)], Verdict::ALLOW);
    let policy = Policy::new(vec![both, x86], Verdict::KILL_THREAD).unwrap();
    let converted = convert(&policy, &closest_options(to("docker"))).unwrap();
    assert!(arches.iter().all(|arch| converted.arches.contains(arch)), "{:?}", converted.arches);
    let written = read(&converted.text, &arches);
    assert_eq!(verdict(&written, "socket", &[1]), Verdict::ALLOW);
    assert_eq!(verdict(&written, "socket", &[38]), Verdict::errno(1));
    assert_eq!(converted.losses.len(), 1, "{:?}", converted.losses);
    assert_eq!(converted.losses[0].syscalls, [(Arch::X86, "socketcall")]);
}

/// The bits of the high half are not tested where all values with another one are denied, too.
#[test]
fn a_denylist_of_values_needs_no_large_masks() {
    let values = [0u64, 8, 0x2_0000, 0xffff_ffff];
    let entry = |value: &u64| {
        format!(
            r#"{{"names": ["personality"], "action": "SCMP_ACT_ALLOW",
                "args": [{{"index": 0, "value": {value}, "op": "SCMP_CMP_EQ"}}]}}"#
        )
    };
    let entries = values.iter().map(entry).collect::<Vec<_>>().join(", ");
    let arches = [Arch::X86_64, Arch::X86, Arch::X32];
    let profile = read(
        &format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{entries}]}}"#),
        &arches,
    );
    let mut store = Store::default();
    let func = store.policy(&profile).unwrap();
    let func = ListForm::Denied.apply(&mut store, func, &arches).unwrap();
    for target in [to("docker"), to("podman"), to("k8s")] {
        let mut options = ConvertOptions::new(target);
        options.arches = arches.to_vec();
        let converted = convert_diagram(&mut store, func, &options);
        let converted = converted.unwrap_or_else(|error| panic!("{target}: {error}"));
        let numbers = converted.text.split(|c: char| !c.is_ascii_digit());
        assert!(numbers.filter_map(|one| one.parse::<u64>().ok()).all(|one| one < 1 << 53));
    }
}
