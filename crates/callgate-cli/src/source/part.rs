//! A named part of a file as a source, `FILE#NAME`: the filter of a thread in a Firecracker document, a resource of
//! Kubernetes in a file with several, or an array of instructions in source code.
//!
//! The name follows the last `#`. Names of files may contain `#`: without `firecracker:`, a text that is the name of a file is
//! that file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use callgate_formats::languages::Parts;
use callgate_requests::source::{SourceContent, SourceFormat};

use super::content::Loaded;
use super::place::Place;
use crate::report::Result;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartSource {
    pub(super) place: Place,
    format: Option<SourceFormat>,
    /// `None` for the only part.
    name: Option<String>,
}

impl PartSource {
    /// Parses `FILE#NAME` after a format. `None` for other texts, and for formats without parts.
    pub(super) fn parse(format: Option<SourceFormat>, rest: &OsStr) -> Option<PartSource> {
        let is_always = match format.map(SourceFormat::parts) {
            Some(Parts::Always) => true,
            None | Some(Parts::Some) => false,
            Some(Parts::None) => return None,
        };
        let bytes = rest.as_bytes();
        let at = bytes.iter().rposition(|byte| *byte == b'#').filter(|at| *at > 0)?;
        let name = String::from_utf8_lossy(&bytes[at + 1..]).into_owned();
        let place = Place::of_path(Path::new(OsStr::from_bytes(&bytes[..at])));
        let is_there = match &place {
            Place::Stdin => true,
            Place::File(path) => path.exists(),
        };
        let is_part = is_always || (is_there && !Path::new(rest).exists());
        let name = Some(name).filter(|name| !name.is_empty());
        is_part.then_some(PartSource { place, format, name })
    }

    /// Reads the file.
    pub(super) fn load(&self) -> Result<Loaded> {
        let PartSource { place, format, name } = self;
        let loaded = Loaded::at(place, SourceContent::File(place.read()?));
        Ok(Loaded { format: *format, part: name.clone(), ..loaded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_follows_the_last_hash() {
        let of = |text: &str| {
            PartSource::parse(SourceFormat::from_name("firecracker"), OsStr::new(text))
                .map(|source| (source.place.name(), source.name))
        };
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(of("a.json"), None);
        assert_eq!(of("a.json#vmm"), Some(("a.json".to_owned(), name("vmm"))));
        assert_eq!(of("a#b.json#vmm"), Some(("a#b.json".to_owned(), name("vmm"))));
        assert_eq!(of("a#b.json#"), Some(("a#b.json".to_owned(), None)));
        assert_eq!(of("-#vmm"), Some(("<stdin>".to_owned(), name("vmm"))));
        assert_eq!(of("#vmm"), None);
    }

    #[test]
    fn without_a_format_the_file_must_exist() {
        let of = |text: &str| PartSource::parse(None, OsStr::new(text)).map(|source| source.name);
        assert_eq!(of("Cargo.toml#web"), Some(Some("web".to_owned())));
        assert_eq!(of("-#web"), Some(Some("web".to_owned())));
        assert_eq!(of("Cargo.toml"), None);
        assert_eq!(of("missing.yaml#web"), None);
        assert_eq!(PartSource::parse(SourceFormat::from_name("lxc"), OsStr::new("-#web")), None);
    }
}
