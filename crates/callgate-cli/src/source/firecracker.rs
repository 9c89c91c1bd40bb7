//! Filters of Firecracker and seccompiler as a source, `firecracker:FILE#THREAD`.
//!
//! A document has a filter per thread, so the name of the thread follows `#` ([`part`](super::part)). Without a name, the
//! document must have only one filter.

use callgate::formats::firecracker;

use super::choosing::choose_part;
use super::filter::Filter;
use super::named_text::checked_text;
use super::place::Place;
use super::recognize::check_encoding;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// Reads the filter of a thread, or the only one.
pub(super) fn read_thread(
    place: &Place,
    bytes: Vec<u8>,
    thread: Option<&str>,
    options: &SourceOptions,
) -> Result<Filter> {
    let mut reading = options.of_firecracker()?;
    reading.thread = thread.map(str::to_owned);
    reading.choosing = choose_part;
    check_encoding(place, &bytes)?;
    let text = checked_text(place, bytes, "the filters of Firecracker are JSON", options)?;
    let profile =
        firecracker::read(&text, &reading).map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name(), "a filter of Firecracker", false);
    let mut filter = Filter::of_profile(place.name(), profile, options);
    if let Some(thread) = thread {
        filter.name = format!("{}#{thread}", place.name());
    }
    Ok(filter)
}
