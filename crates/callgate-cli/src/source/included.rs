//! Files that policies include.

use std::path::{Component, Path, PathBuf};

use callgate_formats::hidden_characters;
use callgate_formats::kafel::Included;

use super::place::Place;
use super::referenced::{Referenced, read_referenced};
use super::tree::Tree;
use crate::options::SourceOptions;
use crate::text::printable;

/// The maximum size of an included file; the readers limit all files together to the same size.
const MAX_INCLUDED: u64 = 10 << 20;

/// What decides where an included file is, and whether it may be read.
#[derive(Clone, Copy)]
pub(super) struct Including<'a> {
    pub(super) place: &'a Place,
    pub(super) tree: &'a Tree,
    pub(super) options: &'a SourceOptions,
    /// The included file with the directive; `None` for the source.
    pub(super) from: Option<&'a str>,
}

/// Where an included file is.
enum Found {
    /// Relative to the file that includes it, or an absolute path without --include-root.
    At(PathBuf),
    /// Below a directory of --include-root.
    Below(PathBuf, PathBuf),
    /// In none of these directories.
    Missing(String),
}

/// Reads a file that a policy includes, relative to the file that includes it; for standard input, relative to the current
/// directory. Absolute paths are below the directories of --include-root, if there are any.
pub(super) fn include(
    including: &Including<'_>,
    name: &str,
) -> std::result::Result<Included, String> {
    match find(including, name) {
        Found::At(path) if Path::new(name).is_absolute() && !path.exists() => {
            let path = path.display().to_string();
            Err(format!(
                "{} does not exist; --include-root DIR finds absolute paths below DIR",
                printable(&path)
            ))
        }
        found => read(including, found),
    }
}

/// The same for a file that need not exist.
pub(super) fn include_if_present(
    including: &Including<'_>,
    name: &str,
) -> std::result::Result<Option<Included>, String> {
    match find(including, name) {
        Found::Missing(_) => Ok(None),
        Found::At(path) if path.symlink_metadata().is_err() => Ok(None),
        found => read(including, found).map(Some),
    }
}

fn find(including: &Including<'_>, name: &str) -> Found {
    let roots: Vec<&Path> = match Path::new(name).is_absolute() {
        true => including.options.include_roots().collect(),
        false => Vec::new(),
    };
    if roots.is_empty() {
        // A `.` would make other names for the same file.
        let path = directory(including.place, including.from).join(name);
        return Found::At(path.components().filter(|part| *part != Component::CurDir).collect());
    }
    let below = below_root(name);
    let found = roots.iter().find(|root| root.join(&below).symlink_metadata().is_ok());
    match found {
        Some(root) => Found::Below(root.join(&below), root.to_path_buf()),
        None => {
            let roots: Vec<String> = roots
                .iter()
                .map(|root| printable(&root.display().to_string()).to_string())
                .collect();
            Found::Missing(format!("it does not exist below {}", roots.join(" or ")))
        }
    }
}

/// An absolute path relative to its root, which `..` does not leave.
fn below_root(name: &str) -> PathBuf {
    let mut below = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => below.push(part),
            Component::ParentDir => {
                below.pop();
            }
            _ => {}
        }
    }
    below
}

/// Reads an included file. If it is neither in the tree nor below a directory that the command line names, `strict` refuses it,
/// and messages do not quote it.
fn read(including: &Including<'_>, found: Found) -> std::result::Result<Included, String> {
    let strict = including.options.strict;
    let (path, is_given) = match found {
        Found::At(path) => (path, false),
        Found::Below(path, root) => {
            let inside = path.canonicalize().ok().zip(root.canonicalize().ok());
            let is_inside = inside.is_some_and(|(path, root)| path.starts_with(root));
            (path, is_inside)
        }
        Found::Missing(why) => return Err(why),
    };
    if is_given {
        return included(&path, strict);
    }
    let refusal = including.tree.refusal_of(&path);
    let is_private = refusal.is_some();
    match refusal.filter(|_| strict) {
        Some(refusal) => Err(refusal),
        None => Ok(Included { is_private, ..included(&path, strict)? }),
    }
}

/// The directory of the file that includes others: the source, or the included file `from`.
pub(super) fn directory<'a>(place: &'a Place, from: Option<&'a str>) -> &'a Path {
    let of_source = match place {
        Place::File(path) => path.parent(),
        Place::Stdin => None,
    };
    from.map_or(of_source, |from| Path::new(from).parent()).unwrap_or(Path::new(""))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_stay_below_their_root() {
        for (name, below) in [
            ("/usr/share/a.policy", "usr/share/a.policy"),
            ("/../../etc/./a", "etc/a"),
            ("/a/../../b", "b"),
            ("/", ""),
        ] {
            assert_eq!(below_root(name), Path::new(below), "{name}");
        }
    }
}
