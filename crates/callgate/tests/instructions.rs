//! Programs of basic instructions contain no others, and mean the same.

use callgate::compile::{Compiled, Options, compile, recompile};
use callgate::{Arch, Endian, Verdict};
use callgate_codegen::{Aim, Instructions};
use callgate_core::diagram::{Budget, Store};
use callgate_core::policy::{Condition, Field, Rule, Test};
use callgate_core::{LongProgram, SyscallSet};
use callgate_testing::random::programs::{program, realistic};
use callgate_testing::random::{cases, policies, policies_of_one_argument, x86_64};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

fn options(instructions: Instructions, aim: Aim) -> Options {
    Options { instructions, aim, ..Options::default() }
}

/// Compiles with both sets of instructions and compares. Returns whether the programs differ.
fn check(endian: Endian, compile: impl Fn(&Options) -> Compiled) -> Result<bool, TestCaseError> {
    let mut differ = false;
    for &aim in Aim::ALL {
        let [all, basic] = [Instructions::All, Instructions::Basic]
            .map(|instructions| compile(&options(instructions, aim)));
        for insn in basic.program.iter() {
            prop_assert!(Instructions::Basic.allows(insn.op), "{insn:?}");
        }
        let mut store = Store::default();
        let all_means = store.program(&all.program, endian).unwrap();
        prop_assert_eq!(store.program(&basic.program, endian).unwrap(), all_means);
        differ |= all.program != basic.program;
    }
    Ok(differ)
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn basic_programs_of_policies_mean_the_same(policy in policies(8)) {
        check(policy.endian(), |options| compile(&policy, options).unwrap())?;
    }

    #[test]
    fn basic_programs_of_tests_of_one_argument_mean_the_same(
        policy in policies_of_one_argument()
    ) {
        check(policy.endian(), |options| compile(&policy, options).unwrap())?;
    }

    #[test]
    fn basic_programs_of_programs_mean_the_same(
        pieces in prop::collection::vec(realistic(), 1..40)
    ) {
        let endian = Endian::Little;
        let given = LongProgram::from(program(&pieces, endian));
        // Some programs are too complex for any instructions. Other options need some more steps than those that are
        // tried first.
        let compile = |options: &Options, steps| {
            let options = Options { budget: Budget { nodes: 200_000, steps }, ..options.clone() };
            recompile(&given, endian, &[Arch::X86_64], &options)
        };
        if compile(&options(Instructions::Basic, Aim::Size), 1_000_000).is_ok() {
            check(endian, |options| compile(options, 20_000_000).unwrap())?;
        }
    }
}

/// Found by chance: a mask after a projection contained bits that A no longer held, and the word was loaded again with
/// them.
#[test]
fn a_part_of_a_word_is_loaded_again_without_its_other_bits() {
    let bits = |arg, mask, value| {
        Condition::test(Test::masked_eq(Field::arg_low(arg).unwrap(), mask, value))
    };
    let rule = |when, verdict| Rule { syscalls: SyscallSet::one(16), when, verdict };
    let rules = vec![
        rule(bits(0, 0xff, 1), Verdict::errno(1)),
        rule(bits(0, 1, 1), Verdict::ALLOW),
        rule(bits(0, 0xff00, 0), Verdict::LOG),
        rule(
            Condition::any([bits(0, 0xb000_8004, 0), bits(1, u64::from(u32::MAX), 0)]),
            Verdict::LOG,
        ),
    ];
    let policy = x86_64(rules, Verdict::errno(22));
    assert!(check(policy.endian(), |options| compile(&policy, options).unwrap()).unwrap());
}

/// Rules for which the programs of all instructions have masks in arch, number and arguments, and bitset tests.
#[test]
fn what_takes_other_instructions_is_replaced() {
    let low = |arg| Field::arg_low(arg).unwrap();
    let values = [3, 4, 8, 15, 16, 21, 22, 23, 29, 31];
    let scattered = values.map(|value| Condition::test(Test::eq(low(0), value)));
    let bits = |arg, mask| Condition::test(Test::masked_eq(low(arg), mask, 0));
    let rule = |syscalls, when| Rule { syscalls, when, verdict: Verdict::ALLOW };
    for (rules, what) in [
        (vec![rule(SyscallSet::one(5), Condition::any(scattered))], "bitset"),
        (vec![rule(SyscallSet::one(5), bits(1, 0x10203))], "mask"),
        (
            vec![
                rule(SyscallSet::one(5), bits(1, 0x0f0)),
                rule(SyscallSet::one(5), bits(1, 0xf00)),
                rule(SyscallSet::one(5), bits(2, 6)),
            ],
            "several masks",
        ),
        (
            (0..8)
                .map(|i| rule(SyscallSet::range(8 * i, 8 * i + 1), Condition::always()))
                .collect(),
            "numbers",
        ),
    ] {
        let policy = x86_64(rules, Verdict::errno(1));
        let differ = check(policy.endian(), |options| compile(&policy, options).unwrap());
        assert!(differ.unwrap(), "{what}");
    }
}
