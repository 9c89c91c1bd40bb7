//! How much `cargo test` does of what takes long.

/// Whether the tests that take longest do all of their work: with `CALLGATE_THOROUGH=1`, as in `.ci/nightly`. Without it, they
/// assert the same about less: a tenth of a budget, a third of the random cases, every fourth place.
#[must_use]
pub fn is_thorough() -> bool {
    std::env::var_os("CALLGATE_THOROUGH").is_some_and(|value| value != "0" && !value.is_empty())
}
