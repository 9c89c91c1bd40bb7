//! Writes results to standard output, or to files atomically.

mod new_file;
mod place;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use callgate_linux::error_text;

use crate::report::{Failure, Result};

pub(crate) use new_file::{
    NewFile, remove_file, rename_file, write_file, write_file_in, write_new_file, write_recording,
    write_recording_in,
};
pub(crate) use place::Directory;

pub(crate) use crate::wrapping::{columns, width, wrap};

/// Writes text to standard output; keeps styles only on a terminal.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stdout_failed)
}

/// A text without styles, for a file.
pub(crate) fn text_of(styled: &str) -> String {
    anstream::adapter::strip_str(styled).to_string()
}

/// Writes bytes to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(stdout_failed)
}

fn stdout_failed(error: io::Error) -> Failure {
    Failure::new(format!("cannot write to standard output: {}", error_text(&error)))
}

/// Writes a program's bytes to a file, or to standard output unless that is a terminal.
pub(crate) fn write_program(path: Option<&Path>, bytes: &[u8]) -> Result<()> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => write_file(path, bytes),
        None if io::stdout().is_terminal() => {
            Err(Failure::new("refusing to write raw instructions to a terminal")
                .help("write to a file with -o FILE, or to a pipe"))
        }
        None => print_bytes(bytes),
    }
}
