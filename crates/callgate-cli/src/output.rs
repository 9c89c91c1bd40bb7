//! Where results go: standard output, or a file that appears whole or not at all.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use callgate_sys::error_text;

use crate::report::{Failure, Result};

/// The columns of a terminal that everything fits into.
const WIDTH: usize = 80;

/// Writes text to standard output; styles are kept on a terminal only.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stdout_failed)
}

/// Appends text in lines that fit and ends the last one. The first line has `used` columns taken,
/// others start with `indent` blanks.
pub(crate) fn wrap(text: &mut String, words: &str, used: usize, indent: usize) {
    let mut column = used;
    for (i, word) in words.split(' ').enumerate() {
        let length = width(word);
        if i > 0 && column + 1 + length > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

/// Writes bytes to standard output as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(stdout_failed)
}

fn stdout_failed(error: io::Error) -> Failure {
    Failure::new(format!("standard output cannot be written: {}", error_text(&error)))
}

/// Writes a file so that nobody ever sees half of it: into a new file on the same file system, which then
/// takes its place. On an error the old file stays and the new one is gone. What is not a regular file, such
/// as a pipe or `/dev/stdout`, is written in place.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    NewFile::prepare(path)?.finish(bytes)
}

/// The same for recordings.
pub(crate) fn write_recording(path: &Path, bytes: &[u8]) -> Result<()> {
    write_file(path, bytes)
}

/// Writes a file that is not there yet, for its owner alone. In a directory that everybody may write to,
/// nobody's file is overwritten and nobody's link is followed.
pub(crate) fn write_new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(path)))
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
    target: PathBuf,
    /// Its name until then. Where the file system can, it has none, and nothing is left when the process is
    /// killed.
    temporary: Option<Temporary>,
}

/// The name of a file that is removed again.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Once it has taken another's place, there is nothing of this name.
        let _ = fs::remove_file(&self.0);
    }
}

impl NewFile {
    pub(crate) fn prepare(path: &Path) -> Result<NewFile> {
        let failed = |error| unwritable(path, &error);
        let path = path.to_owned();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            Ok(metadata) => {
                // Also when it will be replaced: a file that is write-protected stays.
                let file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
                if !metadata.is_file() {
                    return Ok(NewFile { path, file, replace: None });
                }
            }
            Err(_) => {}
        }
        // Through a symbolic link the file behind it is replaced, not the link.
        let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(file) = unnamed(&target) {
            let replace = Some(Replace { target, temporary: None });
            return Ok(NewFile { path, file, replace });
        }
        let (temporary, file) = create_beside(&target).map_err(failed)?;
        let replace = Some(Replace { target, temporary: Some(temporary) });
        Ok(NewFile { path, file, replace })
    }

    /// The same for results that take long to get: with room on the disk for so many bytes.
    pub(crate) fn reserve(path: &Path, bytes: usize) -> Result<NewFile> {
        let mut new = NewFile::prepare(path)?;
        if new.replace.is_some() {
            let filled = new.file.write_all(&vec![0; bytes]).and_then(|()| new.file.rewind());
            filled.map_err(|error| unwritable(path, &error))?;
        }
        Ok(new)
    }

    /// Writes the bytes, with the permissions that the file had before.
    pub(crate) fn finish(self, bytes: &[u8]) -> Result<()> {
        let NewFile { path, mut file, replace } = self;
        let write = || {
            file.write_all(bytes)?;
            let Some(Replace { target, temporary }) = replace else { return Ok(()) };
            file.set_len(bytes.len() as u64)?;
            let named = match temporary {
                Some(temporary) => Ok((temporary, ())),
                // A name that exists cannot be given, but taken over.
                None => free_name(&target, |path| callgate_sys::give_name(&file, path)),
            };
            let temporary = match named {
                Ok((temporary, ())) => temporary,
                // A sandbox may forbid links.
                Err(_) => {
                    let (temporary, beside) = create_beside(&target)?;
                    file = beside;
                    file.write_all(bytes)?;
                    temporary
                }
            };
            if let Ok(metadata) = fs::metadata(&target) {
                file.set_permissions(metadata.permissions())?;
            }
            fs::rename(&temporary.0, &target)
        };
        write().map_err(|error| unwritable(&path, &error))
    }
}

/// A file without a name where the target is to be; `None` where there can be none, or none could get a name.
fn unnamed(target: &Path) -> Option<File> {
    let directory = match target.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        directory => directory,
    };
    fs::metadata("/proc/self/fd").ok()?;
    callgate_sys::create_unnamed(directory).ok()
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

/// A new file in the directory of `target`.
fn create_beside(target: &Path) -> io::Result<(Temporary, File)> {
    free_name(target, |path| OpenOptions::new().write(true).create_new(true).open(path))
}

/// Makes something with a name in the directory of `target` that nothing has.
fn free_name<T>(
    target: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(Temporary, T)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut attempt = 0u32;
    loop {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}-{attempt}", std::process::id()));
        let path = target.with_file_name(beside);
        match make(&path) {
            Ok(made) => return Ok((Temporary(path), made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Writes a program's bytes to a file, or to standard output unless that is a terminal.
pub(crate) fn write_program(path: Option<&Path>, bytes: &[u8]) -> Result<()> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => write_file(path, bytes),
        None if io::stdout().is_terminal() => {
            Err(Failure::new("raw instructions are not written to a terminal")
                .help("name a file with -o FILE, or send them through a pipe"))
        }
        None => print_bytes(bytes),
    }
}
