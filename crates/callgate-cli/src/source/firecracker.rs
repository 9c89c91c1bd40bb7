//! Filters of Firecracker and seccompiler as a source, `firecracker:FILE#THREAD`, and their detection.
//!
//! A document has a filter per thread, so the name of the thread follows the last `#`. Without one, or if nothing follows
//! it, the document must have only one filter.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use callgate::formats::firecracker;

use super::filter::Filter;
use super::place::Place;
use super::recognize::check_encoding;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// The filter of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadSource {
    pub(super) place: Place,
    thread: Option<String>,
}

impl ThreadSource {
    /// Parses `FILE#THREAD`. `None` without `#`.
    pub(super) fn parse(rest: &OsStr) -> Option<ThreadSource> {
        let bytes = rest.as_bytes();
        let at = bytes.iter().rposition(|byte| *byte == b'#').filter(|at| *at > 0)?;
        let thread = String::from_utf8_lossy(&bytes[at + 1..]).into_owned();
        let place = Place::of_path(Path::new(OsStr::from_bytes(&bytes[..at])));
        Some(ThreadSource { place, thread: Some(thread).filter(|name| !name.is_empty()) })
    }

    /// Reads the filter. Prints warnings.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<Filter> {
        read_thread(&self.place, self.place.read()?, self.thread.as_deref(), options)
    }
}

/// Reads the filter of a thread, or the only one.
pub(super) fn read_thread(
    place: &Place,
    bytes: Vec<u8>,
    thread: Option<&str>,
    options: &SourceOptions,
) -> Result<Filter> {
    let mut reading = options.of_firecracker()?;
    reading.thread = thread.map(str::to_owned);
    check_encoding(place, &bytes)?;
    let text = place.text(bytes, "the filters of Firecracker are JSON")?;
    let profile =
        firecracker::read(&text, &reading).map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name(), "a filter of Firecracker", false);
    let mut filter = Filter::of_profile(place.name(), profile);
    if let Some(thread) = thread {
        filter.name = format!("{}#{thread}", place.name());
    }
    Ok(filter)
}

/// Whether a text begins like a document: an object, in it an object for a thread, in it one of its keys.
pub(super) fn is_document(text: &[u8]) -> bool {
    const KEYS: [&[u8]; 5] =
        [b"mismatch_action", b"match_action", b"default_action", b"filter_action", b"filter"];
    let key = || {
        let inside = text.trim_ascii_start().strip_prefix(b"{")?;
        let (_, value) = member(inside)?;
        Some(member(value.strip_prefix(b"{")?)?.0)
    };
    key().is_some_and(|key| KEYS.contains(&key))
}

/// The key of the first member of an object, and the text from its value on.
fn member(inside: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = inside.trim_ascii_start().strip_prefix(b"\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let (key, rest) = rest.split_at(end);
    let value = rest.get(1..)?.trim_ascii_start().strip_prefix(b":")?;
    Some((key, value.trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_follows_the_last_hash() {
        let of = |text: &str| {
            ThreadSource::parse(OsStr::new(text)).map(|source| (source.place.name(), source.thread))
        };
        let thread = |name: &str| Some(name.to_owned());
        assert_eq!(of("a.json"), None);
        assert_eq!(of("a.json#vmm"), Some(("a.json".to_owned(), thread("vmm"))));
        assert_eq!(of("a#b.json#vmm"), Some(("a#b.json".to_owned(), thread("vmm"))));
        assert_eq!(of("a#b.json#"), Some(("a#b.json".to_owned(), None)));
        assert_eq!(of("-#vmm"), Some(("<stdin>".to_owned(), thread("vmm"))));
        assert_eq!(of("#vmm"), None);
    }

    #[test]
    fn documents_have_a_filter_per_thread() {
        for text in [
            r#"{"vmm": {"default_action": "trap"}}"#,
            " {\n \"a\"\n:\n{ \"filter\" : []",
            r#"{"x": {"match_action": {"errno": 1}"#,
        ] {
            assert!(is_document(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "{",
            "{}",
            r#"{"defaultAction": "SCMP_ACT_ERRNO"}"#,
            r#"{"linux": {"seccomp": {}}}"#,
            r#"{"a": {"filter"#,
            r#"{"a": [{"filter": []}]}"#,
            "filter",
        ] {
            assert!(!is_document(text.as_bytes()), "{text}");
        }
    }
}
