//! Builds, checks and installs.

use std::path::{Path, PathBuf};

use callgate_tasks::files::read;
use callgate_tasks::{Result, workspace};

use super::build::{Built, build};
use super::elf;
use super::options::Options;
use super::pkgconfig;
use super::place::{Content, place};

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let headers = workspace().join("crates/callgate-seccomp/include");
    let built = build(options.target.as_deref())?;
    let header = read(&headers.join("seccomp.h"))?;
    elf::check(&built.shared, &String::from_utf8_lossy(&header))?;
    let entries = entries(&options, &built, &headers)?;
    place(&entries, options.replace)?;
    for (path, _) in &entries {
        println!("installed {}", path.display());
    }
    if options.destdir == Path::new("/") {
        println!("run ldconfig to update the cache of the dynamic linker");
    }
    Ok(())
}

/// The installed files, libraries first: a link is never without the file that it names.
fn entries(options: &Options, built: &Built, headers: &Path) -> Result<Vec<(PathBuf, Content)>> {
    let version = format!("libseccomp.so.{}", pkgconfig::VERSION);
    let pc = pkgconfig::text(&options.prefix, &options.libdir);
    let libraries = [
        (version.as_str(), Content::File(read(&built.shared)?, 0o755)),
        (elf::SONAME, Content::Link(version.clone())),
        ("libseccomp.so", Content::Link(elf::SONAME.to_owned())),
        ("libseccomp.a", Content::File(read(&built.archive)?, 0o644)),
        ("pkgconfig/libseccomp.pc", Content::File(pc.into_bytes(), 0o644)),
    ];
    let mut entries: Vec<(PathBuf, Content)> = libraries
        .into_iter()
        .map(|(name, content)| (options.staged(&options.libdir.join(name)), content))
        .collect();
    for name in ["seccomp.h", "seccomp-syscalls.h"] {
        let path = options.staged(&options.prefix.join("include").join(name));
        entries.push((path, Content::File(read(&headers.join(name))?, 0o644)));
    }
    Ok(entries)
}
