//! How much work a test does, and values without a test.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Whether the tests that take longest do all of their work: with `CALLGATE_THOROUGH=1`, as in `.ci/nightly`. Without it, they
/// assert the same about less: a tenth of a budget, a third of the random cases, every fourth place.
#[must_use]
pub fn is_thorough() -> bool {
    std::env::var_os("CALLGATE_THOROUGH").is_some_and(|value| value != "0" && !value.is_empty())
}

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
