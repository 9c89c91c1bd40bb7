//! Programs far longer than a conditional jump reaches, up to what the kernel accepts and beyond.

use callgate::compile::{Compiled, Options, compile};
use callgate::{Arch, Verdict};
use callgate_codegen::{Aim, Model};
use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Insn, MAX_INSNS, Op, Program, SyscallSet};
use callgate_testing::random::{Constants, Rng, x86_64};

fn rule(syscalls: SyscallSet, when: Condition, verdict: Verdict) -> Rule {
    Rule { syscalls, when, verdict }
}

/// Every second number gets an errno of its own.
fn distinct(count: u32) -> Policy {
    let rules = (0..count)
        .map(|i| rule(SyscallSet::one(2 * i), Condition::always(), Verdict::errno(i as u16 + 2)))
        .collect();
    x86_64(rules, Verdict::ALLOW)
}

/// Every number looks at a value of its own, and few returns are shared by all.
fn checks(count: u32) -> Policy {
    let rules = (0..count)
        .map(|i| {
            let arg = Field::arg_low((i % 6) as u8).unwrap();
            let when = Condition::test(Test::eq(arg, u64::from(i) * 77 + 5));
            rule(SyscallSet::one(2 * i), when, Verdict::errno(1 + (i % 7) as u16))
        })
        .collect();
    x86_64(rules, Verdict::ALLOW)
}

/// Jumps stay inside because the kernel accepts the program; here, that each arrives at something
/// and that the program still says what the rules say.
#[track_caller]
fn check(policy: &Policy, compiled: &Compiled) {
    assert!(compiled.program.len() <= MAX_INSNS);
    let constants = Constants::of_policy(policy);
    let mut rng = Rng::new(7);
    for _ in 0..500 {
        let data = constants.syscall(&mut rng);
        let run = compiled.program.run(&data, policy.endian());
        assert_eq!(run.verdict, policy.evaluate(&data), "{data:x?}");
    }
    // Nothing is written that is never reached.
    let insns = compiled.program.insns();
    let mut reached = vec![false; insns.len()];
    reached[0] = true;
    for (i, insn) in insns.iter().enumerate() {
        if !reached[i] {
            continue;
        }
        match insn.op {
            op if op.is_return() => {}
            op if op.is_branch() => {
                reached[i + 1 + usize::from(insn.jt)] = true;
                reached[i + 1 + usize::from(insn.jf)] = true;
            }
            Op::Ja => reached[i + 1 + insn.k as usize] = true,
            _ => reached[i + 1] = true,
        }
    }
    assert_eq!(reached.iter().position(|reached| !reached), None, "never reached");
}

fn far_jumps(program: &Program) -> usize {
    program.iter().filter(|insn| insn.op == Op::Ja).count()
}

#[test]
fn programs_longer_than_a_jump_reaches() {
    for &model in Model::ALL {
        for &aim in Aim::ALL {
            let options = Options { model, aim, ..Options::default() };
            for policy in [distinct(300), distinct(1000), checks(300), checks(1000)] {
                let compiled = compile(&policy, &options).unwrap();
                assert!(compiled.program.len() > 600);
                check(&policy, &compiled);
            }
        }
    }
}

/// Sizes around each multiple of the reach, one rule at a time: where a copy becomes necessary.
#[test]
fn every_size_around_the_reach() {
    for count in (60..70).chain(84..90).chain(124..132) {
        for policy in [distinct(count), checks(count)] {
            let compiled = compile(&policy, &Options::default()).unwrap();
            check(&policy, &compiled);
            assert!(compiled.program.len() > 120);
        }
    }
}

/// As many rules as fit: one more is an error with the count and the limit.
#[track_caller]
fn check_limit(policy: fn(u32) -> Policy) {
    let options = Options::default();
    let (mut fits, mut beyond) = (500, 3000);
    let mut guess = beyond - 1;
    while beyond - fits > 1 {
        // The length is nearly proportional to the number of rules, so the next guess is nearly the limit.
        let rules = guess.clamp(fits + 1, beyond - 1);
        let len = match compile(&policy(rules), &options) {
            Ok(compiled) => {
                fits = rules;
                compiled.program.len()
            }
            Err(error) => {
                beyond = rules;
                error.insns_needed().unwrap()
            }
        };
        guess = (rules as usize * MAX_INSNS / len) as u32;
    }
    let compiled = compile(&policy(fits), &options).unwrap();
    assert!(compiled.program.len() > MAX_INSNS - 20, "{}", compiled.program.len());
    check(&policy(fits), &compiled);
    let error = compile(&policy(beyond), &options).unwrap_err();
    let needed = error.insns_needed();
    let error = error.to_string();
    let given: Vec<usize> = error
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let (count, over, limit) = (given[0], given[1], given[2]);
    assert!(count > limit && count < limit + 20 && limit == MAX_INSNS, "{error}");
    assert_eq!(needed, Some(count));
    assert_eq!(over, count - limit, "{error}");
}

#[test]
fn the_limit_for_distinct_verdicts_is_what_the_kernel_accepts() {
    check_limit(distinct);
}

#[test]
fn the_limit_for_comparisons_of_arguments_is_what_the_kernel_accepts() {
    check_limit(checks);
}

/// Each value takes a test, so little is left for the search between them.
#[test]
fn four_thousand_values_of_an_argument_fit_when_size_is_aimed_at() {
    let arg = Field::arg(1).unwrap();
    let one_of = |count: u64| {
        let values = (0..count).map(|i| i * 1_048_573 % 4_294_967_291);
        let when = Condition::any(values.map(|value| Condition::test(Test::eq(arg, value))));
        x86_64(vec![rule(SyscallSet::one(16), when, Verdict::ALLOW)], Verdict::errno(1))
    };
    let options = Options { aim: Aim::Size, ..Options::default() };
    let compiled = compile(&one_of(4000), &options).unwrap();
    assert!(compiled.program.len() > 4000, "{}", compiled.program.len());
    check(&one_of(4000), &compiled);
    let error = compile(&one_of(4100), &options).unwrap_err();
    assert!(error.insns_needed().is_some_and(|needed| needed > 4100), "{error}");
}

/// Two far sides of one branch, in a chain of them: each return is 255 instructions away at most.
#[test]
fn few_returns_far_away_are_copied_not_trampolined() {
    let compiled = compile(&distinct(1000), &Options::default()).unwrap();
    let program = &compiled.program;
    let returns = program.iter().filter(|insn| insn.op == Op::RetK).count();
    // A thousand errnos, ALLOW and KILL_PROCESS, and copies of the last two.
    assert!((1002..1100).contains(&returns), "{returns}");
    assert!(far_jumps(program) < 60, "{}", far_jumps(program));
}

#[test]
fn three_long_sections() {
    let sections = [Arch::X86_64, Arch::X86, Arch::Aarch64]
        .into_iter()
        .zip(0u32..)
        .map(|(arch, n)| {
            let rules = (0..300)
                .map(|i| {
                    let when = if i % 3 == 0 {
                        Condition::test(Test::eq(Field::arg(2).unwrap(), (i + n).into()))
                    } else {
                        Condition::always()
                    };
                    rule(SyscallSet::one(i * 3 + n), when, Verdict::errno((i % 500) as u16 + 1))
                })
                .collect();
            Section::new(arch, rules, Verdict::errno(1))
        })
        .collect();
    let policy = Policy::new(sections, Verdict::KILL_PROCESS).unwrap();
    let compiled = compile(&policy, &Options::default()).unwrap();
    check(&policy, &compiled);
}

#[test]
fn an_empty_policy_is_one_return() {
    let compiled = compile(&x86_64(vec![], Verdict::KILL_PROCESS), &Options::default()).unwrap();
    assert_eq!(compiled.program.insns(), [Insn::new(Op::RetK, Verdict::KILL_PROCESS.0)]);
}

/// Three architectures with one function, so that its numbers are there three times.
#[test]
fn architectures_with_the_same_rules_share_the_search() {
    let sections = [Arch::X86, Arch::X86_64, Arch::Aarch64].map(|arch| {
        let (syscalls, when) = (SyscallSet::one(0), Condition::always());
        let rules = vec![Rule { syscalls, when, verdict: Verdict::ALLOW }];
        Section::new(arch, rules, Verdict::errno(1))
    });
    let policy = Policy::new(sections.to_vec(), Verdict::KILL_PROCESS).unwrap();
    let compiled = compile(&policy, &Options::default()).unwrap();
    assert!(compiled.program.len() <= 9, "{}", compiled.program.len());
}

/// A quarter of the numbers is always allowed, the others for one of two values of an argument or for a pair.
fn random_rules(count: u32, rng: &mut Rng) -> Policy {
    let rules = (0..count).map(|i| {
        let mut arg = |index| Test::eq(Field::arg(index).unwrap(), rng.below(1 << 20) as u64);
        let (first, other, second) = (arg(0), arg(0), arg(1));
        let when = match rng.below(4) {
            0 => Condition::always(),
            1 => Condition::all([Condition::test(first), Condition::test(second)]),
            _ => Condition::any([Condition::test(first), Condition::test(other)]),
        };
        rule(SyscallSet::one(i * 2 + rng.below(2) as u32), when, Verdict::ALLOW)
    });
    x86_64(rules.collect(), Verdict::errno(1))
}

/// The trees for size of these are longer.
#[test]
fn long_programs_for_size_are_not_longer_than_those_for_speed() {
    for count in [469, 656, 724, 877] {
        let policy = random_rules(count, &mut Rng::new(u64::from(count)));
        let len = |aim| {
            let options = Options { aim, ..Options::default() };
            compile(&policy, &options).unwrap().program.len()
        };
        let (size, speed) = (len(Aim::Size), len(Aim::Speed));
        assert!(size > 1024 && size <= speed, "{count}: {size} and {speed}");
    }
}
