//! The proof by cases beside that by MTBDD.

use callgate_bpf::random::Rng;

use crate::{Arch, Endian, Insn, Op, Program, SeccompData, SyscallSet, Verdict, Word};

use super::Cases;
use super::follow::{Paths, Tested};
use super::word_comparison::{Literal, WordTest};
use crate::Meaning;
use crate::diagram::Budget;
use crate::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};

const TOKEN: u32 = Arch::X86_64.token();
const CMPS: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];

const VALUES: [u64; 8] =
    [0, 1, 2, 5, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0005, 0xffff_ffff_ffff_ffff];

fn test(rng: &mut Rng) -> Test {
    let index = rng.below(2) as u8;
    let field = rng.pick(&[Field::arg(index), Field::arg_low(index)]).unwrap().unwrap();
    let test = Test::new(field, rng.pick(&CMPS).unwrap(), rng.pick(&VALUES).unwrap());
    let is_masked = rng.below(2) == 0;
    let mask = rng.pick(&[6, 1, 0xffff_ffff, 0x1_0000_0005]).unwrap();
    if is_masked { Test { mask: mask & field.full_mask(), ..test } } else { test }
}

fn policy(rng: &mut Rng) -> Policy {
    let verdicts = [Verdict::ALLOW, Verdict::errno(1), Verdict::LOG];
    let rule = |rng: &mut Rng| {
        let all = |rng: &mut Rng| {
            let tests = 1 + rng.below(3);
            Condition::all((0..tests).map(|_| Condition::test(test(rng))))
        };
        let when = match rng.below(5) {
            0 => Condition::always(),
            1 => Condition::any((0..2).map(|_| all(rng))),
            2 => {
                let either = Condition::any((0..2).map(|_| all(rng)));
                Condition::all([Condition::test(test(rng)), either])
            }
            _ => all(rng),
        };
        let first = rng.below(6) as u32;
        let last = first + rng.below(3) as u32;
        Rule {
            syscalls: SyscallSet::range(first, last),
            when,
            verdict: rng.pick(&verdicts).unwrap(),
        }
    };
    let rules = (0..4).map(|_| rule(rng)).collect();
    let section = Section::new(Arch::X86_64, rules, rng.pick(&verdicts).unwrap());
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

/// A program that tests one literal after the other: arch, number, and the clauses of its list.
fn program(cases: &Cases) -> Program {
    let mut insns: Vec<Insn> = Vec::new();
    // From the last instruction to the first; distances are those to the end.
    let push = |insns: &mut Vec<Insn>, insn: Insn| insns.push(insn);
    let word = |insns: &mut Vec<Insn>, word: Word| {
        push(insns, Insn::new(Op::LdWordAbs, word.offset(Endian::Little)));
    };
    let jump = |insns: &mut Vec<Insn>, op, k, then: usize, otherwise: usize| {
        let here = insns.len();
        // A `ja` for each side, because displacements are small.
        push(insns, Insn::new(Op::Ja, (here - otherwise) as u32));
        push(insns, Insn::new(Op::Ja, (here + 1 - then) as u32));
        push(insns, Insn::branch(op, k, 0, 1));
    };
    push(&mut insns, Insn::new(Op::RetK, cases.bad_arch().0));
    let mut other_arch = insns.len();
    for section in cases.sections() {
        // Numbers from the last interval to the first, each with its clauses.
        let mut next_interval = other_arch;
        for interval in section.intervals.iter().rev() {
            let clauses: Vec<_> = cases.list(interval.list).collect();
            let (mut next, mut after_rule) = (other_arch, other_arch);
            for clause in clauses.iter().rev() {
                let mut holds = after_rule;
                if let Some(verdict) = clause.verdict {
                    after_rule = next;
                    push(&mut insns, Insn::new(Op::RetK, verdict.0));
                    holds = insns.len();
                }
                for literal in clause.literals.iter().rev() {
                    let op = if literal.test.is_order { Op::JgeK } else { Op::JeqK };
                    let [then, otherwise] =
                        if literal.holds { [holds, next] } else { [next, holds] };
                    jump(&mut insns, op, literal.test.value, then, otherwise);
                    push(&mut insns, Insn::new(Op::AndK, literal.test.mask));
                    word(&mut insns, literal.test.word);
                    holds = insns.len();
                }
                next = holds;
            }
            jump(&mut insns, Op::JgtK, interval.last, next_interval, next);
            word(&mut insns, Word::NR);
            next_interval = insns.len();
        }
        jump(&mut insns, Op::JeqK, section.token, next_interval, other_arch);
        word(&mut insns, Word::ARCH);
        other_arch = insns.len();
    }
    insns.reverse();
    Program::new(insns).unwrap()
}

/// Nearly all programs that are right are proved, and programs with a changed instruction only if the MTBDD agrees.
#[test]
fn what_is_proved_by_cases_is_proved_by_mtbdd() {
    let mut rng = Rng::new(3);
    let (mut proved, mut refused, mut equal) = (0, 0, 0);
    for _ in 0..400 {
        let policy = policy(&mut rng);
        let cases = Cases::of_policy(&policy).unwrap();
        let program = program(&cases);
        let mut meaning = Meaning::of_policy(&policy, Budget::default()).unwrap();
        assert!(meaning.prove(&program).is_ok(), "{policy:?}");
        proved += usize::from(cases.proves(&program));
        for _ in 0..20 {
            let mut insns = program.insns().to_vec();
            let at = rng.below(insns.len());
            match rng.below(4) {
                0 => insns[at].k ^= 1 << rng.below(32),
                1 => insns[at].k = insns[at].k.wrapping_add(1),
                2 => (insns[at].jt, insns[at].jf) = (insns[at].jf, insns[at].jt),
                _ if insns[at].op.is_branch() => insns[at].op = Op::JsetK,
                _ => insns[at].k = 0,
            }
            let Ok(changed) = Program::new(insns) else { continue };
            match (cases.proves(&changed), meaning.prove(&changed).is_ok()) {
                (true, true) => equal += 1,
                (false, false) => refused += 1,
                (true, false) => panic!("{policy:?}\n{:?}", changed.insns()),
                (false, true) => {}
            }
        }
    }
    println!("{proved} proved, {equal} of the changed ones, {refused} refused");
    // Contradictory order tests of some bits are not recognized.
    assert!(proved > 380, "{proved} of 400");
    assert!(equal > 500 && refused > 3000, "{equal} {refused}");
}

/// The clauses of the number of a syscall have its verdict.
#[test]
fn clauses_have_the_verdicts_of_the_rules() {
    let mut rng = Rng::new(8);
    let mut excluding = 0;
    for _ in 0..2000 {
        let policy = policy(&mut rng);
        let cases = Cases::of_policy(&policy).unwrap();
        let [section] = cases.sections() else { panic!("one section") };
        for _ in 0..50 {
            let args = [rng.pick(&VALUES).unwrap(), rng.pick(&VALUES).unwrap(), 0, 0, 0, 0];
            let nr = rng.below(10) as u32;
            let data = SeccompData { arch: TOKEN, nr, args, ..SeccompData::default() };
            let interval = section.intervals.iter().find(|interval| nr <= interval.last).unwrap();
            let holds = |literals: &[super::Literal]| {
                literals.iter().all(|literal| literal.is_true_for(data.word(literal.test.word)))
            };
            let mut clauses = cases.list(interval.list);
            let verdict = loop {
                let clause = clauses.find(|clause| holds(clause.literals)).unwrap();
                match clause.verdict {
                    Some(verdict) => break verdict,
                    None => drop(clauses.find(|clause| clause.verdict.is_some())),
                }
            };
            excluding += usize::from(cases.list(interval.list).any(|one| one.verdict.is_none()));
            // The verdict that clauses exclude has no literals, so that it is never dropped alone.
            let mut pairs = cases.list(interval.list).zip(cases.list(interval.list).skip(1));
            assert!(pairs.all(|(one, next)| {
                one.verdict.is_some() || next.verdict.is_none() || next.literals.is_empty()
            }));
            assert_eq!(verdict, policy.evaluate(&data), "{data:?} {policy:?}");
        }
    }
    assert!(excluding > 5_000, "{excluding}");
}

/// A program may decide a number before it looks at the arch, or test something that does not matter.
#[test]
fn the_order_of_tests_does_not_matter() {
    let deny = Rule {
        syscalls: SyscallSet::one(59),
        when: Condition::test(Test::eq(Field::arg(0).unwrap(), 7)),
        verdict: Verdict::KILL_PROCESS,
    };
    let section = Section::new(Arch::X86_64, vec![deny], Verdict::ALLOW);
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let cases = Cases::of_policy(&policy).unwrap();
    let program = |low: u32| {
        Program::new(vec![
            Insn::new(Op::LdWordAbs, 24), // A = the low half of argument 1
            Insn::branch(Op::JeqK, low, 0, 0),
            Insn::new(Op::LdWordAbs, 20),
            Insn::branch(Op::JsetK, 0xffff_ffff, 4, 0),
            Insn::new(Op::LdWordAbs, 16),
            Insn::branch(Op::JeqK, low, 0, 2),
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 59, 2, 0),
            Insn::new(Op::LdWordAbs, 4),
            Insn::branch(Op::JeqK, TOKEN, 1, 0),
            Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ])
        .unwrap()
    };
    assert!(cases.proves(&program(7)));
    assert!(!cases.proves(&program(8)));
}

/// A condition with 2^13 alternatives.
#[test]
fn what_has_no_cases_is_not_proved_by_them() {
    let arg = Field::arg(0).unwrap();
    let either = |value: u64| {
        Condition::any([1, 2].map(|more| Condition::test(Test::eq(arg, value + more))))
    };
    for (when, has_cases) in [
        (Condition::all((0..12).map(|value| either(10 * value))), true),
        (Condition::all((0..13).map(|value| either(10 * value))), false),
    ] {
        let rule = Rule { syscalls: SyscallSet::one(1), when, verdict: Verdict::ALLOW };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        assert_eq!(Cases::of_policy(&policy).is_some(), has_cases);
    }
}

/// A bitset test, as the code generator makes it: the values 40, 42, 45 and 71 of 40 to 71, each bit changed in turn.
/// Allows the values from 40 to `last` of the word at an offset whose bits are set.
fn bitset_test(offset: u32, bits: u32, last: u32) -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, TOKEN, 0, 9),
        Insn::new(Op::LdWordAbs, offset),
        Insn::branch(Op::JgeK, 40, 0, 7),
        Insn::branch(Op::JgtK, last, 6, 0),
        Insn::new(Op::SubK, 40),
        Insn::new(Op::Tax, 0),
        Insn::new(Op::LdImm, bits),
        Insn::new(Op::RshX, 0),
        Insn::branch(Op::JsetK, 1, 0, 1),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ])
    .unwrap()
}

#[test]
fn bitset_tests_are_proved_for_each_value() {
    let arg = Field::arg_low(0).unwrap();
    let values = [40, 42, 45, 71].map(|value| Condition::test(Test::eq(arg, value)));
    let (syscalls, when) = (SyscallSet::range(0, u32::MAX), Condition::any(values));
    let rule = Rule { syscalls, when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    let cases = Cases::of_policy(&Policy::new(vec![section], Verdict::errno(1)).unwrap()).unwrap();
    let program = |bits: u32, last: u32| bitset_test(16, bits, last);
    let bits = 1 | 1 << 2 | 1 << 5 | 1 << 31;
    assert!(cases.proves(&program(bits, 71)));
    for bit in 0..32 {
        assert!(!cases.proves(&program(bits ^ 1 << bit, 71)), "{bit}");
    }
    // A shift by more than 31 is not followed.
    assert!(!cases.proves(&program(bits, 72)));
}

/// The cases of a filter that allows these numbers.
fn allowing(numbers: &[u32]) -> Cases {
    let rule = |nr: &u32| {
        let syscalls = SyscallSet::one(*nr);
        Rule { syscalls, when: Condition::always(), verdict: Verdict::ALLOW }
    };
    let rules = numbers.iter().map(rule).collect();
    let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
    Cases::of_policy(&Policy::new(vec![section], Verdict::errno(1)).unwrap()).unwrap()
}

/// The program is proved for these numbers, and for no set with one number less or more.
fn is_proved_for_exactly(program: &Program, numbers: &[u32], others: &[u32]) {
    assert!(allowing(numbers).proves(program));
    for at in 0..numbers.len() {
        let without = [&numbers[..at], &numbers[at + 1..]].concat();
        assert!(!allowing(&without).proves(program), "without {}", numbers[at]);
    }
    for other in others {
        assert!(!allowing(&[numbers, &[*other]].concat()).proves(program), "with {other}");
    }
}

/// All numbers are followed together, also through the `and` with which x32 shares the tests of x86-64.
#[test]
fn numbers_are_proved_after_a_mask() {
    const X32: u32 = 1 << 30;
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, TOKEN, 0, 10),
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JgeK, X32, 0, 3),
        Insn::branch(Op::JgeK, X32 << 1, 7, 0),
        Insn::branch(Op::JeqK, X32 + 200, 5, 0),
        Insn::new(Op::AndK, !X32),
        Insn::branch(Op::JgeK, 40, 0, 4),
        Insn::branch(Op::JgtK, 71, 3, 0),
        Insn::branch(Op::JeqK, 42, 1, 0),
        Insn::branch(Op::JgeK, 70, 0, 1),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ]);
    let numbers = [42, 70, 71, X32 + 42, X32 + 70, X32 + 71, X32 + 200];
    let others =
        [0, 39, 40, 41, 43, 69, 72, X32, X32 + 41, X32 + 72, X32 + 201, X32 << 1, u32::MAX];
    is_proved_for_exactly(&program.unwrap(), &numbers, &others);
}

/// A path that cannot be followed proves nothing about its numbers.
#[test]
fn numbers_with_an_unknown_verdict_are_not_proved() {
    let program = |end: Insn| {
        Program::new(vec![
            Insn::new(Op::LdWordAbs, 4),
            Insn::branch(Op::JeqK, TOKEN, 0, 3),
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 42, 0, 1),
            end,
            Insn::new(Op::RetK, Verdict::errno(1).0),
        ])
        .unwrap()
    };
    assert!(allowing(&[42]).proves(&program(Insn::new(Op::RetK, Verdict::ALLOW.0))));
    assert!(!allowing(&[42]).proves(&program(Insn::new(Op::RetA, 0))));
}

/// A known syscall that is always allowed must be constant allow; others need not be.
#[test]
fn known_syscalls_are_constant_allow() {
    let program = Program::new(vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, TOKEN, 0, 4),
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 42, 0, 2),
        Insn::new(Op::LdWordAbs, 16),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ])
    .unwrap();
    let cases = allowing(&[42]);
    assert!(cases.proves(&program));
    assert!(cases.prove_with_cache(&program, &[(TOKEN, 42)]).is_none());
    let proved = cases.prove_with_cache(&program, &[(TOKEN, 41), (TOKEN ^ 1, 42)]).unwrap();
    assert_eq!(&*proved, &program);
}

#[test]
fn numbers_are_proved_after_a_bitset_test() {
    let program = |bits: u32| bitset_test(0, bits, 71);
    let (numbers, bits) = ([40, 42, 45, 71], 1 | 1 << 2 | 1 << 5 | 1 << 31);
    is_proved_for_exactly(&program(bits), &numbers, &[0, 39, 41, 43, 70, 72, u32::MAX]);
    for bit in 0..32 {
        assert!(!allowing(&numbers).proves(&program(bits ^ 1 << bit)), "{bit}");
    }
}

/// What a bitset test shifts by must be the whole word minus the constant, with its value at that time.
#[test]
fn a_bitset_test_of_another_value_is_not_proved() {
    let arg = Field::arg_low(0).unwrap();
    let values = [8, 10, 13].map(|value| Condition::test(Test::eq(arg, value)));
    let (syscalls, when) = (SyscallSet::range(0, u32::MAX), Condition::any(values));
    let rule = Rule { syscalls, when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    let cases = Cases::of_policy(&Policy::new(vec![section], Verdict::errno(1)).unwrap()).unwrap();
    let program = |least: u32, between: &[Insn]| {
        let rest = [
            Insn::new(Op::Tax, 0),
            Insn::new(Op::LdImm, 1 | 1 << 2 | 1 << 5),
            Insn::new(Op::RshX, 0),
            Insn::branch(Op::JsetK, 1, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, Verdict::errno(1).0),
        ];
        let len = 2 + between.len() + 5;
        let start = [
            Insn::new(Op::LdWordAbs, 4),
            Insn::branch(Op::JeqK, TOKEN, 0, len as u8 + 1),
            Insn::new(Op::LdWordAbs, 16),
            Insn::branch(Op::JgeK, least, 0, len as u8 - 1),
            Insn::branch(Op::JgtK, 20, len as u8 - 2, 0),
        ];
        Program::new([&start[..], between, &rest].concat()).unwrap()
    };
    let sub = |k| Insn::new(Op::SubK, k);
    assert!(cases.proves(&program(8, &[sub(8)])));
    assert!(!cases.proves(&program(8, &[sub(7)])), "another base");
    assert!(!cases.proves(&program(0, &[sub(8)])), "less than the base");
    assert!(!cases.proves(&program(8, &[Insn::new(Op::AndK, 12), sub(8)])), "some bits");
    assert!(!cases.proves(&program(8, &[sub(8), sub(8)])), "twice");
    let before = [sub(8), Insn::new(Op::Tax, 0), Insn::new(Op::LdWordAbs, 20)];
    assert!(!cases.proves(&program(8, &before)), "X is replaced by another word");
}

/// Rules about two arguments each, tested one after the other: a path for each combination of results, but one end of the program
/// for each rule.
#[test]
fn programs_that_test_rule_after_rule_are_proved_and_their_mutants_are_not() {
    const RULES: u32 = 40;
    let mask = |rule: u32, seed: u32| {
        let bit = |factor: u32| 1 << ((rule + 1).wrapping_mul(factor).wrapping_add(seed) % 31);
        bit(7) | bit(11) | bit(23)
    };
    let [first, second] = [0, 1].map(|arg| Field::arg_low(arg).unwrap());
    let has = |field, mask: u32| {
        Condition::test(Test::masked_eq(field, u64::from(mask), u64::from(mask)))
    };
    let rule = |rule| Rule {
        syscalls: SyscallSet::one(9),
        when: Condition::all([has(first, mask(rule, 1)), has(second, mask(rule, 2))]),
        verdict: if rule % 3 == 0 { Verdict::errno(2) } else { Verdict::ALLOW },
    };
    let rules: Vec<Rule> = (0..RULES).map(rule).collect();
    let verdicts: Vec<Verdict> = rules.iter().map(|rule| rule.verdict).collect();
    let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
    let mut insns = vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, TOKEN, 1, 0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 9, 1, 0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ];
    for (rule, verdict) in (0..RULES).zip(verdicts) {
        let [first, second] = [1, 2].map(|seed| mask(rule, seed));
        insns.extend([
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::AndK, first),
            Insn::branch(Op::JeqK, first, 0, 4),
            Insn::new(Op::LdWordAbs, 24),
            Insn::new(Op::AndK, second),
            Insn::branch(Op::JeqK, second, 0, 1),
            Insn::new(Op::RetK, verdict.0),
        ]);
    }
    insns.push(Insn::new(Op::RetK, Verdict::errno(1).0));
    let cases = Cases::of_policy(&policy).unwrap();
    assert!(cases.proves(&Program::new(insns.clone()).unwrap()));

    // Syscalls that match one rule, and those with one bit less in one of its arguments.
    let arguments = (0..RULES).flat_map(|rule| {
        let [a, b] = [1, 2].map(|seed| u64::from(mask(rule, seed)));
        (0..31).map(|bit| 1 << bit).flat_map(move |bit| [(a & !bit, b), (a, b & !bit), (a, b)])
    });
    let all: Vec<SeccompData> = arguments
        .flat_map(|(a, b)| [9, 8].map(|nr| (nr, [a, b, 0, 0, 0, 0])))
        .map(|(nr, args)| SeccompData { nr, arch: TOKEN, args, ..SeccompData::default() })
        .collect();
    let mut differing = 0;
    for at in 0..insns.len() {
        let changed = |change: &dyn Fn(&mut Insn)| {
            let mut insns = insns.clone();
            change(&mut insns[at]);
            Program::new(insns).ok()
        };
        let mutants = [
            changed(&|insn| insn.k ^= 1 << (at % 32)),
            changed(&|insn| std::mem::swap(&mut insn.jt, &mut insn.jf)),
            changed(&|insn| insn.jf = insn.jf.saturating_add(7)),
        ];
        for mutant in mutants.into_iter().flatten() {
            let differs = |data: &SeccompData| {
                mutant.run(data, Endian::Little).verdict != policy.evaluate(data)
            };
            if all.iter().any(differs) {
                differing += 1;
                assert!(!cases.proves(&mutant), "{at}");
            }
        }
    }
    assert!(differing > 5 * RULES, "{differing}");
}

/// A rule of several ordered arguments that has the verdict of what follows anyway has no clauses.
#[test]
fn excluded_rules_without_effect_are_left_out() {
    let below = |arg| Condition::test(Test::new(Field::arg(arg).unwrap(), Cmp::Lt, 7 << 32));
    let of = |verdict| {
        let when = Condition::all([below(0), below(1)]);
        let rule = Rule { syscalls: SyscallSet::one(9), when, verdict };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
        Cases::of_policy(&policy).unwrap().verdict_of(TOKEN, 9)
    };
    assert_eq!((of(Verdict::ALLOW), of(Verdict::errno(2))), (Some(Verdict::ALLOW), None));
}

/// Rules about four arguments of 64 bits each, with clauses that exclude them: as many as there are comparisons of words. What a rule
/// demands is proved rule after rule, with paths that meet.
#[test]
fn rules_about_many_ordered_arguments_are_proved_and_their_mutants_are_not() {
    const RULES: u64 = 12;
    let at = |rule: u64, arg: u64| (3 * rule + arg + 1) << 32 | 5 * arg + rule;
    let when = |rule| {
        let test = |arg: u64| {
            let cmp = CMPS[2 + (rule + arg) as usize % 4];
            Condition::test(Test::new(Field::arg(arg as u8).unwrap(), cmp, at(rule, arg) + 1))
        };
        Condition::all((0..4).map(test))
    };
    let verdict = |rule| if rule % 3 == 0 { Verdict::errno(2) } else { Verdict::ALLOW };
    let rule =
        |rule| Rule { syscalls: SyscallSet::one(9), when: when(rule), verdict: verdict(rule) };
    let section = Section::new(Arch::X86_64, (0..RULES).map(rule).collect(), Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
    let cases = Cases::of_policy(&policy).unwrap();
    let longest = (0..cases.lists()).map(|list| cases.list(list).count()).max().unwrap();
    assert!(longest as u64 <= 9 * RULES + 1, "{longest}");
    let program = program(&cases);
    assert!(cases.proves(&program));

    let near = |rule, change: u64| {
        let values = (0..4).map(|arg| at(rule, arg).wrapping_add(change >> (2 * arg) & 3));
        let mut args = [0; 6];
        args.iter_mut().zip(values).for_each(|(arg, value)| *arg = value);
        SeccompData { nr: 9, arch: TOKEN, args, ..SeccompData::default() }
    };
    let all: Vec<SeccompData> =
        (0..RULES).flat_map(|rule| (0..256).map(move |change| near(rule, change))).collect();
    let (mut differing, mut rng) = (0, Rng::new(4));
    for at in 0..program.len() {
        let mut insns = program.insns().to_vec();
        match insns[at].op {
            Op::RetK => insns[at].k ^= 1,
            Op::LdWordAbs => insns[at].k ^= 4,
            Op::Ja => insns[at].k += 1,
            _ if rng.below(2) == 0 => insns[at].k ^= 1,
            _ => (insns[at].jt, insns[at].jf) = (insns[at].jf, insns[at].jt),
        }
        let Ok(mutant) = Program::new(insns) else { continue };
        let differs =
            |data: &SeccompData| mutant.run(data, Endian::Little).verdict != policy.evaluate(data);
        if all.iter().any(differs) {
            differing += 1;
            assert!(!cases.proves(&mutant), "{at}");
        }
    }
    assert!(differing > 10 * RULES, "{differing}");
}

/// What a literal says about another one is true for all values, and hardly anything is missed for the same bits.
#[test]
fn a_literal_decides_what_follows_from_it() {
    let word = Word::arg_low(1).unwrap();
    let tests = |mask: u32| {
        let values = (0..16u32).filter(move |value| value & !mask == 0);
        values.flat_map(move |value| {
            [false, true].map(|is_order| WordTest { word, mask, is_order, value })
        })
    };
    let literals =
        |mask| tests(mask).flat_map(|test| [false, true].map(|holds| Literal { test, holds }));
    let (mut decided, mut follows) = (0, 0);
    for (mask, other_mask) in [(15, 15), (6, 6), (4, 4), (15, 6), (6, 4), (u32::MAX, 5)] {
        for known in literals(mask) {
            for other in literals(other_mask) {
                let values: Vec<u32> = (0..16).filter(|one| known.is_true_for(*one)).collect();
                let [all, none] = [true, false]
                    .map(|result| values.iter().all(|value| other.is_true_for(*value) == result));
                follows += u32::from(mask == other_mask && (all || none));
                if let Some(result) = known.decides(other) {
                    decided += u32::from(mask == other_mask);
                    assert!(if result { all } else { none }, "{known:?} {other:?}");
                }
            }
        }
    }
    assert!(decided * 10 > follows * 8, "{decided} of {follows}");
}

/// Two paths meet at a load with different values of X, one of which is the number of a bit of a set.
#[test]
fn what_x_holds_is_forgotten_where_paths_meet() {
    let [first, second] = [0, 1].map(|arg| Field::arg_low(arg).unwrap());
    let values = [8, 10, 13].map(|value| Condition::test(Test::eq(first, value)));
    let when = Condition::all([Condition::any(values), Condition::test(Test::eq(second, 7))]);
    let rule = Rule { syscalls: SyscallSet::range(0, u32::MAX), when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::errno(1)).unwrap();
    let cases = Cases::of_policy(&policy).unwrap();
    let allow = Insn::new(Op::RetK, Verdict::ALLOW.0);
    let deny = Insn::new(Op::RetK, Verdict::errno(1).0);
    let start = [
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, TOKEN, 1, 0),
        deny,
        Insn::new(Op::LdWordAbs, 16),
        Insn::branch(Op::JgeK, 8, 1, 0),
        deny,
        Insn::branch(Op::JgtK, 20, 0, 1),
        deny,
        Insn::new(Op::SubK, 8),
        Insn::new(Op::Tax, 0),
    ];
    let end = [
        Insn::new(Op::LdWordAbs, 24),
        Insn::branch(Op::JeqK, 7, 1, 0),
        deny,
        Insn::new(Op::LdImm, 1 | 1 << 2 | 1 << 5),
        Insn::new(Op::RshX, 0),
        Insn::branch(Op::JsetK, 1, 0, 1),
        allow,
        deny,
    ];
    let program = |between: &[Insn]| Program::new([&start[..], between, &end].concat()).unwrap();
    let right = program(&[]);
    assert!(cases.proves(&right), "X is known on the only path");
    // On one of two paths, X is another word.
    let wrong = program(&[
        Insn::new(Op::LdWordAbs, 32),
        Insn::branch(Op::JeqK, 1, 0, 1),
        Insn::new(Op::Tax, 0),
    ]);
    assert!(!cases.proves(&wrong));
    let proves = |program: &Program, tested| {
        let arch = [Literal { test: WordTest::equal(Word::ARCH, u32::MAX, TOKEN), holds: true }];
        let list = cases.lists.last().unwrap();
        Paths::new(&cases, program).are_suffixes_proved(&arch, (0, u32::MAX), list, tested)
    };
    for tested in [Tested::Once, Tested::Again] {
        assert!(!proves(&right, tested) && !proves(&wrong, tested), "X is not known at an end");
    }
}

/// What takes long is left to the MTBDD: very many tests in a rule, and many paths with many excluded values.
#[test]
fn expensive_policies_and_programs_are_given_up() {
    let ne =
        |field: Option<Field>, value| Condition::test(Test::new(field.unwrap(), Cmp::Ne, value));
    let many = Condition::all((0..60_000).map(|value| ne(Field::arg_low(0), value)));
    let wide = Condition::all((0..5_000).map(|value| ne(Field::arg(0), value)));
    for when in [many, wide] {
        let rule = Rule { syscalls: SyscallSet::one(1), when, verdict: Verdict::ALLOW };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        assert_eq!(Cases::of_policy(&policy), None);
    }
    // 320 values are excluded for each word, then each of twelve words is compared again.
    let section = Section::new(Arch::X86_64, vec![], Verdict::ALLOW);
    let policy = Policy::new(vec![section], Verdict::ALLOW).unwrap();
    let mut insns = Vec::new();
    for word in (16..64).step_by(4) {
        insns.push(Insn::new(Op::LdWordAbs, word));
        insns.extend((0..320).map(|value| Insn::branch(Op::JeqK, 2 * value, 0, 0)));
    }
    for word in (16..64).step_by(4) {
        insns.push(Insn::new(Op::LdWordAbs, word));
        insns.push(Insn::branch(Op::JgeK, 0x8000, 0, 0));
    }
    insns.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
    assert!(!Cases::of_policy(&policy).unwrap().proves(&Program::new(insns).unwrap()));
}
