//! Files that policies include.

use std::path::{Path, PathBuf};

use callgate_formats::hidden_characters;
use callgate_formats::kafel::Included;

use super::place::Place;
use super::referenced::{Referenced, read_referenced};
use super::tree::Tree;
use crate::text::printable;

/// The maximum size of an included file; the readers limit all files together to the same size.
const MAX_INCLUDED: u64 = 10 << 20;

/// Reads a file that a policy includes, relative to the file that includes it; for standard input, relative to the current
/// directory.
pub(super) fn include(
    (place, tree): (&Place, &Tree),
    strict: bool,
    name: &str,
    from: Option<&str>,
) -> std::result::Result<Included, String> {
    // A `.` in the middle would make other names for the same file.
    let path: PathBuf = directory(place, from).join(name).components().collect();
    included_in(tree, &path, strict)
}

/// The directory of the file that includes others: the source, or the included file `from`.
pub(super) fn directory<'a>(place: &'a Place, from: Option<&'a str>) -> &'a Path {
    let of_source = match place {
        Place::File(path) => path.parent(),
        Place::Stdin => None,
    };
    from.map_or(of_source, |from| Path::new(from).parent()).unwrap_or(Path::new(""))
}

/// Reads an included file that a text names. If it is not in the tree, `strict` refuses it, and messages do not quote it.
fn included_in(tree: &Tree, path: &Path, strict: bool) -> std::result::Result<Included, String> {
    let refusal = tree.refusal_of(path);
    let is_private = refusal.is_some();
    match refusal.filter(|_| strict) {
        Some(refusal) => Err(refusal),
        None => Ok(Included { is_private, ..included(path, strict)? }),
    }
}

/// Reads an included file.
pub(super) fn included(path: &Path, strict: bool) -> std::result::Result<Included, String> {
    let Referenced { bytes, identity } = read_referenced(path, MAX_INCLUDED)?;
    let name = path.display().to_string();
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(format!("{} is not UTF-8 text", printable(&name)));
    };
    match hidden_characters(&text).first().filter(|_| strict) {
        Some(hidden) => Err(format!("{}:{hidden}", printable(&name))),
        None => Ok(Included { name, identity, text, is_private: false }),
    }
}
