//! Runs snap-seccomp, and reads its output: a header of 128 bytes, the filter that allows, and the filter that denies.

use std::path::Path;
use std::process::Command;

use callgate::Endian;
use callgate_core::LongProgram;

use callgate_tasks::files::{make, read, write};
use callgate_tasks::{Result, workspace};

/// The size of the header.
const HEADER: usize = 128;

/// What snap-seccomp makes of a profile: the filters in the order of installation, or its messages.
pub(crate) fn compile(
    compiler: &Path,
    profile: &str,
) -> Result<std::result::Result<Vec<LongProgram>, String>> {
    let work = workspace().join("target/snap");
    make(&work)?;
    let (input, out) = (work.join("profile.src"), work.join("profile.bin2"));
    write(&input, profile)?;
    let output = Command::new(compiler)
        .arg("compile")
        .args([&input, &out])
        .output()
        .map_err(|error| format!("{}: {error}", compiler.display()))?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        return match output.status.code() {
            Some(_) => Ok(Err(messages)),
            None => Err(format!("{}: {}: {messages}", compiler.display(), output.status)),
        };
    }
    let bytes = read(&out)?;
    let wrong = || format!("{}: its output has an unknown form", compiler.display());
    let header =
        bytes.get(..HEADER).filter(|header| header.starts_with(b"SC\x01")).ok_or_else(wrong)?;
    if header.get(3) == Some(&1) {
        return Ok(Err("unrestricted".to_owned()));
    }
    let length = |at: usize| -> Result<usize> {
        let field = header.get(at..at + 4).and_then(|field| field.try_into().ok());
        field.map(|field| u32::from_ne_bytes(field) as usize).ok_or_else(wrong)
    };
    let (allow, deny) = (length(8)?, length(12)?);
    let filter = |from: usize, length: usize| -> Result<LongProgram> {
        let bytes = bytes.get(from..from + length).ok_or_else(wrong)?;
        LongProgram::from_bytes(bytes, Endian::NATIVE)
            .map_err(|error| format!("{}: {error}", wrong()))
    };
    Ok(Ok(vec![filter(HEADER + allow, deny)?, filter(HEADER, allow)?]))
}
