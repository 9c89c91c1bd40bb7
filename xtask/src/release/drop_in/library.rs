//! Builds the library for a machine.

use std::path::PathBuf;

use callgate_tasks::Result;

use crate::install::{self, Library as Kind, Place, elf};
use crate::release::context::{Context, Machine};
use crate::release::toolchain::for_glibc;

/// The version of glibc in Debian 12, the oldest one that the packages are for.
const MAX_GLIBC: (u32, u32) = (2, 36);

/// A library that programs linked with libseccomp can use.
pub(super) struct Library {
    pub(super) path: PathBuf,
    /// The target that it was built for.
    pub(super) target: String,
    /// The version of glibc that it needs.
    pub(super) glibc: String,
}

/// The library that is built, and the version of its interface.
pub(super) fn kind() -> Result<&'static Kind> {
    Kind::named("libseccomp").ok_or_else(|| "libseccomp: is not a library".to_owned())
}

pub(super) fn build(context: &Context, machine: Machine) -> Result<Library> {
    let (target, flags) = for_glibc(context, machine)?;
    let place = Place {
        prefix: "/usr".into(),
        libdir: "/usr/lib".into(),
        destdir: context.scratch(&format!("drop-in-{}", machine.name))?,
    };
    let kind = kind()?;
    install::install(kind, &place, Some(&target), &flags, false)?;
    let path = place.staged(&place.libdir.join(kind.file()));
    let glibc = elf::glibc(&path)?;
    if glibc > MAX_GLIBC {
        let ((major, minor), (max_major, max_minor)) = (glibc, MAX_GLIBC);
        return Err(format!(
            "{}: needs glibc {major}.{minor}, and Debian 12 has {max_major}.{max_minor}; build it on Debian 12",
            path.display()
        ));
    }
    Ok(Library { path, target, glibc: format!("{}.{}", glibc.0, glibc.1) })
}
