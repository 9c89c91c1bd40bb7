//! A cgroup of the v2 hierarchy. `unsafe` code: statfs(2).

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fmt;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use callgate_linux::ThreadStatus;

use super::container;
use super::error::{TargetError, TargetErrorKind};
use super::hierarchy::{mount_point, search};
use super::thread::Thread;
use super::unit;
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
        let name = unit::full_name(name);
        let found = search(&mount, |directory| unit::is_named(directory, &name));
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
        let found = search(&mount, |directory| container::is_of(directory, id));
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
