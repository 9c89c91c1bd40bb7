//! Cgroups of the mounted v2 hierarchy, among them those of systemd units and of containers. `unsafe` code: statfs(2).
//!
//! | engine | systemd's names | other names |
//! |---|---|---|
//! | Docker | `docker-ID.scope` | `docker/ID` |
//! | Podman | `libpod-ID.scope`, `libpod-payload-ID` | `libpod-ID` |
//! | containerd, CRI | `cri-containerd-ID.scope`, `nerdctl-ID.scope` | `ID` |
//! | CRI-O | `crio-ID.scope` | `crio-ID` |
//! | runc, crun | `runc-NAME.scope`, `crun-NAME.scope` | `NAME` |
//!
//! `libpod-conmon-ID.scope` and `crio-conmon-ID.scope` have the engine's monitor of a container.

use std::collections::BTreeSet;
use std::ffi::{CString, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs, io};

use callgate_linux::ThreadStatus;

use super::error::{TargetError, TargetErrorKind};
use super::process::Thread;
use crate::bpf::CGROUP_LEVELS;

/// A cgroup with processes.
#[derive(Clone, Debug)]
pub struct Cgroup {
    /// The name that the user knows, if that is not the path: `container NAME`.
    label: Option<String>,
    /// The path from the root of the hierarchy.
    path: PathBuf,
    directory: PathBuf,
    id: u64,
}

impl Cgroup {
    /// The cgroup with this path: a directory, or a path in the hierarchy as in `/proc/PID/cgroup`.
    ///
    /// # Errors
    /// If there is none, or if it belongs to a v1 hierarchy, is the root, or is too deep.
    pub fn open(path: &Path) -> Result<Cgroup, TargetError> {
        let mount = mount_point();
        let kind = magic(path);
        if let (Ok(CGROUP2), Ok(mount)) = (&kind, &mount) {
            return Ok(Cgroup::at(path, mount)?);
        }
        let relative = path.strip_prefix("/").unwrap_or(path);
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        let in_hierarchy = mount.as_ref().ok().map(|mount| (mount.join(relative), mount));
        if let Some((directory, mount)) =
            in_hierarchy.filter(|(directory, _)| is_plain && directory.is_dir())
        {
            return Ok(Cgroup::at(&directory, mount)?);
        }
        let path = path.to_owned();
        Err(TargetError::from(match (kind, mount) {
            (Ok(CGROUP1), _) => TargetErrorKind::Version1(path),
            (_, Err(why)) => why,
            (Ok(_), _) => TargetErrorKind::NotACgroup(path),
            (Err(why), _) if why.kind() == io::ErrorKind::NotFound => {
                TargetErrorKind::NoCgroup(path)
            }
            (Err(why), _) => TargetErrorKind::Cgroup(path, why),
        }))
    }

    /// The cgroup of a systemd unit; a name without a suffix is that of a service.
    ///
    /// # Errors
    /// If there is none, or if several units have this name: those of users and of the system.
    pub fn of_unit(name: &str) -> Result<Cgroup, TargetError> {
        let mount = mount_point()?;
        let name = full_name(name);
        let found = search(&mount, |directory| is_named(directory, &name));
        let found =
            one(&name, &mount, found)?.ok_or_else(|| TargetErrorKind::NoUnit(name.clone()))?;
        Ok(Cgroup { label: Some(format!("unit {name}")), ..Cgroup::at(&found, &mount)? })
    }

    /// The cgroup of a container with this ID, or with an ID that starts so. `name` is its name in messages.
    ///
    /// # Errors
    /// If there is none, or if several containers have such an ID.
    pub fn of_container(id: &str, name: &str) -> Result<Cgroup, TargetError> {
        let mount = mount_point()?;
        let found = search(&mount, |directory| is_of(directory, id));
        let found =
            one(id, &mount, found)?.ok_or_else(|| TargetErrorKind::NoContainer(name.to_owned()))?;
        Ok(Cgroup { label: Some(format!("container {name}")), ..Cgroup::at(&found, &mount)? })
    }

    fn at(directory: &Path, mount: &Path) -> Result<Cgroup, TargetErrorKind> {
        let failed = |why| TargetErrorKind::Cgroup(directory.to_owned(), why);
        let directory = directory.canonicalize().map_err(failed)?;
        let failed = |why| TargetErrorKind::Cgroup(directory.clone(), why);
        let metadata = directory.metadata().map_err(failed)?;
        if !metadata.is_dir() {
            return Err(TargetErrorKind::NotACgroup(directory));
        }
        // The hierarchy may be mounted several times.
        let Ok(path) = directory.strip_prefix(mount.canonicalize().map_err(failed)?) else {
            return Err(TargetErrorKind::NotACgroup(directory));
        };
        let (levels, path) = (path.components().count(), Path::new("/").join(path));
        match levels {
            0 => Err(TargetErrorKind::Root(directory)),
            levels if levels > CGROUP_LEVELS as usize => {
                Err(TargetErrorKind::TooDeep { path, levels })
            }
            _ => Ok(Cgroup { label: None, path, directory, id: metadata.ino() }),
        }
    }

    /// The processes of this cgroup and of those below.
    ///
    /// # Errors
    /// If the cgroup cannot be read.
    pub fn processes(&self) -> io::Result<BTreeSet<u32>> {
        Ok(self.threads()?.into_iter().map(|thread| thread.process).collect())
    }

    /// Its number in the kernel, which is the inode of its directory.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether it or one below has a process.
    pub(crate) fn population(&self) -> Population {
        match fs::read_to_string(self.directory.join("cgroup.events")) {
            Ok(events) if events.lines().any(|line| line == "populated 1") => Population::Populated,
            Ok(_) => Population::Empty,
            Err(_) => Population::Removed,
        }
    }

    /// The threads of this cgroup and of those below.
    pub(crate) fn threads(&self) -> io::Result<Vec<Thread>> {
        let mut threads = BTreeSet::new();
        let mut left = vec![self.directory.clone()];
        while let Some(directory) = left.pop() {
            // One below may disappear meanwhile.
            let text = match fs::read_to_string(directory.join("cgroup.threads")) {
                Ok(text) => text,
                Err(why) if directory == self.directory => return Err(why),
                Err(_) => continue,
            };
            // Threads of a PID namespace that this process cannot see are 0.
            let ids = text.lines().filter_map(|line| line.parse::<u32>().ok());
            threads.extend(ids.filter(|id| *id != 0));
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                left.extend(
                    entry.file_type().is_ok_and(|kind| kind.is_dir()).then(|| entry.path()),
                );
            }
        }
        let process = |id| Some(ThreadStatus::of(id).ok()?.process);
        Ok(threads
            .into_iter()
            .filter_map(|id| Some(Thread { process: process(id)?, id }))
            .collect())
    }
}

impl fmt::Display for Cgroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => f.write_str(label),
            None => write!(f, "cgroup {}", self.path.display()),
        }
    }
}

/// Whether a cgroup has processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Population {
    Populated,
    Empty,
    /// The cgroup no longer exists.
    Removed,
}

/// The only directory.
fn one(name: &str, mount: &Path, found: Vec<PathBuf>) -> Result<Option<PathBuf>, TargetErrorKind> {
    if found.len() > 1 {
        let path = |found: &PathBuf| {
            let path = found.strip_prefix(mount).unwrap_or(found);
            Path::new("/").join(path).display().to_string()
        };
        let found = found.iter().map(path).collect();
        return Err(TargetErrorKind::Ambiguous { name: name.to_owned(), found });
    }
    Ok(found.into_iter().next())
}

/// `CGROUP_SUPER_MAGIC` and `CGROUP2_SUPER_MAGIC` of `include/uapi/linux/magic.h`.
const CGROUP1: u64 = 0x0027_e0eb;
const CGROUP2: u64 = 0x6367_7270;

/// The kind of file system of a path.
fn magic(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the kernel reads a string that ends with a zero byte, and writes the whole structure when it succeeds.
    unsafe {
        match libc::statfs(path.as_ptr(), found.as_mut_ptr()) {
            // Its type differs between C libraries.
            0 => Ok(found.assume_init().f_type as u64),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// How many cgroups a search looks at.
const MOST: usize = 1 << 20;

/// The mount point of the hierarchy.
fn mount_point() -> Result<PathBuf, TargetErrorKind> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    find_mount(&mounts).ok_or(TargetErrorKind::NoHierarchy)
}

/// The first mount of the whole hierarchy, otherwise the first mount of a part of it. Paths are relative to the root of the
/// cgroup namespace. Mounts from above that root, such as the host's hierarchy in a container, have `..` in their path
/// (`cgroup_show_path` in `kernel/cgroup/cgroup.c`).
fn find_mount(mounts: &[u8]) -> Option<PathBuf> {
    let mut found: Vec<(u8, PathBuf)> = mounts
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(3);
            let (root, point) = (fields.next()?, fields.next()?);
            // Optional fields end with a hyphen.
            let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
            let path = PathBuf::from(OsString::from_vec(unescape(point)));
            let rank = match root {
                b"/.." => 0,
                _ if root.starts_with(b"/../") => 0,
                b"/" => 1,
                _ => 2,
            };
            (kind == b"cgroup2").then_some((rank, path))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
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

/// The name of a unit with its suffix.
fn full_name(name: &str) -> String {
    const SUFFIXES: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
    let has_suffix = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if has_suffix { name.to_owned() } else { format!("{name}.service") }
}

/// Whether a directory is the cgroup of a unit. systemd puts an underscore before names that could be a file of the
/// kernel (`cg_escape` in `src/basic/cgroup-util.c`).
fn is_named(directory: &str, unit: &str) -> bool {
    directory == unit || directory.strip_prefix('_') == Some(unit)
}

/// An ID of an engine: a SHA-256 hash or as many random digits.
const DIGITS: usize = 64;

const PREFIXES: [&str; 9] = [
    "docker-",
    "libpod-payload-",
    "libpod-",
    "cri-containerd-",
    "nerdctl-",
    "crio-",
    "runc-",
    "crun-",
    "",
];

/// Whether a directory is the cgroup of the container with this ID, or with an ID that starts so. Names that are not
/// hexadecimal, as runc takes them, must be complete.
fn is_of(directory: &str, id: &str) -> bool {
    let name = directory.strip_suffix(".scope").unwrap_or(directory);
    PREFIXES.iter().filter_map(|prefix| Some((*prefix, name.strip_prefix(prefix)?))).any(
        |(prefix, found)| {
            let is_id = found.len() == DIGITS && is_hexadecimal(found);
            !id.is_empty() && (is_id && found.starts_with(id) || !prefix.is_empty() && found == id)
        },
    )
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
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
        let container = b"40 31 0:27 / /own ro - cgroup2 cgroup2 rw\n\
                          41 31 0:27 /../../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        assert_eq!(find_mount(container), Some("/sys/fs/cgroup".into()));
    }

    #[test]
    fn a_service_needs_no_suffix() {
        assert_eq!(full_name("nginx"), "nginx.service");
        assert_eq!(full_name("getty@tty1"), "getty@tty1.service");
        assert_eq!(full_name("a.b"), "a.b.service");
        assert_eq!(full_name("init.scope"), "init.scope");
        assert!(
            is_named("_cpu.service", "cpu.service") && !is_named("cpu.service.d", "cpu.service")
        );
    }

    #[test]
    fn the_names_of_all_engines_are_known() {
        let id = "3f".repeat(32);
        for directory in [
            "docker-ID.scope",
            "libpod-ID.scope",
            "libpod-payload-ID",
            "libpod-ID",
            "cri-containerd-ID.scope",
            "crio-ID.scope",
            "nerdctl-ID.scope",
            "ID",
        ] {
            let directory = directory.replace("ID", &id);
            assert!(is_of(&directory, &id) && is_of(&directory, &id[..12]), "{directory}");
            assert!(!is_of(&directory, "4f") && !is_of(&directory, ""), "{directory}");
        }
        for directory in ["libpod-conmon-ID.scope", "crio-conmon-ID.scope", "ID.service", "IDa"] {
            assert!(!is_of(&directory.replace("ID", &id), &id[..12]), "{directory}");
        }
        assert!(is_of("runc-web.scope", "web") && is_of("crun-web.scope", "web"));
        // Any cgroup could have this name.
        assert!(!is_of("web", "web") && !is_of("runc-web.scope", "we"));
    }
}
