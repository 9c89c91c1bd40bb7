use proptest::prelude::*;

use super::*;
use crate::recording::Bounds;
use callgate_core::policy::{Policy, Rule, Section};
use callgate_core::{Arch, SyscallSet};

const SYSCALL: u32 = 9999;

/// A filter that allows [`CALL`] under a condition and nothing else.
fn policy(arch: Arch, when: Condition, otherwise: Verdict) -> Policy {
    let rules = vec![Rule { syscalls: SyscallSet::one(SYSCALL), when, verdict: Verdict::ALLOW }];
    let section = Section::new(arch, rules, otherwise);
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

fn findings(policy: &Policy, recording: &Recording) -> Vec<Finding> {
    let mut store = Store::default();
    let filter = store.policy(policy).unwrap();
    check(&mut store, filter, recording).unwrap()
}

fn eq(arg: u8, value: u64) -> Condition {
    Condition::test(Test::eq(Field::arg(arg).unwrap(), value))
}

fn recorded(arch: Arch, syscalls: &[[u64; 6]]) -> Recording {
    let mut recording = Recording::default();
    syscalls.iter().for_each(|args| recording.observe(SyscallId::new(arch, SYSCALL), args));
    recording
}

#[test]
fn allowed_syscalls_are_not_reported() {
    let policy = policy(Arch::X86_64, eq(0, 5), Verdict::errno(1));
    let syscalls = [[5, 1, 0, 0, 0, 0], [5, 2, 0, 0, 0, 0]];
    assert_eq!(findings(&policy, &recorded(Arch::X86_64, &syscalls)), []);
}

#[test]
fn a_combination_that_may_not_have_occurred_is_possible() {
    let both = Condition::any([
        Condition::all([eq(0, 1), eq(1, 1)]),
        Condition::all([eq(0, 2), eq(1, 2)]),
    ]);
    let policy = policy(Arch::X86_64, both, Verdict::errno(1));
    let recording = recorded(Arch::X86_64, &[[1, 1, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0]]);
    let [finding] = findings(&policy, &recording).try_into().unwrap();
    assert_eq!(finding.certainty, Certainty::Possible);
    assert!(finding.is_denied());
    assert_ne!(finding.example.args[0], finding.example.args[1]);
}

#[test]
fn decisive_values_are_reported() {
    let policy = policy(Arch::X86_64, eq(0, 1), Verdict::errno(1));
    let recording = recorded(Arch::X86_64, &[[1, 7, 0, 0, 0, 0], [2, 7, 0, 0, 0, 0]]);
    let [finding] = findings(&policy, &recording).try_into().unwrap();
    assert_eq!(finding.certainty, Certainty::Values(vec![(0, vec![2])]));
    let all = recorded(Arch::X86_64, &[[2, 7, 0, 0, 0, 0], [3, 7, 0, 0, 0, 0]]);
    assert_eq!(findings(&policy, &all)[0].certainty, Certainty::Every);
}

#[test]
fn unknown_values_may_be_anything() {
    let policy = policy(Arch::X86_64, eq(0, 1), Verdict::errno(1));
    let syscall = SyscallId::new(Arch::X86_64, SYSCALL);
    let mut recording = Recording::default();
    recording.count(syscall, 3);
    assert_eq!(findings(&policy, &recording)[0].certainty, Certainty::Possible);
    // The denial of a recorded value is certain.
    recording.observe(syscall, &[2, 0, 0, 0, 0, 0]);
    assert_eq!(findings(&policy, &recording)[0].certainty, Certainty::Values(vec![(0, vec![2])]));
}

#[test]
fn bounds_are_used_as_range_and_bits() {
    let even = Condition::test(Test::masked_eq(Field::arg(0).unwrap(), 1, 0));
    let policy = policy(Arch::X86_64, even, Verdict::errno(1));
    let with = |bounds| {
        let mut recording = Recording::default();
        let values = ArgValues::from_bounds(50, bounds);
        recording.add(SyscallId::new(Arch::X86_64, SYSCALL), 50, [values]);
        recording
    };
    let even = Bounds { min: 0, max: 0xfe, ever: 0xfe, always: 0 };
    assert_eq!(findings(&policy, &with(even)), []);
    let odd = Bounds { min: 1, max: 0xff, ever: 0xff, always: 1 };
    assert_eq!(findings(&policy, &with(odd))[0].certainty, Certainty::Every);
    let any = Bounds { min: 0, max: 0xff, ever: 0xff, always: 0 };
    // The smallest and the largest value were recorded; values between them may not have been.
    let [finding] = findings(&policy, &with(any)).try_into().unwrap();
    assert_eq!(finding.certainty, Certainty::Values(vec![(0, vec![0xff])]));
    let inside = Bounds { min: 0, max: 0xfe, ever: 0xff, always: 0 };
    assert_eq!(findings(&policy, &with(inside))[0].certainty, Certainty::Possible);
}

/// `read` has three arguments; the other registers are not recorded.
#[test]
fn only_decisive_unrecorded_inputs_make_an_answer_uncertain() {
    let read = SyscallId::new(Arch::X86_64, 0);
    let policy = |when, verdict, otherwise| {
        let rules = vec![Rule { syscalls: SyscallSet::one(read.nr), when, verdict }];
        let section = Section::new(read.arch, rules, otherwise);
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    };
    let (allow, deny, kill) = (Verdict::ALLOW, Verdict::errno(1), Verdict::KILL_PROCESS);
    let mut recording = Recording::default();
    recording.observe(read, &[5, 0, 0, 77, 0, 0]);
    let only = |policy: &Policy| -> Finding {
        let [finding] = findings(policy, &recording).try_into().unwrap();
        finding
    };

    let beyond = only(&policy(eq(3, 77), allow, deny));
    assert_eq!(beyond.certainty, Certainty::Possible);
    assert_eq!(beyond.unrecorded, [Unrecorded::NotAnArgument(3)]);
    // The register is tested, but another argument decides.
    let both = policy(Condition::all([eq(0, 6), eq(3, 77)]), allow, deny);
    assert_eq!((only(&both).certainty, only(&both).unrecorded), (Certainty::Every, vec![]));
    let either = policy(Condition::any([eq(0, 5), eq(3, 77)]), allow, deny);
    assert_eq!(findings(&either, &recording), []);
    // The register decides which verdict is returned instead of ALLOW, not whether.
    let which = only(&policy(eq(3, 77), kill, deny));
    assert_eq!((which.certainty, which.unrecorded), (Certainty::Every, vec![]));
    assert_eq!(which.verdicts, [kill, deny]);

    // An argument whose value was not recorded for some occurrences.
    recording.count(read, 1);
    let [some] = findings(&policy(eq(0, 5), allow, deny), &recording).try_into().unwrap();
    assert_eq!(
        (some.certainty, some.unrecorded),
        (Certainty::Possible, vec![Unrecorded::Values(0)])
    );
}

/// glibc, musl and Go use `clone` if `clone3` fails with ENOSYS.
#[test]
fn a_clone3_without_effect_has_a_fallback_if_clone_is_permitted() {
    for arch in [Arch::X86_64, Arch::S390x, Arch::Mips64] {
        let flags = u8::from(arch == Arch::S390x);
        let no_namespaces =
            Condition::test(Test::masked_eq(Field::arg(flags).unwrap(), 0x7e02_0000, 0));
        let checked = |when: Condition, clone3: Verdict| -> Finding {
            let [clone, third] = ["clone", "clone3"].map(|name| arch.number(name).unwrap());
            let rule = |nr, when, verdict| Rule { syscalls: SyscallSet::one(nr), when, verdict };
            let rules =
                vec![rule(clone, when, Verdict::ALLOW), rule(third, Condition::always(), clone3)];
            let section = Section::new(arch, rules, Verdict::KILL_PROCESS);
            let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
            let mut recording = Recording::default();
            recording.count(SyscallId::new(arch, third), 4);
            let [finding] = findings(&policy, &recording).try_into().unwrap();
            finding
        };
        let enosys = Verdict::errno(arch.enosys());
        let good = checked(no_namespaces.clone(), enosys);
        assert_eq!((good.fallback, good.is_denied()), (Some("clone"), false), "{arch}");
        let threads = Condition::test(Test::eq(Field::arg(flags).unwrap(), 0x3d_0f00));
        let bad = [
            checked(no_namespaces.clone(), Verdict::errno(1)),
            checked(no_namespaces, Verdict::KILL_PROCESS),
            checked(Condition::never(), enosys),
            checked(threads, enosys),
        ];
        for finding in bad {
            assert_eq!((finding.fallback, finding.is_denied()), (None, true), "{arch}");
        }
    }
}

#[test]
fn high_halves_of_32_bit_registers_are_zero() {
    let high = Condition::test(Test::masked_eq(Field::arg(4).unwrap(), 0xffff_ffff << 32, 0));
    for arch in [Arch::X86, Arch::X32] {
        let mut recording = Recording::default();
        recording.count(SyscallId::new(arch, SYSCALL), 1);
        let found = findings(&policy(arch, high.clone(), Verdict::errno(1)), &recording);
        assert_eq!(found.is_empty(), arch == Arch::X86, "{arch}");
    }
}

#[test]
fn logged_syscalls_are_reported_but_not_denied() {
    let policy = policy(Arch::X86_64, Condition::never(), Verdict::LOG);
    let [finding] = findings(&policy, &recorded(Arch::X86_64, &[[0; 6]])).try_into().unwrap();
    assert!(!finding.is_denied());
    assert_eq!(finding.verdicts, [Verdict::LOG]);
}

#[test]
fn syscalls_of_another_architecture_get_its_default() {
    let policy = policy(Arch::X86_64, Condition::always(), Verdict::errno(1));
    let [finding] = findings(&policy, &recorded(Arch::Aarch64, &[[0; 6]])).try_into().unwrap();
    assert_eq!(
        (finding.certainty, finding.verdicts),
        (Certainty::Every, vec![Verdict::KILL_PROCESS])
    );
}

#[test]
fn recorded_high_halves_of_32_bit_registers_are_ignored() {
    for arch in [Arch::X86, Arch::X32, Arch::Mips64n32] {
        let policy = policy(arch, eq(0, 5), Verdict::errno(1));
        let recording = recorded(arch, &[[0xffff_ffff_0000_0005, 0, 0, 0, 0, 0]]);
        let denied = usize::from(arch != Arch::X86);
        assert_eq!(findings(&policy, &recording).len(), denied, "{arch}");
    }
}

proptest! {
    /// The result is true for every recorded occurrence.
    #[test]
    fn results_hold_for_each_recorded_syscall(
        rules in proptest::collection::vec((0_u64..4, 0_u64..4, 0_u64..4), 0..5),
        syscalls in proptest::collection::vec([0_u64..4, 0_u64..4], 1..6),
        many in any::<bool>(),
    ) {
        let when = Condition::any(rules.iter().map(|(mask, a, b)| {
            let first = Test::masked_eq(Field::arg(0).unwrap(), *mask, a & mask);
            Condition::all([Condition::test(first), eq(1, *b)])
        }));
        let policy = policy(Arch::X86_64, when, Verdict::errno(1));
        let syscalls: Vec<[u64; 6]> = syscalls.iter().map(|[a, b]| [*a, *b, 0, 0, 0, 0]).collect();
        let mut recording = recorded(Arch::X86_64, &syscalls);
        if many {
            // Only bounds of the same values.
            let seen = recording.get(SyscallId::new(Arch::X86_64, SYSCALL)).unwrap().clone();
            let args = seen.args().iter().map(|values| {
                ArgValues::from_bounds(values.observed(), values.bounds().unwrap())
            });
            recording = Recording::default();
            recording.add(SyscallId::new(Arch::X86_64, SYSCALL), seen.count(), args);
        }
        let allowed = |args: &[u64; 6]| {
            let data = SeccompData {
                arch: Arch::X86_64.token(), nr: SYSCALL, args: *args, ..SeccompData::default()
            };
            policy.evaluate(&data) == Verdict::ALLOW
        };
        match findings(&policy, &recording).first().map(|finding| &finding.certainty) {
            None => prop_assert!(syscalls.iter().all(allowed)),
            Some(Certainty::Every) => prop_assert!(!syscalls.iter().any(allowed)),
            Some(Certainty::Values(decisive)) => for (arg, values) in decisive {
                let with = |args: &&[u64; 6]| values.contains(&args[usize::from(*arg)]);
                prop_assert!(syscalls.iter().any(|args| with(&args)));
                prop_assert!(!syscalls.iter().filter(with).any(allowed));
            },
            Some(Certainty::Possible) => {}
        }
    }
}
