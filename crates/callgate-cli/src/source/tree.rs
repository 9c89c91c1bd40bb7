//! The tree of a source: the files that belong together with it.
//!
//! It is the work tree of the repository that has the source (the nearest directory above with an entry `.git`), without that
//! entry, or else the directory of the source. A source may come from someone who must not read all that this process may
//! read, such as the author of a pull request, and messages about it may be public. So messages do not quote files that a
//! source names or has beside it, but that are elsewhere, and --strict refuses them. Links count by their targets.

use std::env;
use std::path::{Path, PathBuf};

use callgate_bpf::diagnostic::Diagnostic;

use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};
use crate::text::printable;

/// The entry of a directory that is the work tree of a repository.
const REPOSITORY: &str = ".git";

/// The files that belong together with a source.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// `None` if it is unknown, so that no file is in it.
    root: Option<PathBuf>,
}

impl Tree {
    /// The tree of a file or a directory; for standard input, that of the current directory.
    pub(super) fn of(place: &Place) -> Tree {
        let path = match place {
            Place::Stdin => env::current_dir().ok(),
            Place::File(path) => path.canonicalize().ok(),
        };
        let directory = path.and_then(|path| match path.is_dir() {
            true => Some(path),
            false => path.parent().map(Path::to_owned),
        });
        let root = directory.map(|directory| repository(&directory).unwrap_or(directory));
        Tree { root }
    }

    /// With --strict, fails for a source that a link in its tree names, but that is elsewhere: who may change the tree must
    /// not choose what else is read and quoted.
    pub(super) fn check_source(place: &Place, options: &SourceOptions) -> Result<()> {
        let Place::File(path) = place else { return Ok(()) };
        let Some(tree) = options.strict.then(|| Tree::of_link(path)).flatten() else {
            return Ok(());
        };
        match tree.refusal_of(path) {
            Some(refusal) => Err(Failure::new(refusal)
                .help("the source is a link; put a copy into the tree, or name the file itself")),
            None => Ok(()),
        }
    }

    /// The tree of the first link on a path; `None` if there is none, or only links of the system, such as `/dev/stdin`.
    fn of_link(path: &Path) -> Option<Tree> {
        let mut walked = PathBuf::new();
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let directory = match walked.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => walked.clone(),
            };
            walked.push(part);
            if !walked.is_symlink() {
                continue;
            }
            let directory = directory.canonicalize().ok()?;
            let of_system = ["/dev", "/proc"].iter().any(|system| directory.starts_with(system));
            let repository = repository(&directory);
            // Without a repository, links to directories are those of the system, such as /var/run, or of the caller.
            let is_last = parts.peek().is_none();
            if !of_system && (is_last || repository.is_some()) {
                return Some(Tree { root: Some(repository.unwrap_or(directory)) });
            }
        }
        None
    }

    /// Whether a file is in the tree.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let (Some(root), Ok(path)) = (&self.root, path.canonicalize()) else { return false };
        let Ok(below) = path.strip_prefix(root) else { return false };
        // Everything is below `/`, also the files of the kernel.
        let is_system = root.parent().is_none() && below.components().count() > 1;
        !is_system && below.components().all(|part| part.as_os_str() != REPOSITORY)
    }

    /// The message of --strict about a file that exists, but is not in the tree.
    pub(super) fn refusal_of(&self, path: &Path) -> Option<String> {
        (!self.contains(path) && path.exists()).then(|| self.refusal(path))
    }

    /// The same for a text of the source.
    pub(super) fn refusal_of_text(&self, path: &Path) -> Option<Diagnostic> {
        let refusal = Diagnostic::error(None, self.refusal_of(path)?);
        Some(refusal.help("put a copy of the file into the tree"))
    }

    fn refusal(&self, path: &Path) -> String {
        let root = self.root.as_deref().unwrap_or(Path::new("?")).display().to_string();
        let path = path.display().to_string();
        format!(
            "{} is not in {}, the tree of the source; --strict refuses such files",
            printable(&path),
            printable(&root)
        )
    }
}

/// The work tree that contains a directory.
fn repository(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find(|above| above.join(REPOSITORY).exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_tree_is_a_repository_or_a_directory() {
        let base = env::temp_dir().join(format!("callgate-tree-{}", std::process::id()));
        let root = base.join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        for file in ["a/policy", "a/b/rules", "other", "../outside"] {
            fs::write(root.join(file), "").unwrap();
        }
        symlink(base.join("outside"), root.join("a/link")).unwrap();
        symlink(root.join("other"), root.join("a/inner")).unwrap();
        let tree = || Tree::of(&Place::File(root.join("a/policy")));
        let contains = |tree: &Tree, file: &str| tree.contains(&root.join("a").join(file));
        let alone = tree();
        for (file, is_inside) in [("b/rules", true), ("inner", false), ("../other", false)] {
            assert_eq!(contains(&alone, file), is_inside, "{file}");
        }
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "").unwrap();
        let repository = tree();
        for (file, is_inside) in [
            ("b/rules", true),
            ("inner", true),
            ("../other", true),
            ("link", false),
            ("../.git/config", false),
            ("../../outside", false),
            ("/proc/self/environ", false),
            ("missing", false),
        ] {
            assert_eq!(contains(&repository, file), is_inside, "{file}");
        }
        let refusal = repository.refusal(Path::new("/proc/self/environ"));
        assert!(refusal.starts_with("/proc/self/environ is not in "), "{refusal}");
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn the_root_of_the_file_system_is_not_a_tree_of_all_files() {
        let tree = Tree { root: Some("/".into()) };
        assert!(!tree.contains(Path::new("/proc/self/environ")));
        assert!(!Tree { root: None }.contains(Path::new("/")));
    }
}
