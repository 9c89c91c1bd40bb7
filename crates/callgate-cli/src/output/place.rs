//! Resolves a path for writing, without following links that another user may have planted.
//!
//! The path is resolved component by component with open directories (`openat`, `O_PATH`, `O_NOFOLLOW`), so that there is
//! no race between check and use. A directory is *shared* if it is sticky or world-writable. The rules:
//!
//! - In a shared directory, an entry, including a directory on the way, is accepted only if it belongs to root or to this
//!   process's effective user. This is `fs.protected_symlinks` and `fs.protected_regular` of proc_sys_fs(5), for
//!   everything that is written and independent of these settings, except that the owner of the directory is not
//!   trusted either.
//! - Elsewhere, a symbolic link of another user is followed only into a directory of the same user, because it then gives
//!   access to nothing that its owner does not own: never into procfs, whose links lead anywhere, and not to a device or
//!   pipe of a third user. The owner of `/` is trusted like root, because root appears as the overflow user in a user
//!   namespace.
//! - In procfs, which a path may only reach without links of other users (`/dev/stdout`), the kernel follows the links,
//!   because they are its own.
//!
//! Limits: write access to a directory through its group or an access control list is not checked.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, PROC_SUPER_MAGIC, Stat, flock,
};
use rustix::io::Errno;

/// The maximum number of symbolic links in a path (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// An open directory, which stays the same if it is renamed.
pub(crate) struct Directory {
    fd: OwnedFd,
    owner: u32,
    mode: Mode,
    /// Whether it is in procfs, whose links are those of the kernel.
    is_of_kernel: bool,
}

impl Directory {
    /// Opens a directory; creates missing components.
    pub(crate) fn create_all(path: &Path) -> io::Result<Directory> {
        match Resolver::from_here(path)?.go(MissingComponents::Create)? {
            Resolved::Directory(directory) => Ok(directory),
            Resolved::Entry(_) => Err(Errno::NOTDIR.into()),
        }
    }

    /// Locks a file in it, which is created if it is missing, until the descriptor is closed; `None` if somebody else has
    /// locked it.
    pub(crate) fn lock(&self, name: &str) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600))?;
        self.check(&rustix::fs::fstat(&file)?)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens it again, to read its entries or to sync it: the descriptor here is only a place.
    pub(super) fn open(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, ".", flags, Mode::empty())
    }

    /// The names of its entries.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.open()?)? {
            names.push(OsString::from_vec(entry?.file_name().to_bytes().to_vec()));
        }
        Ok(names)
    }

    fn at(parent: impl AsFd, name: &OsStr, follow: bool) -> rustix::io::Result<Directory> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
        Directory::of(rustix::fs::openat(parent, name, flags, Mode::empty())?)
    }

    fn of(fd: OwnedFd) -> rustix::io::Result<Directory> {
        let stat = rustix::fs::fstat(&fd)?;
        let is_of_kernel = rustix::fs::fstatfs(&fd)?.f_type == PROC_SUPER_MAGIC;
        let mode = Mode::from_raw_mode(stat.st_mode);
        Ok(Directory { fd, owner: stat.st_uid, mode, is_of_kernel })
    }

    /// Whether others may put entries into it.
    pub(super) fn is_shared(&self) -> bool {
        self.mode.intersects(Mode::SVTX | Mode::WOTH)
    }

    /// Refuses an entry that another user may have put here.
    pub(super) fn check(&self, entry: &Stat) -> io::Result<()> {
        self.check_owner(entry.st_uid, FileType::from_raw_mode(entry.st_mode))
    }

    fn check_owner(&self, owner: u32, kind: FileType) -> io::Result<()> {
        if !self.is_shared() || is_own_or_roots(owner) {
            return Ok(());
        }
        let what = match kind {
            FileType::Symlink => "a symbolic link in the path",
            FileType::Directory => "a directory in the path",
            _ => "the file",
        };
        Err(refused(&format!(
            "{what} belongs to user {owner}, in a directory that others may write to"
        )))
    }

    /// The metadata of an entry; links are not followed.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A name in a directory: a file, or an unused name; neither a directory nor a link.
pub(super) struct Entry {
    pub(super) directory: Directory,
    pub(super) name: OsString,
    pub(super) found: Option<Stat>,
    /// The untrusted user whose link led here, if any.
    led_by: Option<u32>,
}

impl Entry {
    /// Resolves a path.
    pub(super) fn of(path: &Path) -> io::Result<Entry> {
        let ends_in_slash = path.as_os_str().as_bytes().ends_with(b"/");
        match Resolver::from_here(path)?.go(MissingComponents::LastOnly)? {
            Resolved::Entry(entry) if !ends_in_slash => Ok(entry),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Resolves a name in a directory.
    pub(super) fn within(directory: &Directory, name: &OsStr) -> io::Result<Entry> {
        match Resolver::from(directory, Path::new(name))?.go(MissingComponents::LastOnly)? {
            Resolved::Entry(entry) => Ok(entry),
            Resolved::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Whether it is written in place and not replaced: anything but a regular file, and targets of
    /// the kernel's links.
    pub(super) fn is_in_place(&self) -> bool {
        let is_special =
            |stat: &Stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile;
        self.directory.is_of_kernel || self.found.as_ref().is_some_and(is_special)
    }

    /// Opens the file for writing, and checks it again, because it may have changed.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let follow = self.directory.is_of_kernel;
        let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
        let fd = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        self.directory.check(&stat)?;
        check_special(self.led_by, &stat)?;
        // Whether to replace it was decided by its former type.
        let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        if self.found.as_ref().map(kind) != Some(kind(&stat)) {
            return Err(io::Error::other("it was replaced while it was being opened"));
        }
        Ok(fd)
    }
}

/// How missing components are handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingComponents {
    /// Only the last component may be missing.
    LastOnly,
    /// Directories are created.
    Create,
}

enum Resolved {
    Directory(Directory),
    Entry(Entry),
}

/// A path that is being resolved.
struct Resolver {
    directory: Directory,
    /// The remaining components in reverse order.
    left: Vec<OsString>,
    links: usize,
    /// The untrusted user whose link led here, if any.
    led_by: Option<u32>,
    trusted: u32,
}

impl Resolver {
    fn from_here(path: &Path) -> io::Result<Resolver> {
        Resolver::new(Directory::at(CWD, OsStr::new("."), true)?, path)
    }

    fn from(directory: &Directory, path: &Path) -> io::Result<Resolver> {
        Resolver::new(Directory::of(directory.fd.try_clone()?)?, path)
    }

    fn new(directory: Directory, path: &Path) -> io::Result<Resolver> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT.into());
        }
        let trusted = root()?.owner;
        let mut walk = Resolver { directory, left: Vec::new(), links: 0, led_by: None, trusted };
        walk.push(path)?;
        Ok(walk)
    }

    /// Prepends a path to the remaining components.
    fn push(&mut self, path: &Path) -> io::Result<()> {
        for component in path.components().rev() {
            match component {
                Component::RootDir => self.directory = root()?,
                Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir | Component::Normal(_) => {
                    self.left.push(component.as_os_str().to_owned());
                }
            }
        }
        Ok(())
    }

    fn go(mut self, missing: MissingComponents) -> io::Result<Resolved> {
        while let Some(name) = self.left.pop() {
            let follow = self.directory.is_of_kernel;
            let is_last = self.left.is_empty();
            // As a directory first, because this triggers the automounter.
            match Directory::at(&self.directory, &name, follow) {
                Ok(next) => {
                    self.enter(next, &name)?;
                    continue;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(Errno::NOENT) if missing == MissingComponents::Create => {
                    self.check()?;
                    match rustix::fs::mkdirat(&self.directory, &name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    let next = Directory::at(&self.directory, &name, false)?;
                    self.enter(next, &name)?;
                    continue;
                }
                Err(Errno::NOENT) if is_last => return self.entry(name, None),
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
            let found = rustix::fs::openat(&self.directory, &name, flags, Mode::empty())?;
            let stat = rustix::fs::fstat(&found)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                self.follow(&found, &stat)?;
            } else if is_last {
                return self.entry(name, Some(stat));
            } else {
                return Err(Errno::NOTDIR.into());
            }
        }
        self.check()?;
        Ok(Resolved::Directory(self.directory))
    }

    fn entry(self, name: OsString, found: Option<Stat>) -> io::Result<Resolved> {
        self.check()?;
        // A file that a descriptor of this process refers to was opened by its parent.
        if let (Some(stat), false) = (&found, self.directory.is_of_kernel) {
            self.directory.check(stat)?;
        }
        if let Some(stat) = &found {
            check_special(self.led_by, stat)?;
        }
        let Resolver { directory, led_by, .. } = self;
        Ok(Resolved::Entry(Entry { directory, name, found, led_by }))
    }

    /// Enters a directory.
    fn enter(&mut self, next: Directory, name: &OsStr) -> io::Result<()> {
        // A parent directory was checked before, and the owners of directories in procfs change.
        if !self.directory.is_of_kernel && name != ".." {
            self.directory.check_owner(next.owner, FileType::Directory)?;
        }
        self.directory = next;
        self.check_kernel()
    }

    /// Refuses to enter procfs through a link of another user: the links there lead anywhere.
    fn check_kernel(&self) -> io::Result<()> {
        match self.led_by {
            Some(user) if self.directory.is_of_kernel => {
                Err(refused(&format!("a symbolic link of user {user} leads into procfs")))
            }
            _ => Ok(()),
        }
    }

    /// Follows an open link.
    fn follow(&mut self, link: &OwnedFd, stat: &Stat) -> io::Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        self.directory.check(stat)?;
        if !is_own_or_roots(stat.st_uid) && stat.st_uid != self.trusted {
            // All links must belong to the same user; otherwise one could lead into files of the other.
            self.check_owner(self.led_by.unwrap_or(stat.st_uid), stat.st_uid)?;
            self.led_by = Some(stat.st_uid);
            self.check_kernel()?;
        }
        let target = rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes();
        self.push(Path::new(OsStr::from_bytes(&target)))
    }

    /// Refuses a directory that the link of another user led to, unless it belongs to that user.
    fn check(&self) -> io::Result<()> {
        match self.led_by {
            Some(user) => self.check_owner(user, self.directory.owner),
            None => Ok(()),
        }
    }

    fn check_owner(&self, led_by: u32, owner: u32) -> io::Result<()> {
        if led_by == owner {
            return Ok(());
        }
        Err(refused(&format!(
            "a symbolic link of user {led_by} leads to a directory of user {owner}"
        )))
    }
}

/// Refuses a file that is written in place, unless it belongs to the user whose link led there.
fn check_special(led_by: Option<u32>, stat: &Stat) -> io::Result<()> {
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    match led_by {
        Some(user) if !is_regular && stat.st_uid != user => Err(refused(&format!(
            "a symbolic link of user {user} leads to a device or pipe of user {}",
            stat.st_uid
        ))),
        _ => Ok(()),
    }
}

fn root() -> io::Result<Directory> {
    Ok(Directory::at(CWD, OsStr::new("/"), true)?)
}

fn is_own_or_roots(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}
