//! Policies and programs that compare arguments with each other.

use callgate::compile::{Options, compile};
use callgate::explain::outcome;
use callgate::fuzz::plain_program;
use callgate::optimize::optimize;
use callgate::sets::not_in_func;
use callgate::{Arch, Verdict};
use callgate_bpf::random::Rng;
use callgate_codegen::query::{differences, permitted, syscall_with};
use callgate_codegen::{Aim, Instructions};
use callgate_core::diagram::{Budget, Store};
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Rule, Section, Test, VariableRelation,
};
use callgate_core::{Endian, Insn, Meaning, Op, Program, SeccompData, SyscallSet, Word};
use callgate_testing::random::arguments::{policy, syscall};

const POLICIES: u64 = 200;
const SYSCALLS: usize = 60;

fn is(left: Field, cmp: Cmp, right: Field) -> Condition {
    FieldTest { left, relation: VariableRelation::Cmp(cmp), right }.into()
}

fn arg(index: u8) -> Field {
    Field::arg(index).unwrap()
}

/// A policy for x86-64 that allows syscall 9 under a condition.
fn allow(when: Condition) -> Policy {
    let rule = Rule { syscalls: SyscallSet::one(9), when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

fn call(args: [u64; 6]) -> SeccompData {
    SeccompData { nr: 9, arch: Arch::X86_64.token(), args, ..SeccompData::default() }
}

#[test]
fn compiled_programs_have_the_verdicts_of_their_policies() {
    let mut compared = 0;
    for seed in 0..POLICIES {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let aim = [Aim::Speed, Aim::Size, Aim::Quick][seed as usize % 3];
        let compiled = compile(&policy, &Options { aim, ..Options::default() }).unwrap();
        compared += compiled.program.iter().filter(|insn| insn.op == Op::JeqX).count();
        let plain = plain_program(&policy).unwrap();
        let mut meaning = Meaning::of_policy(&policy, Budget::default()).unwrap();
        assert!(meaning.prove(&plain).is_ok(), "seed {seed}: {policy:#x?}");
        let arch = policy.arches().next().unwrap();
        for _ in 0..SYSCALLS {
            let data = syscall(&mut rng, arch);
            let expected = policy.evaluate(&data);
            let run = |program: &Program| program.run(&data, policy.endian()).verdict;
            assert_eq!(run(&compiled.program), expected, "seed {seed}: {data:x?} {policy:#x?}");
            assert_eq!(run(&plain), expected, "seed {seed}: {data:x?} {policy:#x?}");
            let of_diagram = meaning.store().evaluate(meaning.func(), &data);
            assert_eq!(of_diagram, Ok(expected), "seed {seed}: {data:x?} {policy:#x?}");
        }
    }
    assert!(compared > POLICIES as usize / 2, "only {compared} comparisons");
}

#[test]
fn programs_are_optimized_and_never_longer() {
    let mut shorter = 0;
    for seed in 0..POLICIES / 4 {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let plain = plain_program(&policy).unwrap();
        let arches: Vec<Arch> = policy.arches().collect();
        let options = Options { aim: Aim::Size, ..Options::default() };
        let optimized = optimize(&plain.clone().into(), policy.endian(), &arches, &options);
        let optimized = optimized.unwrap().program;
        assert!(optimized.len() <= plain.len(), "seed {seed}: {policy:#x?}");
        shorter += usize::from(optimized.len() < plain.len());
    }
    assert!(shorter > 30, "{shorter}");
}

/// Each broken program is refused, with a witness for which it really differs, or with none.
#[test]
fn broken_programs_are_refused() {
    let (mut refused, mut witnesses) = (0, 0);
    for seed in 0..POLICIES / 2 {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let program = compile(&policy, &Options::default()).unwrap().program;
        let mut meaning = Meaning::of_policy(&policy, Budget::default()).unwrap();
        let arch = policy.arches().next().unwrap();
        for at in 0..program.len() {
            let mut insns = program.insns().to_vec();
            let insn = &mut insns[at];
            insn.op = match insn.op {
                Op::JeqX => Op::JgeX,
                Op::JgtX => Op::JgeX,
                Op::JgeX => Op::JgtX,
                Op::JsetX => Op::JeqX,
                Op::Tax => Op::Txa,
                _ => continue,
            };
            let Ok(broken) = Program::new(insns) else { continue };
            let differs = |data: &SeccompData| {
                broken.run(data, policy.endian()).verdict != policy.evaluate(data)
            };
            match meaning.prove(&broken) {
                Ok(_) => {
                    let found = (0..SYSCALLS).map(|_| syscall(&mut rng, arch)).find(differs);
                    assert_eq!(found, None, "seed {seed}, instruction {at}: {policy:#x?}");
                }
                Err(error) => {
                    refused += 1;
                    if let Some(data) = error.witness() {
                        assert!(differs(data), "seed {seed}: {data:x?}");
                        witnesses += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 100 && witnesses > 20, "{refused} {witnesses}");
}

/// A difference is shown by a syscall, which both filters treat differently, or it is said not to be decided.
#[test]
fn differences_have_true_witnesses() {
    let (mut shown, mut undecided) = (0, 0);
    for seed in 0..POLICIES {
        let mut rng = Rng::new(seed);
        let policies = [policy(&mut rng), policy(&mut rng)];
        if policies[0].endian() != policies[1].endian() {
            continue;
        }
        let mut store = Store::default();
        let [a, b] = policies.each_ref().map(|policy| store.policy(policy).unwrap());
        match differences(&store, a, b, usize::MAX) {
            Ok(found) => {
                assert_eq!(found.is_empty(), a == b);
                for one in found {
                    let [left, right] = policies.each_ref().map(|of| of.evaluate(&one.data));
                    assert_eq!((one.left, one.right), (left, right), "seed {seed}: {one:x?}");
                    assert_ne!(left, right);
                    shown += 1;
                }
            }
            Err(error) => {
                assert!(error.to_string().contains("not decided"), "{error}");
                undecided += 1;
            }
        }
        if let Some(data) = permitted(&store, a, SeccompData::default()) {
            assert!(policies[0].evaluate(&data).permits(), "seed {seed}: {data:x?}");
        }
    }
    assert!(shown > 300 && undecided < 5, "{shown} shown, {undecided} undecided");
}

/// `addr == len` has one jump for each half, and what is proved does not depend on the order in which halves and words are compared.
#[test]
fn programs_that_compare_words_in_any_order_are_proved() {
    let policy = allow(is(arg(0), Cmp::Ge, arg(1)));
    let [ret_allow, ret_errno, ret_kill] =
        [Verdict::ALLOW, Verdict::errno(1), Verdict::KILL_PROCESS]
            .map(|v| Insn::new(Op::RetK, v.0));
    let load = |word: Word| Insn::new(Op::LdWordAbs, word.offset(Endian::Little));
    let [high_a, low_a, high_b, low_b] =
        [(0, true), (0, false), (1, true), (1, false)].map(|(index, is_high)| match is_high {
            true => load(Word::arg_high(index).unwrap()),
            false => load(Word::arg_low(index).unwrap()),
        });
    let head = [
        load(Word::ARCH),
        Insn::branch(Op::JeqK, Arch::X86_64.token(), 1, 0),
        ret_kill,
        load(Word::NR),
        Insn::branch(Op::JeqK, 9, 1, 0),
        ret_errno,
    ];
    let tax = Insn::new(Op::Tax, 0);
    // `b` in X, and `a` in X by way of scratch memory; `jgt` before `jeq`.
    let bodies = [
        vec![
            high_b,
            tax,
            high_a,
            Insn::branch(Op::JgtX, 0, 5, 0),
            Insn::branch(Op::JeqX, 0, 0, 5),
            low_b,
            tax,
            low_a,
            Insn::branch(Op::JgeX, 0, 0, 1),
            ret_allow,
            ret_errno,
        ],
        vec![
            high_a,
            tax,
            high_b,
            Insn::branch(Op::JgtX, 0, 6, 0),
            Insn::branch(Op::JeqX, 0, 0, 6),
            low_a,
            Insn::new(Op::St, 3),
            Insn::new(Op::LdxMem, 3),
            low_b,
            Insn::branch(Op::JgtX, 0, 0, 1),
            ret_errno,
            ret_allow,
        ],
    ];
    let mut meaning = Meaning::of_policy(&policy, Budget::default()).unwrap();
    for (number, body) in bodies.into_iter().enumerate() {
        let program = Program::new(head.iter().copied().chain(body).collect()).unwrap();
        assert!(meaning.prove(&program).is_ok(), "{number}");
    }
    let program = compile(&policy, &Options::default()).unwrap().program;
    let jumps = program.iter().map(|insn| insn.op).filter(|op| format!("{op:?}").ends_with('X'));
    let jumps: Vec<Op> = jumps.filter(|op| op.is_branch()).collect();
    assert_eq!(jumps.len(), 3, "{jumps:?}");
    assert_eq!(program.iter().filter(|insn| insn.op == Op::Tax).count(), 2);
}

/// The outcomes of other comparisons, and the bits of words, are not related: what follows from them alone is not decided.
#[test]
fn what_follows_from_several_comparisons_is_not_decided() {
    let transitive = Condition::all([is(arg(0), Cmp::Eq, arg(1)), is(arg(1), Cmp::Eq, arg(2))]);
    let all = Condition::all([transitive.clone(), is(arg(0), Cmp::Eq, arg(2))]);
    let mut store = Store::default();
    let [a, b] = [transitive, all].map(|when| store.policy(&allow(when)).unwrap());
    assert_ne!(a, b);
    assert!(differences(&store, a, b, 1).unwrap_err().to_string().contains("not decided"));
    // Other relations of the same two arguments are.
    let less_or_equal = Condition::any([is(arg(0), Cmp::Lt, arg(1)), is(arg(1), Cmp::Eq, arg(0))]);
    let [a, b] = [is(arg(1), Cmp::Ge, arg(0)), less_or_equal]
        .map(|when| store.policy(&allow(when)).unwrap());
    assert_eq!(a, b);
    let neither = Condition::all([is(arg(0), Cmp::Le, arg(1)), is(arg(0), Cmp::Gt, arg(1))]);
    let [a, b] = [neither, Condition::never()].map(|when| store.policy(&allow(when)).unwrap());
    assert_eq!(a, b);
}

#[test]
fn witnesses_fulfil_comparisons_and_values_of_words() {
    let five = Condition::test(Test::eq(arg(2), 0x5_0000_0007));
    let when = Condition::all([
        five,
        is(arg(0), Cmp::Eq, arg(2)),
        is(arg(1), Cmp::Gt, arg(0)),
        is(Field::arg_low(1).unwrap(), Cmp::Lt, Field::arg_low(2).unwrap()),
    ]);
    let policy = allow(when);
    let mut store = Store::default();
    let func = store.policy(&policy).unwrap();
    let data = permitted(&store, func, call([0; 6])).unwrap();
    assert_eq!(policy.evaluate(&data), Verdict::ALLOW, "{data:x?}");
    assert_eq!(data.args[0], 0x5_0000_0007);
    let never = syscall_with(&store, [func], call([0; 6]), |[verdict]| verdict == Verdict::LOG);
    assert_eq!(never, None);
}

#[test]
fn subsets_are_found() {
    let mut store = Store::default();
    let conditions = [is(arg(0), Cmp::Eq, arg(1)), is(arg(0), Cmp::Ge, arg(1))];
    let [equal, at_least] = conditions.map(|when| store.policy(&allow(when)).unwrap());
    assert!(not_in_func(&mut store, equal, at_least, 1).unwrap().is_empty());
    let found = not_in_func(&mut store, at_least, equal, 1).unwrap();
    let [left, right, ..] = found[0].data.args;
    assert!(left > right, "{found:x?}");
}

#[test]
fn conditions_are_explained_in_words() {
    let text = |when| {
        let policy = allow(when);
        let mut store = Store::default();
        let func = store.policy(&policy).unwrap();
        let func = store.follow(func, Word::ARCH, Arch::X86_64.token());
        let func = store.follow(func, Word::NR, 9);
        match outcome(&store, func, Arch::X86_64) {
            callgate::explain::Outcome::Depends { clauses, otherwise } => {
                let of = |clause: &callgate::explain::Clause| {
                    format!("{} if {}", clause.verdict, clause.describe(Some("mmap")))
                };
                let clauses: Vec<String> = clauses.iter().map(of).collect();
                format!("{}, else {otherwise}", clauses.join(", "))
            }
            other => format!("{other:?}"),
        }
    };
    let low = |index| Field::arg_low(index).unwrap();
    let any = |left, right| {
        Condition::fields(FieldTest { left, relation: VariableRelation::AnyBit, right })
    };
    for (when, expected) in [
        (is(arg(0), Cmp::Eq, arg(1)), "ALLOW if addr == len, else ERRNO(EPERM)"),
        (is(arg(1), Cmp::Eq, arg(0)), "ALLOW if addr == len, else ERRNO(EPERM)"),
        (is(arg(0), Cmp::Ne, arg(1)), "ERRNO(EPERM) if addr == len, else ALLOW"),
        (is(arg(0), Cmp::Lt, arg(1)), "ALLOW if addr < len, else ERRNO(EPERM)"),
        (is(arg(1), Cmp::Lt, arg(0)), "ALLOW if addr > len, else ERRNO(EPERM)"),
        (is(arg(0), Cmp::Le, arg(1)), "ALLOW if addr <= len, else ERRNO(EPERM)"),
        (is(arg(0), Cmp::Ge, arg(1)), "ALLOW if addr >= len, else ERRNO(EPERM)"),
        (is(low(0), Cmp::Ge, low(1)), "ALLOW if addr.low >= len.low, else ERRNO(EPERM)"),
        (
            is(arg(0), Cmp::Eq, low(1)),
            "ALLOW if addr.high == 0 and addr.low == len.low, else ERRNO(EPERM)",
        ),
        (
            is(arg(0), Cmp::Eq, Field::instruction_pointer()),
            "ALLOW if instruction_pointer == addr, else ERRNO(EPERM)",
        ),
        (any(arg(2), arg(3)), "ALLOW if prot & flags != 0, else ERRNO(EPERM)"),
        (any(arg(2), arg(3)).negated(), "ALLOW if prot & flags == 0, else ERRNO(EPERM)"),
        (
            Condition::all([Condition::test(Test::eq(arg(4), 3)), is(arg(0), Cmp::Eq, arg(1))]),
            "ALLOW if fd == 3 and addr == len, else ERRNO(EPERM)",
        ),
    ] {
        assert_eq!(text(when), expected);
    }
}

#[test]
fn the_basic_instructions_cannot_compare_arguments() {
    let policy = allow(is(arg(0), Cmp::Eq, arg(1)));
    let options = Options { instructions: Instructions::Basic, ..Options::default() };
    let error = compile(&policy, &options).unwrap_err();
    assert!(error.to_string().contains("compares arguments with each other"), "{error}");
    assert_eq!(error.help().as_deref(), Some("permit all instructions"));
}

/// The kernel caches that a syscall is always allowed, also beside one whose arguments are compared.
#[test]
fn constant_allow_is_kept_beside_comparisons() {
    let always = Rule {
        syscalls: SyscallSet::range(0, 3),
        when: Condition::always(),
        verdict: Verdict::ALLOW,
    };
    let when = is(arg(0), Cmp::Eq, arg(1));
    let compared = Rule { syscalls: SyscallSet::one(9), when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![always, compared], Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let compiled = compile(&policy, &Options::default()).unwrap();
    assert_eq!(compiled.stats.constant_allow, 4);
}
