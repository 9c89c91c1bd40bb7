//! Reads a program and all libraries that it is linked with.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use callgate_elf::{File, Image, MAX_FILE, MAX_FILES, Role};

use super::search::{Paths, Search};
use super::sysroot::Sysroot;
use crate::report::{Failure, Result};

/// A program with its libraries, in the order in which the loader looks up symbols.
pub(super) struct Loaded {
    pub(super) files: Vec<File>,
    /// Libraries that were not found, and which file needs each.
    pub(super) missing: Vec<(String, String)>,
}

/// Reads a program, the libraries that it needs, and those that it loads later.
pub(super) fn load(program: &Path, plugins: &[PathBuf], sysroot: &Sysroot) -> Result<Loaded> {
    let image = read(program, program)?;
    let search = Search::new(sysroot.clone(), image.machine);
    let loader = image.interpreter.clone();
    let mut loading = Loading {
        search,
        files: Vec::new(),
        known: BTreeMap::new(),
        open: VecDeque::new(),
        missing: Vec::new(),
    };
    // A library has no entry point of its own.
    let role = if image.is_library() { Role::Plugin } else { Role::Program };
    loading.add(program, image, role, None);
    loading.libraries()?;
    if let Some(loader) = loader {
        let path = PathBuf::from(&loader);
        let resolved = loading.search.resolve(&path);
        let inside = if resolved.is_file() { Some(path.clone()) } else { None };
        // A cross compiler's loader is among its libraries.
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let found = inside.or_else(|| loading.search.find(name.as_deref()?, &Paths::default()));
        match found {
            Some(path) => loading.library(&path, Role::Loader, None)?,
            None => loading.missing.push((loader, display(program))),
        }
        loading.libraries()?;
    }
    for plugin in plugins {
        let image = read(plugin, plugin)?;
        loading.add(plugin, image, Role::Plugin, None);
        loading.libraries()?;
    }
    // The loader comes after the libraries.
    let (loaders, mut files): (Vec<File>, Vec<File>) =
        loading.files.into_iter().partition(|file| file.role == Role::Loader);
    files.extend(loaders);
    Ok(Loaded { files, missing: loading.missing })
}

struct Loading {
    search: Search,
    files: Vec<File>,
    /// Where each file is in `files`, by its real path and by the names under which it is needed.
    known: BTreeMap<String, usize>,
    /// Needed libraries: the name, the file that needs it, and its search paths.
    open: VecDeque<(String, String, Paths)>,
    missing: Vec<(String, String)>,
}

impl Loading {
    fn add(&mut self, path: &Path, image: Image, role: Role, outer: Option<&Paths>) {
        let number = self.files.len();
        let directory = path.parent().unwrap_or(Path::new("/"));
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let paths = Paths::of(&image, &directory, outer);
        let names = image.soname.clone().into_iter().chain([real(path)]);
        for name in names {
            self.known.entry(name).or_insert(number);
        }
        for name in &image.needed {
            self.open.push_back((name.clone(), image.name.clone(), paths.clone()));
        }
        self.files.push(File { image, role });
    }

    /// Reads the libraries that are still needed, breadth first.
    fn libraries(&mut self) -> Result<()> {
        while let Some((name, by, paths)) = self.open.pop_front() {
            if self.known.contains_key(&name) {
                continue;
            }
            match self.search.find(&name, &paths) {
                Some(path) => {
                    self.library(&path, Role::Library, Some(&paths))?;
                    let last = self.files.len().saturating_sub(1);
                    self.known.entry(name).or_insert(last);
                }
                None => {
                    // musl's loader is the C library, under a name of its own.
                    let is_musl = name.starts_with("libc.musl-") || name == "libc.so";
                    if !is_musl && !self.missing.iter().any(|(known, _)| *known == name) {
                        self.missing.push((name, by));
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a library, unless it was read under another name.
    fn library(&mut self, path: &Path, role: Role, outer: Option<&Paths>) -> Result<()> {
        let resolved = self.search.resolve(path);
        if let Some(known) = self.known.get(&real(&resolved)) {
            if let Some(file) = self.files.get_mut(*known).filter(|_| role == Role::Loader) {
                file.role = role;
            }
            return Ok(());
        }
        if self.files.len() >= MAX_FILES {
            let message = format!("the program needs more than {MAX_FILES} libraries");
            return Err(Failure::new(message).help("record the program instead"));
        }
        let image = read(&resolved, path)?;
        self.known.entry(real(&resolved)).or_insert(self.files.len());
        if let Some(name) = path.file_name() {
            self.known.entry(name.to_string_lossy().into_owned()).or_insert(self.files.len());
        }
        self.add(path, image, role, outer);
        Ok(())
    }
}

/// The path without links.
fn real(path: &Path) -> String {
    display(&std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}

fn display(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Reads a file. Results call it by the last part of `path`.
fn read(file: &Path, path: &Path) -> Result<Image> {
    let failed = |message: String| Failure::about(display(file), message);
    let metadata = std::fs::metadata(file).map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() {
        return Err(failed("not a regular file".to_owned()).help("name an executable"));
    }
    if metadata.len() > MAX_FILE {
        let message = format!("the file has {} bytes, but the limit is {MAX_FILE}", metadata.len());
        return Err(failed(message).help("record the program instead"));
    }
    let data = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    Image::parse(&name, data).map_err(|error| failed(error.to_string()).help(error.help()))
}
