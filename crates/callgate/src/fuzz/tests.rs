use proptest::prelude::*;

use super::*;
use crate::compile;
use callgate_bpf::random::Rng;
use callgate_core::diagram::Budget;
use callgate_core::policy::Policy;
use callgate_core::policy::{Cmp, Condition, Field, Rule, Section, Test};
use callgate_core::{Arch, Endian, Insn, Op, Program, SeccompData, SyscallSet, Verdict, Word};

fn report(policy: Option<&Policy>, programs: &[Subject], endian: Endian) -> Report {
    let input = Input { policy, programs, arches: &[Arch::X86_64], endian };
    fuzz(&input, &Search::default(), &mut |_| true)
}

/// Some always-allowed syscalls, and some with tests of every kind.
fn policy() -> Policy {
    let test = |arg, cmp, value| Condition::test(Test::new(Field::arg(arg).unwrap(), cmp, value));
    let low = |arg, mask, value| {
        Condition::test(Test::masked_eq(Field::arg_low(arg).unwrap(), mask, value))
    };
    let rule = |syscalls, when, verdict| Rule { syscalls, when, verdict };
    let both = Condition::all([test(0, Cmp::Ge, 0x1_0000_0003), test(0, Cmp::Lt, 0x5_0000_0000)]);
    let rules = vec![
        rule(SyscallSet::from_ranges([(0, 4), (9, 9)]), Condition::always(), Verdict::ALLOW),
        rule(SyscallSet::one(41), test(0, Cmp::Le, 3), Verdict::ALLOW),
        rule(SyscallSet::one(41), low(1, 0xf0, 0x20), Verdict::errno(7)),
        rule(SyscallSet::range(41, 44), both, Verdict::LOG),
        rule(
            SyscallSet::one(56),
            Condition::any([test(2, Cmp::Ne, 6), low(3, 1, 1)]),
            Verdict::trace(5),
        ),
        rule(SyscallSet::one(57), Condition::never(), Verdict::ALLOW),
        rule(SyscallSet::one(58), test(5, Cmp::Gt, 1 << 40), Verdict::KILL_PROCESS),
    ];
    let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

fn compiled(policy: &Policy) -> Program {
    compile::compile(policy, &compile::Options::default()).unwrap().program.into()
}

#[test]
fn forms_of_a_policy_agree_and_are_executed_everywhere() {
    let policy = policy();
    let programs = [
        Subject::new("plain", plain_program(&policy).unwrap()),
        Subject::new("optimized", compiled(&policy)),
    ];
    let report = report(Some(&policy), &programs, policy.endian());
    assert!(report.agrees(), "{report:?}");
    assert!(report.is_complete(), "{:?}", report.coverage);
    // The rule that never applies is dead code in the plain program only.
    assert_eq!(report.coverage[0].dead_insns.len(), 1, "{:?}", report.coverage);
    assert_eq!(report.coverage[1].dead_insns, [0; 0]);
    assert!(report.comparisons.iter().all(|one| one.syscalls == report.syscalls));
    assert!(report.syscalls > Search::default().runs);
}

/// Every program with one changed instruction and another meaning is found, with a witness.
#[test]
fn every_broken_instruction_is_found() {
    let policy = policy();
    let good = compiled(&policy);
    let mut store = callgate_core::diagram::Store::default();
    let meaning = store.program(&good, policy.endian()).unwrap();
    let mut found = 0;
    for at in 0..good.len() {
        let changes: [fn(&mut Insn); 4] = [
            |insn| insn.k ^= 1,
            |insn| insn.k ^= 0x8000,
            |insn| insn.k = insn.k.wrapping_sub(1),
            |insn| std::mem::swap(&mut insn.jt, &mut insn.jf),
        ];
        for change in changes {
            let mut insns = good.insns().to_vec();
            change(&mut insns[at]);
            let Ok(program) = Program::new(insns) else { continue };
            let differs = store.program(&program, policy.endian()).unwrap() != meaning;
            let subjects = [Subject::new("broken", program)];
            let input = Input {
                policy: Some(&policy),
                programs: &subjects,
                arches: &[Arch::X86_64],
                endian: policy.endian(),
            };
            // Without random syscalls: the constants suffice.
            let options = Search { runs: 0, ..Search::default() };
            let report = fuzz(&input, &options, &mut |_| true);
            assert!(report.is_complete(), "{:?}", report.coverage);
            assert_eq!(!report.agrees(), differs, "{at}: {:?}", subjects[0].program);
            let Some(first) = report.comparisons[0].first else { continue };
            found += 1;
            assert_eq!(first.left, policy.evaluate(&first.data));
            assert_eq!(first.right, subjects[0].program.run(&first.data, input.endian).verdict);
            assert_ne!(first.left, first.right);
        }
    }
    assert!(found > good.len(), "only {found} programs differed");
}

#[test]
fn the_first_mismatch_is_simplified() {
    let ld = |word: Word| Insn::new(Op::LdWordAbs, word.offset(Endian::Little));
    let filter = |k| {
        Program::new(vec![
            ld(Word::arg_low(3).unwrap()),
            Insn::branch(Op::JgeK, k, 0, 1),
            Insn::new(Op::RetK, 1),
            Insn::new(Op::RetK, 2),
        ])
    };
    let programs =
        [Subject::new("a", filter(1000).unwrap()), Subject::new("b", filter(1001).unwrap())];
    let report = report(None, &programs, Endian::Little);
    let first = report.comparisons[0].first.unwrap();
    assert_eq!(first.data.args, [0, 0, 0, 1000, 0, 0]);
    assert_eq!(first.data.instruction_pointer, 0);
    assert_eq!((first.left, first.right), (Verdict(1), Verdict(2)));
}

#[test]
fn dead_code_is_proved_dead() {
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, 16),
        Insn::new(Op::AndK, 0xf0),
        Insn::branch(Op::JsetK, 0x0f, 0, 1),
        Insn::new(Op::RetK, 1),
        Insn::branch(Op::JeqK, 0x30, 0, 1),
        Insn::new(Op::RetK, 2),
        Insn::new(Op::RetK, 3),
    ])
    .unwrap();
    let report = report(None, &[Subject::new("given", program)], Endian::Little);
    let coverage = &report.coverage[0];
    assert_eq!(coverage.dead_insns, [3]);
    assert_eq!(coverage.dead_edges, [Edge { index: 2, holds: true }]);
    assert_eq!((coverage.insns_executed, coverage.edges_taken), (6, 3));
    assert!(report.is_complete() && report.agrees());
}

/// Code that no candidate value reaches.
#[test]
fn the_diagram_reaches_code_that_constants_do_not() {
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, 16),
        Insn::new(Op::MulK, 3),
        Insn::new(Op::AddK, 0x1234_5678),
        Insn::new(Op::XorK, 0x0bad_cafe),
        Insn::branch(Op::JeqK, 0x8765_4321, 0, 1),
        Insn::new(Op::RetK, 1),
        Insn::new(Op::RetK, 2),
    ])
    .unwrap();
    let report = report(None, &[Subject::new("given", program)], Endian::Little);
    assert!(report.is_complete(), "{:?}", report.coverage);
    assert_eq!(report.coverage[0].edges_taken, 2);
}

#[test]
fn edges_beyond_the_budget_are_reported_as_missed() {
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, 16),
        Insn::new(Op::Tax, 0),
        Insn::new(Op::LdWordAbs, 24),
        Insn::new(Op::MulX, 0),
        Insn::branch(Op::JeqK, 0x7fff_ffed, 0, 1),
        Insn::new(Op::RetK, 1),
        Insn::new(Op::RetK, 2),
    ])
    .unwrap();
    let programs = [Subject::new("given", program)];
    let input = Input { policy: None, programs: &programs, arches: &[], endian: Endian::Little };
    let budget = Budget { nodes: 10_000, steps: 100_000 };
    let options = Search { runs: 0, budget, ..Search::default() };
    let report = fuzz(&input, &options, &mut |_| true);
    let coverage = &report.coverage[0];
    assert!(coverage.why.is_some() && !report.is_complete() && report.agrees());
    assert_eq!(coverage.missed_edges, [Edge { index: 4, holds: true }]);
    assert_eq!(coverage.dead_insns, [0; 0]);
}

#[test]
fn the_same_seed_gives_the_same_syscalls() {
    let policy = policy();
    let programs = [Subject::new("optimized", compiled(&policy))];
    let run = |seed| {
        let input = Input {
            policy: Some(&policy),
            programs: &programs,
            arches: &[Arch::X86_64],
            endian: policy.endian(),
        };
        fuzz(&input, &Search { seed, ..Search::default() }, &mut |_| true)
    };
    assert_eq!(run(7).kept, run(7).kept);
    assert_eq!(run(7).syscalls, run(8).syscalls);
}

/// Two filters in different forms, alone and on top of others: the first difference is found, simplified, and counted once per
/// syscall.
#[test]
fn two_filters_are_compared_in_any_form() {
    let first = policy();
    let test = Test::new(Field::arg(0).unwrap(), Cmp::Eq, 0x77);
    let deny = Rule {
        syscalls: SyscallSet::one(44),
        when: Condition::test(test),
        verdict: Verdict::errno(3),
    };
    let section = Section::new(Arch::X86_64, vec![deny], Verdict::ALLOW);
    let second = Policy::new(vec![section], Verdict::ALLOW).unwrap();
    let (one, two) = (compiled(&first), compiled(&second));
    let run = |left: &[Member<'_>], right: &[Member<'_>]| {
        let sides = [("a", left), ("b", right)].map(|(name, members)| Side { name, members });
        let pair = Pair { sides, arches: &[Arch::X86_64], endian: Endian::Little };
        fuzz_pair(&pair, &Search::default(), &mut |_| true)
    };
    let (rules, program) = (Member::Rules(&first), Member::Program(&one));
    let same = run(&[rules], &[program]);
    assert!(same.agrees() && same.is_complete(), "{same:?}");
    let names = |report: &Report| -> Vec<String> {
        report.coverage.iter().map(|one| one.name.clone()).collect()
    };
    assert_eq!(names(&same), ["a, rules", "b"]);
    assert_eq!(same.comparisons.len(), 1);
    assert_eq!(same.comparisons[0].syscalls, same.syscalls);

    let stack = [rules, Member::Program(&two)];
    let other = run(&[program], &stack);
    assert_eq!(names(&other), ["a", "b, filter 1, rules", "b, filter 2"]);
    let found = other.comparisons[0].first.unwrap();
    let expected = SeccompData {
        nr: 44,
        arch: Arch::X86_64.token(),
        args: [0x77, 0, 0, 0, 0, 0],
        ..found.data
    };
    assert_eq!((found.data, found.data.instruction_pointer), (expected, 0));
    // Both filters deny it; the newer one has the errno.
    assert_eq!((found.left, found.right), (Verdict::errno(1), Verdict::errno(3)));
}

/// Rules of which no plain program can be made are evaluated all the same.
#[test]
fn rules_without_coverage_are_compared() {
    let many = |last: u64| {
        let test =
            |arg, value| Condition::test(Test::new(Field::arg(arg).unwrap(), Cmp::Eq, value));
        let rules = (0..600).map(|value| Rule {
            syscalls: SyscallSet::one(16),
            when: Condition::all([test(1, value), test(2, if value == 599 { last } else { 5 })]),
            verdict: Verdict::ALLOW,
        });
        let section = Section::new(Arch::X86_64, rules.collect(), Verdict::errno(1));
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    };
    let (left, right) = (many(5), many(6));
    let sides = [("a", &left), ("b", &right)];
    let members = sides.map(|(_, policy)| [Member::Rules(policy)]);
    let sides = [0, 1].map(|at| Side { name: sides[at].0, members: &members[at] });
    let pair = Pair { sides, arches: &[Arch::X86_64], endian: Endian::Little };
    let options = Search { runs: 100, ..Search::default() };
    let report = fuzz_pair(&pair, &options, &mut |_| true);
    assert!(report.coverage.is_empty());
    let names: Vec<_> = report.without_coverage.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let first = report.comparisons[0].first.unwrap();
    assert_eq!((first.data.nr, first.data.args[1]), (16, 599));
    assert!([5, 6].contains(&first.data.args[2]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// All code is executed or proved dead, and no syscall executes dead code, near constants or not.
    #[test]
    fn random_programs_are_executed_everywhere(program in callgate_testing::random::any_program(false), seed in any::<u64>()) {
        let programs = [Subject::new("given", program)];
        let input = Input {
            policy: None,
            programs: &programs,
            arches: &[Arch::X86_64],
            endian: Endian::Little,
        };
        let budget = Budget { nodes: 200_000, steps: 1_000_000 };
        let options = Search { seed, budget, ..Search::default() };
        let report = fuzz(&input, &options, &mut |_| true);
        prop_assert!(report.contradictions.is_empty(), "{:?}", report.contradictions);
        let coverage = &report.coverage[0];
        prop_assert!(coverage.is_complete() || coverage.why.is_some(), "{coverage:?}");
        // Syscalls outside the search.
        let mut rng = Rng::new(!seed);
        let base = report.kept.clone();
        for _ in 0..5_000 {
            let mut data = SeccompData::default();
            if rng.below(2) == 0 {
                data = rng.pick(&base).unwrap_or(data);
            }
            for word in Word::all() {
                if rng.below(3) == 0 {
                    data.set_word(word, rng.next() as u32 >> rng.below(32));
                }
            }
            programs[0].program.trace(&data, Endian::Little, |step| {
                assert!(!coverage.dead_insns.contains(&step.index), "{} {data:x?}", step.index);
                if let Some(holds) = step.holds() {
                    let edge = Edge { index: step.index, holds };
                    assert!(!coverage.dead_edges.contains(&edge), "{edge:?} {data:x?}");
                }
            });
        }
    }
}
