//! The fuzz target: random programs and inputs on which every engine must say what the reference says.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use callgate_vm::{EngineKind, differential};

const HELP: &str = "\
usage: jit_vs_reference [--cases N] [--seed N] [--engine NAME]...

Makes random programs and inputs and compares what engines return with what the
reference interpreter returns. A case is a pair of a program and an input.

  --cases N      how many cases (default 10000000)
  --seed N       where to begin; a difference names its own (default 0)
  --engine NAME  an engine to compare; without it, all of them

exit status: 0 no difference, 1 a difference, which is shown, 2 wrong options

example, from the sources:
  cargo run --release -p callgate-vm --example jit_vs_reference -- --seed 7";

struct Options {
    cases: u64,
    seed: u64,
    engines: Vec<EngineKind>,
}

/// `None`: help is wanted.
fn options(arguments: impl IntoIterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options { cases: 10_000_000, seed: 0, engines: Vec::new() };
    let mut words = arguments.into_iter();
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
            "--cases" => options.cases = number()?,
            "--seed" => options.seed = number()?,
            "--engine" => {
                let name = value.ok_or("--engine needs a name after it")?;
                options.engines.push(name.parse()?);
            }
            _ => return Err(format!("there is no option {word:?}; try --help")),
        }
    }
    if options.engines.is_empty() {
        options.engines = EngineKind::ALL.to_vec();
    }
    Ok(Some(options))
}

fn main() -> ExitCode {
    let Options { cases, seed, engines } = match options(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
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
