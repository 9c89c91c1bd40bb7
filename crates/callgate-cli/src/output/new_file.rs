//! Writes files atomically: as a temporary file in the same directory, which is then renamed.
//!
//! - A file is created with `0666 & ~umask`, a recording with 0600, because it contains command lines and argument values.
//! - If a regular file of this process's effective user is replaced, the new file inherits its permissions (at most 0777)
//!   and, if possible, its group. In a directory that others may write to, this can only remove permissions.
//! - Nothing is inherited from a file of another user. In a directory that others may write to, replacing it is refused
//!   ([`super::place`]). Elsewhere it is replaced, and the new file belongs to this process's user. `cp` and `sort -o`
//!   would keep the owner, but they write in place, so that readers see incomplete files; and results of root must not
//!   be given to the owner of an earlier file.
//! - Access control lists are not inherited; the default ones of the directory apply.
//! - A recording is on the disk before it gets its name, and its name when writing it returns (fsync(2)): it may have
//!   taken hours, and cannot be made again like other results.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use callgate_linux::error_text;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::place::{Directory, Entry};
use crate::inputs;
use crate::report::{Failure, Result};

/// Why a file that was read is not replaced.
const IS_INPUT: &str = "this file is also an input, which would be lost";

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    /// According to the umask.
    Umask,
    /// Only the owner.
    OwnerOnly,
}

impl Visibility {
    /// The mode of a new file, before the umask.
    fn mode(self) -> Mode {
        Mode::from_raw_mode(if self == Visibility::OwnerOnly { 0o600 } else { 0o666 })
    }

    /// Whether a loss of power must not lose the file: recordings are those that only the owner may read.
    fn is_durable(self) -> bool {
        self == Visibility::OwnerOnly
    }

    /// The maximum mode that is inherited in a shared directory.
    fn most_in_shared(self) -> Mode {
        Mode::from_raw_mode(if self == Visibility::OwnerOnly { 0o600 } else { 0o755 })
    }
}

/// Writes a file atomically: into a new file on the same file system, which then replaces the old one. On an error, the
/// old file stays and the new one is removed. Anything but a regular file, such as a pipe or `/dev/stdout`, is written
/// in place.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    NewFile::prepare(path)?.finish(bytes)
}

/// Like [`write_file`] for recordings, which only their owner may read.
pub(crate) fn write_recording(path: &Path, bytes: &[u8]) -> Result<()> {
    NewFile::create(path, Visibility::OwnerOnly)?.finish(bytes)
}

/// Like [`write_file`] for a file in an open directory; `path` is its name in messages.
pub(crate) fn write_file_in(
    directory: &Directory,
    name: &OsStr,
    path: &Path,
    bytes: &[u8],
) -> Result<()> {
    let entry = Entry::within(directory, name);
    NewFile::of(path, entry, Visibility::Umask)?.finish(bytes)
}

/// Like [`write_file_in`] for recordings, which only their owner may read.
pub(crate) fn write_recording_in(
    directory: &Directory,
    name: &OsStr,
    path: &Path,
    bytes: &[u8],
) -> Result<()> {
    let entry = Entry::within(directory, name);
    NewFile::of(path, entry, Visibility::OwnerOnly)?.finish(bytes)
}

/// Creates and writes a new file that only its owner may read.
pub(crate) fn write_new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Entry { directory, name, .. } = Entry::of(path)?;
    let mut file = create(&directory, &name, Visibility::OwnerOnly.mode())?;
    let named = TemporaryName { directory: &directory, name };
    file.write_all(bytes)?;
    sync(&file)?;
    named.keep();
    sync_names(&directory)
}

/// Gives a file of a directory another name in it, also on the disk; an error if a file has that name.
pub(crate) fn rename_file(directory: &Directory, from: &OsStr, to: &OsStr) -> io::Result<()> {
    // Not all file systems can check this themselves (RENAME_NOREPLACE). The caller has locked the directory.
    if directory.stat(to)?.is_some() {
        return Err(Errno::EXIST.into());
    }
    rustix::fs::renameat(directory, from, directory, to)?;
    sync_names(directory)
}

/// Waits until the content of a file is on the disk.
fn sync(file: impl AsFd) -> io::Result<()> {
    match rustix::fs::fsync(file) {
        // The file system has no disk.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until the names in a directory are on the disk.
fn sync_names(directory: &Directory) -> io::Result<()> {
    match directory.open() {
        Ok(opened) => sync(opened),
        // A directory may be writable and not readable; then it cannot be synced.
        Err(Errno::ACCESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes a file; follows the path with the same rules as writing.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    let Entry { directory, name, .. } = Entry::of(path)?;
    Ok(rustix::fs::unlinkat(&directory, &name, AtFlags::empty())?)
}

/// A file that will be written; creating this value checks that writing is possible.
pub(crate) struct NewFile {
    path: PathBuf,
    file: File,
    /// `None` if the file is written in place.
    replace: Option<Replacement>,
}

/// A new file that replaces another once it is complete.
struct Replacement {
    directory: Directory,
    name: OsString,
    /// Its name until then; `None` if the file system supports unnamed files, which vanish if the process is
    /// killed.
    temporary: Option<OsString>,
    readers: Visibility,
    /// The mode with which it was created.
    mode: Mode,
}

/// A name that is removed on drop.
struct TemporaryName<'a> {
    directory: &'a Directory,
    name: OsString,
}

impl TemporaryName<'_> {
    fn keep(mut self) {
        self.name.clear();
    }
}

impl Drop for TemporaryName<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = rustix::fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(name) = self.temporary.take() {
            drop(TemporaryName { directory: &self.directory, name });
        }
    }
}

impl NewFile {
    pub(crate) fn prepare(path: &Path) -> Result<NewFile> {
        NewFile::create(path, Visibility::Umask)
    }

    /// Like [`NewFile::prepare`] for a recording, which takes long to make: reserves this many bytes on the disk.
    pub(crate) fn reserve(path: &Path, bytes: usize) -> Result<NewFile> {
        let mut new = NewFile::create(path, Visibility::OwnerOnly)?;
        if new.replace.is_some() {
            let filled = new.file.write_all(&vec![0; bytes]).and_then(|()| new.file.rewind());
            filled.map_err(|error| unwritable(path, &error))?;
        }
        Ok(new)
    }

    fn create(path: &Path, readers: Visibility) -> Result<NewFile> {
        NewFile::of(path, Entry::of(path), readers)
    }

    fn of(path: &Path, entry: io::Result<Entry>, readers: Visibility) -> Result<NewFile> {
        let path = path.to_owned();
        match entry.and_then(|entry| NewFile::at(entry, readers)) {
            Ok((file, replace)) => Ok(NewFile { path, file, replace }),
            Err(error) => Err(unwritable(&path, &error)),
        }
    }

    fn at(entry: Entry, readers: Visibility) -> io::Result<(File, Option<Replacement>)> {
        // Also if it will be replaced, so that a write-protected file is not.
        let existing = entry.found.as_ref().map(|_| entry.open()).transpose()?;
        if entry.is_in_place() {
            let file = existing.ok_or(Errno::NOENT)?;
            return Ok((File::from(file), None));
        }
        // Inherited permissions are set at the end; until then, only the owner may read the file.
        let hands_on = entry.found.as_ref().is_some_and(is_own_file);
        let mode = if hands_on { Visibility::OwnerOnly.mode() } else { readers.mode() };
        let Entry { directory, name, .. } = entry;
        let (file, temporary) = match unnamed(&directory, mode) {
            Ok(file) => (file, None),
            // Not all file systems support unnamed files (NFS, FAT).
            Err(_) => {
                let (file, name) = create_beside(&directory, mode)?;
                (file, Some(name))
            }
        };
        Ok((file, Some(Replacement { directory, name, temporary, readers, mode })))
    }

    /// Writes the bytes.
    pub(crate) fn finish(self, bytes: &[u8]) -> Result<()> {
        let NewFile { path, file, replace } = self;
        let write = || match replace {
            Some(replace) => replace.finish(file, bytes),
            None => write_in_place(file, bytes),
        };
        write().map_err(|error| unwritable(&path, &error))
    }
}

impl Replacement {
    fn finish(mut self, mut file: File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        let temporary = match self.temporary.clone() {
            Some(name) => name,
            None => {
                let named = free_name(|name| give_name(&file, &self.directory, name));
                let name = match named {
                    Ok(((), name)) => name,
                    // A sandbox may deny linkat.
                    Err(_) => {
                        let (beside, name) = create_beside(&self.directory, self.mode)?;
                        file = beside;
                        self.temporary = Some(name.clone());
                        file.write_all(bytes)?;
                        name
                    }
                };
                self.temporary = Some(name.clone());
                name
            }
        };
        // The old file may have appeared since.
        if let Some(old) = self.directory.stat(&self.name)? {
            self.directory.check(&old)?;
            if inputs::contain(old.st_dev, old.st_ino) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, IS_INPUT));
            }
            if is_own_file(&old) {
                self.hand_on(&old, &file)?;
            }
        }
        if self.readers.is_durable() {
            sync(&file)?;
        }
        rustix::fs::renameat(&self.directory, &temporary, &self.directory, &self.name)?;
        self.temporary = None;
        if self.readers.is_durable() { sync_names(&self.directory) } else { Ok(()) }
    }

    /// Gives the new file the permissions and the group of the one that it replaces.
    fn hand_on(&self, old: &Stat, file: &File) -> io::Result<()> {
        // The type, set-ID and sticky bits are not inherited.
        let mut mode = Mode::from_raw_mode(old.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        if self.directory.is_shared() {
            mode &= self.readers.most_in_shared();
        }
        let keeps_group = rustix::fs::fstat(file)?.st_gid == old.st_gid
            || rustix::fs::fchown(file, None, Some(Gid::from_raw(old.st_gid))).is_ok();
        if !keeps_group {
            // A different group gets no more permissions than others.
            let others = (mode & Mode::RWXO).as_raw_mode();
            mode &= !Mode::RWXG | Mode::from_raw_mode(others << 3);
        }
        Ok(rustix::fs::fchmod(file, mode)?)
    }
}

/// Writes to a pipe, a device, or a file that this process has open already, which the shell may have opened for
/// appending (`-o /dev/stdout >> log`).
fn write_in_place(mut file: File, bytes: &[u8]) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.seek(io::SeekFrom::End(0))?;
    }
    file.write_all(bytes)
}

fn is_own_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

/// A file without a name (`O_TMPFILE`, open(2)).
fn unnamed(directory: &Directory, mode: Mode) -> rustix::io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, mode).map(File::from)
}

/// Gives the file a name; fails if the name exists.
fn give_name(file: &File, directory: &Directory, name: &OsStr) -> rustix::io::Result<()> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, from, directory, name, AtFlags::SYMLINK_FOLLOW)
}

/// Creates a file; fails if the name exists.
fn create(directory: &Directory, name: &OsStr, mode: Mode) -> rustix::io::Result<File> {
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let flags = new | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, mode).map(File::from)
}

fn create_beside(directory: &Directory, mode: Mode) -> rustix::io::Result<(File, OsString)> {
    free_name(|name| create(directory, name, mode))
}

/// Makes something under an unused random name.
fn free_name<T>(
    make: impl Fn(&OsStr) -> rustix::io::Result<T>,
) -> rustix::io::Result<(T, OsString)> {
    let mut attempt = 0;
    loop {
        // Seeded from the kernel's random numbers.
        let random = RandomState::new().build_hasher().finish();
        let name = OsString::from(format!(".callgate-{random:016x}"));
        match make(&name) {
            Ok(made) => return Ok((made, name)),
            Err(Errno::EXIST) if attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let failure =
        Failure::about(path.display().to_string(), format!("cannot write: {}", error_text(error)));
    match error.kind() {
        io::ErrorKind::NotFound => failure.help("create the directory first"),
        io::ErrorKind::PermissionDenied => {
            failure.help("choose another path, such as a file in your home directory")
        }
        io::ErrorKind::IsADirectory => failure.help("give the name of a file in it"),
        io::ErrorKind::InvalidInput if error.to_string() == IS_INPUT => {
            failure.help("write to another file; it can replace the input afterwards (mv)")
        }
        io::ErrorKind::StorageFull => {
            failure.help("free some space, or write to another file system")
        }
        _ => failure,
    }
}
