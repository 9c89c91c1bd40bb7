//! The identity of the code that a run measured.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::read;

/// A hash of the files with code in these directories and of their paths, as 16 hexadecimal digits: FNV-1a with 64 bits. It
/// recognizes changes, and needs no history, so that it is the same in a checkout and in an archive.
pub(super) fn hash(root: &Path, directories: &[String]) -> Result<String> {
    let mut files = Vec::new();
    for directory in directories {
        let path = root.join(directory);
        if !path.exists() {
            return Err(format!("no such file or directory: {directory}"));
        }
        collect(&path, &mut files)?;
    }
    files.sort();
    files.dedup();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // Where one part ends and the next one begins.
        hash = (hash ^ bytes.len() as u64).wrapping_mul(0x0100_0000_01b3);
    };
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file);
        add(name.to_string_lossy().as_bytes());
        add(&read(&file)?);
    }
    Ok(format!("{hash:016x}"))
}

/// The files with code at or below a path. Files of tests are not measured.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries =
                std::fs::read_dir(&path).map_err(|why| format!("{}: {why}", path.display()))?;
            open.extend(entries.flatten().map(|entry| entry.path()));
            continue;
        }
        let is_code =
            ["rs", "c", "h", "ld"].iter().any(|one| path.extension() == Some((*one).as_ref()));
        let is_test = path.file_name().is_some_and(|name| name == "tests.rs")
            || path.components().any(|part| part.as_os_str() == "tests");
        if is_code && !is_test {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_renamed_file_has_another_hash() {
        let root = std::env::temp_dir().join(format!("callgate-figures-{}", std::process::id()));
        let source = root.join("a/src");
        std::fs::create_dir_all(source.join("tests")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(source.join(name), text).unwrap();
        put("one.rs", "fn one() {}");
        put("two.rs", "");
        let of = |directory: &str| hash(&root, &[directory.to_owned()]);
        let first = of("a").unwrap();
        assert_eq!(first.len(), 16);
        assert_eq!(of("a/src").unwrap(), first);
        put("tests.rs", "#[test]");
        put("tests/three.rs", "#[test]");
        put("notes.md", "text");
        assert_eq!(of("a").unwrap(), first);
        put("one.rs", "fn one() { }");
        let second = of("a").unwrap();
        assert_ne!(second, first);
        std::fs::rename(source.join("two.rs"), source.join("three.rs")).unwrap();
        assert_ne!(of("a").unwrap(), second);
        assert_eq!(of("b").unwrap_err(), "no such file or directory: b");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
