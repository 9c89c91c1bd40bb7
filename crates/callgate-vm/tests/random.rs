//! A short run of the fuzz target.

use callgate_vm::{EngineKind, differential};

#[test]
fn every_engine_agrees_with_the_reference() {
    let done = differential::run(0, 100_000, EngineKind::ALL, |_| {});
    match done {
        Ok(done) => println!("{} programs, {} cases", done.programs, done.cases),
        Err(difference) => panic!("{difference}"),
    }
}
