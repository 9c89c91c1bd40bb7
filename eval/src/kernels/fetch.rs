//! Downloads the kernel of a guest from its Debian package once, and keeps it below `target/kernels`.

use std::fs;
use std::path::{Path, PathBuf};

use super::guests::Guest;
use super::unpack;
use crate::apt::Apt;
use crate::files::{make, read, remove, write};
use crate::task::Result;

/// A bootable kernel.
pub(super) struct Kernel {
    pub(super) path: PathBuf,
    /// The version of the Debian package.
    pub(super) version: String,
}

/// The kernel of a guest; downloaded if it is missing, or if `anew` is true.
pub(super) fn kernel(guest: &Guest, directory: &Path, anew: bool) -> Result<Kernel> {
    let place = directory.join(format!("{}-{}", guest.suite, guest.machine.name));
    let (path, version) = (place.join("kernel"), place.join("version"));
    if anew || !path.exists() || !version.exists() {
        make(&place)?;
        fetch(guest, &place, &path, &version)?;
    }
    let version = String::from_utf8_lossy(&read(&version)?).trim().to_owned();
    Ok(Kernel { path, version })
}

/// The version file is written last, so it exists only for a complete kernel.
fn fetch(guest: &Guest, place: &Path, path: &Path, version: &Path) -> Result<()> {
    let directory = place.join("apt");
    let _ = fs::remove_file(version);
    remove(&directory)?;
    let apt = Apt::new(&directory, guest.suite, Some(guest.machine.name))?;
    let depends = apt.field(guest.package, "Depends")?;
    let Some((package, number)) = newest_kernel(&depends) else {
        return Err(format!("{} does not depend on a kernel, but on {depends}", guest.package));
    };
    apt.download(&[package])?;
    let unpacked = directory.join("unpacked");
    apt.unpack(package, &unpacked)?;
    let image = image(&unpacked.join("boot"))?;
    let kernel = if guest.machine.unpacks { unpack::vmlinux(&image)? } else { image };
    write(path, kernel)?;
    write(version, format!("{package} {number}\n"))?;
    remove(&directory)
}

/// The package and the version in the dependency of the metapackage of the newest kernel.
fn newest_kernel(depends: &str) -> Option<(&str, &str)> {
    let kernel = depends.split(',').find(|one| one.trim().starts_with("linux-image-"))?;
    let (package, version) = kernel.trim().split_once(' ')?;
    Some((package, version.trim_start_matches("(= ").trim_end_matches(')')))
}

/// The only file `vmlinuz-*`.
fn image(boot: &Path) -> Result<Vec<u8>> {
    let entries = fs::read_dir(boot).map_err(|error| format!("{}: {error}", boot.display()))?;
    let is_image = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
    };
    let path = entries.flatten().map(|entry| entry.path()).find(is_image);
    read(&path.ok_or_else(|| format!("{}: missing vmlinuz", boot.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_found_among_the_dependencies() {
        let depends = "linux-base, linux-image-6.1.0-50-s390x (= 6.1.176-1)";
        assert_eq!(newest_kernel(depends), Some(("linux-image-6.1.0-50-s390x", "6.1.176-1")));
        assert_eq!(newest_kernel("linux-base (>= 4)"), None);
    }
}
