//! Where the loader looks for libraries (ld.so(8)): DT_RPATH or DT_RUNPATH of the file that needs the library,
//! the directories of `/etc/ld.so.conf`, default directories. `LD_LIBRARY_PATH` is not taken into account.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callgate_elf::{Image, Machine};

use super::sysroot::Sysroot;

/// Lines of configuration files, and files that they include.
const MAX_LINES: usize = 10_000;
const MAX_FILES: usize = 256;

/// Finds libraries.
#[derive(Debug)]
pub(super) struct Search {
    sysroot: Sysroot,
    machine: Machine,
    /// The directories of the configuration, then the default ones.
    directories: Vec<PathBuf>,
}

/// The search paths of the files through which a library is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    /// DT_RPATH of the file that needs the library, and of those that need this file.
    rpath: Vec<PathBuf>,
    runpath: Option<Vec<PathBuf>>,
}

impl Paths {
    /// The paths of a file in a directory, which is needed by a file with the paths `outer`.
    pub(super) fn of(image: &Image, directory: &Path, outer: Option<&Paths>) -> Paths {
        let expand = |path: &String| expanded(path, directory, image.machine);
        let mut rpath: Vec<PathBuf> = image.rpath.iter().map(expand).collect();
        let runpath: Vec<PathBuf> = image.runpath.iter().map(expand).collect();
        if !runpath.is_empty() {
            // DT_RUNPATH replaces DT_RPATH of the same file.
            rpath.clear();
        }
        rpath.extend(outer.iter().flat_map(|outer| outer.rpath.iter().cloned()));
        rpath.truncate(MAX_FILES);
        Paths { rpath, runpath: (!runpath.is_empty()).then_some(runpath) }
    }
}

/// A path with `$ORIGIN`, `$LIB` and `$PLATFORM` replaced.
fn expanded(path: &str, directory: &Path, machine: Machine) -> PathBuf {
    let (library, platform) = match machine {
        Machine::X86_64 => ("lib/x86_64-linux-gnu", "x86_64"),
        Machine::Aarch64 => ("lib/aarch64-linux-gnu", "aarch64"),
    };
    let directory = directory.to_string_lossy();
    let mut path = path.to_owned();
    for (name, value) in [("ORIGIN", &*directory), ("LIB", library), ("PLATFORM", platform)] {
        path = path.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    PathBuf::from(path)
}

impl Search {
    pub(super) fn new(sysroot: Sysroot, machine: Machine) -> Search {
        let mut directories = configured(&sysroot);
        let triplet = match machine {
            Machine::X86_64 => "x86_64-linux-gnu",
            Machine::Aarch64 => "aarch64-linux-gnu",
        };
        let multiarch = [format!("/lib/{triplet}"), format!("/usr/lib/{triplet}")];
        directories.extend(multiarch.into_iter().map(PathBuf::from));
        let defaults = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];
        directories.extend(defaults.into_iter().map(PathBuf::from));
        // Cross compilers have their libraries here; elsewhere these do not exist.
        directories.push(PathBuf::from(format!("/usr/{triplet}/lib")));
        Search { sysroot, machine, directories }
    }

    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        self.sysroot.resolve(path)
    }

    /// The first library of this name for the architecture.
    pub(super) fn find(&self, name: &str, paths: &Paths) -> Option<PathBuf> {
        if name.contains('/') {
            let path = PathBuf::from(name);
            return self.is_library(&path).then_some(path);
        }
        let rpath = if paths.runpath.is_some() { &[][..] } else { &paths.rpath };
        let runpath = paths.runpath.as_deref().unwrap_or_default();
        let all = rpath.iter().chain(runpath).chain(&self.directories);
        all.map(|directory| directory.join(name)).find(|path| self.is_library(path))
    }

    /// Whether a file is for the architecture; the loader ignores others.
    fn is_library(&self, path: &Path) -> bool {
        use std::io::Read;
        let mut header = [0; 20];
        let path = self.resolve(path);
        // Only files are opened: a pipe would block.
        let is_file = std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let mut read =
            || std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut header));
        if !is_file || read().is_err() {
            return false;
        }
        let machine = match self.machine {
            Machine::X86_64 => 62,
            Machine::Aarch64 => 183,
        };
        header.starts_with(b"\x7fELF\x02\x01") && header[18..] == [machine, 0]
    }
}

/// The directories of `/etc/ld.so.conf` and of the files that it includes; for musl, those of its own file.
fn configured(sysroot: &Sysroot) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut open = vec![PathBuf::from("/etc/ld.so.conf")];
    let mut seen = BTreeSet::new();
    while let Some(file) = open.pop() {
        if seen.len() >= MAX_FILES || !seen.insert(file.clone()) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(sysroot.resolve(&file)) else { continue };
        for line in text.lines().take(MAX_LINES) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(pattern) = line.strip_prefix("include ") {
                let mut files = matching(sysroot, Path::new(pattern.trim()));
                files.reverse();
                open.extend(files);
            } else if line.starts_with('/') {
                directories.push(PathBuf::from(line));
            }
        }
    }
    directories
}

/// The files that a pattern with `*` in its last part matches, sorted.
fn matching(sysroot: &Sysroot, pattern: &Path) -> Vec<PathBuf> {
    let pattern = Path::new("/etc").join(pattern);
    let (Some(directory), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let Some((start, end)) = name.split_once('*') else { return vec![pattern.clone()] };
    let Ok(entries) = std::fs::read_dir(sysroot.resolve(directory)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut files: Vec<PathBuf> = names
        .filter(|name| {
            let name = name.to_string_lossy();
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
        .map(|name| directory.join(name))
        .collect();
    files.sort();
    files
}
