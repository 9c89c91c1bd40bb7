//! Comparisons of two arguments: variables of the diagram, whose outcomes are functions of the syscall.

use callgate_bpf::random::Rng;
use callgate_core::diagram::{Budget, Pred, Store};
use callgate_core::io_uring::{Decision, Member};
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, RequestPolicy, RequestRule, VariableRelation,
};
use callgate_core::{
    Arch, Endian, FilterSpec, Insn, Layout, Meaning, Op, Program, SeccompData, SyscallSet, Verdict,
    Word,
};
use callgate_testing::random::arguments::{field_test, policy, syscall};

fn test(left: Field, cmp: Cmp, right: Field) -> FieldTest {
    FieldTest { left, relation: VariableRelation::Cmp(cmp), right }
}

#[test]
fn functions_of_policies_are_valid_and_have_their_verdicts() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let mut store = Store::default();
        let func = store.policy(&policy).unwrap();
        store.check(func).unwrap();
        let (copy, same) = store.copy(func).unwrap();
        let arch = policy.arches().next().unwrap();
        for _ in 0..50 {
            let data = syscall(&mut rng, arch);
            let expected = Ok(policy.evaluate(&data));
            assert_eq!(
                store.evaluate(func, &data),
                expected,
                "seed {seed}: {data:x?} {policy:#x?}"
            );
            assert_eq!(copy.evaluate(same, &data), expected);
        }
    }
}

/// The predicate of a test, of its negation, and of the test with exchanged sides.
#[test]
fn a_test_its_negation_and_its_converse_are_related() {
    let converse = |cmp| match cmp {
        Cmp::Lt => Cmp::Gt,
        Cmp::Le => Cmp::Ge,
        Cmp::Gt => Cmp::Lt,
        Cmp::Ge => Cmp::Le,
        other => other,
    };
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        let one = field_test(&mut rng);
        let mut store = Store::default();
        let pred = store.field_test(&one).unwrap();
        let negated = store.field_test(&one.negated()).unwrap();
        assert_eq!(store.not(pred), Ok(negated), "{one:?}");
        let relation = match one.relation {
            VariableRelation::Cmp(cmp) => VariableRelation::Cmp(converse(cmp)),
            shared => shared,
        };
        let exchanged = FieldTest { left: one.right, relation, right: one.left };
        assert_eq!(store.field_test(&exchanged), Ok(pred), "{one:?}");
        assert_eq!(store.condition(&Condition::fields(one)), Ok(pred));
    }
}

/// Of the same two arguments, exactly one of `<`, `==` and `>` holds.
#[test]
fn the_orders_of_two_arguments_exclude_each_other() {
    let fields = [Field::arg(1), Field::arg_low(1), Field::arg(4), Field::arg_low(5)];
    let fields: Vec<Field> = fields.into_iter().flatten().collect();
    for (left, right) in fields.iter().flat_map(|a| fields.iter().map(move |b| (*a, *b))) {
        let mut store = Store::default();
        let mut of = |cmp| store.field_test(&test(left, cmp, right)).unwrap();
        let [less, equal, greater, at_most] = [Cmp::Lt, Cmp::Eq, Cmp::Gt, Cmp::Le].map(&mut of);
        for (a, b) in [(less, equal), (less, greater), (equal, greater)] {
            assert_eq!(store.and(a, b), Ok(Pred::NEVER), "{left:?} {right:?}");
        }
        assert_eq!(store.or(less, equal), Ok(at_most), "{left:?} {right:?}");
        assert_eq!(store.or(at_most, greater), Ok(Pred::ALWAYS));
    }
}

#[test]
fn only_fields_of_syscalls_are_compared_with_each_other() {
    let endian = Endian::Little;
    let [kind, protocol] =
        [Member::SocketType, Member::SocketProtocol].map(|one| Field::of_request(one, endian));
    let mut store = Store::for_layout(Layout::IoUring(endian), Budget::default());
    let of_requests = test(kind, Cmp::Eq, protocol);
    assert!(store.field_test(&of_requests).is_err());
    assert!(Store::default().field_test(&of_requests).is_err());
    let rule = RequestRule {
        opcodes: SyscallSet::one(45),
        when: of_requests.into(),
        decision: Decision::Allow,
    };
    let error = RequestPolicy::new(vec![rule], Decision::Deny, endian).unwrap_err();
    assert!(error.to_string().contains("compares two members"), "{error}");
}

#[test]
fn more_comparisons_than_the_limit_are_an_error() {
    let words: Vec<Word> = Word::all().collect();
    let mut store = Store::default();
    let mut failed = None;
    // Two words have three variables.
    for (a, b) in words.iter().flat_map(|a| words.iter().map(move |b| (*a, *b))) {
        for op in [Op::JeqX, Op::JgtX, Op::JsetX] {
            let insns = vec![
                Insn::new(Op::LdWordAbs, a.offset(Endian::Little)),
                Insn::new(Op::Tax, 0),
                Insn::new(Op::LdWordAbs, b.offset(Endian::Little)),
                Insn::branch(op, 0, 0, 1),
                Insn::new(Op::RetK, 1),
                Insn::new(Op::RetK, 2),
            ];
            let program = Program::new(insns).unwrap().into();
            store.reset_steps();
            if let Err(error) = store.program(&program, Endian::Little) {
                failed.get_or_insert(error);
            }
        }
    }
    let error = failed.unwrap();
    assert!(error.has_too_many_comparisons() && error.is_out_of_budget(), "{error}");
}

/// The verdict of a stack is that of the kernel's loop, also where both filters compare arguments.
#[test]
fn stacks_of_filters_that_compare_arguments_are_proved() {
    let mut proved = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let policies: Vec<_> = (0..2).map(|_| policy(&mut rng)).collect();
        if policies[0].endian() != policies[1].endian() {
            continue;
        }
        let filters = policies.iter().cloned().map(FilterSpec::Policy).collect();
        let meaning = Meaning::of_stack(filters, Budget::default(), &mut |_| ()).unwrap();
        let arch = policies[0].arches().next().unwrap();
        for _ in 0..50 {
            let data = syscall(&mut rng, arch);
            let expected = Verdict::of_stack(policies.iter().rev().map(|of| of.evaluate(&data)));
            assert_eq!(meaning.store().evaluate(meaning.func(), &data), Ok(expected));
        }
        proved += 1;
    }
    assert!(proved > 20, "{proved}");
}

/// A witness is returned only if the functions differ for it.
#[test]
fn witnesses_are_true() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let [a, b] = [policy(&mut rng), policy(&mut rng)];
        let mut store = Store::default();
        let [of_a, of_b] = [&a, &b].map(|policy| store.policy(policy).unwrap());
        for start in [SeccompData::default(), syscall(&mut rng, Arch::X86_64)] {
            match store.witness(of_a, of_b, start).unwrap() {
                Some(data) => {
                    assert_ne!(a.evaluate(&data), b.evaluate(&data), "seed {seed}: {data:x?}");
                    found += 1;
                }
                None => none += 1,
            }
        }
    }
    assert!(found > 300, "{found} {none}");
}
