//! Frequencies in policies of minijail.

use callgate_codegen::{Count, WeightError, Weights};
use callgate_core::Arch;
use callgate_formats::minijail::Frequency;

/// The weights of a policy of minijail; `None` if it has no frequencies.
///
/// # Errors
/// Those of [`Weights::of`].
pub fn weights_of_frequencies(
    arch: Arch,
    frequencies: Vec<Frequency>,
) -> Result<Option<Weights>, WeightError> {
    if frequencies.is_empty() {
        return Ok(None);
    }
    let count = |Frequency { name, count }| Count {
        arch: Some(arch),
        name: String::from(name),
        count: count as f64,
    };
    Weights::of(frequencies.into_iter().map(count)).map(Some)
}
