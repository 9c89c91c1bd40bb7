//! Asks about the filters of the repository, then about random ones.

use std::path::Path;
use std::time::{Duration, Instant};

use callgate::compile;
use callgate::{Arch, Description, stack};
use callgate_bpf::random::Rng;
use callgate_core::policy::Policy;

use super::compare::{Comparison, Tally};
use super::options::Options;
use super::solver::Solver;
use super::subject::{BUDGET, Source, Subject};
use super::{broken, shipped};
use callgate_tasks::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let start = Instant::now();
    let directory = std::env::temp_dir().join(format!("callgate-smt-{}", std::process::id()));
    callgate_tasks::files::make(&directory)?;
    let result = run_in(&options, &directory, start);
    callgate_tasks::files::remove(&directory)?;
    result
}

fn run_in(options: &Options, directory: &Path, start: Instant) -> Result<()> {
    let solvers = Solver::all()?;
    for solver in &solvers {
        println!("{}", solver.version);
    }
    let mut tally = Tally::new(&solvers, directory, options.limit);
    let mut rng = Rng::new(options.seed);

    let mut shipped = shipped::all()?;
    if let Some(data) = &options.data {
        shipped.extend(shipped::in_directory(data)?);
    }
    let end = options.seconds.map(Duration::from_secs);
    let in_time = || end.is_none_or(|end| start.elapsed() < end);
    let mut asked = 0;
    for subject in shipped.iter().take_while(|_| in_time()) {
        check(subject, &mut rng, &mut tally)?;
        asked += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{asked} of {} filters of the repository in {seconds:.0} s: {tally}", shipped.len());

    let all = options.policies.unwrap_or(if end.is_some() { u64::MAX } else { 1000 });
    let mut policies = 0;
    while policies < all && in_time() {
        random(policies, &mut rng, &mut tally)?;
        policies += 1;
    }
    println!(
        "and {policies} random policies from seed {} in {:.0} s: {tally}",
        options.seed,
        start.elapsed().as_secs_f64()
    );
    tally.finish()
}

/// Compares a filter with its program, and with a broken program.
fn check(subject: &Subject, rng: &mut Rng, tally: &mut Tally<'_>) -> Result<()> {
    let program = match subject
        .compile(&compile::Options { budget: BUDGET, ..compile::Options::default() })
    {
        Ok(program) => program,
        // Some file tests show which filters are refused.
        Err(error) => {
            tally.refused(&subject.name, &error.to_string());
            return Ok(());
        }
    };
    let compiled = Source::Program(program.clone());
    tally.ask(&Comparison {
        name: subject.name.clone(),
        endian: subject.endian,
        a: vec![&subject.source],
        b: vec![&compiled],
        broken: false,
    })?;
    let Some(broken) = broken::program(&program, rng) else { return Ok(()) };
    tally.ask(&Comparison {
        name: format!("{}, broken", subject.name),
        endian: subject.endian,
        a: vec![&subject.source],
        b: vec![&Source::Program(broken)],
        broken: true,
    })
}

fn random(number: u64, rng: &mut Rng, tally: &mut Tally<'_>) -> Result<()> {
    let policy = callgate_testing::random::small_policy(rng);
    let subject = Subject::policy(format!("random policy {number}"), policy.clone());
    check(&subject, rng, tally)?;
    if number.is_multiple_of(8) {
        let program = callgate_vm::differential::seccomp_program(rng);
        let name = format!("random program {number}");
        check(&Subject::program(name, program.into(), subject.endian), rng, tally)?;
    }
    if number % 8 == 4 {
        stacked(number, policy, rng, tally)?;
    }
    if number % 2 == 1 {
        with_variables(number, rng, tally)?;
    }
    Ok(())
}

/// A policy with variables, and its program: equal for all values.
fn with_variables(number: u64, rng: &mut Rng, tally: &mut Tally<'_>) -> Result<()> {
    let policy = callgate_testing::random::variables::policy(rng);
    let name = format!("random policy {number} with variables");
    let compiled = compile::compile_template(&policy, &compile::Options::default());
    let template = compiled.map_err(|error| format!("{name}: {error}"))?.template;
    let endian = policy.endian();
    tally.ask(&Comparison {
        name,
        endian,
        a: vec![&Source::Policy(Box::new(policy))],
        b: vec![&Source::Template(Box::new(template.into_program()))],
        broken: false,
    })
}

/// Two policies on top of each other, and the one program that they merge to.
fn stacked(number: u64, older: Policy, rng: &mut Rng, tally: &mut Tally<'_>) -> Result<()> {
    let newer = loop {
        let policy = callgate_testing::random::small_policy(rng);
        if policy.endian() == older.endian() {
            break policy;
        }
    };
    let filters = vec![Description::policy(&older), Description::policy(&newer)];
    let arches: Vec<Arch> = older.arches().collect();
    let merged = stack::Stack::new(filters)
        .and_then(|stack| stack::merge(&stack, &arches, &compile::Options::default()))
        .map_err(|error| format!("random stack {number}: {error}"))?;
    let endian = older.endian();
    let (older, newer) = (Source::Policy(Box::new(older)), Source::Policy(Box::new(newer)));
    tally.ask(&Comparison {
        name: format!("random stack {number}"),
        endian,
        a: vec![&older, &newer],
        b: vec![&Source::Program(merged.compiled.program.into())],
        broken: false,
    })?;
    // In the other order, the data of equal actions may differ.
    tally.ask(&Comparison {
        name: format!("random stack {number}, in the other order"),
        endian,
        a: vec![&older, &newer],
        b: vec![&newer, &older],
        broken: true,
    })
}
