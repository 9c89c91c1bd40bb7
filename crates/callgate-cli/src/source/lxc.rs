//! Profiles of LXC.

use callgate::formats::lxc;

use super::filter::Filter;
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// Reads a profile.
pub(super) fn read_lxc_profile(
    place: &Place,
    text: &str,
    options: &SourceOptions,
) -> Result<Filter> {
    let profile =
        lxc::read(text, &options.of_lxc()?).map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name(), "a profile of LXC", false);
    Ok(Filter::of_profile(place.name(), profile, options))
}
