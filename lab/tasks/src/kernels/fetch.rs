//! Downloads the kernel of a guest from its Debian package once, and keeps it below `target/kernels`.

use std::fs;
use std::path::{Path, PathBuf};

use super::guests::Guest;
use super::unpack;
use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::{make, read, remove, write};

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
    let (package, number) = download(&apt, guest)?;
    let unpacked = directory.join("unpacked");
    apt.unpack(&package, &unpacked)?;
    let image = image(&unpacked.join("boot"))?;
    let kernel = if guest.machine.unpacks { unpack::vmlinux(&image)? } else { image };
    write(path, kernel)?;
    write(version, format!("{package} {number}\n"))?;
    remove(&directory)
}

/// Downloads the newest kernel; or an older one of the suite, because a mirror may list a package that it does not have. Returns
/// its package and version.
fn download(apt: &Apt, guest: &Guest) -> Result<(String, String)> {
    let depends = apt.field(guest.package, "Depends")?;
    let Some((newest, number)) = newest_kernel(&depends) else {
        return Err(format!("{} does not depend on a kernel, but on {depends}", guest.package));
    };
    let error = match apt.download(&[newest]) {
        Ok(()) => return Ok((newest.to_owned(), number.to_owned())),
        Err(error) => error,
    };
    for package in older_kernels(&apt.names("linux-image-")?, guest.package, newest) {
        if apt.download(&[&package]).is_ok() {
            let number = apt.field(&package, "Version")?;
            return Ok((package, number));
        }
    }
    Err(error)
}

/// The kernels of the same kind as a metapackage's that are older than the newest one, in descending order.
fn older_kernels(names: &[String], metapackage: &str, newest: &str) -> Vec<String> {
    let kind = metapackage.trim_start_matches("linux-image");
    let version = |name: &str| -> Option<Vec<u32>> {
        let version = name.strip_prefix("linux-image-")?.strip_suffix(kind)?;
        let is_version = |c: char| !c.is_ascii_alphabetic() || "deb".contains(c);
        let numbers = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let numbers = numbers.map(str::parse).collect::<std::result::Result<Vec<u32>, _>>().ok()?;
        (version.chars().all(is_version) && !numbers.is_empty()).then_some(numbers)
    };
    let Some(newest) = version(newest) else { return Vec::new() };
    let of = |name: &String| Some((version(name)?, name.clone()));
    let mut older: Vec<(Vec<u32>, String)> =
        names.iter().filter_map(of).filter(|(version, _)| *version < newest).collect();
    older.sort_by(|a, b| b.cmp(a));
    older.into_iter().map(|(_, name)| name).collect()
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

    #[test]
    fn older_kernels_are_of_the_same_kind() {
        let names = [
            "linux-image-6.12.107+deb13-cloud-amd64",
            "linux-image-6.12.107+deb13-amd64",
            "linux-image-6.12.107+deb13-rt-amd64",
            "linux-image-6.12.107+deb13-amd64-unsigned",
            "linux-image-6.12.95+deb13-amd64",
            "linux-image-6.12.117+deb13-amd64",
            "linux-image-amd64",
        ]
        .map(str::to_owned);
        let newest = "linux-image-6.12.117+deb13-amd64";
        assert_eq!(
            older_kernels(&names, "linux-image-amd64", newest),
            ["linux-image-6.12.107+deb13-amd64", "linux-image-6.12.95+deb13-amd64"]
        );
        assert_eq!(
            older_kernels(
                &names,
                "linux-image-cloud-amd64",
                "linux-image-6.12.117+deb13-cloud-amd64"
            ),
            ["linux-image-6.12.107+deb13-cloud-amd64"]
        );
    }
}
