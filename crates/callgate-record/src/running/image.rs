//! The program that a process executes: its path, and what changes with each `execve`.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;

use crate::tally::MAX_PATH;

/// The path that the process gave to `execve`; for a script, the path of the script. If it cannot be read, the path of the
/// executable. `None` if the process has ended.
pub(crate) fn executed_path(process: u32) -> Option<Vec<u8>> {
    let given = given_path(process).ok().filter(|path| !path.is_empty());
    let mut path = given.or_else(|| {
        let link = fs::read_link(format!("/proc/{process}/exe")).ok()?;
        Some(link.into_os_string().into_vec())
    })?;
    path.truncate(MAX_PATH);
    Some(path)
}

/// Identifies what a process executes. Each `execve` changes it, unless the kernel chooses the same addresses again. The
/// process can overwrite the path at the top of its stack, but changes the image only with `PR_SET_MM` (checkpoint/restore).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// The kernel's copy of the auxiliary vector.
    auxv: Vec<u8>,
    /// Device and inode of the file.
    file: Option<(u64, u64)>,
}

impl Image {
    pub(crate) fn of(process: u32) -> Image {
        let auxv = fs::read(format!("/proc/{process}/auxv")).unwrap_or_default();
        let file = fs::metadata(format!("/proc/{process}/exe")).ok();
        Image { auxv, file: file.map(|file| (file.dev(), file.ino())) }
    }
}

/// The string that `AT_EXECFN` points to (getauxval(3)): the kernel stores it at the top of the stack.
fn given_path(process: u32) -> io::Result<Vec<u8>> {
    let mut memory = fs::File::open(format!("/proc/{process}/mem"))?;
    memory.seek(SeekFrom::Start(address_of_path(process)?))?;
    let mut bytes = Vec::new();
    // The end of the stack follows after the string.
    let _ = memory.take(MAX_PATH as u64 + 1).read_to_end(&mut bytes);
    Ok(bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_owned())
}

fn address_of_path(process: u32) -> io::Result<u64> {
    const WORD: usize = size_of::<usize>();
    let auxv = fs::read(format!("/proc/{process}/auxv"))?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, usize::from_ne_bytes) as u64;
    let mut entries = auxv.chunks_exact(2 * WORD).map(|entry| entry.split_at(WORD));
    let found = entries.find(|(key, _)| word(key) == libc::AT_EXECFN);
    let (_, address) = found.ok_or(io::ErrorKind::NotFound)?;
    Ok(word(address))
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

    #[test]
    fn an_image_does_not_depend_on_memory_that_the_process_writes() {
        use std::os::unix::fs::FileExt as _;
        let mut child = std::process::Command::new("sh")
            .args(["-c", "echo; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = child.id();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let (image, path) = (Image::of(process), executed_path(process));
        let memory = fs::OpenOptions::new().write(true).open(format!("/proc/{process}/mem"));
        memory.unwrap().write_all_at(b"X", address_of_path(process).unwrap()).unwrap();
        assert_ne!(executed_path(process), path);
        assert_eq!(Image::of(process), image);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_image_changes_with_each_execve() {
        use std::io::Write as _;
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "echo; read line; exec sh -c 'read line'"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = shell.id();
        // `spawn` returns while the kernel still loads the shell.
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let before = Image::of(process);
        assert_eq!(before, Image::of(process));
        let mut input = shell.stdin.take().unwrap();
        input.write_all(b"\n").unwrap();
        let start = std::time::Instant::now();
        while Image::of(process) == before {
            assert!(start.elapsed().as_secs() < 60, "the image does not change");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(input);
        shell.wait().unwrap();
    }
}
