//! The fuzz target: random programs and inputs on which every engine must agree with the reference.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use callgate_vm::{EngineKind, differential};

const HELP: &str = "\
usage: jit_vs_reference [--cases N] [--seed N] [--engine NAME]...

Makes random programs and inputs and compares what engines return with what the
reference interpreter returns. A case is a pair of a program and an input.

  --cases N      number of cases (default 10000000)
  --seed N       first seed; a difference reports its seed (default 0)
  --engine NAME  an engine to compare (default: all)

exit status: 0 no difference, 1 a difference, 2 invalid options

example, from the sources:
  cargo run --release -p callgate-vm --example jit_vs_reference -- --seed 7";

struct Arguments {
    cases: u64,
    seed: u64,
    engines: Vec<EngineKind>,
}

/// `None` if help is requested.
fn arguments(words: impl IntoIterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut parsed = Arguments { cases: 10_000_000, seed: 0, engines: Vec::new() };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return Ok(None);
        }
        let value = words.next();
        let number = || match &value {
            None => Err(format!("{word} needs a number after it")),
            Some(text) => text.parse().map_err(|_| {
                format!("{word} takes a number from 0 to {}, which {text:?} is not", u64::MAX)
            }),
        };
        match word.as_str() {
            "--cases" => parsed.cases = number()?,
            "--seed" => parsed.seed = number()?,
            "--engine" => {
                let name = value.ok_or("--engine needs a name after it")?;
                parsed.engines.push(name.parse()?);
            }
            _ => return Err(format!("unknown option {word:?}; try --help")),
        }
    }
    if parsed.engines.is_empty() {
        parsed.engines = EngineKind::ALL.to_vec();
    }
    Ok(Some(parsed))
}

fn main() -> ExitCode {
    let Arguments { cases, seed, engines } = match arguments(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("jit_vs_reference: {why}");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let mut said = start;
    let result = differential::run(seed, cases, &engines, |done| {
        if said.elapsed() >= Duration::from_secs(1) {
            said = Instant::now();
            let percent = done.cases.saturating_mul(100) / cases.max(1);
            eprintln!("{} of {cases} cases, {percent}%", done.cases);
        }
    });
    match result {
        Ok(done) => {
            let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
            println!(
                "{} cases, {} programs from seed {seed} on, no difference in {:.0} s: {}",
                done.cases,
                done.programs,
                start.elapsed().as_secs_f64(),
                names.join(", ")
            );
            ExitCode::SUCCESS
        }
        Err(difference) => {
            println!("{difference}");
            ExitCode::FAILURE
        }
    }
}
