//! How many cases a property test runs, and values without a test.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::is_thorough;

/// The configuration of a property test with this number of cases, or a third of it ([`is_thorough`]); `PROPTEST_CASES`
/// overrides both.
pub fn cases(cases: u32) -> Config {
    let default = Config { failure_persistence: None, ..Config::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None if is_thorough() => Config { cases, ..default },
        None => Config { cases: cases.div_ceil(3), ..default },
    }
}

/// The first values of a strategy for a seed.
///
/// # Panics
/// If the strategy rejects too many values.
pub fn samples<S: Strategy>(strategy: &S, seed: u8, count: usize) -> Vec<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}
