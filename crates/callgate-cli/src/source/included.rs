//! Files that policies include.

use std::path::{Path, PathBuf};

use callgate::formats::kafel::Included;

use super::place::Place;
use super::referenced::{Referenced, read_referenced};
use crate::text::printable;

/// The maximum size of an included file; the readers limit all files together to the same size.
const MAX_INCLUDED: u64 = 10 << 20;

/// Finds the files that a policy includes, relative to the file that includes them; for standard input, relative to the
/// current directory.
pub(super) fn included_from(
    place: &Place,
) -> impl FnMut(&str, Option<&str>) -> std::result::Result<Included, String> {
    move |name, from| {
        // A `.` in the middle would make other names for the same file.
        included(&directory(place, from).join(name).components().collect::<PathBuf>())
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
pub(super) fn included(path: &Path) -> std::result::Result<Included, String> {
    let Referenced { bytes, identity } = read_referenced(path, MAX_INCLUDED)?;
    let name = path.display().to_string();
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Included { name, identity, text }),
        Err(_) => Err(format!("{} is not UTF-8 text", printable(&name))),
    }
}
