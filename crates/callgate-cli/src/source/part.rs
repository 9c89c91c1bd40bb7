//! A named part of a file as a source, `FILE#NAME`: the filter of a thread in a document of Firecracker, or a resource of
//! Kubernetes in a file with several.
//!
//! The name follows the last `#`. Names of files may contain `#`: without `firecracker:`, a text that is the name of a file is
//! that file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use callgate_formats::languages::Parts;
use callgate_requests::source::SourceFormat;

use super::detect::{check_not_empty, detect};
use super::filter::Filter;
use super::place::Place;
use super::policy::read_policy;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

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

    /// Reads the filter. Prints warnings.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<Filter> {
        let bytes = self.place.read()?;
        self.read_bytes(self.detect(&bytes)?, bytes, options)
    }

    /// The format of the file with this content.
    pub(super) fn detect(&self, bytes: &[u8]) -> Result<SourceFormat> {
        match self.format {
            Some(format) => Ok(format),
            None => {
                check_not_empty(&self.place, bytes)?;
                Ok(detect(&self.place, bytes))
            }
        }
    }

    /// Reads the filter from the content of the file. Prints warnings.
    pub(super) fn read_bytes(
        &self,
        format: SourceFormat,
        bytes: Vec<u8>,
        options: &SourceOptions,
    ) -> Result<Filter> {
        let name = self.name.as_deref();
        match format {
            SourceFormat::Policy(language) if language.language().parts != Parts::None => {
                read_policy((&self.place, language), bytes, name, options)?.into_filter()
            }
            _ => Err(Failure::about(self.place.name(), "the file has no parts with names").help(
                "#NAME is for Kubernetes resources, threads of Firecracker and filters of Android (android:)",
            )),
        }
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
