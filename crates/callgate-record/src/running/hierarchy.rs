//! The mounted cgroup v2 hierarchy.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::error::TargetErrorKind;

/// How many cgroups a search looks at.
const MOST: usize = 1 << 20;

/// The mount point of the hierarchy.
pub(super) fn mount_point() -> Result<PathBuf, TargetErrorKind> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    find_mount(&mounts).ok_or(TargetErrorKind::NoHierarchy)
}

/// The first mount of the whole hierarchy, otherwise the first of a part of it.
fn find_mount(mounts: &[u8]) -> Option<PathBuf> {
    let mut found: Vec<(bool, PathBuf)> = mounts
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(3);
            let (root, point) = (fields.next()?, fields.next()?);
            // Optional fields end with a hyphen.
            let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
            let path = PathBuf::from(OsString::from_vec(unescape(point)));
            (kind == b"cgroup2").then_some((root != b"/", path))
        })
        .collect();
    found.sort_by_key(|(is_part, _)| *is_part);
    found.into_iter().next().map(|(_, path)| path)
}

/// Spaces and the like are in octal: `\040`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        rest = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
            [] => return bytes,
        };
    }
}

/// The cgroups below a directory whose names `is_wanted` accepts, without those below an accepted one.
pub(super) fn search(root: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(directory) = left.pop().filter(|_| seen < MOST) {
        // It may disappear meanwhile.
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for entry in
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            seen += 1;
            match entry.file_name().to_str().is_some_and(&is_wanted) {
                true => found.push(entry.path()),
                false => left.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_the_whole_hierarchy_is_preferred() {
        let mounts = b"31 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n\
                       40 31 0:27 /part /mnt/part rw shared:10 - cgroup2 cgroup2 rw\n\
                       32 31 0:27 / /mnt/a\\040b rw shared:10 master:3 - cgroup2 cgroup2 rw\n";
        assert_eq!(find_mount(mounts), Some("/mnt/a b".into()));
        assert_eq!(find_mount(&mounts[..150]), Some("/mnt/part".into()));
        assert_eq!(find_mount(b""), None);
    }
}
