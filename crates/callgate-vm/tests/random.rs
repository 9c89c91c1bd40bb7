//! Random programs and inputs on all engines.
//!
//! `CALLGATE_CASES` sets the number of pairs of program and input, `CALLGATE_SEED` the first seed, and `CALLGATE_ENGINES` the
//! engines, separated by commas.

use callgate_vm::{EngineKind, differential};

/// A number from the environment.
fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[test]
fn every_engine_agrees_with_the_reference() {
    let cases = from_environment("CALLGATE_CASES", 100_000);
    let seed = from_environment("CALLGATE_SEED", 0);
    let engines = match std::env::var("CALLGATE_ENGINES") {
        Ok(names) => names.split(',').map(|name| name.parse().unwrap()).collect(),
        Err(_) => EngineKind::ALL.to_vec(),
    };
    match differential::run(seed, cases, &engines) {
        Ok(programs) => println!("{programs} programs, at least {cases} cases"),
        Err(difference) => panic!("{difference}"),
    }
}
