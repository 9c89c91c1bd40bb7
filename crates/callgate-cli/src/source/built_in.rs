//! Built-in profiles as sources: `NAME`, `NAME@VERSION`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callgate_bpf::suggest::nearest;
use callgate_formats::{BUILT_INS, built_in, meant};
use callgate_requests::source::SourceContent;

use super::content::Loaded;
use crate::report::{self, Failure, Result};

/// A built-in profile that exists, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BuiltInSource(pub(super) String);

/// The names whose version was printed.
static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl BuiltInSource {
    /// Parses a source; `None` if it is not a built-in profile, but perhaps a file such as `docker-default@24.json`.
    pub(super) fn parse(text: &OsStr) -> Option<Result<BuiltInSource>> {
        let name = text.to_str()?;
        match built_in(name)? {
            Ok(_) => Some(Ok(BuiltInSource(name.to_owned()))),
            Err(_) if Path::new(name).exists() => None,
            Err(error) => Some(Err(Failure::from(error))),
        }
    }

    /// The source. Prints which version it is, once.
    pub(super) fn load(&self) -> Loaded {
        let name = &self.0;
        if Path::new(name).is_file() {
            report::warn(
                format!("{name} is the built-in profile, and not the file with this name"),
                format!("write ./{name} for the file"),
            );
        }
        if let Some(Ok(found)) = built_in(name)
            && !found.releases.is_empty()
            && !report::is_muted()
            && PRINTED.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone())
        {
            let is = match found.name == *name {
                true => String::new(),
                false => format!(" is {}", found.name),
            };
            report::note(&format!("callgate: {name}{is}: {}\n", found.releases.join(", ")));
        }
        Loaded::of(name.clone(), SourceContent::Preset(name.clone()))
    }
}

/// Whether a word names a built-in profile.
pub(crate) fn is_built_in(word: &OsStr) -> bool {
    word.to_str().is_some_and(|name| built_in(name).is_some())
}

/// Advice if no file has this name: what it means, or the source with a similar name, which may be one of `others`.
pub(super) fn advice<'n>(name: &'n str, others: impl Iterator<Item = &'n str>) -> Option<String> {
    if let Some(advice) = meant(name) {
        return Some(advice);
    }
    let names = BUILT_INS.iter().map(|one| one.name);
    let has_version =
        name.split_once(':').is_some_and(|(name, _)| names.clone().any(|one| one == name));
    if !has_version && let Some(near) = nearest(name, others.chain(names.clone())) {
        return Some(format!("did you mean \"{}\"?", crate::text::printable(near)));
    }
    // Images have their versions after a colon.
    let (name, version) = name.split_once(['@', ':'])?;
    nearest(name, names).map(|near| {
        let version = crate::text::printable(version);
        format!("did you mean \"{near}@{version}\"?")
    })
}
