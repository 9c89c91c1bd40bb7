//! Random programs and inputs: every engine says what the reference says.
//!
//! `CALLGATE_CASES` makes it run longer, `CALLGATE_SEED` begins elsewhere.

use callgate_vm::{EngineKind, differential};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn every_engine_says_what_the_reference_says() {
    let (first, cases) = (setting("CALLGATE_SEED", 0), setting("CALLGATE_CASES", 4_000));
    let mut compared = 0;
    for seed in first..first + cases {
        match differential::check(seed, EngineKind::ALL) {
            Ok(answers) => compared += answers,
            Err(difference) => panic!("{difference}"),
        }
    }
    println!("{cases} programs, {compared} answers compared");
    assert!(compared as u64 >= cases * 24 * 2, "{compared}");
}
