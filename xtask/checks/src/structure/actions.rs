//! Workflows use actions of others by the hash of a commit, with its version as comment, and images by their digest: a tag can be
//! moved.

use std::fs;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::read;

/// Actions and images that are not pinned, as messages.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut errors = Vec::new();
    for file in workflows(&root.join(".github"))? {
        let text = String::from_utf8_lossy(&read(&file)?).into_owned();
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        for (number, line) in text.lines().enumerate() {
            if let Some(action) = action(line).filter(|action| !is_pinned(action)) {
                errors.push(format!(
                    "{name}:{}: {action} is not pinned; name the hash of a commit, and its version behind it: \
                     OWNER/ACTION@0123…cdef # v1.2.3",
                    number + 1
                ));
            }
            if let Some(image) = image(line).filter(|image| !has_digest(image)) {
                errors.push(format!(
                    "{name}:{}: the image {image} is not pinned; name its digest: NAME:TAG@sha256:0123…cdef",
                    number + 1
                ));
            }
        }
    }
    Ok(errors)
}

/// The YAML files below a directory, sorted.
fn workflows(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(workflows(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "yml" || kind == "yaml") {
            files.push(path);
        }
    }
    Ok(files)
}

/// What a step or job uses, with the comment behind it.
fn action(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("- ").unwrap_or(line).trim_start();
    Some(line.strip_prefix("uses:")?.trim())
}

/// The image in which a job or a service runs; another job may have the name `image`.
fn image(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let name = line.strip_prefix("image:").or_else(|| line.strip_prefix("container:"))?.trim();
    (!name.is_empty()).then_some(name)
}

fn has_digest(image: &str) -> bool {
    image.split_once("@sha256:").is_some_and(|(_, digest)| is_hash(digest, 64))
}

fn is_hash(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether it is an action of this repository, or one with a hash and a version.
fn is_pinned(action: &str) -> bool {
    if action.starts_with("./") {
        return true;
    }
    let Some((name, version)) = action.split_once(" # ") else { return false };
    let (_, revision) = name.trim_end().rsplit_once('@').unwrap_or_default();
    let is_fixed = match name.starts_with("docker://") {
        true => revision.strip_prefix("sha256:").is_some_and(|hash| is_hash(hash, 64)),
        false => is_hash(revision, 40),
    };
    is_fixed && version.strip_prefix('v').is_some_and(|rest| rest.starts_with(char::is_numeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_found_in_steps_and_jobs() {
        assert_eq!(action("      - uses: a/b@c # v1"), Some("a/b@c # v1"));
        assert_eq!(action("    uses: ./.github/actions/crates"), Some("./.github/actions/crates"));
        assert_eq!(action("      # uses: a/b@c"), None);
        assert_eq!(action("      - run: uses: x"), None);
    }

    #[test]
    fn images_are_pinned_by_their_digest() {
        assert_eq!(image("      image: rust:1"), Some("rust:1"));
        assert_eq!(image("    container: rust:1"), Some("rust:1"));
        assert_eq!(image("    container:"), None);
        assert!(has_digest(&format!("rust:1@sha256:{}", "0f".repeat(32))));
        assert!(!has_digest("rust:1") && !has_digest("rust:1@sha256:0f"));
    }

    #[test]
    fn only_a_hash_with_a_version_is_pinned() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let image = format!("docker://a/b@sha256:{}", "0f".repeat(32));
        for pinned in [
            "./.github/actions/crates",
            &format!("a/b@{hash} # v1.2.3"),
            &format!("a/b/c@{hash} # v1"),
            &format!("{image} # v3"),
        ] {
            assert!(is_pinned(pinned), "{pinned}");
        }
        for loose in [
            "a/b@v1",
            "a/b@v1 # v1.2.3",
            "a/b@main",
            "a/b",
            "docker://a/b:1 # v1",
            &format!("a/b@{hash}"),
            &format!("a/b@{} # v1.2.3", &hash[1..]),
            &format!("a/b@{hash} # latest"),
        ] {
            assert!(!is_pinned(loose), "{loose}");
        }
    }
}
