//! Symbolic execution of random programs against the reference interpreter.

use std::cell::Cell;

use callgate_core::diagram::{Budget, Store};
use callgate_core::{Endian, Program};
use callgate_testing::random::programs::{Piece, program, realistic, unusual};
use callgate_testing::random::{Constants, Rng, cases};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

/// Small: programs whose MTBDD grows exponentially fail early.
const BUDGET: Budget = Budget { nodes: 200_000, steps: 1_000_000 };

/// Compares the MTBDD of a program with the interpreter; false if it exceeds the budget.
fn agrees(program: &Program, endian: Endian, seed: u64) -> Result<bool, TestCaseError> {
    let mut store = Store::new(BUDGET);
    let Ok(func) = store.program(program, endian) else { return Ok(false) };
    let (constants, mut rng) = (Constants::of_program(program), Rng::new(seed));
    for _ in 0..300 {
        let data = constants.syscall(&mut rng);
        let (given, wanted) =
            (store.evaluate(func, &data).unwrap(), program.run(&data, endian).verdict);
        prop_assert_eq!(given, wanted, "{:x?}", data);
    }
    Ok(true)
}

/// Checks programs of these pieces; at most this percentage may exceed the budget.
fn many(pieces: impl Strategy<Value = Piece>, most: usize, runs: u32, skipped_percent: u32) {
    let programs = (prop::collection::vec(pieces, 1..most), any::<bool>(), any::<u64>());
    let (total, skipped) = (Cell::new(0), Cell::new(0));
    let result = TestRunner::new(cases(runs)).run(&programs, |(pieces, big, seed)| {
        let endian = if big { Endian::Big } else { Endian::Little };
        let program = program(&pieces, endian);
        total.set(total.get() + 1);
        if !agrees(&program, endian, seed)? {
            skipped.set(skipped.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (total, skipped) = (total.get(), skipped.get());
    println!("{skipped} of {total} out of budget");
    assert!(skipped * 100 <= total * skipped_percent, "{skipped} of {total} out of budget");
}

#[test]
fn the_mtbdd_of_a_realistic_program_agrees_with_the_interpreter() {
    many(realistic(), 60, 1500, 2);
}

#[test]
fn the_mtbdd_of_a_long_realistic_program_agrees_with_the_interpreter() {
    many(realistic(), 900, 60, 5);
}

#[test]
fn the_mtbdd_of_an_unusual_program_agrees_with_the_interpreter() {
    // 8 % of these programs are; a short run has a third of the cases, and other ones each time.
    many(unusual(), 30, 1000, 16);
}
