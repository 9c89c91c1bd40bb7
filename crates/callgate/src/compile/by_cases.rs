//! Compilation by cases: without MTBDD, in a fraction of its time.

use callgate_bpf::SyscallTable;
use callgate_codegen::{Repeating, generate_by_cases};
use callgate_core::policy::{Policy, Section};
use callgate_core::{Arch, Cases, Meaning, NumberInterval, Program, Proved, Verdict};

use super::expected::Executed;
use super::generate::CasesOf;
use super::options::{Compiled, Options, Phase, Stats};

/// A program that is made and proved by cases.
pub(super) struct ByCases {
    pub(super) program: Proved,
    constant_allow: usize,
}

/// The proved program of a policy by cases; `None` if the MTBDD is needed for the program or for its proof.
pub(super) fn by_cases(
    policy: &Policy,
    cases: &CasesOf<'_>,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Option<ByCases> {
    let cases = cases()?;
    let arches: Vec<Arch> = policy.arches().collect();
    let Options { weights, model, aim, instructions, .. } = options;
    let known = always_allowed(cases, &arches);
    let made = |repeating| {
        let how = (*aim, repeating);
        let made = generate_by_cases(cases, weights, &arches, *model, how, *instructions)?;
        Program::new(made.insns).ok()
    };
    let first = made(Repeating::IfShorter);
    observe(Phase::Generated);
    let proved = first.as_ref().and_then(|first| cases.prove_with_cache(first, &known));
    let proved = proved.or_else(|| {
        let other = made(Repeating::Always).filter(|other| first.as_ref() != Some(other))?;
        cases.prove_with_cache(&other, &known)
    })?;
    observe(Phase::Proved);
    Some(ByCases { program: proved, constant_allow: known.len() })
}

/// The number of comparisons of a section.
pub(super) fn count_tests(section: &Section) -> usize {
    let mut count = 0;
    section.rules.iter().for_each(|rule| rule.when.for_each_test(&mut |_| count += 1));
    count
}

impl ByCases {
    /// With its figures, if they are asked for. Only the MTBDD tells which arguments are permitted; without it, what is executed is
    /// unknown.
    pub(super) fn compiled(
        self,
        policy: &Policy,
        meaning: Option<&Meaning>,
        options: &Options,
    ) -> Compiled {
        let ByCases { program, constant_allow } = self;
        let executed = meaning.filter(|_| options.expected_insns).map(|meaning| {
            let arches: Vec<Arch> = policy.arches().collect();
            let syscalls = options.weights.resolve(meaning.store(), meaning.func(), &arches);
            Executed::of(meaning, &program, &syscalls)
        });
        let Executed { expected, filtered } = executed.unwrap_or_default();
        let stats = Stats {
            insns: program.len(),
            expected_insns: expected,
            filtered_insns: filtered,
            constant_allow,
            nodes: 0,
        };
        Compiled { program, stats }
    }
}

/// The arch tokens and numbers of the known syscalls that are always allowed.
fn always_allowed(cases: &Cases, arches: &[Arch]) -> Vec<(u32, u32)> {
    let mut allowed = Vec::new();
    for section in cases.sections() {
        let of_token = arches.iter().filter(|arch| arch.token() == section.token);
        let is_allowed =
            |interval: &&NumberInterval| cases.verdict(interval.list) == Some(Verdict::ALLOW);
        for NumberInterval { first, last, .. } in section.intervals.iter().filter(is_allowed) {
            let numbers =
                of_token.clone().flat_map(|arch| arch.syscall_numbers_within(*first, *last));
            allowed.extend(numbers.map(|nr| (section.token, nr)));
        }
    }
    allowed
}
