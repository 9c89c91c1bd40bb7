//! Where inputs come from: files and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::progress::Progress;
use crate::report::{Failure, Result};
use crate::text::printable;

/// The most that is read from the file of a source. The largest profile in use has 60 kB, the largest program 32 kB.
const MAX_BYTES: u64 = 16 << 20;

/// The most that is read of a log, which is not kept. strace writes about 100 bytes for a call.
const MAX_LOG: u64 = 1 << 30;

/// How many bytes of a log are read at a time.
const PIECE: usize = 256 << 10;

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Stdin,
    File(PathBuf),
}

impl Place {
    /// A file, or standard input for `-`.
    pub(crate) fn of_path(path: &Path) -> Place {
        if path.as_os_str() == "-" { Place::Stdin } else { Place::File(path.to_owned()) }
    }

    /// As messages name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Stdin => "<stdin>".to_owned(),
            Place::File(path) => path.display().to_string(),
        }
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let help = "profiles, programs and weights are far smaller; is this the right file?";
        self.read_at_most(MAX_BYTES, help)
    }

    /// Reads what may have so many bytes; `help` says what to do when it has more.
    pub(crate) fn read_at_most(&self, most: u64, help: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.open()?.take(most + 1).read_to_end(&mut bytes) {
            Ok(count) if count as u64 > most => Err(self.too_large(most, help)),
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// Reads the log of a tool, which may be longer than the memory: `each` gets it in pieces. Progress is shown.
    pub(crate) fn read_log(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut file = self.open()?;
        let mut progress = Progress::new(Instant::now());
        let (mut piece, mut read) = (vec![0; PIECE], 0);
        let result = loop {
            match file.read(&mut piece) {
                Ok(0) => break Ok(()),
                Ok(count) => {
                    read += count as u64;
                    if read > MAX_LOG {
                        break Err(self.too_large(MAX_LOG, "split it, and give all parts"));
                    }
                    if let Err(failure) = each(&piece[..count]) {
                        break Err(failure);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(self.unreadable(&error)),
            }
            progress.tell(|| format!("{}: {} MiB read", printable(&self.name()), read >> 20));
        };
        progress.clear();
        result
    }

    fn open(&self) -> Result<Box<dyn Read>> {
        /// Whether an input was read from standard input: there is one only.
        static STDIN_IS_TAKEN: AtomicBool = AtomicBool::new(false);
        match self {
            Place::Stdin if STDIN_IS_TAKEN.swap(true, Ordering::Relaxed) => {
                Err(Failure::new("two inputs are to be read from standard input")
                    .help("put one of them into a file"))
            }
            Place::Stdin => Ok(Box::new(io::stdin().lock())),
            Place::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(self.unreadable(&error)),
            },
        }
    }

    fn too_large(&self, most: u64, help: &str) -> Failure {
        Failure::about(self.name(), format!("larger than {} MiB", most >> 20)).help(help)
    }

    /// Reads a text; `help` says what to do when it is none.
    pub(crate) fn read_text(&self, help: &str) -> Result<String> {
        self.text(self.read()?, help)
    }

    /// The bytes as text; `help` says what to do when they are none.
    pub(crate) fn text(&self, bytes: Vec<u8>, help: &str) -> Result<String> {
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::about(self.name(), format!("not text: byte {at} is no part of UTF-8"))
                .help(help)
        })
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound => Failure::about(self.name(), "no such file")
                .help("give the name of a file that exists, or - for standard input"),
            io::ErrorKind::IsADirectory => {
                Failure::about(self.name(), "is a directory").help("give the name of a file in it")
            }
            io::ErrorKind::PermissionDenied => Failure::about(self.name(), "permission denied")
                .help("make the file readable for this user (ls -l shows who may read it)"),
            _ => {
                let why = callgate_linux::error_text(error);
                Failure::about(self.name(), format!("cannot be read: {why}"))
            }
        }
    }
}
