//! Android filters as a source, `android:DIRECTORY#FILTER`.
//!
//! bionic generates its filters from several files, and several filters from one of them, so a source is the directory of the
//! files, and the name of the filter follows the last `#`, as for Firecracker threads. A single list is the filter that
//! allows only its syscalls.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use callgate_bpf::diagnostic::Diagnostic;
use callgate_formats::android;
use callgate_formats::languages::LanguageId;
use callgate_requests::source::{
    Directory, Message, Messages, NamedText, SourceContent, SourceFormat, android_lists, utf8,
};

use super::content::Loaded;
use super::filter::WORDING;
use super::place::{MAX_BYTES, Place};
use super::referenced::{Referenced, read_referenced};
use super::tree::Tree;
use crate::report::{Failure, Result};

/// Help for lists that are not UTF-8.
const UTF8_HELP: &str = "bionic's lists are text in UTF-8";

/// Help for a directory that is not bionic's.
const DIRECTORY_HELP: &str = "give bionic's directory libc, with its lists unchanged";

/// A filter of bionic, or a single list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AndroidSource {
    pub(super) place: Place,
    filter: Option<String>,
}

impl AndroidSource {
    /// Parses `PATH#FILTER`. `None` without a path.
    pub(super) fn parse(rest: &OsStr) -> Option<AndroidSource> {
        let bytes = rest.as_bytes();
        let hash = bytes.iter().rposition(|byte| *byte == b'#').filter(|at| *at > 0);
        let (path, filter) = match hash {
            Some(at) => (&bytes[..at], String::from_utf8_lossy(&bytes[at + 1..]).into_owned()),
            None => (bytes, String::new()),
        };
        let place = Place::of_path(Path::new(OsStr::from_bytes(path)));
        let filter = Some(filter).filter(|name| !name.is_empty());
        (!path.is_empty()).then_some(AndroidSource { place, filter })
    }

    /// Reads the files.
    pub(super) fn load(&self) -> Result<Loaded> {
        if let Place::File(path) = &self.place
            && path.is_dir()
        {
            return load_directory(path, self.filter.as_deref());
        }
        let bytes = self.place.read()?;
        match &self.filter {
            None => load_list(&self.place, bytes),
            Some(filter) => Err(Failure::about(
                self.place.name(),
                format!("this is a file, which has no filter \"{filter}\""),
            )
            .help(DIRECTORY_HELP)),
        }
    }
}

fn load_list(place: &Place, bytes: Vec<u8>) -> Result<Loaded> {
    let format = Some(SourceFormat::Policy(LanguageId::of(&android::LANGUAGE)));
    Ok(Loaded { format, ..Loaded::at(place, SourceContent::File(bytes)) })
}

fn load_directory(path: &Path, filter: Option<&str>) -> Result<Loaded> {
    let place = Place::File(path.to_owned());
    let mut directory = OnDisk { path, tree: Tree::of(&place), size: 0 };
    let (texts, filter) = android_lists(&mut directory, &place.name(), filter, WORDING)?;
    let part = Some(filter).filter(|filter| !filter.is_empty()).map(str::to_owned);
    let suffix = part.as_ref().map_or_else(String::new, |part| format!("#{part}"));
    let name = format!("{}{suffix}", place.name());
    let loaded = Loaded::of(name, SourceContent::Texts(texts));
    Ok(Loaded { place: Some(place), part, ..loaded })
}

/// A directory with lists.
struct OnDisk<'p> {
    path: &'p Path,
    tree: Tree,
    /// The size of the lists that were read.
    size: usize,
}

impl Directory for OnDisk<'_> {
    fn has(&self, file: &str) -> bool {
        self.path.join(file).exists()
    }

    fn read(&mut self, file: &str) -> std::result::Result<NamedText, Messages> {
        let path = self.path.join(file);
        let (directory, name) = (self.path.display().to_string(), path.display().to_string());
        let unreadable =
            |why| vec![Message::of_request(Diagnostic::error(None, why).help(DIRECTORY_HELP))];
        let Referenced { bytes, .. } = read_referenced(&path, MAX_BYTES).map_err(unreadable)?;
        self.size += bytes.len();
        if self.size as u64 > MAX_BYTES {
            let limit = MAX_BYTES >> 20;
            let what = format!("the lists together are larger than {limit} MiB, the limit");
            return Err(Message::error(&directory, what, DIRECTORY_HELP));
        }
        let text = utf8(&bytes, "", UTF8_HELP).map_err(|error| Message::all(&name, [error]))?;
        let refusal = self.tree.refusal_of_text(&path);
        Ok(NamedText { refusal, ..NamedText::of(name, text, "") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_follows_the_last_hash() {
        let of = |text: &str| {
            AndroidSource::parse(OsStr::new(text))
                .map(|source| (source.place.name(), source.filter))
        };
        let some =
            |path: &str, filter: Option<&str>| Some((path.to_owned(), filter.map(str::to_owned)));
        assert_eq!(of("libc"), some("libc", None));
        assert_eq!(of("libc#app"), some("libc", Some("app")));
        assert_eq!(of("a#b#app-zygote"), some("a#b", Some("app-zygote")));
        assert_eq!(of("a#b#"), some("a#b", None));
        assert_eq!(of("-"), some("<stdin>", None));
        assert_eq!(of("#app"), some("#app", None));
        assert_eq!(of(""), None);
    }
}
