//! Kafel policies.

use callgate::formats::kafel;

use super::filter::Filter;
use super::included::included_from;
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// Reads a policy.
pub(super) fn read_policy(place: &Place, text: &str, options: &SourceOptions) -> Result<Filter> {
    let reading = kafel::ReadOptions { identity: place.identity(), ..options.of_kafel()? };
    let profile = kafel::read_with_includes(text, &reading, &mut included_from(place, options))
        .map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name(), "a Kafel policy", false);
    let profile = options
        .set_variables(profile)
        .map_err(|error| Failure::about(place.name(), error.to_string()))?;
    Ok(Filter::of_profile(place.name(), profile, options))
}
