//! Policies of minijail: their weights.

use callgate::codegen::{Count, Weights};
use callgate::formats::minijail::{self, Frequency};

use super::filter::Filter;
use super::included::included_from;
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// Reads a policy. Its frequencies become weights.
pub(super) fn read_policy(place: &Place, text: &str, options: &SourceOptions) -> Result<Filter> {
    let reading = minijail::ReadOptions { identity: place.identity(), ..options.of_minijail()? };
    let policy = minijail::read_with_includes(text, &reading, &mut included_from(place))
        .map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name(), "a policy of minijail", false);
    let mut filter = Filter::of_profile(place.name(), policy.profile);
    if !policy.frequencies.is_empty() {
        let count = |Frequency { name, count }| Count {
            arch: Some(reading.arch),
            name: String::from(name),
            count: count as f64,
        };
        let weights = Weights::of(policy.frequencies.into_iter().map(count))
            .map_err(|error| Failure::about(place.name(), error.to_string()))?;
        filter.weights = Some(weights);
    }
    Ok(filter)
}
