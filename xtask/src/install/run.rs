//! Builds, checks and installs.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::c_library::Built;
use callgate_tasks::files::read;

use super::build::{build, headers};
use super::library::Library;
use super::options::{Options, Place};
use super::pkgconfig;
use super::place::{Content, place};

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Options { library, place, target, replace } = Options::parse(arguments)?;
    for path in install(library, &place, target.as_deref(), &[], replace)? {
        println!("installed {}", path.display());
    }
    if place.destdir == Path::new("/") {
        println!("run ldconfig to update the cache of the dynamic linker");
    }
    Ok(())
}

/// Builds a library and installs it; `flags` are for rustc. Returns the files.
pub(crate) fn install(
    library: &Library,
    into: &Place,
    target: Option<&str>,
    flags: &[String],
    replace: bool,
) -> Result<Vec<PathBuf>> {
    let built = build(library, target, flags)?;
    let entries = entries(library, into, &built)?;
    place(&entries, replace)?;
    Ok(entries.into_iter().map(|(path, _)| path).collect())
}

/// The installed files, libraries first: a link is never without the file that it names.
fn entries(library: &Library, place: &Place, built: &Built) -> Result<Vec<(PathBuf, Content)>> {
    let Library { name, module, .. } = library;
    let pc = pkgconfig::text(library, &place.prefix, &place.libdir);
    let libraries = [
        (library.file(), Content::File(read(&built.shared)?, 0o755)),
        (library.soname().to_owned(), Content::Link(library.file())),
        (format!("{name}.so"), Content::Link(library.soname().to_owned())),
        (format!("{name}.a"), Content::File(read(&built.archive)?, 0o644)),
        (format!("pkgconfig/{module}.pc"), Content::File(pc.into_bytes(), 0o644)),
    ];
    let mut entries: Vec<(PathBuf, Content)> = libraries
        .into_iter()
        .map(|(name, content)| (place.staged(&place.libdir.join(name)), content))
        .collect();
    for name in library.headers {
        let path = place.staged(&place.prefix.join("include").join(name));
        entries.push((path, Content::File(read(&headers(library).join(name))?, 0o644)));
    }
    Ok(entries)
}
