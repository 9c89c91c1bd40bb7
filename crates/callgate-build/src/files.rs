//! Reads the policy and the files that it includes, and records which.

use callgate::source::{BasePlace, Loader};
use callgate_formats::kafel::Included;
use callgate_formats::languages;
use std::fs;
use std::path::{Path, PathBuf};

/// The maximum size of a file in bytes, that of the readers.
const MAX_SIZE: u64 = 10 << 20;

/// The files that were read.
pub(crate) struct Files<'p> {
    /// The directory to which the path of the policy is relative.
    directory: &'p Path,
    policy: &'p Path,
    paths: Vec<PathBuf>,
}

impl<'p> Files<'p> {
    pub(crate) fn new(directory: &'p Path, policy: &'p Path) -> Files<'p> {
        Files { directory, policy, paths: Vec::new() }
    }

    /// The text of a file, or why it cannot be read, without the path.
    pub(crate) fn read(&mut self, path: &Path) -> Result<String, String> {
        let full = self.directory.join(path);
        // Also without the file, so that Cargo runs the build script again when it appears.
        self.add(full.clone());
        let metadata = fs::metadata(&full).map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("this is not a regular file".to_owned());
        }
        if metadata.len() > MAX_SIZE {
            return Err(format!(
                "the file has {} bytes, the maximum is {MAX_SIZE}",
                metadata.len()
            ));
        }
        let bytes = fs::read(&full).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "this is not UTF-8 text".to_owned())
    }

    /// Tells a file from all others.
    pub(crate) fn identity(&self, path: &Path) -> String {
        let full = self.directory.join(path);
        fs::canonicalize(&full).unwrap_or(full).display().to_string()
    }

    /// The path of a file that another one, or the policy, includes.
    fn included(&self, name: &str, from: Option<&str>) -> PathBuf {
        let including = from.map_or(self.policy, Path::new);
        // A `.` in the middle would make other names for the same file.
        including.parent().unwrap_or(Path::new("")).join(name).components().collect()
    }

    fn add(&mut self, path: PathBuf) {
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    /// The paths of all files, the policy first.
    pub(crate) fn into_paths(self) -> Vec<PathBuf> {
        self.paths
    }
}

impl Loader for Files<'_> {}

impl languages::Files for Files<'_> {
    /// Relative to the file with the directive.
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        let path = self.included(name, from);
        let shown = path.display().to_string();
        let text = self.read(&path).map_err(|why| format!("{shown}: {why}"))?;
        Ok(Included { identity: self.identity(&path), name: shown, text, is_private: false })
    }

    fn include_if_present(
        &mut self,
        name: &str,
        from: Option<&str>,
    ) -> Result<Option<Included>, String> {
        let full = self.directory.join(self.included(name, from));
        if full.symlink_metadata().is_ok() {
            return self.include(name, from).map(Some);
        }
        self.add(full);
        Ok(None)
    }

    /// Beside the file that names it: a path, or the name of a resource without an extension.
    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        let names = match BasePlace::of(name) {
            BasePlace::Artifact(_) => {
                return Err(
                    "it is an artifact in a registry; write its resource into a file".to_owned()
                );
            }
            BasePlace::File => return self.include(name, from),
            BasePlace::Beside(names) => names,
        };
        let directory = from.map_or(self.policy, Path::new).parent().unwrap_or(Path::new(""));
        let full = |name: &String| self.directory.join(directory).join(name);
        let found: Vec<&String> =
            names.iter().filter(|name| full(name).symlink_metadata().is_ok()).collect();
        match found.as_slice() {
            [only] => self.include(only, from),
            [] => {
                let missing = names.each_ref().map(full);
                missing.into_iter().for_each(|path| self.add(path));
                Err(format!("there is no {}", names.join(" or ")))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                Err(format!("{} exist; delete all but one", names.join(" and ")))
            }
        }
    }
}
