//! How many cases a property test runs.

use proptest::test_runner::Config;

/// The configuration of a property test with this number of cases; `PROPTEST_CASES` overrides it.
pub fn cases(cases: u32) -> Config {
    let default = Config { failure_persistence: None, ..Config::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => Config { cases, ..default },
    }
}
