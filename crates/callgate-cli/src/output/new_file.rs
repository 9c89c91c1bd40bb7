//! Files that appear whole or not at all: written beside what they replace, on the same file system, and renamed.
//!
//! - A file is created with `0666 & ~umask`, a recording with 0600: it holds command lines and values.
//! - A regular file of this process's effective user that is replaced hands its permissions on, of which
//!   there are at most 0777, and its group where that can be given. In a directory that others may write
//!   to, they only take permissions away.
//! - A file of another user hands nothing on. In a directory that others may write to it is refused
//!   ([`super::place`]). Elsewhere it is replaced, and the new file belongs to this process's user: `cp` and
//!   `sort -o` would keep its owner, but they write into the file, which can be seen half done; and results
//!   of root are not given away because of what stood there before.
//! - Access control lists are not handed on; a new file has those that its directory gives to new files.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use callgate_linux::error_text;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::place::{Directory, Entry};
use crate::report::{Failure, Result};

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// As the umask says.
    Usual,
    /// Its owner alone.
    Owner,
}

impl Readers {
    /// The mode of a new file, of which the umask takes bits.
    fn mode(self) -> Mode {
        Mode::from_raw_mode(if self == Readers::Owner { 0o600 } else { 0o666 })
    }

    /// What an own file may at most hand on where others may have put it there.
    fn most_in_shared(self) -> Mode {
        Mode::from_raw_mode(if self == Readers::Owner { 0o600 } else { 0o755 })
    }
}

/// Writes a file so that nobody ever sees half of it: into a new file on the same file system, which then
/// takes its place. On an error the old file stays and the new one is gone. What is not a regular file, such
/// as a pipe or `/dev/stdout`, is written in place.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    NewFile::prepare(path)?.finish(bytes)
}

/// The same for recordings, which are for their owner alone.
pub(crate) fn write_recording(path: &Path, bytes: &[u8]) -> Result<()> {
    NewFile::create(path, Readers::Owner)?.finish(bytes)
}

/// The same for a file in an open directory, which messages call `path`.
pub(crate) fn write_file_in(
    directory: &Directory,
    name: &OsStr,
    path: &Path,
    bytes: &[u8],
) -> Result<()> {
    let entry = Entry::within(directory, name);
    NewFile::of(path, entry, Readers::Usual)?.finish(bytes)
}

/// Writes a file that is not there yet, for its owner alone.
pub(crate) fn write_new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Entry { directory, name, .. } = Entry::of(path)?;
    let mut file = create(&directory, &name, Readers::Owner.mode())?;
    let named = Temporary { directory: &directory, name };
    file.write_all(bytes)?;
    named.keep();
    Ok(())
}

/// Removes a file that was written before, found as when it was written.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    let Entry { directory, name, .. } = Entry::of(path)?;
    Ok(rustix::fs::unlinkat(&directory, &name, AtFlags::empty())?)
}

/// A file that will be written: whether that is possible is found out before.
pub(crate) struct NewFile {
    path: PathBuf,
    file: File,
    /// `None` for what is written in place.
    replace: Option<Replace>,
}

/// A file that takes the place of another when it is whole.
struct Replace {
    directory: Directory,
    name: OsString,
    /// Its name until then. Where the file system can, it has none, and nothing is left when the process is
    /// killed.
    temporary: Option<OsString>,
    readers: Readers,
    /// With which it was created.
    mode: Mode,
}

/// A name that is removed again.
struct Temporary<'a> {
    directory: &'a Directory,
    name: OsString,
}

impl Temporary<'_> {
    fn keep(mut self) {
        self.name.clear();
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = rustix::fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

impl Drop for Replace {
    fn drop(&mut self) {
        if let Some(name) = self.temporary.take() {
            drop(Temporary { directory: &self.directory, name });
        }
    }
}

impl NewFile {
    pub(crate) fn prepare(path: &Path) -> Result<NewFile> {
        NewFile::create(path, Readers::Usual)
    }

    /// The same for a recording, which takes long to get: with room on the disk for so many bytes.
    pub(crate) fn reserve(path: &Path, bytes: usize) -> Result<NewFile> {
        let mut new = NewFile::create(path, Readers::Owner)?;
        if new.replace.is_some() {
            let filled = new.file.write_all(&vec![0; bytes]).and_then(|()| new.file.rewind());
            filled.map_err(|error| unwritable(path, &error))?;
        }
        Ok(new)
    }

    fn create(path: &Path, readers: Readers) -> Result<NewFile> {
        NewFile::of(path, Entry::of(path), readers)
    }

    fn of(path: &Path, entry: io::Result<Entry>, readers: Readers) -> Result<NewFile> {
        let path = path.to_owned();
        match entry.and_then(|entry| NewFile::at(entry, readers)) {
            Ok((file, replace)) => Ok(NewFile { path, file, replace }),
            Err(error) => Err(unwritable(&path, &error)),
        }
    }

    fn at(entry: Entry, readers: Readers) -> io::Result<(File, Option<Replace>)> {
        // Also when it will be replaced: a file that is write-protected stays.
        let existing = entry.found.as_ref().map(|_| entry.open()).transpose()?;
        if entry.is_in_place() {
            let file = existing.ok_or(Errno::NOENT)?;
            return Ok((File::from(file), None));
        }
        // One that has permissions to hand on gets them in the end, and none that it may not have before.
        let hands_on = entry.found.as_ref().is_some_and(is_own_file);
        let mode = if hands_on { Readers::Owner.mode() } else { readers.mode() };
        let Entry { directory, name, .. } = entry;
        let (file, temporary) = match unnamed(&directory, mode) {
            Ok(file) => (file, None),
            // Not all file systems have such files (NFS, FAT).
            Err(_) => {
                let (file, name) = create_beside(&directory, mode)?;
                (file, Some(name))
            }
        };
        Ok((file, Some(Replace { directory, name, temporary, readers, mode })))
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

impl Replace {
    fn finish(mut self, mut file: File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        let temporary = match self.temporary.clone() {
            Some(name) => name,
            None => {
                let named = free_name(|name| give_name(&file, &self.directory, name));
                let name = match named {
                    Ok(((), name)) => name,
                    // A sandbox may forbid links.
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
        // It may have been put there since.
        if let Some(old) = self.directory.stat(&self.name)? {
            self.directory.check(&old)?;
            if is_own_file(&old) {
                self.hand_on(&old, &file)?;
            }
        }
        rustix::fs::renameat(&self.directory, &temporary, &self.directory, &self.name)?;
        self.temporary = None;
        Ok(())
    }

    /// Gives the new file the permissions and the group of the one that it replaces.
    fn hand_on(&self, old: &Stat, file: &File) -> io::Result<()> {
        // Of the type, set-id and sticky bits nothing is kept.
        let mut mode = Mode::from_raw_mode(old.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        if self.directory.is_shared() {
            mode &= self.readers.most_in_shared();
        }
        let keeps_group = rustix::fs::fstat(file)?.st_gid == old.st_gid
            || rustix::fs::fchown(file, None, Some(Gid::from_raw(old.st_gid))).is_ok();
        if !keeps_group {
            // Another group gets no more than everybody.
            let others = (mode & Mode::RWXO).as_raw_mode();
            mode &= !Mode::RWXG | Mode::from_raw_mode(others << 3);
        }
        Ok(rustix::fs::fchmod(file, mode)?)
    }
}

/// Writes to what is there: a pipe, a device, or a file that a descriptor of this process is open on, which the
/// shell may have opened to append to it (`-o /dev/stdout >> log`).
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

/// Gives it a name, which nothing else may have: one that exists cannot be given, but taken over.
fn give_name(file: &File, directory: &Directory, name: &OsStr) -> rustix::io::Result<()> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, from, directory, name, AtFlags::SYMLINK_FOLLOW)
}

/// Creates a file under a name that nothing has.
fn create(directory: &Directory, name: &OsStr, mode: Mode) -> rustix::io::Result<File> {
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let flags = new | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, mode).map(File::from)
}

fn create_beside(directory: &Directory, mode: Mode) -> rustix::io::Result<(File, OsString)> {
    free_name(|name| create(directory, name, mode))
}

/// Makes something under a name that nothing has. Names are random, so nobody can take them all before.
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
    let failure = Failure::about(
        path.display().to_string(),
        format!("cannot be written: {}", error_text(error)),
    );
    match error.kind() {
        io::ErrorKind::NotFound => failure.help("create the directory first"),
        io::ErrorKind::PermissionDenied => failure.help("write to a place that is yours"),
        io::ErrorKind::IsADirectory => failure.help("name a file in it"),
        io::ErrorKind::StorageFull => failure.help("make room, or write to another disk"),
        _ => failure,
    }
}
