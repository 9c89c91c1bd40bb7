//! Where a path leads: one open directory and a name in it, found without following what another user may
//! have put in the way.
//!
//! The path is walked component by component on open directories (`openat`, `O_PATH`, `O_NOFOLLOW`), so what is
//! checked is what is used. A directory is *shared* when it is sticky or writable for everybody. The rules:
//!
//! - In a shared directory, an entry (a directory on the way included) counts only if it belongs to root or to this
//!   process's effective user.
//!   This is `fs.protected_symlinks` and `fs.protected_regular` of proc_sys_fs(5), for everything that is written
//!   and whether or not these are set; but the owner of such a directory is not trusted for being its owner.
//! - Elsewhere a symbolic link that belongs to another user is followed only into a directory of that user, where
//!   it gives nothing that its owner did not have: never into procfs, whose links lead anywhere, and not to a
//!   device or pipe of somebody else. The owner of `/` is trusted like root, because in a user namespace
//!   root itself appears as the overflow user.
//! - In procfs, where a path may lead that no other user's link is part of (`/dev/stdout`), the kernel follows links
//!   itself: they are its own.
//!
//! Limits: who may write to a directory by its group or by an access control list is not asked.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat};
use rustix::io::Errno;

/// How many symbolic links a path may have (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// A directory that stays the same whatever happens to its name.
pub(crate) struct Directory {
    fd: OwnedFd,
    owner: u32,
    mode: Mode,
    /// Whether it is one of procfs, where links are the kernel's.
    is_of_kernel: bool,
}

impl Directory {
    /// Opens a directory; what is missing of the path is created.
    pub(crate) fn create_all(path: &Path) -> io::Result<Directory> {
        match Walk::from_here(path)?.go(Missing::Create)? {
            Reached::Directory(directory) => Ok(directory),
            Reached::Entry(_) => Err(Errno::NOTDIR.into()),
        }
    }

    /// The names of its entries.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for entry in Dir::new(rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?)? {
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
            FileType::Symlink => "a symbolic link on the way",
            FileType::Directory => "a directory on the way",
            _ => "the file",
        };
        Err(refused(&format!(
            "{what} belongs to user {owner}, in a directory that others may write to"
        )))
    }

    /// What stands under a name, not followed.
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

/// A name in a directory, and what it stands for at first sight: not a directory, nor a link that leads on.
pub(super) struct Entry {
    pub(super) directory: Directory,
    pub(super) name: OsString,
    pub(super) found: Option<Stat>,
    /// The user whose link led here, if that is not one to trust.
    led_by: Option<u32>,
}

impl Entry {
    /// Where a path leads.
    pub(super) fn of(path: &Path) -> io::Result<Entry> {
        let ends_in_slash = path.as_os_str().as_bytes().ends_with(b"/");
        match Walk::from_here(path)?.go(Missing::LastOnly)? {
            Reached::Entry(entry) if !ends_in_slash => Ok(entry),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Where a name in a directory leads.
    pub(super) fn within(directory: &Directory, name: &OsStr) -> io::Result<Entry> {
        match Walk::from(directory, Path::new(name))?.go(Missing::LastOnly)? {
            Reached::Entry(entry) => Ok(entry),
            Reached::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Whether it is written as it is, not replaced: all that is not a regular file, and what the kernel's own
    /// links lead to.
    pub(super) fn is_in_place(&self) -> bool {
        let is_special =
            |stat: &Stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile;
        self.directory.is_of_kernel || self.found.as_ref().is_some_and(is_special)
    }

    /// Opens what is there for writing. It may have changed since, and is checked again.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let follow = self.directory.is_of_kernel;
        let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
        let fd = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        self.directory.check(&stat)?;
        check_special(self.led_by, &stat)?;
        // Whether to replace it was decided by what was found.
        let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        if self.found.as_ref().map(kind) != Some(kind(&stat)) {
            return Err(io::Error::other("it was replaced while it was opened"));
        }
        Ok(fd)
    }
}

/// What to do about a part of the path that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Only the last one may be missing.
    LastOnly,
    /// Make directories.
    Create,
}

enum Reached {
    Directory(Directory),
    Entry(Entry),
}

/// A path on its way.
struct Walk {
    directory: Directory,
    /// The names that are left, the next one last.
    left: Vec<OsString>,
    links: usize,
    /// The user whose link led here, if that is not one to trust.
    led_by: Option<u32>,
    trusted: u32,
}

impl Walk {
    fn from_here(path: &Path) -> io::Result<Walk> {
        Walk::new(Directory::at(CWD, OsStr::new("."), true)?, path)
    }

    fn from(directory: &Directory, path: &Path) -> io::Result<Walk> {
        Walk::new(Directory::of(directory.fd.try_clone()?)?, path)
    }

    fn new(directory: Directory, path: &Path) -> io::Result<Walk> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT.into());
        }
        let trusted = root()?.owner;
        let mut walk = Walk { directory, left: Vec::new(), links: 0, led_by: None, trusted };
        walk.push(path)?;
        Ok(walk)
    }

    /// Puts a path in front of what is left.
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

    fn go(mut self, missing: Missing) -> io::Result<Reached> {
        while let Some(name) = self.left.pop() {
            let follow = self.directory.is_of_kernel;
            let is_last = self.left.is_empty();
            // As a directory first: only this makes the automounter mount what is to be there.
            match Directory::at(&self.directory, &name, follow) {
                Ok(next) => {
                    self.enter(next, &name)?;
                    continue;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(Errno::NOENT) if missing == Missing::Create => {
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
        Ok(Reached::Directory(self.directory))
    }

    fn entry(self, name: OsString, found: Option<Stat>) -> io::Result<Reached> {
        self.check()?;
        // What a descriptor of this process leads to was opened by whoever started it.
        if let (Some(stat), false) = (&found, self.directory.is_of_kernel) {
            self.directory.check(stat)?;
        }
        if let Some(stat) = &found {
            check_special(self.led_by, stat)?;
        }
        let Walk { directory, led_by, .. } = self;
        Ok(Reached::Entry(Entry { directory, name, found, led_by }))
    }

    /// Goes on in a directory.
    fn enter(&mut self, next: Directory, name: &OsStr) -> io::Result<()> {
        // What leads upwards was gone through before, and the kernel's own directories change hands.
        if !self.directory.is_of_kernel && name != ".." {
            self.directory.check_owner(next.owner, FileType::Directory)?;
        }
        self.directory = next;
        self.check_kernel()
    }

    /// Refuses procfs where another user's link led: the links there may lead anywhere.
    fn check_kernel(&self) -> io::Result<()> {
        match self.led_by {
            Some(user) if self.directory.is_of_kernel => {
                Err(refused(&format!("a symbolic link of user {user} leads into procfs")))
            }
            _ => Ok(()),
        }
    }

    /// Goes on where an open link points to.
    fn follow(&mut self, link: &OwnedFd, stat: &Stat) -> io::Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        self.directory.check(stat)?;
        if !is_own_or_roots(stat.st_uid) && stat.st_uid != self.trusted {
            // One after another must be of the same user, or one would lead into what is the other's.
            self.check_owner(self.led_by.unwrap_or(stat.st_uid), stat.st_uid)?;
            self.led_by = Some(stat.st_uid);
            self.check_kernel()?;
        }
        let target = rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes();
        self.push(Path::new(OsStr::from_bytes(&target)))
    }

    /// Refuses a directory that somebody's link led to and that is another's.
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
        Err(refused(&format!("a symbolic link of user {led_by} leads to a place of user {owner}")))
    }
}

/// Refuses what is written in place and belongs to somebody else than the user whose link led there.
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
