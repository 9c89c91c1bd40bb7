//! What a process executes, by the path that was given to `execve`.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStringExt as _;

use crate::tally::MAX_PATH;

/// The path by which a process executed its program; for a script, that of the script. If it cannot be read, the path of
/// the file that is executed. `None` if the process has ended.
pub(crate) fn executed_path(process: u32) -> Option<Vec<u8>> {
    let given = given_path(process).ok().filter(|path| !path.is_empty());
    let mut path = given.or_else(|| {
        let link = fs::read_link(format!("/proc/{process}/exe")).ok()?;
        Some(link.into_os_string().into_vec())
    })?;
    path.truncate(MAX_PATH);
    Some(path)
}

/// The string that `AT_EXECFN` points to (getauxval(3)): the kernel stores it at the top of the stack.
fn given_path(process: u32) -> io::Result<Vec<u8>> {
    const WORD: usize = size_of::<usize>();
    let auxv = fs::read(format!("/proc/{process}/auxv"))?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, usize::from_ne_bytes) as u64;
    let mut entries = auxv.chunks_exact(2 * WORD).map(|entry| entry.split_at(WORD));
    let found = entries.find(|(key, _)| word(key) == libc::AT_EXECFN);
    let (_, address) = found.ok_or(io::ErrorKind::NotFound)?;
    let mut memory = fs::File::open(format!("/proc/{process}/mem"))?;
    memory.seek(SeekFrom::Start(word(address)))?;
    let mut bytes = Vec::new();
    // The end of the stack follows after the string.
    let _ = memory.take(MAX_PATH as u64 + 1).read_to_end(&mut bytes);
    Ok(bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_path_that_it_was_executed_by() {
        let own = executed_path(std::process::id()).unwrap();
        let first = std::env::args_os().next().unwrap().into_vec();
        assert_eq!(String::from_utf8_lossy(&own), String::from_utf8_lossy(&first));
        assert_eq!(executed_path(u32::MAX), None);
    }
}
