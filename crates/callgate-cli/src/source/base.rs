//! Files of base profiles: those that --base gives, or files beside the resource.

use std::path::{Path, PathBuf};

use callgate_formats::oci::Included;
use callgate_requests::source::BasePlace;

use super::included::{directory, included};
use super::place::Place;
use super::tree::Tree;
use crate::options::SourceOptions;
use crate::text::printable;

/// Reads the file of a base profile.
pub(super) fn base(
    (place, tree): (&Place, &Tree),
    options: &SourceOptions,
    name: &str,
    from: Option<&str>,
) -> Result<Included, String> {
    let strict = options.strict;
    if let Some(path) = options.base_file(name, from.is_none()) {
        return included(path, strict);
    }
    let option = match from {
        None => "--base FILE".to_owned(),
        Some(_) => format!("--base {}=FILE", printable(name)),
    };
    // Messages quote base profiles, so one that is not in the tree must be given.
    let beside = |path: &Path| match tree.contains(path) || !path.exists() {
        true => included(path, strict),
        false => Err(format!(
            "{} is not in the tree of the source; if it is the right one, give it: {option}",
            printable(&path.display().to_string())
        )),
    };
    let directory = directory(place, from);
    let of = |path: &str| directory.join(path).components().collect::<PathBuf>();
    let paths = match BasePlace::of(name) {
        BasePlace::Artifact(artifact) => {
            return Err(format!(
                "it is an artifact in a registry; pull it, for example with `oras pull {0}`, and give its file: \
                 --base {1}=FILE",
                printable(artifact),
                printable(name)
            ));
        }
        BasePlace::File => return beside(&of(name)),
        BasePlace::Beside(names) => names.map(|name| of(&name)),
    };
    let found: Vec<&PathBuf> =
        paths.iter().filter(|path| path.symlink_metadata().is_ok()).collect();
    let shown = |path: &Path| printable(&path.display().to_string()).to_string();
    match found.as_slice() {
        [only] => beside(only),
        [] => {
            let [yaml, yml, json] = paths.each_ref().map(|path| shown(path));
            Err(format!("there is no {yaml}, {yml} or {json}; give its file: {option}"))
        }
        several => {
            let names: Vec<String> = several.iter().map(|path| shown(path)).collect();
            Err(format!("{} exist; choose one: {option}", names.join(" and ")))
        }
    }
}
