//! A directory in which the files of a program are, instead of `/`.

use std::path::{Component, Path, PathBuf};

/// Links that are followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The directory that absolute paths are relative to.
#[derive(Clone, Debug)]
pub(crate) struct Sysroot(PathBuf);

impl Sysroot {
    /// `None` stands for `/`.
    pub(crate) fn new(directory: Option<&Path>) -> Sysroot {
        Sysroot(directory.unwrap_or(Path::new("/")).to_owned())
    }

    fn is_root(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// The file that a path stands for inside. Absolute links stay inside, and `..` does not lead out.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        if self.is_root() {
            return path.to_owned();
        }
        let mut found = PathBuf::new();
        let mut open: Vec<PathBuf> = components(path);
        let mut links = 0;
        while let Some(part) = open.pop() {
            if part == Path::new("..") {
                found.pop();
                continue;
            }
            let next = found.join(&part);
            match std::fs::read_link(self.0.join(&next)) {
                Ok(target) if links < MAX_LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        found = PathBuf::new();
                    }
                    open.extend(components(&target));
                }
                _ => found = next,
            }
        }
        self.0.join(found)
    }
}

/// The parts of a path, the last one first.
fn components(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<PathBuf> = parts.collect();
    parts.reverse();
    parts
}
