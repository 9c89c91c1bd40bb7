//! Inputs made to be expensive: each gets an answer or an error within its budget, and never a panic.
//!
//! The budget counts nodes and steps. What it does not count would show as time, so processor time has a limit too,
//! where the system tells it: a hundred times what an unoptimized build takes. What exhausts the budget on purpose gets a
//! tenth of it, and of the time, unless `CALLGATE_THOROUGH` is set.

use std::time::Duration;

use callgate::compile::{Options, compile, recompile};
use callgate::{Endian, Verdict};
use callgate_core::diagram::{Budget, Store};
use callgate_core::policy::{Cmp, Condition, Field, Rule, Test};
use callgate_core::{Insn, Op, Program, SyscallSet};
use callgate_testing::is_thorough;
use callgate_testing::processor_time::within;
use callgate_testing::random::{Rng, x86_64};

const LIMIT: Duration = Duration::from_secs(200);

/// The budget for what exhausts it, and the limit of the time for that.
fn budget() -> (Budget, Duration) {
    let full = Budget::default();
    match is_thorough() {
        true => (full, LIMIT),
        false => (Budget { nodes: full.nodes / 10, steps: full.steps / 10 }, LIMIT / 10),
    }
}

#[track_caller]
fn too_complex(what: &str, insns: Vec<Insn>) {
    let program = Program::new(insns).unwrap();
    let (budget, time) = budget();
    let options = Options { budget, ..Options::default() };
    let error =
        within(time, what, || recompile(&program, Endian::Little, &[], &options)).unwrap_err();
    assert!(error.to_string().contains("too complex"), "{error}");
    assert!(error.to_string().contains("limit"), "{error}");
}

fn end(insns: &mut Vec<Insn>) {
    insns.extend([Insn::new(Op::RetK, 0x7fff_0000), Insn::new(Op::RetK, 0)]);
}

#[test]
fn squaring_an_argument() {
    let mut insns =
        vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::Tax, 0), Insn::new(Op::MulX, 0)];
    insns.push(Insn::branch(Op::JeqK, 0x1234_5671, 0, 1));
    end(&mut insns);
    too_complex("square", insns);
}

#[test]
fn arithmetic_on_two_arguments() {
    for op in [Op::MulX, Op::DivX, Op::AddX, Op::SubX] {
        let mut insns = vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::Tax, 0),
            Insn::new(Op::LdWordAbs, 24),
            Insn::new(op, 0),
            Insn::branch(Op::JgtK, 0x1234_5671, 0, 1),
        ];
        end(&mut insns);
        too_complex(op.mnemonic(), insns);
    }
}

/// Of whole arguments they are variables of the diagram; of computed values all bits count.
#[test]
fn comparisons_of_an_argument_with_a_sum() {
    for op in [Op::JeqX, Op::JgtX, Op::JgeX, Op::JsetX] {
        let mut insns = vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::Tax, 0),
            Insn::new(Op::LdWordAbs, 24),
            Insn::new(Op::AddK, 1),
            Insn::branch(op, 0, 0, 1),
        ];
        end(&mut insns);
        too_complex(op.mnemonic(), insns);
    }
}

#[test]
fn returning_a_whole_argument() {
    let insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::RetA, 0)];
    too_complex("ret a", insns);
}

/// As many instructions as the kernel takes, all of them computing.
#[test]
fn four_thousand_operations() {
    for (what, op) in [("mul", Op::MulX), ("add", Op::AddX), ("xor", Op::XorX), ("sub", Op::SubX)] {
        let mut insns = vec![];
        while insns.len() < 4090 {
            let word = insns.len() as u32 / 4 % 16 * 4;
            insns.extend([
                Insn::new(Op::Tax, 0),
                Insn::new(Op::LdWordAbs, word),
                Insn::new(op, 0),
                Insn::new(Op::AddK, 0x9e37_79b9),
            ]);
        }
        insns.push(Insn::branch(Op::JeqK, 5, 0, 1));
        end(&mut insns);
        too_complex(what, insns);
    }
}

/// One bit decides what is added: the paths never join again.
#[test]
fn a_state_for_each_path() {
    let mut insns = vec![Insn::new(Op::LdImm, 0), Insn::new(Op::St, 0)];
    for i in 0..400u32 {
        insns.extend([
            Insn::new(Op::LdWordAbs, 16 + i / 32 % 12 * 4),
            Insn::branch(Op::JsetK, 1 << (i % 32), 0, 3),
            Insn::new(Op::LdMem, 0),
            Insn::new(Op::AddK, 1u32.rotate_left(i * 7) ^ (i * 0x0101)),
            Insn::new(Op::St, 0),
        ]);
    }
    insns.extend([Insn::new(Op::LdMem, 0), Insn::branch(Op::JeqK, 77, 0, 1)]);
    end(&mut insns);
    too_complex("paths", insns);
}

/// The same with everything that a state can hold.
#[test]
fn scratch_memory_for_each_path() {
    let mut insns = vec![];
    for k in 0..16 {
        insns.extend([Insn::new(Op::LdImm, k), Insn::new(Op::St, k)]);
    }
    for i in 0..300u32 {
        insns.extend([
            Insn::new(Op::LdWordAbs, 16 + i / 32 % 12 * 4),
            Insn::branch(Op::JsetK, 1 << (i % 32), 0, 3),
            Insn::new(Op::LdMem, i % 16),
            Insn::new(Op::AddK, i + 1),
            Insn::new(Op::St, (i + 1) % 16),
        ]);
    }
    insns.push(Insn::new(Op::LdImm, 0));
    for k in 0..16 {
        insns.extend([Insn::new(Op::LdxMem, k), Insn::new(Op::AddX, 0)]);
    }
    insns.push(Insn::branch(Op::JeqK, 77, 0, 1));
    end(&mut insns);
    too_complex("scratch", insns);
}

/// Every state holds another value that is 32 predicates.
#[test]
fn computed_values_for_each_path() {
    let mut insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::St, 0)];
    for i in 0..400u32 {
        insns.extend([
            Insn::new(Op::LdWordAbs, 24 + i / 32 % 10 * 4),
            Insn::branch(Op::JsetK, 1 << (i % 32), 0, 3),
            Insn::new(Op::LdMem, 0),
            Insn::new(Op::XorK, 1u32.rotate_left(i * 7) ^ (i * 0x0101)),
            Insn::new(Op::St, 0),
        ]);
    }
    insns.extend([Insn::new(Op::LdMem, 0), Insn::branch(Op::JeqK, 77, 0, 1)]);
    end(&mut insns);
    too_complex("computed", insns);
}

#[test]
fn jumps_everywhere() {
    let mut rng = Rng::new(1);
    for round in 0..10 {
        let mut insns = Vec::new();
        while insns.len() < 4094 {
            let room = 4094 - insns.len();
            let to = |rng: &mut Rng| rng.below(room.min(256)) as u8;
            let insn = match rng.below(8) {
                0 => Insn::new(Op::LdWordAbs, rng.below(16) as u32 * 4),
                1 => Insn::new(Op::AndK, rng.next() as u32),
                2 => Insn::new(Op::AddK, rng.below(4) as u32),
                3 if round > 5 => Insn::new(Op::Tax, 0),
                _ => {
                    let op = rng.pick(&[Op::JeqK, Op::JgtK, Op::JsetK]).unwrap();
                    Insn::branch(op, rng.next() as u32, to(&mut rng), to(&mut rng))
                }
            };
            insns.push(insn);
        }
        end(&mut insns);
        let program = Program::new(insns).unwrap();
        let (budget, time) = budget();
        let options = Options { budget, ..Options::default() };
        let _ = within(time, "jumps", || recompile(&program, Endian::Little, &[], &options));
    }
}

fn rule(syscalls: SyscallSet, when: Condition, verdict: Verdict) -> Rule {
    Rule { syscalls, when, verdict }
}

fn condition(rng: &mut Rng, ordered: bool) -> Condition {
    let arg = Field::arg(rng.below(6) as u8).unwrap();
    let cmps: &[Cmp] =
        if ordered { &[Cmp::Lt, Cmp::Ge, Cmp::Gt, Cmp::Le] } else { &[Cmp::Eq, Cmp::Ne] };
    Condition::test(Test::new(arg, rng.pick(cmps).unwrap(), rng.next()))
}

/// An answer or an error, soon.
fn compiles_or_not(what: &str, rules: Vec<Rule>) {
    let policy = x86_64(rules, Verdict::errno(1));
    match within(LIMIT, what, || compile(&policy, &Options::default())) {
        Ok(compiled) => println!("{what}: {} instructions", compiled.program.len()),
        Err(error) => {
            println!("{what}: {error}");
            assert!(error.to_string().contains("limit") || error.to_string().contains("4096"));
        }
    }
}

#[test]
fn ten_thousand_random_rules() {
    let mut rng = Rng::new(2);
    let verdict = |rng: &mut Rng| Verdict::errno(rng.below(4000) as u16);
    let mut of = |syscalls: &dyn Fn(&mut Rng) -> SyscallSet, parts: usize, ordered: bool| {
        (0..10_000)
            .map(|_| {
                let parts = (0..parts).map(|_| condition(&mut rng, ordered));
                let when = Condition::all(parts.collect::<Vec<_>>());
                rule(syscalls(&mut rng), when, verdict(&mut rng))
            })
            .collect::<Vec<_>>()
    };
    let any = |rng: &mut Rng| SyscallSet::one(rng.next() as u32);
    let known = |rng: &mut Rng| SyscallSet::one(rng.below(470) as u32);
    let wide = |rng: &mut Rng| SyscallSet::range(rng.below(470) as u32, u32::MAX);
    let all = |_: &mut Rng| SyscallSet::range(0, u32::MAX);
    compiles_or_not("numbers", of(&any, 0, false));
    compiles_or_not("known rng", of(&known, 0, false));
    compiles_or_not("wide ranges", of(&wide, 0, false));
    compiles_or_not("equal argument", of(&known, 1, false));
    compiles_or_not("three equal arguments", of(&known, 3, false));
    compiles_or_not("ordered arguments", of(&known, 2, true));
    compiles_or_not("ordered arguments of any number", of(&any, 2, true));
    compiles_or_not("wide ranges with arguments", of(&wide, 1, false));
    compiles_or_not("everything with arguments", of(&all, 1, true));
}

/// One argument with thousands of values: no pattern in it.
#[test]
fn thousands_of_random_values() {
    let mut rng = Rng::new(3);
    for (count, verdicts, high) in
        [(300, 2, false), (2500, 1, false), (2500, 20, false), (1000, 3, true)]
    {
        let field = if high { Field::arg(1) } else { Field::arg_low(1) }.unwrap();
        let rules = (0..count)
            .map(|_| {
                let verdict = Verdict::errno(2 + rng.below(verdicts) as u16);
                let value = rng.next() >> if high { 0 } else { 32 };
                rule(SyscallSet::one(16), Condition::test(Test::eq(field, value)), verdict)
            })
            .collect();
        compiles_or_not(&format!("{count} values"), rules);
    }
}

/// Random functions of a few bits of an argument, one for each syscall.
#[test]
fn hundreds_of_syscalls_with_a_dozen_values_each() {
    let mut rng = Rng::new(4);
    for spread in [8, 16, 32] {
        let mut rules = Vec::new();
        for nr in 0..200 {
            for _ in 0..12 {
                let value = rng.next() >> (64 - spread);
                let field = Field::arg_low(1).unwrap();
                let when = Condition::test(Test::eq(field, value));
                rules.push(rule(SyscallSet::one(nr), when, Verdict::ALLOW));
            }
        }
        compiles_or_not(&format!("a dozen values of {spread} bits"), rules);
    }
}

/// Masked comparisons without any order: a sum of cubes.
#[test]
fn random_masks() {
    let mut rng = Rng::new(5);
    for count in [4, 10, 30, 100] {
        let rules = (0..count)
            .map(|i| {
                let (mask, value) = (rng.next() & rng.next(), rng.next());
                let field = Field::arg_low(2).unwrap();
                let test = Test::masked_eq(field, mask & 0xffff_ffff, value & mask & 0xffff_ffff);
                rule(SyscallSet::one(1), Condition::test(test), Verdict::errno(1 + i % 3))
            })
            .collect();
        compiles_or_not(&format!("{count} masks"), rules);
    }
}

#[test]
fn a_small_budget_is_an_error_with_the_limit() {
    let rules = vec![rule(SyscallSet::range(0, 100), Condition::always(), Verdict::ALLOW)];
    let policy = x86_64(rules, Verdict::errno(1));
    for budget in [
        Budget { nodes: 20, steps: 1_000_000 },
        Budget { nodes: 1000, steps: 30 },
        Budget { nodes: 0, steps: 0 },
    ] {
        let options = Options { budget, ..Options::default() };
        // Rules need no diagram; a program of which only the meaning is known does.
        let compiled = compile(&policy, &options).unwrap();
        assert_eq!((compiled.stats.nodes, compiled.stats.expected_insns), (0, None));
        let arches = [callgate::Arch::X86_64];
        let again = recompile(&compiled.program, policy.endian(), &arches, &options);
        let error = again.unwrap_err().to_string();
        assert!(error.contains("limit"), "{error}");
    }
    // What was built before stays valid.
    let mut store = Store::new(Budget { nodes: 400, steps: 100_000 });
    let allow = store.verdict(Verdict::ALLOW).unwrap();
    let small = store.policy(&x86_64(vec![], Verdict::ALLOW)).unwrap();
    let many = (0..100).map(|i| rule(SyscallSet::one(i * 977), Condition::always(), Verdict::LOG));
    store.policy(&x86_64(many.collect(), Verdict::ALLOW)).unwrap_err();
    assert_eq!(store.policy(&x86_64(vec![], Verdict::ALLOW)).unwrap(), small);
    assert_eq!(store.verdict(Verdict::ALLOW).unwrap(), allow);
    assert_eq!(store.verdicts(small), [Verdict::KILL_PROCESS, Verdict::ALLOW]);
}

/// The rules of a random sequence for two architectures, for which the generator's search exhausts the budget.
#[test]
fn a_filter_is_compiled_with_less_effort_if_the_search_exhausts_the_budget() {
    use callgate::Arch;
    use callgate_core::policy::Policy;
    use callgate_formats::ruleset::{Comparison, Op, RuleSet, sections};

    let [a, b, c, d] = [0xe279_7c09_e450_ed7f, 2, 0x1_0000_0001, 0x1768_d307_e09c_ca2b];
    let (trace, log) = (Verdict(0x7ff0_0007), Verdict::LOG);
    type Tests<'a> = &'a [(u8, Op, u64)];
    let rules: [(Verdict, Tests<'_>); 7] = [
        (trace, &[(2, Op::Le, c), (1, Op::MaskedEq(2), c), (0, Op::Le, c)]),
        (trace, &[(5, Op::Ge, d), (4, Op::Gt, b), (3, Op::Ne, a), (2, Op::Ne, c), (1, Op::Ne, b)]),
        (trace, &[(4, Op::Le, a), (3, Op::Ge, a), (2, Op::Gt, c), (1, Op::Ne, d), (0, Op::Ge, c)]),
        (log, &[(4, Op::Le, b), (2, Op::Ge, b), (0, Op::Le, a)]),
        (log, &[(5, Op::Gt, d), (3, Op::Ne, a)]),
        (
            log,
            &[
                (5, Op::Le, c),
                (4, Op::Lt, d),
                (3, Op::Ne, b),
                (2, Op::Le, a),
                (1, Op::Ne, a),
                (0, Op::Ne, d),
            ],
        ),
        (log, &[(0, Op::MaskedEq(c), a), (1, Op::Eq, b), (5, Op::Eq, b)]),
    ];
    let sets = [Arch::S390x, Arch::S390].map(|arch| {
        let mut set = RuleSet::new(arch);
        for (verdict, tests) in rules {
            let tests: Vec<Comparison> = tests
                .iter()
                .map(|(arg, op, value)| Comparison::new(*arg, *op, *value).unwrap())
                .collect();
            set.add_syscall_if_known("socketcall", &tests, verdict, ());
        }
        set
    });
    let policy =
        Policy::new(sections(&sets, Verdict::ALLOW, Verdict::ALLOW), Verdict::ALLOW).unwrap();
    let options = Options::default();
    let compiled = within(LIMIT, "two architectures", || compile(&policy, &options)).unwrap();
    assert!(compiled.program.len() < 2000, "{} instructions", compiled.program.len());
}

/// Rules of one syscall that compare several arguments with unrelated values: a program that tests no rule twice has a
/// path for each set of rules that may still match. One that tests rule after rule is no longer than the plain program.
#[test]
fn rules_are_tested_one_after_the_other_if_other_programs_are_too_long() {
    let compiled = |count: u64| {
        let mut rng = Rng::new(6);
        let rules = (0..count).map(|index| {
            let tests = (0..6).map(|arg| {
                let field = Field::arg(arg).unwrap();
                match (index + u64::from(arg)) % 4 {
                    0 => Condition::test(Test::new(field, Cmp::Ge, rng.next())),
                    1 => Condition::test(Test::new(field, Cmp::Le, rng.next())),
                    2 => Condition::test(Test::new(field, Cmp::Ne, rng.next())),
                    _ => {
                        let mask = rng.next();
                        Condition::test(Test::masked_eq(field, mask, rng.next() & mask))
                    }
                }
            });
            let when = Condition::all(tests.collect::<Vec<_>>());
            rule(SyscallSet::one(41), when, Verdict::errno(2 + index as u16 % 3))
        });
        let policy = x86_64(rules.collect(), Verdict::errno(1));
        let what = format!("{count} rules of six comparisons");
        let compiled = within(LIMIT, &what, || compile(&policy, &Options::default()));
        (compiled, callgate::fuzz::plain_program(&policy).unwrap())
    };
    for count in [4, 12] {
        let (compiled, plain) = compiled(count);
        let program = compiled.unwrap().program;
        println!("{count}: {}, the plain program {}", program.len(), plain.len());
        assert!(program.len() <= plain.len(), "{count}: {} > {}", program.len(), plain.len());
    }
}
