//! Every way to compile, beside the definitions: what comes out as proved computes what was asked for.
//!
//! `.ci/cheats` runs these tests with errors in the untrusted crates, and `CALLGATE_CHEATS` set. Then a compilation may fail, panic,
//! return a longer program, or the program of another policy, which its spec says. What is proved must be right: only a program
//! that does not compute its spec fails these tests. Each test prints how many of its programs were proved of another policy:
//! a caller that does not compare the spec with the policy takes them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use callgate::compile::{Options, compile, compile_template};
use callgate::optimize;
use callgate::sets::{Expression, Operation};
use callgate::stack::{Stack, merge};
use callgate::{Arch, Description, Proved, SeccompData};
use callgate_codegen::{Aim, Model};
use callgate_core::policy::Policy;
use callgate_core::{FilterSpec, LongProgram, Spec};
use callgate_testing::random::{Constants, Rng, named_policies, policies, samples, variables};

use crate::cheat;

/// The syscalls for which a program is compared with its definition.
const SYSCALLS: usize = 200;

/// What a compilation returns, if it does not fail: an error in an untrusted crate may make it panic.
fn attempt<T>(compilation: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(compilation)).ok().flatten()
}

fn syscalls(policies: &[&Policy], seed: u64) -> Vec<SeccompData> {
    let mut rng = Rng::new(seed);
    let constants: Vec<Constants> = policies.iter().map(|one| Constants::of_policy(one)).collect();
    (0..SYSCALLS).map(|at| constants[at % constants.len()].syscall(&mut rng)).collect()
}

/// The programs of a test.
#[derive(Default)]
struct Tally {
    made: usize,
    /// Those that were proved of something else than was asked for, which their specs say.
    of_another: usize,
}

impl Tally {
    /// The program computes its spec, which is the one that was asked for.
    fn check(&mut self, proved: &Proved, wanted: &Spec, policies: &[&Policy], seed: u64) {
        self.count(proved.spec() == wanted, wanted);
        is_right(proved, policies, seed);
    }

    fn count(&mut self, is_wanted: bool, wanted: &dyn std::fmt::Debug) {
        assert!(is_wanted || cheat().is_some(), "proved something else: {wanted:?}");
        self.made += 1;
        self.of_another += usize::from(!is_wanted);
    }

    /// `.ci/cheats` reads this line.
    fn print(&self, what: &str) {
        println!("{} programs of {what}, {} proved of another policy", self.made, self.of_another);
    }
}

/// The program computes its spec.
fn is_right(proved: &Proved, policies: &[&Policy], seed: u64) {
    let endian = policies[0].endian();
    for data in syscalls(policies, seed) {
        let verdict = proved.run(&data, endian).verdict;
        let wanted = proved.spec().run(&data);
        assert_eq!(Some(verdict), wanted, "{data:x?}\n{:?}\n{:?}", proved.spec(), proved.insns());
    }
}

fn plans() -> impl Iterator<Item = Options> {
    let aims = [Aim::Speed, Aim::Size, Aim::Quick];
    let options = |aim, model| Options { aim, model, expected_insns: false, ..Options::default() };
    aims.into_iter().flat_map(move |aim| Model::ALL.iter().map(move |model| options(aim, *model)))
}

fn corpus() -> Vec<Policy> {
    let mut all = samples(&named_policies(6), 11, 60);
    all.extend(samples(&policies(4), 12, 60));
    all
}

fn of_policy(policy: &Policy) -> FilterSpec {
    FilterSpec::Policy(policy.clone())
}

/// The architectures of a policy.
fn arches(policy: &Policy) -> Vec<Arch> {
    policy.arches().collect()
}

#[test]
fn compiled_policies_compute_their_rules() {
    let mut tally = Tally::default();
    for (seed, policy) in corpus().iter().enumerate() {
        for options in plans() {
            let Some(compiled) = attempt(|| compile(policy, &options).ok()) else { continue };
            let wanted = Spec::Filter(of_policy(policy));
            tally.check(&compiled.program, &wanted, &[policy], seed as u64);
        }
    }
    tally.print("policies");
}

#[test]
fn optimized_programs_compute_the_same() {
    let mut tally = Tally::default();
    for (seed, policy) in corpus().iter().enumerate().step_by(3) {
        let Some(first) = attempt(|| compile(policy, &Options::default()).ok()) else { continue };
        let program = LongProgram::from(first.program.into_program());
        let endian = policy.endian();
        for options in plans() {
            let optimize = || optimize(&program, endian, &arches(policy), &options).ok();
            let Some(optimized) = attempt(optimize) else { continue };
            let wanted = Spec::Filter(FilterSpec::Program(program.clone(), endian));
            tally.check(&optimized.program, &wanted, &[policy], seed as u64);
        }
    }
    tally.print("programs");
}

#[test]
fn merged_stacks_compute_what_the_kernel_keeps() {
    let mut tally = Tally::default();
    let all = corpus();
    for (seed, pair) in all.chunks(2).enumerate() {
        let [older, newer] = pair else { continue };
        if older.endian() != newer.endian() {
            continue;
        }
        let merged = attempt(|| {
            let stack = Stack::new(vec![Description::policy(older), Description::policy(newer)]);
            merge(&stack.ok()?, &arches(older), &Options::default()).ok()
        });
        let Some(merged) = merged else { continue };
        let wanted = Spec::Stack(vec![of_policy(older), of_policy(newer)]);
        tally.check(&merged.compiled.program, &wanted, &[older, newer], seed as u64);
    }
    tally.print("stacks");
}

#[test]
fn sets_compute_their_operations() {
    let mut tally = Tally::default();
    let all = corpus();
    for (seed, pair) in all.chunks(2).enumerate() {
        let [first, other] = pair else { continue };
        if first.endian() != other.endian() {
            continue;
        }
        for operation in
            [Operation::Intersect, Operation::Union, Operation::Subtract { denied: None }]
        {
            let compiled = attempt(|| {
                let expression = Expression::new(Description::policy(first));
                let expression = expression.then(operation, Description::policy(other)).ok()?;
                expression.compile(&arches(first), &Options::default()).ok()
            });
            let Some(compiled) = compiled else { continue };
            // Which denial a subtraction uses is not a matter of the proof: the spec has it, and the operands.
            let Spec::Set { first: own, steps } = compiled.program.spec() else {
                panic!("not a set: {:?}", compiled.program.spec());
            };
            let operands = [Some(own), steps.first().map(|step| &step.operand)];
            let (first_spec, other_spec) = (of_policy(first), of_policy(other));
            let wanted = [Some(&first_spec), Some(&other_spec)];
            tally.count(operands == wanted, &wanted);
            is_right(&compiled.program, &[first, other], seed as u64);
        }
    }
    tally.print("sets");
}

/// The program of a template for values is that of the policy for these values.
#[test]
fn templates_compute_their_policies_for_all_values() {
    let mut tally = Tally::default();
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let policy = variables::policy(&mut rng);
        for options in plans() {
            let template = attempt(|| compile_template(&policy, &options).ok());
            let Some(template) = template.map(|compiled| compiled.template) else { continue };
            for _ in 0..5 {
                let values = variables::values(&mut rng, policy.variables());
                let Some(proved) = attempt(|| template.instantiate(&values).ok()) else { continue };
                let given = policy.given(&values).unwrap();
                let wanted = Spec::Filter(of_policy(&given));
                tally.check(&proved, &wanted, &[&given], seed);
                for _ in 0..20 {
                    let data = variables::syscall(&mut rng, &values);
                    let verdict = proved.run(&data, given.endian()).verdict;
                    assert_eq!(Some(verdict), proved.spec().run(&data), "{values:x?} {data:x?}");
                }
            }
        }
    }
    tally.print("templates");
}
