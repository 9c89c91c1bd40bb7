//! A test suite as a list of commands.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::read;

/// The tests of a program.
pub(super) struct Suite {
    /// The file name of the program that is recorded.
    pub(super) program: &'static str,
    /// Where the tests are from.
    pub(super) origin: Origin,
    /// The directory of the tests, below that of the sources.
    pub(super) directory: &'static str,
    /// Which of the files there are tests.
    pub(super) tests: Tests,
    /// A shell command that prepares the sources, in their directory. It may be repeated.
    pub(super) prepare: &'static str,
    /// A shell command that runs a test in an empty directory. `$SOURCE` is the directory of the sources, `$TEST` the
    /// file of the test and `$NAME` its name without directory and extension.
    pub(super) command: &'static str,
}

/// Where the tests of a program are from.
pub(super) enum Origin {
    /// A source package of Debian.
    Source(&'static str),
    /// A directory that an installed package has.
    Installed(&'static str),
}

/// Which files are tests.
pub(super) enum Tests {
    /// Those whose names begin and end with these texts.
    Named(&'static str, &'static str),
    /// Those whose names begin with a digit.
    Numbered,
    /// Those that contain this text, without Perl scripts.
    Containing(&'static str),
}

impl Suite {
    /// The files of the tests, sorted by name.
    pub(super) fn files(&self, source: &Path) -> Result<Vec<PathBuf>> {
        let directory = source.join(self.directory);
        let mut files = Vec::new();
        let entries = std::fs::read_dir(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            if self.tests.accept(&path)? {
                files.push(path);
            }
        }
        files.sort();
        match files.is_empty() {
            true => Err(format!("{}: no tests there", directory.display())),
            false => Ok(files),
        }
    }
}

impl Tests {
    fn accept(&self, path: &Path) -> Result<bool> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match self {
            Tests::Named(start, end) => Ok(name.starts_with(start) && name.ends_with(end)),
            Tests::Numbered => Ok(name.starts_with(|first: char| first.is_ascii_digit())),
            Tests::Containing(text) => {
                let script = !name.ends_with(".pl") && !name.ends_with(".pm");
                let bytes = read(path)?;
                let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
                Ok(script && bytes.starts_with(b"#!") && found)
            }
        }
    }
}
