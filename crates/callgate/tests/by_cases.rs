//! The quick plan without MTBDD: its programs and its proof, beside the MTBDD and the evaluation of the rules.

use callgate::compile::{Compiled, Options, compile};
use callgate::{Arch, Program, Verdict};
use callgate_bpf::SyscallTable;
use callgate_codegen::{Aim, Count, Instructions, Model, Weights};
use callgate_core::diagram::Budget;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Cases, Insn, Meaning, Op, SyscallSet};
use callgate_testing::random::{Constants, Rng, named_policies, policies, samples};
use callgate_testing::reader::numbered;

fn quick(policy: &Policy, instructions: Instructions) -> Compiled {
    let options =
        Options { aim: Aim::Quick, instructions, expected_insns: false, ..Options::default() };
    compile(policy, &options).unwrap()
}

/// Whether the MTBDD was not needed.
fn is_by_cases(compiled: &Compiled) -> bool {
    compiled.stats.nodes == 0
}

/// The MTBDD proves the program, too, and it does what the rules say for syscalls near their constants.
fn check(policy: &Policy, program: &Program, seed: u64) {
    let mut meaning = Meaning::of_policy(policy, Budget::default()).unwrap();
    assert!(meaning.prove(program).is_ok(), "{policy:?}\n{:?}", program.insns());
    let constants = Constants::of_policy(policy);
    let mut rng = Rng::new(seed);
    for _ in 0..50 {
        let data = constants.syscall(&mut rng);
        let verdict = program.run(&data, policy.endian()).verdict;
        assert_eq!(verdict, policy.evaluate(&data), "{data:x?} {policy:?}");
    }
}

#[test]
fn policies_as_people_write_them_need_no_mtbdd() {
    let (mut by_cases, mut all) = (0, 0);
    for (seed, policy) in samples(&named_policies(8), 1, 300).iter().enumerate() {
        for instructions in Instructions::ALL.iter().copied() {
            let compiled = quick(policy, instructions);
            all += 1;
            by_cases += usize::from(is_by_cases(&compiled));
            let ops = compiled.program.insns().iter().map(|insn| insn.op);
            assert!(ops.into_iter().all(|op| instructions.allows(op)));
            check(policy, &compiled.program, seed as u64);
        }
    }
    println!("{by_cases} of {all}");
    assert!(by_cases * 10 > all * 9, "{by_cases} of {all}");
}

/// Nested conditions, masks and orders of all kinds. Where there are no cases, or too many, the MTBDD is used.
#[test]
fn any_policies_get_a_right_program() {
    let (mut by_cases, mut all) = (0, 0);
    for (seed, policy) in samples(&policies(4), 2, 250).iter().enumerate() {
        let compiled = quick(policy, Instructions::All);
        all += 1;
        by_cases += usize::from(is_by_cases(&compiled));
        check(policy, &compiled.program, seed as u64);
    }
    println!("{by_cases} of {all}");
    assert!(by_cases * 2 > all, "{by_cases} of {all}");
}

/// Of programs in which an instruction was changed, the proof by cases accepts only what the MTBDD accepts, and most of that.
#[test]
fn changed_programs_are_proved_only_if_they_are_right() {
    let (mut refused, mut equal, mut proved) = (0, 0, 0);
    let named = samples(&named_policies(5), 3, 120);
    for policy in named.iter().chain(&samples(&policies(3), 4, 60)) {
        let Some(cases) = Cases::of_policy(policy) else { continue };
        let program = quick(policy, Instructions::All).program;
        let mut meaning = Meaning::of_policy(policy, Budget::default()).unwrap();
        let mut rng = Rng::new(7);
        for at in (0..program.len()).step_by(1 + program.len() / 12) {
            let mut insns = program.insns().to_vec();
            let insn: &mut Insn = &mut insns[at];
            match rng.below(4) {
                0 => insn.k ^= 1 << rng.below(32),
                1 => insn.k = insn.k.wrapping_add(1),
                2 if insn.op == Op::LdWordAbs => insn.k = insn.k.wrapping_add(4) % 64,
                _ => std::mem::swap(&mut insn.jt, &mut insn.jf),
            }
            let Ok(changed) = Program::new(insns) else { continue };
            let is_right = meaning.prove(&changed).is_ok();
            let is_proved = cases.proves(&changed);
            assert!(is_right || !is_proved, "{policy:?}\n{:?}", changed.insns());
            refused += usize::from(!is_right);
            equal += usize::from(is_right);
            proved += usize::from(is_proved);
        }
    }
    println!("{refused} refused, {equal} equal, {proved} of them proved");
    assert!(refused > 500 && equal > 50 && proved * 10 > equal * 9, "{refused} {equal} {proved}");
}

/// All syscalls share the test that a high half is 0, and equal conditions have one piece of code.
#[test]
fn equal_conditions_are_shared() {
    let rule = |nr, value| Rule {
        syscalls: SyscallSet::one(nr),
        when: Condition::test(Test::new(Field::arg(1).unwrap(), Cmp::Eq, value)),
        verdict: Verdict::ALLOW,
    };
    let program = |rules| {
        let section = Section::new(Arch::Aarch64, rules, Verdict::errno(1));
        let compiled =
            quick(&Policy::new(vec![section], Verdict::errno(1)).unwrap(), Instructions::All);
        assert!(is_by_cases(&compiled));
        compiled.program.len()
    };
    let all = Rule { syscalls: SyscallSet::range(0, u32::MAX), ..rule(0, 5) };
    // Arch, then the halves of the argument, and two verdicts: the number is not loaded.
    assert_eq!(program(vec![all]), 2 + 4 + 2);
    let one = program(vec![rule(10, 5)]);
    assert_eq!(program(vec![rule(10, 5), rule(20, 5)]), one + 1, "one more number");
    assert_eq!(program(vec![rule(10, 5), rule(20, 6)]), one + 3, "a number, a load and a value");
    assert_eq!(program(vec![rule(10, 5), rule(10, 6), rule(10, 9)]), one + 2, "two more values");
}

/// Masks that overlap make the diagram grow: the program that tests rule after rule is the safety net, whatever the aim.
#[test]
fn overlapping_masks_take_no_more_code_than_the_rules() {
    let mut rng = Rng::new(3);
    for (rules, bits, width, arguments, limit) in
        [(12, 3, 32, 1, 50), (32, 3, 32, 1, 115), (64, 2, 64, 1, 265), (24, 2, 32, 2, 165)]
    {
        let mut mask = || {
            let mut mask = 0u64;
            while mask.count_ones() < bits {
                mask |= 1 << rng.below(width);
            }
            mask
        };
        let rules = (0..rules).map(|_| {
            let tests = (2..2 + arguments).map(|argument| {
                let mask = mask();
                Condition::test(Test::masked_eq(Field::arg(argument).unwrap(), mask, mask))
            });
            let when = Condition::all(tests.collect::<Vec<_>>());
            Rule { syscalls: SyscallSet::one(9), when, verdict: Verdict::ALLOW }
        });
        let section = Section::new(Arch::X86_64, rules.collect(), Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        for aim in Aim::ALL {
            let options = Options { aim: *aim, ..Options::default() };
            let compiled = compile(&policy, &options).unwrap();
            let len = compiled.program.len();
            assert!(len <= limit, "{bits} of {width}: {len}, not {limit}");
        }
    }
}

/// A comparison of 64 bits has two alternatives, so a rule with several of them has many clauses. The code is that of each comparison
/// once: two loads and three tests.
#[test]
fn rules_with_ordered_comparisons_take_no_more_code_than_the_comparisons() {
    let mut rng = Rng::new(11);
    for (rules, arguments, width) in
        [(20, 3, 64), (20, 4, 64), (48, 3, 64), (40, 6, 64), (20, 3, 32), (60, 2, 64)]
    {
        let values = (0..rules * arguments).map(|_| rng.next() >> (64 - width));
        let orders = [Cmp::Lt, Cmp::Ne, Cmp::Gt, Cmp::Ge];
        let tests = values.zip(0..).map(|(value, at)| {
            let field = Field::arg((at % arguments) as u8).unwrap();
            Test::new(field, orders[(at / 3 + at) % 4], value)
        });
        let tests: Vec<Test> = tests.collect();
        let rules = tests.chunks(arguments).map(|tests| Rule {
            syscalls: SyscallSet::one(9),
            when: Condition::all(tests.iter().copied().map(Condition::test)),
            verdict: Verdict::ALLOW,
        });
        let section = Section::new(Arch::X86_64, rules.collect(), Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        let program = quick(&policy, Instructions::All).program;
        let limit = 5 * tests.len() * 21 / 20 + 12;
        println!("{} comparisons of {width} bits: {}", tests.len(), program.len());
        assert!(program.len() <= limit, "{} comparisons: {}", tests.len(), program.len());
        let constants = Constants::of_policy(&policy);
        for _ in 0..200 {
            let data = constants.syscall(&mut rng);
            let verdict = program.run(&data, policy.endian()).verdict;
            assert_eq!(verdict, policy.evaluate(&data), "{data:x?}");
        }
    }
}

/// Short filters without conditions have a plan of their own. With the same weights as counts, they have the usual one.
#[test]
fn short_filters_are_as_good_as_others() {
    const ROUNDS: u32 = 30;
    let mut rng = Rng::new(5);
    for (arches, is_allowlist) in
        [(&[Arch::X86_64][..], true), (&[Arch::X86_64], false), (&[Arch::X86_64, Arch::X86], false)]
    {
        for listed in [1, 2, 3, 8, 12, 25] {
            let mut sums = [[0.0; 2]; 2];
            for _ in 0..ROUNDS {
                let (policy, counts) = listed_syscalls(arches, is_allowlist, listed, &mut rng);
                for (weights, sums) in [Weights::uniform(), counts].into_iter().zip(&mut sums) {
                    let (model, aim) = (Model::Uncached, Aim::Quick);
                    let options = Options { model, aim, weights, ..Options::default() };
                    let compiled = compile(&policy, &options).unwrap();
                    assert!(is_by_cases(&compiled));
                    sums[0] += compiled.program.len() as f64;
                    sums[1] += mean_executed(&policy, arches, &compiled.program);
                }
            }
            let [short, usual] = sums.map(|of| of.map(|sum| sum / f64::from(ROUNDS)));
            println!("{arches:?}, allowlist: {is_allowlist}, {listed}: {short:.2?} {usual:.2?}");
            // Denylists have few order tests: a list of equality tests shall not be shorter. They execute more for that.
            let most = if is_allowlist { 1.05 } else { 1.25 };
            assert!(short[0] < 1.1 * usual[0] && short[1] < most * usual[1], "{short:?} {usual:?}");
            if is_allowlist && (8..=12).contains(&listed) {
                assert!(short[0] < 0.85 * usual[0], "{short:?} {usual:?}");
            }
        }
    }
}

/// A list of this number of random syscalls for each architecture, and the always-allowed ones as counts.
fn listed_syscalls(
    arches: &[Arch],
    is_allowlist: bool,
    listed: usize,
    rng: &mut Rng,
) -> (Policy, Weights) {
    let mut counts = Vec::new();
    let sections = arches.iter().map(|arch| {
        let mut others: Vec<(u32, &str)> = arch.syscalls().collect();
        let listed: Vec<(u32, &str)> =
            (0..listed).map(|_| others.swap_remove(rng.below(others.len()))).collect();
        let (verdict, default, allowed) = match is_allowlist {
            true => (Verdict::ALLOW, Verdict::errno(1), &listed),
            false => (Verdict::errno(1), Verdict::ALLOW, &others),
        };
        counts.extend(allowed.iter().map(|(_, name)| {
            let arch = Some(*arch);
            Count { arch, name: (*name).to_owned(), count: 1.0 }
        }));
        let rules = listed.iter().map(|(nr, _)| Rule {
            syscalls: SyscallSet::one(*nr),
            when: Condition::always(),
            verdict,
        });
        Section::new(*arch, rules.collect(), default)
    });
    let policy = Policy::new(sections.collect(), Verdict::KILL_PROCESS).unwrap();
    (policy, Weights::of(counts).unwrap())
}

/// The mean number of instructions that allowed syscalls execute, over the architectures.
fn mean_executed(policy: &Policy, arches: &[Arch], program: &Program) -> f64 {
    let of_arch = |arch: &Arch| {
        let run = |nr| program.run(&numbered(*arch, nr, &[]), policy.endian());
        let allowed = arch.syscall_numbers().map(run).filter(|run| run.verdict == Verdict::ALLOW);
        let (sum, count) =
            allowed.fold((0, 0), |(sum, count), run| (sum + run.executed, count + 1));
        sum as f64 / f64::from(count)
    };
    arches.iter().map(of_arch).sum::<f64>() / arches.len() as f64
}
