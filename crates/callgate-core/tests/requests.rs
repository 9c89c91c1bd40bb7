//! Policies and programs about io_uring requests: their MTBDDs against the rules and the reference interpreter, the verdict of
//! the proof, and the separation from seccomp filters.

use std::cell::Cell;

use callgate_core::diagram::{Budget, Func, Store};
use callgate_core::io_uring::{Decision, IoUringRequest, Member, SocketPayload};
use callgate_core::policy::{Condition, Field, RequestPolicy, RequestRule, Test};
use callgate_core::{
    Endian, FilterInput, Insn, Meaning, Op, Program, SeccompData, SyscallSet, Verdict,
};
use callgate_testing::random::programs::{Piece, realistic, unusual};
use callgate_testing::random::requests::{
    constants_of_request_policy, constants_of_request_program, request_near, request_policies,
    request_program,
};
use callgate_testing::random::{Rng, cases};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const BUDGET: Budget = Budget { nodes: 200_000, steps: 1_000_000 };

const ENDIANS: [Endian; 2] = [Endian::Little, Endian::Big];

fn store(endian: Endian) -> Store {
    Store::for_layout(IoUringRequest::layout(endian), BUDGET)
}

fn decision(store: &Store, func: Func, request: &IoUringRequest) -> Decision {
    Decision::of(store.evaluate(func, request).unwrap().0)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_mtbdd_of_a_policy_agrees_with_its_rules(
        policy in request_policies(8),
        seed in any::<u64>(),
    ) {
        let mut store = store(policy.endian());
        let func = store.request_policy(&policy).unwrap();
        store.check(func).unwrap();
        let (constants, mut rng) = (constants_of_request_policy(&policy), Rng::new(seed));
        for _ in 0..300 {
            let request = request_near(&constants, policy.endian(), &mut rng);
            let given = decision(&store, func, &request);
            prop_assert_eq!(given, policy.evaluate(&request), "{:x?}", request);
        }
    }

    /// The order of a stack does not matter, and every filter must allow.
    #[test]
    fn a_stack_allows_what_all_filters_allow(
        one in request_policies(4),
        other in request_policies(4),
        seed in any::<u64>(),
    ) {
        prop_assume!(one.endian() == other.endian());
        let mut store = store(one.endian());
        let (a, b) = (store.request_policy(&one).unwrap(), store.request_policy(&other).unwrap());
        let both = store.highest_precedence(a, b).unwrap();
        prop_assert_eq!(store.highest_precedence(b, a).unwrap(), both);
        let mut constants = constants_of_request_policy(&one);
        constants.extend(constants_of_request_policy(&other));
        let mut rng = Rng::new(seed);
        for _ in 0..100 {
            let request = request_near(&constants, one.endian(), &mut rng);
            let wanted = Decision::of_stack([one.evaluate(&request), other.evaluate(&request)]);
            prop_assert_eq!(decision(&store, both, &request), wanted, "{:x?}", request);
        }
    }
}

/// Compares the MTBDDs of programs of these pieces with the interpreter; at most this percentage may exceed the budget.
fn programs(pieces: impl Strategy<Value = Piece>, most: usize, runs: u32, skipped_percent: u32) {
    let programs = (prop::collection::vec(pieces, 1..most), any::<bool>(), any::<u64>());
    let (total, skipped, allowed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let result = TestRunner::new(cases(runs)).run(&programs, |(pieces, big, seed)| {
        let endian = ENDIANS[usize::from(big)];
        let program = request_program(&pieces, endian);
        total.set(total.get() + 1);
        let mut store = store(endian);
        let Ok(func) = store.program(&program, endian) else {
            skipped.set(skipped.get() + 1);
            return Ok(());
        };
        store.check(func).unwrap();
        let (constants, mut rng) = (constants_of_request_program(&program), Rng::new(seed));
        for _ in 0..200 {
            let request = request_near(&constants, endian, &mut rng);
            let wanted = program.run(&request, endian).verdict;
            prop_assert_eq!(decision(&store, func, &request), wanted, "{:x?}", request);
            allowed.set(allowed.get() + usize::from(wanted == Decision::Allow));
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (total, skipped) = (total.get(), skipped.get());
    println!("{skipped} of {total} out of budget");
    assert!(skipped * 100 <= total * skipped_percent, "{skipped} of {total} out of budget");
    let runs = 200 * (total - skipped) as usize;
    assert!(allowed.get() * 20 > runs && allowed.get() * 20 < 19 * runs, "{allowed:?} of {runs}");
}

#[test]
fn the_mtbdd_of_a_realistic_program_agrees_with_the_interpreter() {
    programs(realistic(), 60, 400, 5);
}

#[test]
fn the_mtbdd_of_an_unusual_program_agrees_with_the_interpreter() {
    programs(unusual(), 20, 300, 60);
}

/// Allows sockets of one family, and one flag of `openat2`.
fn policy(endian: Endian) -> RequestPolicy {
    let test = |member, mask, value| {
        Condition::test(Test::masked_eq(Field::of_request(member, endian), mask, value))
    };
    let allow = |opcode, when| RequestRule {
        opcodes: SyscallSet::one(opcode),
        when,
        decision: Decision::Allow,
    };
    let rules = vec![
        allow(45, test(Member::SocketFamily, u64::MAX, 2)),
        allow(28, test(Member::OpenFlags, !0x8_0000_0000, 0x241)),
        allow(0, test(Member::SqeFlags, 0x24, 0)),
    ];
    RequestPolicy::new(rules, Decision::Deny, endian).unwrap()
}

/// A program for [`policy`] on little-endian machines, written by hand, that returns `allow` for what it allows.
fn by_hand(family: u32, allow: u32) -> Program<IoUringRequest> {
    Program::of(vec![
        Insn::new(Op::LdWordAbs, 8),
        Insn::new(Op::AndK, 0xff),
        Insn::branch(Op::JeqK, 45, 7, 0),
        Insn::branch(Op::JeqK, 28, 1, 0),
        Insn::branch(Op::JeqK, 0, 7, 10),
        Insn::new(Op::LdWordAbs, 20), // the high half of open.flags
        Insn::new(Op::AndK, !8),
        Insn::branch(Op::JeqK, 0, 0, 7),
        Insn::new(Op::LdWordAbs, 16),
        Insn::branch(Op::JeqK, 0x241, 4, 5),
        Insn::new(Op::LdWordAbs, 16), // socket.family
        Insn::branch(Op::JeqK, family, 2, 3),
        Insn::new(Op::LdWordAbs, 8),
        Insn::branch(Op::JsetK, 0x2400, 1, 0), // sqe_flags is the second byte
        Insn::new(Op::RetK, allow),
        Insn::new(Op::RetK, 0),
    ])
    .unwrap()
}

#[test]
fn a_program_by_hand_is_proved_and_a_wrong_one_refused_with_a_witness() {
    let policy = policy(Endian::Little);
    let mut meaning = Meaning::of_request_policy(&policy, BUDGET).unwrap();
    // All values but 0 mean the same.
    for allow in [1, 2, 0x7fff_0000, u32::MAX] {
        meaning.prove(&by_hand(2, allow)).unwrap();
    }
    let wrong = by_hand(10, 1);
    let refused = meaning.prove(&wrong).unwrap_err();
    let witness = refused.witness().unwrap();
    let given = wrong.run(witness, Endian::Little).verdict;
    assert_ne!(given, policy.evaluate(witness), "{witness:x?}");
    assert!(refused.to_string().contains(&format!("for example at {witness:x?}")), "{refused}");
    let never = by_hand(2, 0);
    assert!(meaning.prove(&never).unwrap_err().witness().is_some());
}

#[test]
fn the_same_instructions_are_another_filter_in_the_other_byte_order() {
    let program = by_hand(2, 1);
    let mut meaning = Meaning::of_request_policy(&policy(Endian::Big), BUDGET).unwrap();
    let refused = meaning.prove(&program).unwrap_err();
    let witness = refused.witness().unwrap();
    let given = program.run(witness, Endian::Big).verdict;
    assert_ne!(given, policy(Endian::Big).evaluate(witness), "{witness:x?}");
}

/// Padding and the payload of other opcodes are inputs like all others: a proof does not assume that they are 0.
#[test]
fn a_program_that_relies_on_the_padding_is_another_filter() {
    let whole = |k| {
        Program::<IoUringRequest>::of(vec![
            Insn::new(Op::LdWordAbs, 8),
            Insn::branch(Op::JeqK, k, 0, 1),
            Insn::new(Op::RetK, 1),
            Insn::new(Op::RetK, 0),
        ])
        .unwrap()
    };
    let rule =
        RequestRule {
            opcodes: SyscallSet::one(7),
            when: Condition::all([Member::SqeFlags, Member::PduSize].map(|member| {
                Condition::test(Test::eq(Field::of_request(member, Endian::Little), 0))
            })),
            decision: Decision::Allow,
        };
    let policy = RequestPolicy::new(vec![rule], Decision::Deny, Endian::Little).unwrap();
    let mut meaning = Meaning::of_request_policy(&policy, BUDGET).unwrap();
    let refused = meaning.prove(&whole(7)).unwrap_err();
    assert_ne!(refused.witness().unwrap().pad[0], 0);
}

#[test]
fn computed_results_with_many_bits_are_decisions() {
    for endian in ENDIANS {
        let any_bit = Program::<IoUringRequest>::of(vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::RetA, 0),
        ])
        .unwrap();
        let mut store = store(endian);
        let func = store.program(&any_bit, endian).unwrap();
        for (family, wanted) in [(0, Decision::Deny), (1 << 31, Decision::Allow)] {
            let payload = SocketPayload { family, kind: 1, protocol: 2 };
            let request = IoUringRequest::socket(payload, endian);
            assert_eq!(decision(&store, func, &request), wanted);
        }
    }
}

#[test]
fn a_loaded_length_is_that_of_the_structure() {
    let length = Program::<IoUringRequest>::of(vec![
        Insn::new(Op::LdLen, 0),
        Insn::branch(Op::JeqK, 40, 0, 1),
        Insn::new(Op::RetK, 1),
        Insn::new(Op::RetK, 0),
    ])
    .unwrap();
    let mut store = store(Endian::Little);
    let func = store.program(&length, Endian::Little).unwrap();
    assert_eq!(store.as_verdict(func), Some(Verdict(1)));
    let run = length.run(&IoUringRequest::default(), Endian::Little);
    assert_eq!(run.verdict, Decision::Allow);
}

/// What the types cannot refuse is an error: filters of several layouts in one store.
#[test]
fn a_store_has_filters_of_one_layout_only() {
    let requests = Program::<IoUringRequest>::of(vec![Insn::new(Op::RetK, 1)]).unwrap();
    let syscalls = Program::new(vec![Insn::new(Op::RetK, 1)]).unwrap();
    let mut of_syscalls = Store::default();
    let func = of_syscalls.program(&syscalls, Endian::Little).unwrap();
    assert!(of_syscalls.program(&requests, Endian::Little).unwrap_err().is_defect());
    assert!(of_syscalls.request_policy(&policy(Endian::Little)).unwrap_err().is_defect());
    assert!(of_syscalls.evaluate(func, &IoUringRequest::default()).is_err());
    assert!(of_syscalls.witness(func, func, IoUringRequest::default()).is_err());

    let mut little = store(Endian::Little);
    let func = little.program(&requests, Endian::Little).unwrap();
    assert!(little.program(&requests, Endian::Big).unwrap_err().is_defect());
    assert!(little.program(&syscalls, Endian::Little).unwrap_err().is_defect());
    assert!(little.request_policy(&policy(Endian::Big)).unwrap_err().is_defect());
    assert!(little.evaluate(func, &SeccompData::default()).is_err());
    assert!(little.verdict_combinations([func]).is_err());
    let argument = Test::eq(Field::arg(0).unwrap(), 1);
    assert!(little.test(&argument).is_err());
    assert!(little.condition(&Condition::test(argument)).is_err());
    let syscall = callgate_core::policy::Policy::new(vec![], Verdict::ALLOW).unwrap();
    let error = little.policy(&syscall).unwrap_err();
    assert!(error.is_defect() && error.to_string().contains("another structure"), "{error}");
}
