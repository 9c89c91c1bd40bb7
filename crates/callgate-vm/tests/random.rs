//! A short run of the fuzz target: every engine says what the reference says.

use callgate_vm::{EngineKind, differential};

#[test]
fn every_engine_says_what_the_reference_says() {
    let done = differential::run(0, 100_000, EngineKind::ALL, |_| {});
    match done {
        Ok(done) => println!("{} programs, {} cases", done.programs, done.cases),
        Err(difference) => panic!("{difference}"),
    }
}
