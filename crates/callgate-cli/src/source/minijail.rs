//! Policies of minijail: their weights.

use callgate::counts::weights_of_frequencies;
use callgate::formats::minijail;

use super::filter::Filter;
use super::included::included_from;
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// Reads a policy. Its frequencies become weights.
pub(super) fn read_policy(place: &Place, text: &str, options: &SourceOptions) -> Result<Filter> {
    let reading = minijail::ReadOptions { identity: place.identity(), ..options.of_minijail()? };
    let policy = minijail::read_with_includes(text, &reading, &mut included_from(place, options))
        .map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name(), "a policy of minijail", false);
    let mut filter = Filter::of_profile(place.name(), policy.profile, options);
    filter.weights = weights_of_frequencies(reading.arch, policy.frequencies)
        .map_err(|error| Failure::about(place.name(), error.to_string()))?;
    Ok(filter)
}
