//! Helpers for files and commands whose errors contain the path or the command.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::task::Result;

/// The files of a directory with this extension, sorted by name.
pub fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension() == Some(OsStr::new(extension))).collect();
    files.sort();
    Ok(files)
}

/// The directories in a directory, sorted.
pub fn directories(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut directories: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    directories.sort();
    Ok(directories)
}

/// The name of a file without directory and extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Creates a directory and its parents.
pub fn make(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// Removes a directory with its contents, if it exists.
pub fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// Copies a directory, which gets this path.
pub fn copy(directory: &Path, to: &Path) -> Result<()> {
    run(Command::new("cp").args(["-R", "-T"]).arg(directory).arg(to)).map(drop)
}

/// Runs a command and returns its standard output; if it fails, the error is its standard error.
pub fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{program}: its output is not UTF-8"))
}

/// Runs a command and returns its standard output; if it fails, the error is one line of its standard error.
pub fn output(command: &mut Command) -> Result<String> {
    // Without its directory, because the message may be published.
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let program = program.to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let telling = text.lines().find(|line| line.contains("error")).or(text.lines().last());
    Err(format!("{program}: {}", telling.unwrap_or("failed without a message").trim()))
}
