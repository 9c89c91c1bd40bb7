//! The kernel models: which syscalls pay, and what that does to programs.

use callgate::compile::{Options, compile};
use callgate::{Arch, Endian, Verdict};
use callgate_bpf::SyscallTable;
use callgate_codegen::{Model, Weights};
use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Program, SyscallSet};
use callgate_testing::reader::call;

const ARCH: Arch = Arch::X86_64;

/// Always allowed, in many runs; and allowed for one value of the first argument.
const ALWAYS: [&str; 6] = ["read", "close", "lseek", "getpid", "futex", "openat"];
const SOMETIMES: [&str; 4] = ["socket", "ioctl", "fcntl", "clone"];

fn policy() -> Policy {
    let rule = |name: &&str, when| Rule {
        syscalls: SyscallSet::one(ARCH.number(name).unwrap()),
        when,
        verdict: Verdict::ALLOW,
    };
    let seven = Condition::test(Test::eq(Field::arg(0).unwrap(), 7));
    let rules = ALWAYS
        .iter()
        .map(|name| rule(name, Condition::always()))
        .chain(SOMETIMES.iter().map(|name| rule(name, seven.clone())))
        .collect();
    let default = Verdict::errno(1);
    let section = Section::new(ARCH, rules, default);
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

fn program(model: Model, weights: Weights) -> Program {
    compile(&policy(), &Options { model, weights, ..Options::default() }).unwrap().program.into()
}

/// How many instructions these syscalls execute, all together.
fn executed(program: &Program, names: &[&str]) -> u32 {
    let executed = |name: &&str| {
        let data = call(ARCH, name, &[7]);
        let run = program.run(&data, Endian::Little);
        assert_eq!(run.verdict, Verdict::ALLOW);
        run.executed as u32
    };
    names.iter().map(executed).sum()
}

/// Syscalls of both kinds, those that are always allowed twice as often.
fn mixed() -> Weights {
    let counts =
        |names: &'static [&str], count| names.iter().map(move |name| ((*name).to_owned(), count));
    Weights::counts(counts(&ALWAYS, 2.0).chain(counts(&SOMETIMES, 1.0))).unwrap()
}

/// Where the kernel remembers what it always allows, the others come first.
#[test]
fn with_a_verdict_cache_syscalls_that_pay_are_found_sooner() {
    let of = |model| program(model, Weights::uniform());
    let (uncached, cached) = (of(Model::Uncached), of(Model::Cached));
    assert!(executed(&cached, &SOMETIMES) < executed(&uncached, &SOMETIMES));
    assert!(executed(&cached, &ALWAYS) > executed(&uncached, &ALWAYS));
}

/// Counts are taken as they are.
#[test]
fn with_counts_the_kernel_does_not_matter() {
    assert_eq!(program(Model::Uncached, mixed()), program(Model::Cached, mixed()));
}

/// Where all that is weighed is always allowed, it is weighed all the same.
#[test]
fn syscalls_that_cost_nothing_still_get_a_good_tree() {
    let weights = || Weights::counts([("futex".to_owned(), 1.0)]).unwrap();
    let (uncached, cached) =
        (program(Model::Uncached, weights()), program(Model::Cached, weights()));
    // Arch, number and return, with a load each for the first two.
    assert_eq!(executed(&uncached, &["futex"]), 5);
    assert_eq!(executed(&cached, &["futex"]), 5);
}
