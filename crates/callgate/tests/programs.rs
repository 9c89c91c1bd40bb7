//! The fuzzer on random programs: coverage, and agreement with the compiled program.

use std::cell::Cell;

use callgate::compile::recompile;
use callgate::fuzz::{self, Input, Search, Subject};
use callgate::{Arch, Endian};
use callgate_core::diagram::Budget;
use callgate_testing::random::cases;
use callgate_testing::random::programs::{program, realistic};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Small: programs whose MTBDD grows exponentially fail early.
const BUDGET: Budget = Budget { nodes: 200_000, steps: 1_000_000 };

/// The fuzzer executes all code or proves it dead, no syscall executes what is proved dead, and the compiled program
/// agrees with the original on every syscall.
#[test]
fn realistic_programs_are_executed_everywhere() {
    let programs = (prop::collection::vec(realistic(), 1..120), any::<bool>(), any::<u64>());
    let dead = Cell::new(0);
    let result = TestRunner::new(cases(150)).run(&programs, |(pieces, big, seed)| {
        let endian = if big { Endian::Big } else { Endian::Little };
        let given = program(&pieces, endian);
        let arches = [if big { Arch::S390x } else { Arch::X86_64 }];
        let mut subjects = vec![Subject::new("given", given)];
        let compiled = recompile(&subjects[0].program, endian, &arches, &Default::default());
        subjects.extend(compiled.ok().map(|one| Subject::new("compiled", one.program.into())));
        let input = Input { policy: None, programs: &subjects, arches: &arches, endian };
        let options = Search { seed, runs: 5_000, budget: BUDGET };
        let report = fuzz::fuzz(&input, &options, &mut |_| true);
        prop_assert!(report.agrees(), "{:?} {:?}", report.comparisons, report.contradictions);
        for coverage in &report.coverage {
            prop_assert!(coverage.is_complete() || coverage.why.is_some(), "{:?}", coverage);
            dead.set(dead.get() + coverage.dead_edges.len());
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(dead.get() > 100, "only {} edges of branches were dead", dead.get());
}
