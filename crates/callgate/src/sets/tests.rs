//! Tests of operations on filters, and of comparisons.

use super::*;
use crate::compile::Options;
use callgate_core::diagram::Store;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, FilterSpec, Program, SeccompData, Spec, SyscallSet, Verdict};

const DENIED: Verdict = Verdict::errno(13);

fn policy(rules: &[(u32, Option<u64>, Verdict)], default: Verdict) -> Policy {
    let rules = rules.iter().map(|(nr, arg, verdict)| Rule {
        syscalls: SyscallSet::one(*nr),
        when: arg.map_or(Condition::always(), |value| {
            Condition::test(Test::new(Field::arg(0).unwrap(), Cmp::Lt, value))
        }),
        verdict: *verdict,
    });
    let section = Section::new(Arch::X86_64, rules.collect(), default);
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

fn points() -> impl Iterator<Item = SeccompData> {
    (0..12).flat_map(|nr| {
        [0, 4, 5, 9, 10, u64::MAX].map(|arg| SeccompData {
            nr,
            arch: Arch::X86_64.token(),
            args: [arg, 0, 0, 0, 0, 0],
            ..SeccompData::default()
        })
    })
}

fn samples() -> [Policy; 4] {
    let (allow, log, trap) = (Verdict::ALLOW, Verdict::LOG, Verdict::trap(0));
    [
        policy(&[(0, None, allow), (1, Some(5), allow), (2, None, trap)], Verdict::errno(1)),
        policy(&[(0, Some(9), log), (1, Some(10), allow), (3, None, allow)], Verdict::errno(2)),
        policy(&[(2, None, Verdict::KILL_PROCESS), (5, Some(4), trap)], allow),
        policy(&[], Verdict::KILL_THREAD),
    ]
}

/// The verdicts of all operations on all pairs of some policies, point by point.
#[test]
fn the_verdict_is_that_of_the_table() {
    let samples = samples();
    for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (a, b))) {
        let result = |operation| {
            // Single syscalls may also be added to a denylist, and removed from it.
            let expression = match operation {
                Operation::Intersect => Expression::new(a).then(operation, b),
                _ => Expression::new(a).then_syscalls(operation, b),
            };
            let expression = expression.unwrap();
            let proved = expression.compile(&[Arch::X86_64], &Options::default()).unwrap().program;
            let of = |policy: &Policy| FilterSpec::Policy(policy.clone());
            match proved.spec() {
                Spec::Set { first, steps } => {
                    let operands: Vec<_> = steps.iter().map(|step| step.operand.clone()).collect();
                    assert_eq!((first, operands), (&of(a), vec![of(b)]));
                }
                other => panic!("{other:?}"),
            }
            proved.into_program()
        };
        let intersection = result(Operation::Intersect);
        let union = result(Operation::Union);
        let rest = result(Operation::Subtract { denied: Some(DENIED) });
        for data in points() {
            let of = |program: &callgate_core::Program| program.run(&data, a.endian()).verdict;
            let (one, other) = (a.evaluate(&data), b.evaluate(&data));
            let is_looser = one.precedence() < other.precedence();
            let is_stricter = one.precedence() > other.precedence();
            assert_eq!(of(&intersection), if is_looser { other } else { one });
            assert_eq!(of(&union), if is_stricter && other.permits() { other } else { one });
            let is_removed = matches!(other, Verdict::ALLOW | Verdict::LOG)
                && one.precedence() < DENIED.precedence();
            assert_eq!(of(&rest), if is_removed { DENIED } else { one }, "{one} {other}");
        }
    }
}

#[test]
fn a_filter_is_within_another_if_no_syscall_has_a_looser_verdict() {
    let samples = samples();
    for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (a, b))) {
        let is_looser =
            |data: &SeccompData| a.evaluate(data).precedence() < b.evaluate(data).precedence();
        let found = not_in(a, b, 100).unwrap();
        assert_eq!(found.is_empty(), !points().any(|data| is_looser(&data)));
        for witness in found {
            assert!(is_looser(&witness.data));
            let verdicts = (a.evaluate(&witness.data), b.evaluate(&witness.data));
            assert_eq!((witness.left, witness.right), verdicts);
        }
    }
}

#[test]
fn the_permitted_set_does_not_depend_on_how_the_rest_is_denied() {
    let mut store = Store::default();
    for sample in samples() {
        let whole = Expression::new(&sample).diagram(&mut store, &[Arch::X86_64]).unwrap();
        let permitted = permitted(&mut store, whole).unwrap();
        for data in points() {
            let expected = match sample.evaluate(&data).permits() {
                true => Verdict::ALLOW,
                false => Verdict::KILL_PROCESS,
            };
            assert_eq!(store.evaluate(permitted, &data).unwrap(), expected);
        }
    }
}

#[test]
fn different_error_numbers_are_equally_strict() {
    let [a, b] = [1, 2].map(|errno| policy(&[], Verdict::errno(errno)));
    assert!(not_in(&a, &b, 1).unwrap().is_empty() && not_in(&b, &a, 1).unwrap().is_empty());
}

#[test]
fn filters_of_different_byte_orders_cannot_be_combined() {
    let big = Policy::new(
        vec![Section::new(Arch::S390x, Vec::new(), Verdict::ALLOW)],
        Verdict::KILL_PROCESS,
    )
    .unwrap();
    let [little, ..] = samples();
    assert!(Expression::new(&little).then(Operation::Union, &big).is_err());
    assert!(not_in(&little, &big, 1).is_err());
}

fn allowlist(default: Verdict) -> Policy {
    let named = [0, 1, 3, 41, 101].map(|nr| (nr, None, Verdict::ALLOW));
    // More denied with another verdict than by default, as far as names go.
    let denied = (10..40).map(|nr| (nr, None, Verdict::errno(5)));
    policy(&named.into_iter().chain(denied).collect::<Vec<_>>(), default)
}

fn denylist() -> Policy {
    policy(&[(41, None, Verdict::errno(1)), (101, None, Verdict::errno(1))], Verdict::ALLOW)
}

/// The same filter as a policy and as a program.
fn program(policy: &Policy) -> Program {
    crate::compile::compile(policy, &Options::default()).unwrap().program.into()
}

fn run(expression: &Expression<'_>, nr: u32) -> Verdict {
    let program = expression.compile(&[Arch::X86_64], &Options::default()).unwrap().program;
    let data = SeccompData { nr, arch: Arch::X86_64.token(), ..SeccompData::default() };
    program.run(&data, expression.endian()).verdict
}

#[test]
fn a_denylist_is_refused_by_its_meaning() {
    let (list, denies) = (allowlist(Verdict::errno(38)), denylist());
    let compiled = program(&denies);
    let forms = [(&denies).into(), crate::Description::program(&compiled, denies.endian())];
    for denylist in forms {
        let removal = Operation::Subtract { denied: None };
        for (operation, effect) in [(Operation::Union, "allow"), (removal, "deny")] {
            let expression = Expression::new(&list).then(operation, denylist).unwrap();
            let error = expression.compile(&[Arch::X86_64], &Options::default()).unwrap_err();
            let sign = operation.sign();
            assert_eq!(
                error.to_string(),
                format!(
                    "this filter allows what it does not name (on x86_64), so \"{sign}\" would {effect} everything"
                )
            );
            assert_eq!(error.operand(), Some(1));
            let help = error.help_with(&["a.json", "no.bpf"], "one machine");
            assert_eq!(help.unwrap(), "to restrict, write 'a.json ^ no.bpf'");
        }
        // Also if it comes first.
        let expression = Expression::new(denylist).then(Operation::Union, &list).unwrap();
        let error = expression.compile(&[Arch::X86_64], &Options::default()).unwrap_err();
        assert_eq!(
            (error.operand(), error.help_with(&["no.bpf", "a.json"], "one machine").unwrap()),
            (Some(0), "to restrict, write 'a.json ^ no.bpf'".to_owned())
        );
        let expression = Expression::new(&list).then(Operation::Intersect, denylist).unwrap();
        assert_eq!([0, 41].map(|nr| run(&expression, nr)), [Verdict::ALLOW, Verdict::errno(1)]);
        // Single syscalls may be added.
        let one = policy(&[(101, None, Verdict::ALLOW)], Verdict::KILL_PROCESS);
        let expression = Expression::new(denylist).then_syscalls(Operation::Union, &one).unwrap();
        assert_eq!([101, 41].map(|nr| run(&expression, nr)), [Verdict::ALLOW, Verdict::errno(1)]);
    }
}

/// A denylist with ENOSYS above the syscalls that it knows, and an allowlist that allows some numbers without a name.
#[test]
fn a_denylist_is_told_by_most_of_the_numbers_without_a_name() {
    let list = allowlist(Verdict::errno(1));
    let rule = |first, last, verdict| Rule {
        syscalls: SyscallSet::range(first, last),
        when: Condition::always(),
        verdict,
    };
    let with = |rules: Vec<Rule>, default| {
        let section = Section::new(Arch::X86_64, rules, default);
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    };
    let (allow, enosys) = (Verdict::ALLOW, Verdict::errno(38));
    for (rules, default, is_denylist) in [
        (vec![rule(41, 41, enosys), rule(451, u32::MAX, enosys)], allow, true),
        (vec![rule(0, 450, allow)], enosys, true),
        (vec![rule(451, u32::MAX, allow)], enosys, true),
        (vec![rule(0, 5, allow), rule(336, 340, allow), rule(480, 490, allow)], enosys, false),
    ] {
        let other = with(rules, default);
        let union = Expression::new(&list).then(Operation::Union, &other).unwrap();
        let result = union.compile(&[Arch::X86_64], &Options::default());
        assert_eq!(result.is_err(), is_denylist, "{other:?}");
    }
}

/// What another ABI or architecture may do is not changed by a union for one.
#[test]
fn a_union_is_about_the_architectures_of_the_filters() {
    let list = allowlist(Verdict::errno(1));
    let section = Section::new(Arch::X86_64, vec![], Verdict::errno(1));
    let other = Policy::new(vec![section], Verdict::ALLOW).unwrap();
    let union = Expression::new(&list).then(Operation::Union, &other).unwrap();
    let mut store = Store::default();
    let union = union.diagram(&mut store, &[Arch::X86_64]).unwrap();
    assert_eq!(union, store.policy(&list).unwrap());
}

#[test]
fn what_is_removed_gets_the_default_of_the_first_filter() {
    let one = policy(&[(0, None, Verdict::ALLOW)], Verdict::KILL_PROCESS);
    let errno = |number| Verdict::errno(number);
    for default in [errno(38), errno(1), Verdict::KILL_PROCESS, Verdict::trap(0)] {
        let list = allowlist(default);
        let compiled = program(&list);
        for first in [(&list).into(), crate::Description::program(&compiled, list.endian())] {
            let remove = |denied| {
                let operation = Operation::Subtract { denied };
                Expression::new(first).then_syscalls(operation, &one).unwrap()
            };
            assert_eq!(run(&remove(None), 0), default);
            assert_eq!(run(&remove(None), 1), Verdict::ALLOW);
            let strictest = |verdict: Verdict| verdict.or_higher_precedence(Verdict::ALLOW);
            assert_eq!(run(&remove(Some(errno(7))), 0), strictest(errno(7)));
        }
    }
    // EPERM if the default allows.
    let removed = Expression::new(&denylist())
        .then_syscalls(Operation::Subtract { denied: None }, &one)
        .map(|expression| run(&expression, 0));
    assert_eq!(removed, Ok(errno(1)));
}

#[test]
fn a_restriction_to_one_syscall_is_refused() {
    let list = allowlist(Verdict::errno(1));
    let one = policy(&[(0, None, Verdict::ALLOW)], Verdict::KILL_PROCESS);
    let error = Expression::new(&list).then_syscalls(Operation::Intersect, &one).unwrap_err();
    assert!(
        error.help_with(&["a.json", "read"], "one machine").unwrap().contains("'a.json - read'")
    );
}

/// Verdicts as the kernel reads arguments, beside an evaluation of all high halves that the filters distinguish.
#[test]
fn the_kernel_ignores_the_high_half_of_an_int() {
    let halves = [0u64, 1, 2, 0xffff_ffff];
    let of = |field: Field, cmp, value| Condition::test(Test::new(field, cmp, value));
    let (family, kind) = (Field::arg(0).unwrap(), Field::arg(1).unwrap());
    let conditions = [
        of(family, Cmp::Eq, 1),
        of(family.low32(), Cmp::Eq, 1),
        of(family, Cmp::Eq, 0x1_0000_0001),
        of(family, Cmp::Gt, 0x2_0000_0001),
        Condition::all([of(family, Cmp::Lt, 0x1_0000_0000), of(kind, Cmp::Eq, 3)]),
        Condition::all([of(family, Cmp::Ge, 0x1_0000_0000), of(kind, Cmp::Ge, 0x1_0000_0000)]),
    ];
    // `socket` takes three of int; `brk` takes an address, of which all bits count.
    for nr in [41, 12] {
        for when in &conditions {
            let rule =
                Rule { syscalls: SyscallSet::one(nr), when: when.clone(), verdict: Verdict::ALLOW };
            let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
            let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
            let mut store = Store::default();
            let func = store.policy(&policy).unwrap();
            let read = as_the_kernel_reads(&mut store, func).unwrap();
            for (low, kind, high) in (0..4u64)
                .flat_map(|low| (2..5u64).map(move |kind| (low, kind)))
                .flat_map(|(low, kind)| halves.map(|high| (low, kind, high)))
            {
                let data = |high: u64, high_of_kind: u64| SeccompData {
                    nr,
                    arch: Arch::X86_64.token(),
                    args: [high << 32 | low, high_of_kind << 32 | kind, 0, 0, 0, 0],
                    ..SeccompData::default()
                };
                let all = halves.into_iter().flat_map(|one| halves.map(|other| (one, other)));
                let loosest = match nr {
                    41 => all
                        .map(|(one, other)| policy.evaluate(&data(one, other)))
                        .min_by_key(|verdict| verdict.precedence()),
                    _ => Some(policy.evaluate(&data(high, 0))),
                };
                assert_eq!(Some(store.evaluate(read, &data(high, 0)).unwrap()), loosest);
            }
        }
    }
}

/// A bypass is found: the other filter allows no syscall that the kernel reads like this one.
#[test]
fn a_looser_low_half_is_not_a_subset() {
    let of = |field: Field, value| {
        let rule = Rule {
            syscalls: SyscallSet::one(41),
            when: Condition::test(Test::new(field, Cmp::Eq, value)),
            verdict: Verdict::ALLOW,
        };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    };
    let family = Field::arg(0).unwrap();
    let is_subset = |a: &Policy, b: &Policy, arguments| {
        let mut store = Store::default();
        let [a, b] = [a, b].map(|policy| {
            let func = store.policy(policy).unwrap();
            match arguments {
                Arguments::Kernel => as_the_kernel_reads(&mut store, func).unwrap(),
                Arguments::Filter => func,
            }
        });
        not_in_func(&mut store, a, b, 1).unwrap().is_empty()
    };
    let (low, all) = (of(family.low32(), 1), of(family, 1));
    let high = of(family, 0x1_0000_0002);
    use Arguments::{Filter, Kernel};
    assert!(is_subset(&low, &all, Kernel) && !is_subset(&low, &all, Filter));
    assert!(!is_subset(&high, &all, Kernel) && !is_subset(&high, &low, Kernel));
    assert!(!is_subset(&all, &high, Kernel));
}
