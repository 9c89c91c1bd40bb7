//! Filters of Android as a source, `android:DIRECTORY#FILTER`.
//!
//! bionic generates its filters from several files, and several filters from one of them, so a source is the directory of the
//! files, and the name of the filter follows the last `#`, as for the threads of Firecracker. A single list is the filter that
//! allows only its syscalls.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use callgate_formats::android::{self, FilterKind, ListFile};
use callgate_formats::languages::LanguageId;
use callgate_requests::source::{NamedText, SourceContent, SourceFormat};

use super::format::ANDROID;
use super::loaded::Loaded;
use super::place::{MAX_BYTES, Place};
use super::referenced::{Referenced, named_text, read_referenced};
use super::tree::Tree;
use crate::report::{Failure, Result};

/// Help for lists that are not UTF-8.
const UTF8_HELP: &str = "bionic's lists are text in UTF-8";

/// Help for a directory that is not bionic's.
const DIRECTORY_HELP: &str = "give the directory libc of bionic, with its lists unchanged";

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

fn load_directory(directory: &Path, filter: Option<&str>) -> Result<Loaded> {
    let kind = kind(directory, filter)?;
    let mut texts = Vec::new();
    let tree = Tree::of(&Place::File(directory.to_owned()));
    let mut size = 0;
    for file in kind.files() {
        let Some(path) = find(directory, kind, file)? else { continue };
        let unreadable = |why| Failure::new(why).help(DIRECTORY_HELP);
        let Referenced { bytes, .. } = read_referenced(&path, MAX_BYTES).map_err(unreadable)?;
        size += bytes.len() as u64;
        if size > MAX_BYTES {
            let what =
                format!("the lists together are larger than {} MiB, the limit", MAX_BYTES >> 20);
            return Err(Failure::about(directory.display().to_string(), what).help(DIRECTORY_HELP));
        }
        let text = named_text(path.display().to_string(), bytes, UTF8_HELP)?;
        let refusal = tree.refusal_of_text(&path);
        texts.push(NamedText { refusal, role: file.kind.name(), ..text });
    }
    let name = directory.display().to_string();
    let name = if kind.name().is_empty() { name } else { format!("{name}#{}", kind.name()) };
    let place = Some(Place::File(directory.to_owned()));
    let part = Some(kind.name()).filter(|name| !name.is_empty()).map(str::to_owned);
    let loaded = Loaded::of_texts(name, LanguageId::of(&android::LANGUAGE), texts);
    Ok(Loaded { place, part, ..loaded })
}

/// The filter with a name, or the only one of Android 8.
fn kind(path: &Path, filter: Option<&str>) -> Result<FilterKind> {
    let directory = path.display();
    let fail =
        |what: String, help: String| Err(Failure::about(directory.to_string(), what).help(help));
    let present: Vec<FilterKind> =
        FilterKind::NAMED.into_iter().filter(|kind| has_all(path, *kind)).collect();
    let names: Vec<&str> = present.iter().map(|kind| kind.name()).collect();
    let is_old = has_all(path, FilterKind::Common);
    match filter {
        Some(name) => match FilterKind::from_name(name) {
            Some(kind) if present.contains(&kind) || !is_old => Ok(kind),
            Some(_) => fail(
                format!("this version of bionic has no filter \"{name}\""),
                format!("it has one filter for all processes: write {ANDROID}:{directory}"),
            ),
            None => fail(
                format!("bionic has no filter \"{name}\""),
                format!("its filters are {}", FilterKind::NAMED.map(FilterKind::name).join(", ")),
            ),
        },
        None if is_old && present.is_empty() => Ok(FilterKind::Common),
        None if names.is_empty() => {
            fail("the directory has no lists of a filter".to_owned(), DIRECTORY_HELP.to_owned())
        }
        None => fail(
            format!("the lists are those of several filters: {}", names.join(", ")),
            format!("choose one: {ANDROID}:{directory}#{}", names.first().unwrap_or(&"")),
        ),
    }
}

/// Whether a directory has all files of a filter.
fn has_all(path: &Path, kind: FilterKind) -> bool {
    let has = |file: &ListFile| file.names.iter().any(|name| path.join(name).exists());
    kind.files().iter().all(|file| file.is_optional || has(file))
}

/// The path of a file of a filter; `None` if the filter exists without it.
fn find(directory: &Path, kind: FilterKind, file: &ListFile) -> Result<Option<PathBuf>> {
    let [name, old] = file.names;
    let path = |name: &str| Some(directory.join(name)).filter(|path| path.exists());
    let about = |what: String| Failure::about(directory.display().to_string(), what);
    match (path(name), path(old)) {
        (Some(_), Some(_)) if name != old => Err(about(format!("both {name} and {old} exist"))
            .help("remove the one of the other version of Android")),
        (Some(path), _) | (None, Some(path)) => Ok(Some(path)),
        (None, None) if file.is_optional => Ok(None),
        (None, None) => Err(about(format!("missing {name}, a list of the filter {}", kind.name()))
            .help(DIRECTORY_HELP)),
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
