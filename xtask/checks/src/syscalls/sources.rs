//! The directory of sources: its layout, and the versions of the sources.

use callgate_tasks::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the unpacked headers are inside the directory.
pub(super) const HEADERS: &str = "headers";
/// The man page, as troff.
pub(super) const MANPAGE: &str = "syscalls.2";
/// The trace events of all syscalls, after a line with the kernel version.
pub(super) const FORMATS: &str = "formats.txt";

/// Whether a directory contains the sources; the trace events are written last.
pub(super) fn complete(directory: &Path) -> bool {
    directory.join(FORMATS).exists()
}

/// The sources of one run.
pub(super) struct Sources {
    /// The root of an unpacked linux-libc-dev.
    pub(super) headers: PathBuf,
    /// syscalls(2) as troff.
    pub(super) manpage: String,
    /// The trace events of all syscalls.
    pub(super) formats: String,
    /// The kernel of the headers, such as `6.18.1`.
    pub(super) headers_version: String,
    /// The release of the man pages, such as `6.17`.
    pub(super) manpage_version: String,
    /// The kernel of the trace events.
    pub(super) formats_version: String,
}

impl Sources {
    /// Loads a directory that [`super::fetch::fetch`] filled; `headers` replaces its headers.
    pub(super) fn load(directory: &Path, headers: Option<&Path>) -> Result<Sources> {
        let headers = headers.map_or_else(|| directory.join(HEADERS), Path::to_owned);
        let manpage = read(&directory.join(MANPAGE))?;
        let formats = read(&directory.join(FORMATS))?;
        let headers_version = kernel_of_headers(&headers)?;
        let manpage_version = release_of_manpage(&manpage)
            .ok_or_else(|| format!("{MANPAGE} has no \"Linux man-pages X.Y\" in its .TH line"))?;
        let formats_version = formats
            .lines()
            .find_map(|line| line.strip_prefix("kernel "))
            .ok_or_else(|| format!("{FORMATS} has no \"kernel X.Y.Z\" line; fetch it anew"))?
            .to_owned();
        Ok(Sources { headers, manpage, formats, headers_version, manpage_version, formats_version })
    }

    /// The versions in one phrase.
    pub(super) fn summary(&self) -> String {
        format!(
            "headers of Linux {}, man-pages {}, trace events of Linux {}",
            self.headers_version, self.manpage_version, self.formats_version
        )
    }
}

/// Reads a text file; errors contain its path.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// `LINUX_VERSION_CODE` of linux/version.h as text.
pub(crate) fn kernel_of_headers(headers: &Path) -> Result<String> {
    let path = headers.join("usr/include/linux/version.h");
    let text = read(&path)?;
    let code = text
        .lines()
        .find_map(|line| line.strip_prefix("#define LINUX_VERSION_CODE "))
        .and_then(|code| code.trim().parse::<u32>().ok())
        .ok_or_else(|| format!("{}: no LINUX_VERSION_CODE", path.display()))?;
    Ok(format!("{}.{}.{}", code >> 16, code >> 8 & 0xff, code & 0xff))
}

/// The release in `.TH syscalls 2 DATE "Linux man-pages 6.17"`.
fn release_of_manpage(page: &str) -> Option<String> {
    let title = page.lines().find(|line| line.starts_with(".TH "))?;
    let release = title.split("Linux man-pages ").nth(1)?;
    Some(release.trim_end_matches('"').to_owned())
}
