//! Writes files and links in place of others.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::make;

/// What is at a path.
pub(super) enum Content {
    /// A file with these bytes and permissions.
    File(Vec<u8>, u32),
    /// A link to another file of the directory.
    Link(String),
}

/// Writes all entries. Unless `replace`, fails without any change if one exists.
///
/// Each is renamed to its place when it is complete, so that a running process keeps the library that it loaded.
pub(super) fn place(entries: &[(PathBuf, Content)], replace: bool) -> Result<()> {
    if !replace {
        let exists = |path: &&PathBuf| path.symlink_metadata().is_ok();
        let present: Vec<String> = entries
            .iter()
            .map(|(path, _)| path)
            .filter(exists)
            .map(|path| path.display().to_string())
            .collect();
        if !present.is_empty() {
            return Err(format!("{}: exist; --replace replaces them", present.join(", ")));
        }
    }
    for (path, content) in entries {
        make(path.parent().unwrap_or(path))?;
        put(path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn put(path: &Path, content: &Content) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    // From an interrupted run.
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error);
    }
    match content {
        Content::File(bytes, mode) => {
            fs::write(&new, bytes)?;
            fs::set_permissions(&new, Permissions::from_mode(*mode))?;
        }
        Content::Link(target) => symlink(target, &new)?,
    }
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_files_are_replaced_only_on_request() {
        let directory = std::env::temp_dir().join(format!("callgate-place-{}", std::process::id()));
        let (file, link) = (directory.join("lib/a.1"), directory.join("lib/a"));
        let entries = |text: &str| {
            [
                (file.clone(), Content::File(text.into(), 0o640)),
                (link.clone(), Content::Link("a.1".to_owned())),
            ]
        };
        place(&entries("first"), false).unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"first");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);

        fs::remove_file(&file).unwrap();
        let error = place(&entries("second"), false).unwrap_err();
        assert_eq!(error, format!("{}: exist; --replace replaces them", link.display()));
        assert!(!file.exists(), "nothing is changed");

        fs::write(&file, "old").unwrap();
        let open = fs::File::open(&file).unwrap();
        place(&entries("second"), true).unwrap();
        let old = std::io::read_to_string(open).unwrap();
        assert_eq!(old, "old", "who has the file open keeps it");
        assert_eq!(fs::read(&link).unwrap(), b"second");
        assert_eq!(fs::read_dir(directory.join("lib")).unwrap().count(), 2);
        fs::remove_dir_all(&directory).unwrap();
    }
}
