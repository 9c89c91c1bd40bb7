//! From a policy to a proved program: the candidates, and the best one.
//!
//! - *By cases*: the program tests the clauses of the rules in their order. It is found and proved without MTBDD, and is hardly longer
//!   than the clauses together. With [`Aim::Quick`], it is the only candidate unless it is long.
//! - *Searched*: the program is found in the MTBDD, which has the function, not the rules. It executes less, and is
//!   shorter for most policies. Where masks overlap, or many rules compare several arguments, it may be many times longer, and
//!   the MTBDD may exceed its budget.
//! - The direct translation of the rules is for policies of which nothing else fits.

use std::cell::OnceCell;

use callgate_codegen::{Aim, expected_shares};
use callgate_core::diagram::Budget;
use callgate_core::policy::{Policy, Test};
use callgate_core::{Arch, Cases, Endian, Meaning, Op, Program, Word};
use rustc_hash::FxHashSet;

use super::by_cases::{by_cases, count_tests};
use super::diagram::Parts;
use super::error::CompileError;
use super::expected::mean;
use super::generate::{CasesOf, generate_with_rules};
use super::options::{Compiled, Options, Phase};
use crate::plain_program::plain_program;

/// Compiles a policy to a proved program.
///
/// # Errors
/// If the diagram exceeds its budget, or the program the kernel's limit; and, because of a defect, if a check of the
/// program fails.
pub fn compile(policy: &Policy, options: &Options) -> Result<Compiled, CompileError> {
    compile_observed(policy, options, &mut |_| ())
}

/// As [`compile`]; `observe` is called at the end of each phase. Each candidate has the same phases.
///
/// # Errors
/// As [`compile`].
pub fn compile_observed(
    policy: &Policy,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let made = OnceCell::new();
    let cases = || made.get_or_init(|| Cases::of_policy(policy)).as_ref();
    if options.aim == Aim::Quick {
        return quick(policy, &cases, options, observe);
    }
    let budget = first_budget(policy, options.budget);
    let found = searched(policy, &cases, &Options { budget, ..options.clone() }, observe);
    if found.as_ref().is_err_and(CompileError::is_defect) {
        return Ok(found?.1);
    }
    if found.as_ref().is_ok_and(|(_, searched)| !may_be_shorter(policy, &searched.program)) {
        return Ok(found?.1);
    }
    match (found, by_cases(policy, &cases, options, observe)) {
        (Ok((meaning, searched)), Some(by_cases)) => {
            let by_cases = by_cases.compiled(policy, Some(&meaning), options);
            Ok(better(&meaning, policy, options, [searched, by_cases]))
        }
        (Ok((_, searched)), None) => Ok(searched),
        (Err(_), Some(by_cases)) => Ok(by_cases.compiled(policy, None, options)),
        (Err(_), None) if budget != options.budget => {
            Ok(searched(policy, &cases, options, observe)?.1)
        }
        (Err(error), None) => Err(error),
    }
}

/// The program by cases. Where it is long, also the searched one within a small budget: the shorter of both.
fn quick<'c>(
    policy: &Policy,
    cases: &'c CasesOf<'c>,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Compiled, CompileError> {
    let Some(found) = by_cases(policy, cases, options, observe) else {
        return Ok(searched(policy, cases, options, observe)?.1);
    };
    if let Some(budget) = quick_budget(&found.program, policy, options.budget) {
        let options = Options { budget, ..options.clone() };
        match searched(policy, cases, &options, observe) {
            Ok((_, searched)) if searched.program.len() < found.program.len() => {
                return Ok(searched);
            }
            Err(error) if error.is_defect() => return Err(error),
            _ => {}
        }
    }
    let budget = first_budget(policy, options.budget);
    let meaning = || Meaning::of_policy(policy, budget).ok();
    let meaning = options.expected_insns.then(meaning).flatten();
    Ok(found.compiled(policy, meaning.as_ref(), options))
}

/// The number of instructions for arguments from which on a search may pay.
const LONG_FOR_ARGUMENTS: usize = 384;

/// The budget of a quick search, per instruction for arguments.
const QUICK: Budget = Budget { nodes: 32, steps: 64 };

/// The budget of a search for a shorter program than this one; `None` if that takes long, or finds none. Where most constants are
/// of one word, the search finds what they have in common, and takes little longer than the program by cases.
fn quick_budget(program: &Program, policy: &Policy, most: Budget) -> Option<Budget> {
    let insns = for_arguments(program, policy.endian());
    let pays = insns >= LONG_FOR_ARGUMENTS && compares_one_word(policy);
    pays.then(|| Budget {
        nodes: most.nodes.min(QUICK.nodes * insns),
        steps: most.steps.min(QUICK.steps * insns as u64),
    })
}

/// Whether three of four constants that are compared with words are compared with the same word.
fn compares_one_word(policy: &Policy) -> bool {
    let mut counts = [0_usize; Word::COUNT];
    let mut constants: FxHashSet<(Word, u32)> = FxHashSet::default();
    for rule in policy.sections().iter().flat_map(|section| &section.rules) {
        rule.when.for_each_test(&mut |test| {
            let halves =
                words_of(test).into_iter().zip([test.value as u32, (test.value >> 32) as u32]);
            for (word, value) in halves.filter_map(|(word, value)| Some((word?, value))) {
                if let Some(count) = counts.get_mut(word.index()) {
                    *count += usize::from(constants.insert((word, value)));
                }
            }
        });
    }
    let most = counts.into_iter().max().unwrap_or(0);
    4 * most >= 3 * constants.len()
}

/// From this number of comparisons on, the search has a smaller budget at first.
const MANY_FOR_SEARCH: usize = 16;

/// The budget of a search that may be in vain: it takes at most half a second.
const FIRST: Budget = Budget { nodes: 300_000, steps: 2_000_000 };

/// The budget of the first search.
fn first_budget(policy: &Policy, Budget { nodes, steps }: Budget) -> Budget {
    if policy.sections().iter().all(|section| count_tests(section) < MANY_FOR_SEARCH) {
        return Budget { nodes, steps };
    }
    Budget { nodes: nodes.min(FIRST.nodes), steps: steps.min(FIRST.steps) }
}

/// Whether a program by cases may be shorter than this one, which has more instructions for arguments than the rules have different
/// comparisons of words, with a load and a jump for each word.
fn may_be_shorter(policy: &Policy, program: &Program) -> bool {
    let mut tests: FxHashSet<Test> = FxHashSet::default();
    for rule in policy.sections().iter().flat_map(|section| &section.rules) {
        rule.when.for_each_test(&mut |test| {
            tests.insert(*test);
        });
    }
    let compared = tests.iter().flat_map(words_of).flatten();
    let words: FxHashSet<Word> = compared.clone().collect();
    for_arguments(program, policy.endian()) > compared.count() + 2 * words.len()
}

/// The words that a test compares, the low half first.
fn words_of(test: &Test) -> [Option<Word>; 2] {
    let mask = test.mask & test.field.full_mask();
    let low = Some(test.field.low_word()).filter(|_| mask as u32 != 0);
    [low, test.field.high_word().filter(|_| mask >> 32 != 0)]
}

/// The number of instructions that load or test arguments.
fn for_arguments(program: &Program, endian: Endian) -> usize {
    let insns = program.insns();
    // Where A may hold a part of an argument. Jumps are forwards.
    let mut holds = vec![false; insns.len()];
    let mut count = 0;
    for (at, insn) in insns.iter().enumerate() {
        let is_argument = match insn.op {
            Op::LdWordAbs => {
                Word::from_offset(insn.k, endian).is_some_and(|word| word.argument().is_some())
            }
            _ => holds.get(at).copied().unwrap_or(false),
        };
        count += usize::from(is_argument && !insn.op.is_return());
        for next in insn.successors(at) {
            if let Some(holds) = holds.get_mut(next) {
                *holds |= is_argument;
            }
        }
    }
    count
}

/// The program that a search finds in the MTBDD of a policy.
fn searched<'c>(
    policy: &Policy,
    cases: &'c CasesOf<'c>,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<(Meaning, Compiled), CompileError> {
    let mut parts = Parts::default();
    let meaning = Meaning::of_policy_observed(policy, options.budget, &mut |one| parts.add(one));
    let compiled = meaning.map_err(CompileError::from).and_then(|mut meaning| {
        let arches: Vec<Arch> = policy.arches().collect();
        let plain = || plain_program(policy).ok().map(Program::into_insns);
        let compiled =
            generate_with_rules(&mut meaning, &arches, options, (&plain, cases), observe)?;
        Ok((meaning, compiled))
    });
    compiled.map_err(|error| parts.named(error))
}

/// For speed, the maximum ratio of lengths at which fewer executed instructions still win: code fills caches.
const MAX_GROWTH: usize = 2;

/// The better one of two programs with this meaning under the aim of the options; the first one if both are equally good.
fn better(
    meaning: &Meaning,
    policy: &Policy,
    options: &Options,
    [first, second]: [Compiled; 2],
) -> Compiled {
    let arches: Vec<Arch> = policy.arches().collect();
    let syscalls = options.weights.resolve(meaning.store(), meaning.func(), &arches);
    let shares = expected_shares(&syscalls, options.weights.distribution(options.model, &arches));
    let [of_first, of_second] = [&first, &second].map(|compiled| {
        let weighted = syscalls.iter().zip(shares.iter().copied());
        let (store, func, endian) = (meaning.store(), meaning.func(), meaning.endian());
        let executed = mean(store, func, &compiled.program, weighted, endian).unwrap_or(0.0);
        executed + options.aim.size_price() * compiled.program.len() as f64
    });
    let is_better = match (first.program.len(), second.program.len()) {
        _ if options.aim == Aim::Size => of_second < of_first,
        (first, second) if first > MAX_GROWTH * second => true,
        (first, second) if second > MAX_GROWTH * first => false,
        _ => of_second < of_first,
    };
    if is_better { second } else { first }
}
