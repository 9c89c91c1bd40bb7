//! Downloads the sources: the uapi headers of all architectures, and the kernel's internal headers.

use std::fs;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::remove;

/// Where the uapi headers are inside the directory of sources.
const UAPI: &str = "headers";
/// Where the internal headers are inside the directory of sources.
const INTERNAL: &str = "internal";

/// The directories of the sources of one run.
pub(super) struct Sources {
    /// The root of an unpacked linux-libc-dev.
    pub(super) uapi: PathBuf,
    /// The directory `include/linux` of the kernel.
    pub(super) internal: PathBuf,
}

impl Sources {
    /// The sources in a directory; `None` if they are missing or incomplete.
    pub(super) fn find(directory: &Path) -> Option<Sources> {
        let packages = fs::read_dir(directory.join(INTERNAL).join("usr/src")).ok()?;
        let internal = packages
            .flatten()
            .map(|entry| entry.path().join("include/linux"))
            .find(|path| path.join("socket.h").exists())?;
        let uapi = directory.join(UAPI);
        uapi.join("usr/include/linux").exists().then_some(Sources { uapi, internal })
    }
}

/// Replaces the contents of `directory`, after everything was downloaded.
pub(super) fn fetch(directory: &Path) -> Result<()> {
    println!("fetching linux-libc-dev and linux-headers-*-common (Debian sid)");
    let apt = Apt::new(&directory.join("apt"), "sid", None)?;
    // linux-headers-amd64 depends on that of the current kernel, and that on the common part.
    let current = dependency(&apt, "linux-headers-amd64", "linux-headers-", "-amd64")?;
    let common = dependency(&apt, &current, "linux-headers-", "-common")?;
    apt.download(&["linux-libc-dev", &common])?;
    for (package, place) in [("linux-libc-dev", UAPI), (common.as_str(), INTERNAL)] {
        let place = directory.join(place);
        remove(&place)?;
        apt.unpack(package, &place)?;
    }
    Ok(())
}

/// The dependency of a package whose name has this start and this end.
fn dependency(apt: &Apt, package: &str, start: &str, end: &str) -> Result<String> {
    let field = apt.field(package, "Depends")?;
    let names = field.split(',').filter_map(|one| one.split_whitespace().next());
    names
        .into_iter()
        .find(|name| name.starts_with(start) && name.ends_with(end))
        .map(str::to_owned)
        .ok_or_else(|| format!("{package} depends on no {start}*{end}: {field}"))
}
