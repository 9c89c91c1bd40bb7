//! Commands that replace this process, under a filter.
//!
//! The order matters. First, the command is looked up and its arguments are converted to C strings, because the filter
//! may deny syscalls that this needs. Then come `no_new_privs`, the filter, and `execve` as the next syscall. There is no
//! fork: the command keeps the process ID, the terminal, the open files and the parent, which sees its exit status
//! or signal.
//!
//! Lookup and exit statuses follow POSIX (Shell Command Language, 2.9.1): a name with a slash is a path; other names are
//! searched in `PATH`, where an empty part is the current directory; 127 means "not found", 126 "found, but not
//! executable". A file whose format the kernel does not know is passed to `/bin/sh`, as by `execvp(3)`.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libc::c_int;

use crate::sys::{self, Argv, Disposition};

/// The interpreter of scripts without a `#!` line.
const SHELL: &CStr = c"/bin/sh";

/// The search path if `PATH` is not set (`confstr(_CS_PATH)` of glibc).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A command that was found and can be executed.
pub struct Command {
    path: CString,
    argv: Argv,
    /// The same for the shell: `/bin/sh path arguments…`.
    shell_argv: Argv,
    signals: Vec<(c_int, Disposition)>,
}

impl Command {
    /// Finds the program for `words`, its name and arguments, in the `PATH` of this process.
    ///
    /// # Errors
    /// If there is no word, no file of that name, or none that may be executed.
    pub fn find(words: &[OsString]) -> Result<Command, CommandError> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        Command::find_in(words, &path)
    }

    /// Like [`find`](Command::find), with a given search path in the format of `PATH`.
    ///
    /// # Errors
    /// Those of [`Command::find`].
    pub fn find_in(words: &[OsString], search: &OsStr) -> Result<Command, CommandError> {
        let Some(name) = words.first().filter(|name| !name.is_empty()) else {
            return Err(CommandError { kind: CommandErrorKind::Empty });
        };
        let strings = words
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<CString>, _>>()
            .map_err(|_| CommandError { kind: CommandErrorKind::ZeroByte })?;
        let path = look_up(name, search)?;
        let shell_argv = [SHELL.to_owned(), path.clone()]
            .into_iter()
            .chain(strings.iter().skip(1).cloned())
            .collect();
        Ok(Command {
            path,
            argv: Argv::new(strings),
            shell_argv: Argv::new(shell_argv),
            signals: vec![],
        })
    }

    /// Signals whose disposition the command must not inherit from this process. For example, Rust's runtime ignores
    /// SIGPIPE.
    #[must_use]
    pub fn with_signals(mut self, signals: Vec<(c_int, Disposition)>) -> Command {
        self.signals = signals;
        self
    }

    /// Sets the dispositions of [`with_signals`](Command::with_signals), in the process that becomes the command. Call
    /// this before installing a filter, which may deny these syscalls. Async-signal-safe.
    pub fn restore_signals(&self) {
        for (signal, disposition) in &self.signals {
            sys::set_disposition(*signal, *disposition);
        }
    }

    /// The file that will be executed.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.path.to_bytes()))
    }

    /// Replaces this process by the command. Returns only if that failed.
    ///
    /// Makes no other syscall, except for a second `execve` for a script without `#!` line.
    pub fn exec(&self) -> ExecError {
        self.failed(self.replace_process())
    }

    /// Like [`exec`](Command::exec), but allocates no memory: for the child after `fork`.
    pub fn replace_process(&self) -> io::Error {
        let error = sys::execve(&self.path, &self.argv);
        match error.raw_os_error() {
            Some(libc::ENOEXEC) => sys::execve(SHELL, &self.shell_argv),
            _ => error,
        }
    }

    /// The error to report when [`replace_process`](Command::replace_process) failed.
    pub fn failed(&self, error: io::Error) -> ExecError {
        ExecError { path: self.path().to_owned(), error }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The file that a command name stands for.
fn look_up(name: &OsStr, search: &OsStr) -> Result<CString, CommandError> {
    let error = |kind| Err(CommandError { kind });
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match executable(&path) {
            Ok(found) => Ok(found),
            Err(Refusal::Missing) => error(CommandErrorKind::NoFile(path)),
            Err(Refusal::Directory) => error(CommandErrorKind::Directory(path)),
            Err(Refusal::Denied(why) | Refusal::Unreachable(why)) => {
                error(CommandErrorKind::NotExecutable(path, why))
            }
        };
    }
    let mut denied = None;
    for part in search.as_bytes().split(|byte| *byte == b':') {
        let directory = if part.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(part) };
        let path = Path::new(directory).join(name);
        match executable(&path) {
            Ok(found) => return Ok(found),
            // A directory that may not be searched is skipped.
            Err(Refusal::Missing | Refusal::Directory | Refusal::Unreachable(_)) => {}
            Err(Refusal::Denied(why)) => denied = denied.or(Some((path, why))),
        }
    }
    match denied {
        Some((path, why)) => error(CommandErrorKind::NotExecutable(path, why)),
        None => error(CommandErrorKind::NotInPath(name.to_owned())),
    }
}

/// Why a file is not the command.
enum Refusal {
    Missing,
    Directory,
    /// It may exist: a directory of its path cannot be searched.
    Unreachable(io::Error),
    /// It exists.
    Denied(io::Error),
}

fn executable(path: &Path) -> Result<CString, Refusal> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refusal::Missing,
        _ => Refusal::Unreachable(error),
    })?;
    if metadata.is_dir() {
        return Err(Refusal::Directory);
    }
    let path =
        CString::new(path.as_os_str().to_owned().into_vec()).map_err(|_| Refusal::Missing)?;
    if !metadata.is_file() {
        return Err(Refusal::Denied(io::Error::from_raw_os_error(libc::EACCES)));
    }
    sys::may_execute(&path).map_err(Refusal::Denied)?;
    Ok(path)
}

/// Why a command cannot be executed, before trying to.
#[derive(Debug)]
pub struct CommandError {
    kind: CommandErrorKind,
}

#[derive(Debug)]
enum CommandErrorKind {
    Empty,
    ZeroByte,
    NotInPath(OsString),
    NoFile(PathBuf),
    Directory(PathBuf),
    NotExecutable(PathBuf, io::Error),
}

impl CommandError {
    /// The exit status that a shell reports: 127 not found, 126 not executable; 2 for an invalid command.
    pub fn exit_status(&self) -> u8 {
        match self.kind {
            CommandErrorKind::Empty | CommandErrorKind::ZeroByte => 2,
            CommandErrorKind::NotInPath(_) | CommandErrorKind::NoFile(_) => 127,
            CommandErrorKind::Directory(_) | CommandErrorKind::NotExecutable(..) => 126,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            CommandErrorKind::Empty => f.write_str("the command is empty"),
            CommandErrorKind::ZeroByte => f.write_str("the command contains a zero byte"),
            CommandErrorKind::NotInPath(name) => {
                write!(f, "{}: command not found in PATH", Path::new(name).display())
            }
            CommandErrorKind::NoFile(path) => write!(f, "{}: no such file", path.display()),
            CommandErrorKind::Directory(path) => {
                write!(f, "{}: is a directory, not a command", path.display())
            }
            CommandErrorKind::NotExecutable(path, why) => {
                write!(f, "{}: cannot be executed: {}", path.display(), sys::error_text(why))
            }
        }
    }
}

impl std::error::Error for CommandError {}

/// Why `execve` failed for a command that was found. The filter is installed by then.
#[derive(Debug)]
pub struct ExecError {
    path: PathBuf,
    error: io::Error,
}

impl ExecError {
    /// The exit status that a shell reports: 127 if a file does not exist (the interpreter, because the command itself was
    /// found), otherwise 126.
    pub fn exit_status(&self) -> u8 {
        if self.error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot be executed: {}", self.path.display(), sys::error_text(&self.error))?;
        if self.error.kind() == io::ErrorKind::NotFound {
            f.write_str(" (its interpreter does not exist)")?;
        }
        Ok(())
    }
}

impl std::error::Error for ExecError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn scratch(name: &str) -> PathBuf {
        let name = format!("callgate-{name}-{}", std::process::id());
        // Beside the test if possible: a temporary directory may be mounted without permission to execute.
        let beside = std::env::current_exe().unwrap().with_file_name(&name);
        let elsewhere = std::env::temp_dir().join(&name);
        let mut places = [beside, elsewhere].into_iter();
        places.find(|directory| fs::create_dir_all(directory).is_ok()).unwrap()
    }

    #[test]
    fn the_search_skips_files_that_are_not_executable() {
        let directory = scratch("search");
        for (part, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            fs::create_dir_all(directory.join(part)).unwrap();
            let file = directory.join(part).join("tool");
            fs::write(&file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir_all(directory.join("d/tool")).unwrap();
        let search = |parts: &[&str]| {
            let paths: Vec<_> = parts.iter().map(|part| directory.join(part)).collect();
            Command::find_in(&words(&["tool", "x"]), &std::env::join_paths(paths).unwrap())
        };
        let found = search(&["none", "d", "a", "b", "c"]).unwrap();
        assert_eq!(found.path(), directory.join("b/tool"));
        assert_eq!(search(&["d", "a"]).unwrap_err().exit_status(), 126);
        assert_eq!(search(&["d", "none"]).unwrap_err().exit_status(), 127);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_path_is_not_searched() {
        let find = |name: &str| Command::find_in(&words(&[name]), OsStr::new(""));
        assert_eq!(find("/bin/sh").unwrap().path(), Path::new("/bin/sh"));
        for (name, status, text) in [
            ("/", 126, "is a directory"),
            ("/nonexistent/x", 127, "no such file"),
            ("/bin/sh/x", 127, "no such file"),
            ("/dev/null", 126, "cannot be executed"),
            ("", 2, "the command is empty"),
            ("a\0b", 2, "zero byte"),
        ] {
            let error = find(name).unwrap_err();
            assert_eq!(error.exit_status(), status, "{name:?}");
            assert!(error.to_string().contains(text), "{error}");
        }
        assert_eq!(Command::find(&[]).unwrap_err().exit_status(), 2);
    }
}
