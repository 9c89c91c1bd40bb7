//! Where inputs come from: files and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use callgate_requests::source::utf8;
use callgate_trace::read::TextPart;

use super::read_ahead::{ReadAhead, ReadPart};
use super::referenced::identity;
use crate::inputs;
use crate::progress::Progress;
use crate::report::{Failure, Result};
use crate::text::printable;

/// The maximum size of a source. The largest profile in use has 60 kB, the largest program 32 kB.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// The maximum size of a log, which is not kept in memory. strace writes about 100 bytes per syscall.
const MAX_LOG: u64 = 1 << 30;

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Stdin,
    File(PathBuf),
}

impl Place {
    /// The name of standard input in messages.
    pub(super) const STDIN: &str = "<stdin>";

    /// A file, or standard input for `-`.
    pub(crate) fn of_path(path: &Path) -> Place {
        if path.as_os_str() == "-" { Place::Stdin } else { Place::File(path.to_owned()) }
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Stdin => Place::STDIN.to_owned(),
            Place::File(path) => path.display().to_string(),
        }
    }

    /// Tells it from the files that it includes; `None` if it cannot be read.
    pub(super) fn identity(&self) -> Option<String> {
        let path = match self {
            Place::Stdin => Path::new("/dev/stdin"),
            Place::File(path) => path,
        };
        path.metadata().ok().map(|metadata| identity(&metadata))
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let help = "profiles, programs and weights are far smaller; check the file name";
        self.read_at_most(MAX_BYTES, help)
    }

    /// Reads at most this many bytes; `help` is for inputs that are larger.
    pub(crate) fn read_at_most(&self, most: u64, help: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.open()?.take(most + 1).read_to_end(&mut bytes) {
            Ok(count) if count as u64 > most => Err(self.too_large(most, help)),
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// Reads a log, which may be larger than the memory, in parts. Shows the progress.
    pub(crate) fn read_log(&self, mut each: impl FnMut(&mut TextPart) -> Result<()>) -> Result<()> {
        let unreadable = |error: io::Error| self.unreadable(&error);
        // With one byte more than the limit, a log is too large.
        let mut ahead = ReadAhead::start(self.open()?.take(MAX_LOG + 1)).map_err(unreadable)?;
        let mut progress = Progress::new(Instant::now());
        let result = loop {
            let ReadPart { mut part, read } = match ahead.next() {
                Ok(Some(read)) => read,
                Ok(None) => break Ok(()),
                Err(error) => break Err(unreadable(error)),
            };
            if read > MAX_LOG {
                break Err(self.too_large(MAX_LOG, "split it and give all parts"));
            }
            if let Err(failure) = each(&mut part) {
                break Err(failure);
            }
            ahead.reuse(part);
            progress.tell(|| format!("{}: {} MiB read", printable(&self.name()), read >> 20));
        };
        progress.clear();
        result
    }

    /// Reads a log, which may be larger than the memory, in pieces of bytes. Shows the progress.
    pub(crate) fn read_pieces(&self, mut each: impl FnMut(&[u8])) -> Result<()> {
        let mut input = self.open()?.take(MAX_LOG + 1);
        let mut progress = Progress::new(Instant::now());
        let (mut piece, mut read) = (vec![0; 256 << 10], 0);
        let result = loop {
            let count = match input.read(&mut piece) {
                Ok(0) => break Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => break Err(self.unreadable(&error)),
            };
            read += count as u64;
            if read > MAX_LOG {
                break Err(self.too_large(MAX_LOG, "split it, and give the parts one by one"));
            }
            each(piece.get(..count).unwrap_or_default());
            progress.tell(|| format!("{}: {} MiB read", printable(&self.name()), read >> 20));
        };
        progress.clear();
        result
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>> {
        /// Whether standard input was already read.
        static STDIN_IS_TAKEN: AtomicBool = AtomicBool::new(false);
        match self {
            Place::Stdin if STDIN_IS_TAKEN.swap(true, Ordering::Relaxed) => {
                Err(Failure::new("two inputs are standard input, which can be read only once")
                    .help("write one of them to a file"))
            }
            Place::Stdin => {
                let input = io::stdin();
                let copy = input.as_fd().try_clone_to_owned().map(File::from);
                if let Ok(metadata) = copy.and_then(|file| file.metadata()) {
                    inputs::note(&metadata);
                }
                Ok(Box::new(input))
            }
            Place::File(path) => match File::open(path) {
                Ok(file) => {
                    if let Ok(metadata) = file.metadata() {
                        inputs::note(&metadata);
                    }
                    Ok(Box::new(file))
                }
                Err(error) => Err(self.unreadable(&error)),
            },
        }
    }

    fn too_large(&self, most: u64, help: &str) -> Failure {
        Failure::about(
            self.name(),
            format!("the input is larger than {} MiB, the limit", most >> 20),
        )
        .help(help)
    }

    /// Reads text; `help` is for inputs that are not text.
    pub(crate) fn read_text(&self, help: &str) -> Result<String> {
        self.text(self.read()?, help)
    }

    /// Converts bytes to text; `help` is for bytes that are not UTF-8.
    pub(crate) fn text(&self, bytes: Vec<u8>, help: &str) -> Result<String> {
        match utf8(&bytes, "the input is not text: ", help) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(Failure::of(self.name(), vec![error])),
        }
    }

    pub(crate) fn unreadable(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound if self.name().contains('{') => {
                Failure::about(self.name(), "no such file").help(
                    "a text is not read from the command line: give the name of its file, or - and the text on standard input",
                )
            }
            io::ErrorKind::NotFound => Failure::about(self.name(), "no such file")
                .help("give the name of a file that exists, or - for standard input"),
            io::ErrorKind::IsADirectory => Failure::about(self.name(), "this is a directory")
                .help("give the name of a file in it"),
            io::ErrorKind::PermissionDenied => Failure::about(self.name(), "permission denied")
                .help("make the file readable for this user; ls -l shows its permissions"),
            _ => {
                let why = callgate_linux::error_text(error);
                Failure::about(self.name(), format!("cannot read the input: {why}"))
            }
        }
    }
}
