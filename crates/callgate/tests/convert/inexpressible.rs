//! What each language cannot express: the reason, the syscalls, and an example.

use callgate::convert::{ConvertOptions, Loss, convert};
use callgate::{Arch, ErrorKind, Verdict, arg, instruction_pointer};
use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_core::SyscallSet;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_formats::languages::LanguageId;
use callgate_formats::oci;
use callgate_testing::languages::to;
use callgate_testing::reader::{cases, numbered};

use super::support::{closest_options, losses, policy};

/// The reasons, with the syscalls and the name of the example's syscall.
fn reasons(text: &str, target: LanguageId) -> Vec<String> {
    let line = |loss: &Loss| {
        let Some(example) = loss.example else { return loss.to_string() };
        let name = example.arch().and_then(|arch| arch.syscall_name(example.data.nr));
        format!("{loss} [{}: {} -> {}]", name.unwrap_or("?"), example.source, example.written)
    };
    losses(text, target).iter().map(line).collect()
}

/// Languages with policies that they cannot express, and a reason.
const REASONS: &str = r#"
systemd: ALLOW { read, write, socket(f) { f == 1 } } DEFAULT ERRNO(1)
    SystemCallFilter= has no conditions on arguments: socket [socket: ALLOW -> ERRNO(EPERM)]
systemd: ALLOW { read, write } TRAP(0) { mount, umount2 } DEFAULT ERRNO(38)
    SystemCallFilter= cannot deny these syscalls with this action: mount, umount2 [mount: TRAP -> ERRNO(ENOSYS)]
podman: ALLOW { read } TRAP(7) { mount } DEFAULT KILL
    SCMP_ACT_TRAP takes no data: mount [mount: TRAP(7) -> TRAP]
oci: ALLOW { read, SYSCALL[400] } DEFAULT KILL
    a container profile names syscalls, so numbers without a name get the default action [?: ALLOW -> KILL_THREAD]
firecracker: ALLOW { read } ERRNO(13) { mount } DEFAULT ERRNO(1)
    a filter has two actions: the match action and the mismatch action: mount [mount: ERRNO(EACCES) -> ERRNO(EPERM)]
minijail: KILL { mount } LOG { socket } DEFAULT ALLOW
    in a denylist, a syscall can only fail with an errno: mount, socket [mount: KILL_THREAD -> ERRNO(EPERM)]
docker: USER_NOTIF { write, mount } DEFAULT ALLOW
    runc rejects SCMP_ACT_NOTIFY for write, which it needs itself: write [write: USER_NOTIF -> ERRNO(EPERM)]
"#;

#[test]
fn what_has_no_form_in_a_language_has_a_reason() {
    for (case, reason) in cases(REASONS) {
        let (target, text) = case.split_once(": ").unwrap();
        let found = reasons(text, to(target));
        assert!(found.contains(&reason), "{target} {found:#?}");
    }
}

/// runc's rule is not part of a profile, unless the options make it one.
#[test]
fn runc_makes_new_numbers_fail_with_enosys() {
    let text = "ALLOW { read, write } DEFAULT KILL";
    let policy = policy(text, &[Arch::X86_64]);
    let mut options = ConvertOptions::new(to("docker"));
    let converted = convert(&policy, &options).unwrap();
    let [note] = &converted.notes[..] else { panic!("{:?}", converted.notes) };
    assert!(note.why.starts_with("runc makes numbers above"), "{note}");
    let example = note.example.unwrap();
    assert_eq!([example.source, example.written], [Verdict::KILL_THREAD, Verdict::errno(38)]);
    assert_eq!(Arch::X86_64.syscall_name(example.data.nr), None);
    options.enosys_above = Some(oci::EnosysAbove::On);
    let error = convert(&policy, &options).unwrap_err();
    let ErrorKind::Convert(refused) = error.kind() else { panic!("{error}") };
    let advice: Vec<Option<Advice>> = refused.losses().iter().map(Loss::advice).collect();
    assert!(advice.contains(&Some(Advice::WithoutRuntimeRules)), "{error}");
    // runc adds no rule to a profile that names no number above 0.
    let lowest = super::support::policy("ALLOW { read } DEFAULT KILL", &[Arch::X86_64]);
    let converted = convert(&lowest, &ConvertOptions::new(to("docker"))).unwrap();
    assert_eq!(converted.notes, []);
}

#[test]
fn no_language_tests_the_instruction_pointer() {
    let filter = callgate::Filter::builder(Arch::X86_64)
        .bad_arch(Verdict::KILL_THREAD)
        .default(Verdict::KILL_THREAD)
        .allow_if("read", instruction_pointer().lt(0x1000) & arg(0).eq(3))
        .and_then(|builder| builder.build())
        .unwrap();
    for target in [to("oci"), to("kafel")] {
        let error = convert(&filter, &ConvertOptions::new(target));
        let text = error.unwrap_err().to_string();
        assert!(text.contains("test the instruction pointer: read"), "{target}: {text}");
    }
}

#[test]
fn an_entry_is_for_all_architectures() {
    let policy = policy("ALLOW { read, write ON x86_64 } DEFAULT KILL", &[Arch::X86_64, Arch::X86]);
    let error = convert(&policy, &ConvertOptions::new(to("oci")));
    let text = error.unwrap_err().to_string();
    assert!(text.contains("an entry is for all architectures of the profile: write"), "{text}");
}

#[test]
fn the_example_is_a_syscall_that_changes() {
    for loss in
        losses("ALLOW { read, write, socket(f) { f == 1 } } DEFAULT ERRNO(1)", to("systemd"))
    {
        let example = loss.example.unwrap();
        assert_ne!(example.source, example.written, "{loss}");
        let policy =
            policy("ALLOW { read, write, socket(f) { f == 1 } } DEFAULT ERRNO(1)", &[Arch::X86_64]);
        assert_eq!(policy.evaluate(&example.data), example.source, "{loss}");
    }
}

#[test]
fn minijail_has_no_default_errno() {
    let found = reasons("ALLOW { read } DEFAULT ERRNO(1)", to("minijail"));
    assert!(found.iter().any(|one| one.contains("its default action is to allow")), "{found:?}");
}

#[test]
fn rules_of_lxc_and_of_snaps_are_for_all_architectures_of_the_host() {
    let policy = policy(
        "ALLOW { read, write ON x86_64 } DEFAULT ERRNO(1)",
        &[Arch::X86_64, Arch::X86, Arch::X32],
    );
    for target in [to("lxc"), to("snap")] {
        let error = convert(&policy, &ConvertOptions::new(target));
        let text = error.unwrap_err().to_string();
        assert!(text.contains("a rule is for all architectures of the host: write"), "{text}");
    }
}

#[test]
fn a_resource_has_no_default_errno_and_63_bits() {
    let text =
        "ALLOW { read, lseek(fd, offset) { offset == 0x8000000000000000 } } DEFAULT ERRNO(13)";
    let found = reasons(text, to("k8s"));
    assert!(found.iter().any(|one| one.contains("no errno but EPERM")), "{found:?}");
    assert!(found.iter().any(|one| one.contains("below 2^63: lseek")), "{found:?}");
}

#[test]
fn a_language_that_can_only_permit_more_is_refused() {
    // On x86, LXC has no rule for `socket`, so a denylist permits it.
    let policy = policy("ERRNO(1) { socket } DEFAULT ALLOW", &[Arch::X86_64, Arch::X86, Arch::X32]);
    let error = convert(&policy, &closest_options(to("lxc")));
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("every policy of lxc would permit more than the filter"), "{text}");
}

#[test]
fn rules_of_systemd_also_apply_to_multiplexers() {
    let text = "ERRNO(1) { semtimedop ON {x86_64, x32} } DEFAULT ALLOW";
    let policy = policy(text, &[Arch::X86_64, Arch::X86, Arch::X32]);
    let options = ConvertOptions::new(to("systemd"));
    let error = convert(&policy, &options).unwrap_err().to_string();
    assert!(error.contains("libseccomp also applies rules to socketcall and ipc: ipc"), "{error}");
    let closest = closest_options(to("systemd"));
    let converted = convert(&policy, &closest).unwrap();
    assert!(converted.text.contains("SystemCallFilter=~semtimedop"), "{}", converted.text);
}

/// A loss is about the filter, even if the verdict of its example changes twice.
#[test]
fn an_example_has_the_verdict_of_the_filter() {
    let text = "TRAP(7) { mount ON x86_64 } ERRNO(1) { mount ON x86 } DEFAULT KILL";
    let policy = policy(text, &[Arch::X86_64, Arch::X86]);
    let options = ConvertOptions::new(to("oci"));
    let error = convert(&policy, &options).unwrap_err();
    let ErrorKind::Convert(error) = error.kind() else { panic!("{error}") };
    assert!(error.losses().len() > 1, "{error}");
    for loss in error.losses() {
        let example = loss.example.unwrap();
        assert_eq!(policy.evaluate(&example.data), example.source, "{loss}");
    }
}

/// runc's bound for x32 is above a name of the bound for x86_64.
#[test]
fn a_name_bounds_the_numbers_of_all_architectures() {
    let unknown = SyscallSet::from_ranges(vec![(0, 0), (0x4000_0001, 0x7fff_ffff)]);
    let rule = Rule { syscalls: unknown, when: Condition::always(), verdict: Verdict::errno(38) };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::ALLOW).unwrap();
    let options = closest_options(to("docker"));
    let converted = convert(&policy, &options).unwrap();
    assert!(!converted.losses.is_empty());
}

/// On x32, only low halves are compared, so both conditions hold, and the first entry decides.
#[test]
fn conditions_that_overlap_on_x32_have_the_order_of_the_entries() {
    let when = Condition::test(Test::new(Field::arg(0).unwrap(), Cmp::Ge, 1 << 32));
    let rules = vec![
        Rule {
            syscalls: SyscallSet::range(0x4000_0009, 0x4000_000d),
            when: Condition::always(),
            verdict: Verdict::errno(1),
        },
        Rule { syscalls: SyscallSet::one(0), when, verdict: Verdict::ALLOW },
    ];
    let policy =
        Policy::new(vec![Section::new(Arch::X86_64, rules, Verdict::trace(7))], Verdict::ALLOW)
            .unwrap();
    let converted = convert(&policy, &closest_options(to("oci"))).unwrap();
    let why = "an entry is for all architectures of the profile";
    let loss = converted.losses.iter().find(|loss| loss.why == why).unwrap();
    assert!(loss.syscalls.contains(&(Arch::X86_64, "read")), "{loss}");
    let kernel = callgate_bpf::syscalls::KernelVersion { major: 6, minor: 18 };
    let mut reading = oci::ReadOptions::new(Arch::X86_64, kernel);
    reading.dialect = Some(oci::Dialect::Oci);
    let written = oci::read(&converted.text, &reading).unwrap().policy;
    // If `read` were allowed under the condition, it would be allowed on x32, where the filter has TRACE(7).
    for (nr, first) in [(0x4000_0000, 0), (0x4000_0000, 1 << 32), (0, 0), (0, 1 << 32)] {
        let args = [first, 0, 0, 0, 0, 0];
        let data = numbered(Arch::X86_64, nr, &args);
        assert_eq!(written.evaluate(&data), Verdict::trace(7), "{nr:#x} {first:#x}");
    }
}

/// What libseccomp makes of `ipc` changes the verdict of the first example back.
#[test]
fn the_example_of_a_loss_has_another_verdict_in_the_end() {
    let when = Condition::test(Test::new(Field::arg(1).unwrap(), Cmp::Gt, 0));
    let rule = Rule { syscalls: SyscallSet::one(4117), when, verdict: Verdict::trap(0) };
    let sections = vec![
        Section::new(Arch::Mips64, Vec::new(), Verdict::errno(0)),
        Section::new(Arch::Mips, vec![rule], Verdict::errno(0)),
    ];
    let policy = Policy::new(sections, Verdict::KILL_THREAD).unwrap();
    let error = convert(&policy, &ConvertOptions::new(to("systemd"))).unwrap_err();
    let ErrorKind::Convert(error) = error.kind() else { panic!("{error}") };
    assert!(error.losses().iter().any(|loss| loss.syscalls == [(Arch::Mips, "ipc")]));
    for loss in error.losses() {
        let example = loss.example.unwrap();
        assert_eq!(example.source, policy.evaluate(&example.data));
        assert_ne!(example.source, example.written, "{}", loss.why);
    }
}

/// x32 does not have `epoll_ctl_old`, but libseccomp compares the low halves of the arguments there, too: both conditions
/// become the same, with different actions.
#[test]
fn rules_of_a_syscall_that_an_architecture_lacks_must_not_contradict_each_other_there() {
    let rule = |name: &str, cmp, value, verdict| Rule {
        syscalls: SyscallSet::one(Arch::X86_64.number(name).unwrap()),
        when: Condition::test(Test::new(Field::arg(2).unwrap(), cmp, value)),
        verdict,
    };
    let rules = vec![
        rule("epoll_ctl_old", Cmp::Eq, 0, Verdict::errno(1)),
        rule("epoll_ctl_old", Cmp::Eq, 1 << 32, Verdict::errno(13)),
        // Without a rule of its own, x32 would not be an architecture of the profile.
        Rule {
            syscalls: [Arch::X86_64, Arch::X32]
                .iter()
                .filter_map(|arch| arch.number("getpid"))
                .collect(),
            when: Condition::always(),
            verdict: Verdict::errno(1),
        },
    ];
    let section = Section::new(Arch::X86_64, rules, Verdict::ALLOW).and_arch(Arch::X32).unwrap();
    let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
    // The specification does not mention libseccomp.
    assert!(convert(&policy, &ConvertOptions::new(to("oci"))).is_ok());
    for target in [to("podman"), to("k8s")] {
        let error = convert(&policy, &ConvertOptions::new(target)).unwrap_err().to_string();
        let why = "libseccomp rejects these conditions with several actions: epoll_ctl_old";
        assert!(error.ends_with(why), "{target}: {error}");
        let converted = convert(&policy, &closest_options(target)).unwrap();
        assert_eq!(converted.losses.len(), 1, "{target}");
    }
}
