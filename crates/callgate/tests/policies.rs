//! Random policies: the rules, the MTBDD and the generated programs agree on every syscall tried.

use callgate::compile::{Options, compile, recompile};
use callgate::fuzz::{self, Input, Subject, plain_program};
use callgate_codegen::{Aim, Model};
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_core::{FilterSpec, Spec};
use callgate_testing::random::{Constants, Rng, cases, policies, policies_of_one_argument, x86_64};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

fn programs_say_what_the_rules_say(policy: &Policy, seed: u64) -> Result<(), TestCaseError> {
    let endian = policy.endian();
    let arches: Vec<_> = policy.arches().collect();
    let constants = Constants::of_policy(policy);
    let mut store = Store::default();
    let func = store.policy(policy).unwrap();
    for &model in Model::ALL {
        for &aim in Aim::ALL {
            let options = Options { model, aim, ..Options::default() };
            let compiled = compile(policy, &options).unwrap();
            let program = &compiled.program;
            prop_assert_eq!(compiled.stats.insns, program.len());
            prop_assert_eq!(program.spec(), &Spec::Filter(FilterSpec::Policy(policy.clone())));
            let mut rng = Rng::new(seed);
            for _ in 0..150 {
                let data = constants.syscall(&mut rng);
                let given = program.run(&data, endian).verdict;
                prop_assert_eq!(given, policy.evaluate(&data), "{:x?} {:?}", data, options);
            }
            prop_assert_eq!(store.program(program, endian).unwrap(), func);
            let again = recompile(program, endian, &arches, &options).unwrap();
            prop_assert_eq!(store.program(&again.program, endian).unwrap(), func);
            // Code that follows the rules is returned where it is better than what depends on the meaning alone.
            if aim == Aim::Size {
                prop_assert!(program.len() <= again.program.len());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn every_program_says_what_the_rules_say(policy in policies(8), seed in any::<u64>()) {
        programs_say_what_the_rules_say(&policy, seed)?;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn every_test_of_one_argument_says_what_the_rules_say(
        policy in policies_of_one_argument(),
        seed in any::<u64>(),
    ) {
        programs_say_what_the_rules_say(&policy, seed)?;
    }
}

/// Two words decide, one by scattered bits or a single value that does not fit in with them.
#[test]
fn a_scattered_mask_next_to_a_single_value_stays_small() {
    use callgate::Verdict;
    use callgate_core::SyscallSet;
    use callgate_core::policy::{Condition, Field, Rule, Test};
    let arg = |arg| Field::arg(arg).unwrap();
    let scattered = Condition::test(Test::masked_eq(arg(1), 6_178_142_628_873_421_836, 4));
    let single = Condition::test(Test::eq(arg(1), 0xffff_ffff_0000_0000));
    let rule = |syscalls, when, verdict| Rule { syscalls, when, verdict };
    let third = Condition::test(Test::eq(arg(2), 0));
    let policy = x86_64(
        vec![
            rule(SyscallSet::one(0), third, Verdict::ALLOW),
            rule(SyscallSet::range(0, 1), Condition::any([scattered, single]), Verdict::errno(1)),
        ],
        Verdict::ALLOW,
    );
    let compiled = compile(&policy, &Options::default()).unwrap();
    assert!(compiled.program.len() <= 40, "{}", compiled.program.len());
}

/// Found by chance: what goes on behind a window must load the argument again.
#[test]
fn a_window_leaves_nothing_of_the_word() {
    use callgate::Verdict;
    use callgate_core::SyscallSet;
    use callgate_core::policy::{Cmp, Condition, Field, Rule, Test};
    let (first, second) = (Field::arg_low(0).unwrap(), Field::arg_low(1).unwrap());
    let rule = |when| Rule { syscalls: SyscallSet::one(16), when, verdict: Verdict::ALLOW };
    let rules = vec![
        rule(Condition::test(Test::new(first, Cmp::Lt, 27))),
        rule(Condition::test(Test::masked_eq(first, 0x2220_0111, 0))),
        rule(Condition::all([Test::eq(first, 256), Test::eq(second, 0)].map(Condition::test))),
    ];
    let policy = x86_64(rules, Verdict::errno(22));
    programs_say_what_the_rules_say(&policy, 1).unwrap();
}

proptest! {
    #![proptest_config(cases(100))]

    /// Rules, plain program and compiled programs agree on every syscall that the fuzzer makes, and it
    /// makes syscalls for everything that can be executed.
    #[test]
    fn the_fuzzer_finds_no_difference(policy in policies(10), seed in any::<u64>()) {
        let compiled = compile(&policy, &Options::default()).unwrap().program;
        let plain = plain_program(&policy).unwrap();
        let programs = [Subject::new("plain", plain), Subject::new("compiled", compiled.into())];
        let arches: Vec<_> = policy.arches().collect();
        let input = Input {
            policy: Some(&policy),
            programs: &programs,
            arches: &arches,
            endian: policy.endian(),
        };
        let options = fuzz::Search { seed, runs: 5_000, ..fuzz::Search::default() };
        let report = fuzz::fuzz(&input, &options, &mut |_| true);
        prop_assert!(report.agrees(), "{:?} {:?}", report.comparisons, report.contradictions);
        prop_assert!(report.is_complete(), "{:?}", report.coverage);
    }
}
