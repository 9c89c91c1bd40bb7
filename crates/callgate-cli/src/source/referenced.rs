//! Files that a source names or has beside it: included files and drop-ins.
//!
//! The source may come from someone else, so such a file must be a regular one: opening a FIFO would wait for a writer,
//! and reading a device may have effects. A file that is named on the command line may be anything.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use callgate_requests::source::{NamedText, utf8};

use crate::inputs;
use crate::report::Failure;
use crate::text::printable;

/// The content of a file.
pub(super) struct Referenced {
    pub(super) bytes: Vec<u8>,
    /// Tells it from all other files.
    pub(super) identity: String,
}

/// Reads a regular file of at most this many bytes. The error contains the path.
pub(super) fn read_referenced(path: &Path, most: u64) -> Result<Referenced, String> {
    let name = path.display().to_string();
    let fail = |error: std::io::Error| {
        format!("{}: {}", printable(&name), callgate_linux::error_text(&error))
    };
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(format!("{} is not a regular file", printable(&name)));
    }
    inputs::note(&metadata);
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > most {
        return Err(format!("{} is larger than {} MiB, the limit", printable(&name), most >> 20));
    }
    Ok(Referenced { bytes, identity: identity(&metadata) })
}

/// The text of a file that must be UTF-8; `help` is for one that is not.
pub(super) fn named_text(name: String, bytes: Vec<u8>, help: &str) -> Result<NamedText, Failure> {
    match utf8(&bytes, "", help) {
        Ok(text) => Ok(NamedText::of(&name, text, "")),
        Err(error) => Err(Failure::of(name, vec![error])),
    }
}

/// Tells a file from all other files: device and inode.
pub(super) fn identity(metadata: &Metadata) -> String {
    format!("{}:{}", metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(path: &str, most: u64) -> String {
        read_referenced(Path::new(path), most).err().unwrap_or_default()
    }

    #[test]
    fn a_file_has_one_identity_by_all_its_paths() {
        let of = |path: &str| read_referenced(Path::new(path), 1 << 20).unwrap().identity;
        assert_eq!(of("Cargo.toml"), of("src/../Cargo.toml"));
        assert_ne!(of("Cargo.toml"), of("src/main.rs"));
    }

    #[test]
    fn only_regular_files_up_to_a_size_are_read() {
        assert_eq!(fails("/dev/zero", 1), "/dev/zero is not a regular file");
        assert_eq!(fails("src", 1), "src is not a regular file");
        assert_eq!(fails("Cargo.toml", 1), "Cargo.toml is larger than 0 MiB, the limit");
        assert!(fails("no such file", 1).starts_with("no such file: "));
    }
}
