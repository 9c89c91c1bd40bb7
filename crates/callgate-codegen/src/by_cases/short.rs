//! Short filters with few and simple conditions on arguments: a program straight from the intervals of numbers, without code graph.
//!
//! A process usually makes one filter, so what a short one costs is code that runs for the first time. This is less code
//! than other filters need: see [`Numbers`] and [`Conditions`].

use callgate_core::{Arch, Cases, Insn, Op, Word};

use super::conditions::{Conditions, are_simple};
use super::numbers::{Backwards, Numbers};
use crate::Instructions;

/// The maximum number of intervals of numbers. For more of them, the programs of the code graph are shorter.
const MAX_INTERVALS: usize = 64;

/// The program of short cases, where all permitted syscalls of an architecture with the same verdict are equally frequent; `None` for
/// other cases.
pub(super) fn short_program(
    cases: &Cases,
    arches: &[Arch],
    instructions: Instructions,
) -> Option<Vec<Insn>> {
    let intervals: usize = cases.sections().iter().map(|section| section.intervals.len()).sum();
    // With x32, tests of x86_64 may be reused.
    if intervals > MAX_INTERVALS || arches.contains(&Arch::X32) || !are_simple(cases) {
        return None;
    }
    let mut code = Backwards::default();
    let mut conditions = Conditions::new(cases, instructions);
    let bad_arch = code.verdict(cases.bad_arch());
    let mut entry = bad_arch;
    for section in cases.sections().iter().rev() {
        let arch = arches.iter().copied().find(|arch| arch.token() == section.token)?;
        let targets = conditions.targets(section, &mut code)?;
        let numbers = Numbers::of_section(cases, &targets, section, arch);
        let mut found = numbers.placed(instructions.allows(Op::JsetK), &mut code)?;
        if numbers.intervals.len() > 1 {
            found = code.load(Word::NR.offset(cases.endian()), found)?;
        }
        entry = code.test(Op::JeqK, section.token, found, entry)?;
    }
    if entry != bad_arch {
        code.load(Word::ARCH.offset(cases.endian()), entry)?;
    }
    Some(reached(code.into_insns()))
}

/// The instructions that are executed for some input, as far as jumps tell. Loads are made before it is known whether another one leads
/// to the same code.
fn reached(mut insns: Vec<Insn>) -> Vec<Insn> {
    let mut is_reached = vec![false; insns.len()];
    if let Some(first) = is_reached.first_mut() {
        *first = true;
    }
    // Per instruction, the reached ones before it.
    let mut before = Vec::with_capacity(insns.len());
    let mut count = 0;
    for (at, insn) in insns.iter().enumerate() {
        before.push(count);
        if is_reached.get(at) == Some(&true) {
            count += 1;
            for next in insn.successors(at) {
                is_reached.iter_mut().skip(next).take(1).for_each(|one| *one = true);
            }
        }
    }
    if count == insns.len() {
        return insns;
    }
    for (at, insn) in insns.iter_mut().enumerate().filter(|(_, insn)| insn.op.is_branch()) {
        let skipped = |distance: u8| {
            let reached = |at: usize| before.get(at).copied().unwrap_or(count);
            (reached(at + 1 + usize::from(distance)) - reached(at + 1)) as u8
        };
        (insn.jt, insn.jf) = (skipped(insn.jt), skipped(insn.jf));
    }
    let mut is_reached = is_reached.into_iter();
    insns.retain(|_| is_reached.next() == Some(true));
    insns
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{Endian, Program, SeccompData, SyscallSet, Verdict};

    const VERDICTS: [Verdict; 3] = [Verdict::ALLOW, Verdict::errno(1), Verdict::KILL_PROCESS];

    fn rule(nr: u32, verdict: Verdict) -> Rule {
        Rule { syscalls: SyscallSet::one(nr), when: Condition::always(), verdict }
    }

    fn cases(sections: Vec<Section>) -> Cases {
        Cases::of_policy(&Policy::new(sections, VERDICTS[2]).unwrap()).unwrap()
    }

    fn short(cases: &Cases, arches: &[Arch], instructions: Instructions) -> Program {
        Program::new(short_program(cases, arches, instructions).unwrap()).unwrap()
    }

    /// All assignments of three verdicts to eight numbers and to all others. Each instruction is needed: some syscall executes
    /// it, and branches go both ways.
    #[test]
    fn programs_are_right_and_have_no_useless_instructions() {
        for assignment in 0..3usize.pow(9) {
            let verdict = |nr: u32| VERDICTS[assignment / 3usize.pow(nr.min(8)) % 3];
            let rules = (0..8).map(|nr| rule(nr, verdict(nr))).collect();
            let cases = cases(vec![Section::new(Arch::X86_64, rules, verdict(8))]);
            for instructions in Instructions::ALL {
                let program = short(&cases, &[Arch::X86_64], *instructions);
                assert!(cases.proves(&program), "{assignment} {:?}", program.insns());
                let mut edges = BTreeSet::new();
                let mut run = |arch, nr| {
                    let mut before = None;
                    let data = SeccompData { nr, arch, ..SeccompData::default() };
                    let run = program.trace(&data, Endian::Little, |step| {
                        edges.insert((before, step.index));
                        before = Some(step.index);
                    });
                    run.verdict
                };
                for nr in (0..10).chain([u32::MAX]) {
                    assert_eq!(run(Arch::X86_64.token(), nr), verdict(nr), "{assignment} {nr}");
                }
                assert_eq!(run(0, 0), VERDICTS[2]);
                // Where all numbers have one verdict, they are not loaded, nor is the arch if it is that of other arches.
                let first = verdict(0);
                if (1..9).all(|nr| verdict(nr) == first) {
                    assert_eq!(program.len(), if first == VERDICTS[2] { 1 } else { 4 });
                }
                for (at, insn) in program.insns().iter().enumerate() {
                    assert!(instructions.allows(insn.op));
                    let successors = edges.iter().filter(|(before, _)| *before == Some(at)).count();
                    let expected = match insn.op {
                        Op::RetK => 0,
                        Op::LdWordAbs => 1,
                        _ => 2,
                    };
                    assert_eq!(successors, expected, "{assignment} {at} {:?}", program.insns());
                }
            }
        }
    }

    #[test]
    fn masks_equality_tests_and_order_tests_are_chosen() {
        let program = |rules: &[Rule], instructions| {
            let cases = cases(vec![Section::new(Arch::X86_64, rules.to_vec(), VERDICTS[1])]);
            short(&cases, &[Arch::X86_64], instructions).insns().to_vec()
        };
        let tests = |rules: &[Rule]| {
            // After the test of the arch and the load.
            let insns = program(rules, Instructions::All).split_off(3);
            insns.into_iter().filter(|insn| insn.op != Op::RetK).collect::<Vec<Insn>>()
        };
        let allowed = |numbers: &[u32]| -> Vec<Rule> {
            numbers.iter().map(|nr| rule(*nr, Verdict::ALLOW)).collect()
        };
        let test = |op, k, jt, jf| Insn::branch(op, k, jt, jf);

        let odd = allowed(&[1, 3, 5, 7, 9]);
        assert_eq!(tests(&odd), [test(Op::JgeK, 10, 2, 0), test(Op::JsetK, 1, 0, 1)]);
        let without_masks = program(&odd, Instructions::Basic);
        assert!(without_masks.iter().all(|insn| insn.op != Op::JsetK));

        // What has no weight is tested last.
        let mut rules = allowed(&[7]);
        rules.push(rule(100, VERDICTS[2]));
        let values = tests(&rules).iter().map(|insn| insn.k).collect::<Vec<u32>>();
        assert_eq!(values, [7, 100]);
        // Logged syscalls, which run the filter, have as much weight together as always-allowed ones; denied ones have none.
        let executed = |verdict| {
            let mut rules = allowed(&[7, 8, 9, 20, 22, 40, 60, 80]);
            rules.push(rule(100, verdict));
            let program = Program::new(program(&rules, Instructions::All)).unwrap();
            let arch = Arch::X86_64.token();
            let data = SeccompData { nr: 100, arch, ..SeccompData::default() };
            program.run(&data, Endian::Little).executed
        };
        assert!(executed(Verdict::LOG) < executed(VERDICTS[2]));
        // Only these numbers have weight, so they are found before the others are divided.
        let mut rules = allowed(&[7, 100]);
        let syscalls = SyscallSet::range(1 << 30, u32::MAX);
        rules.push(Rule { syscalls, ..rule(0, VERDICTS[2]) });
        let first = tests(&rules).iter().map(|insn| insn.op).collect::<Vec<Op>>();
        assert_eq!(first, [Op::JeqK, Op::JeqK, Op::JgeK]);

        // An order test separates 5 from 7 syscalls, the heavier side follows it, and the next one separates 4 from 3.
        let halves = tests(&allowed(&[0, 1, 2, 3, 4, 10, 20, 30, 40, 50, 60, 70]));
        let orders = halves.iter().filter(|insn| insn.op == Op::JgeK).map(|insn| (insn.k, insn.jt));
        assert_eq!(orders.collect::<Vec<_>>(), [(5, 0), (50, 4)], "{halves:?}");
        // 14 of 19 are nearer to the half than 4.
        let ranges = [(0, 3), (100, 109), (200, 204)].map(|(first, last)| {
            let syscalls = SyscallSet::range(first, last);
            Rule { syscalls, ..rule(0, Verdict::ALLOW) }
        });
        assert_eq!(tests(&ranges)[0].k, 110);
        // Of parts with the same price, the shortest leaves the most to the next one: 2 to 5 need one mask.
        assert_eq!(tests(&allowed(&[0, 1, 3, 5, 9, 11, 12, 15, 202, 231])).len(), 9);
        // Without weights, intervals are halved.
        let killed: Vec<Rule> = (0..4)
            .map(|at| {
                let syscalls = SyscallSet::range(100 * at, 100 * at + 50);
                Rule { syscalls, ..rule(0, VERDICTS[2]) }
            })
            .collect();
        assert_eq!(tests(&killed)[0].k, 200);
    }

    #[test]
    fn each_architecture_has_its_numbers_and_the_first_is_tested_first() {
        for arches in
            [[Arch::X86_64, Arch::X86], [Arch::X86, Arch::X86_64], [Arch::S390x, Arch::Ppc64]]
        {
            let sections = arches.iter().zip([3, 4]).map(|(arch, nr)| {
                let rules = vec![rule(nr, Verdict::ALLOW), rule(7, Verdict::ALLOW)];
                Section::new(*arch, rules, Verdict::errno(1))
            });
            let cases = cases(sections.collect());
            let program = short(&cases, &arches, Instructions::All);
            assert!(cases.proves(&program));
            // Three loads, two tests of the arch, two of numbers each, and three returns.
            assert_eq!(program.len(), 3 + 2 + 2 * 2 + 3);
            assert_eq!(program.insns()[1].k, arches[0].token());
        }
    }

    #[test]
    fn other_filters_have_a_code_graph() {
        let is_short = |rules: Vec<Rule>, arches: &[Arch]| {
            let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
            short_program(&cases(vec![section]), arches, Instructions::All).is_some()
        };
        let allowed = |count: u32| (0..count).map(|at| rule(1 + 2 * at, Verdict::ALLOW)).collect();
        assert!(is_short(allowed(31), &[Arch::X86_64]));
        assert!(!is_short(allowed(32), &[Arch::X86_64]));
        assert!(!is_short(allowed(5), &[Arch::X86_64, Arch::X32]));
        let equal = |value| Condition::test(Test::eq(Field::arg(0).unwrap(), value));
        assert!(is_short(
            vec![Rule { when: equal(1), ..rule(1, Verdict::ALLOW) }],
            &[Arch::X86_64]
        ));
        let many = (0..200)
            .map(|value| Rule { when: equal(value * value * 12_345), ..rule(1, Verdict::ALLOW) });
        assert!(!is_short(many.collect(), &[Arch::X86_64]));
    }

    #[test]
    fn places_become_distances() {
        let mut code = Backwards::default();
        let deny = code.verdict(Verdict::errno(1));
        let allow = code.verdict(Verdict::ALLOW);
        assert_eq!(code.verdict(Verdict::errno(1)), deny);
        assert_eq!(code.test(Op::JeqK, 7, allow, allow), Some(allow));
        let test = code.test(Op::JeqK, 7, allow, deny).unwrap();
        assert_eq!(code.load(0, allow), None);
        assert_eq!(code.test(Op::JeqK, 7, allow, deny), Some(test), "equal code exists once");
        code.load(0, test).unwrap();
        let insns = [
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, Verdict::errno(1).0),
        ];
        assert_eq!(code.into_insns(), insns);
    }

    #[test]
    fn targets_may_be_255_instructions_away() {
        let mut code = Backwards::default();
        let deny = code.verdict(Verdict::errno(1));
        let allow = code.verdict(Verdict::ALLOW);
        let mut entry = allow;
        for k in 0..255 {
            entry = code.test(Op::JeqK, k, deny, entry).unwrap();
        }
        assert_eq!(code.test(Op::JeqK, 255, deny, entry), None);
        let first = code.into_insns()[0];
        assert_eq!((first.jt, first.jf), (255, 0));
    }
}
