//! Kafel policies: the files that they include, and their detection.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use callgate::formats::kafel::{self, Included};

use super::filter::Filter;
use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};
use crate::text::printable;

/// The maximum size of an included file; the reader limits all files together to the same size.
const MAX_INCLUDED: u64 = 10 << 20;

/// Reads a policy. Included files are found relative to the file that includes them; for standard input, relative to
/// the current directory.
pub(super) fn read_policy(place: &Place, text: &str, options: &SourceOptions) -> Result<Filter> {
    let reading = options.of_kafel()?;
    let directory = match place {
        Place::File(path) => path.parent().map_or_else(PathBuf::new, Path::to_owned),
        Place::Stdin => PathBuf::new(),
    };
    let mut include = |name: &str, from: Option<&str>| {
        let beside = from.and_then(|from| Path::new(from).parent()).unwrap_or(&directory);
        included(&beside.join(name))
    };
    let profile = kafel::read_with_includes(text, &reading, &mut include)
        .map_err(|errors| Failure::of(place.name(), errors))?;
    options.warn_about_containers(&place.name());
    Ok(Filter::of_profile(place.name(), profile))
}

fn included(path: &Path) -> std::result::Result<Included, String> {
    let name = path.display().to_string();
    let fail = |error: std::io::Error| {
        format!("{}: {}", printable(&name), callgate_linux::error_text(&error))
    };
    // A policy may come from someone else: opening a FIFO must not wait for a writer, and devices are not read.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(format!("{} is not a regular file", printable(&name)));
    }
    let mut bytes = Vec::new();
    file.take(MAX_INCLUDED + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_INCLUDED {
        return Err(format!(
            "{} is larger than {} MiB, the limit",
            printable(&name),
            MAX_INCLUDED >> 20
        ));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", printable(&name)))?;
    Ok(Included { name, text })
}

/// Whether a text begins as a policy: after comments and directives, with a keyword and what may follow it.
pub(super) fn is_policy(text: &[u8]) -> bool {
    /// Words with which a statement begins, and the bytes that may follow them.
    const STARTS: &[(&[u8], &[u8])] = &[
        (b"POLICY", b" \t\r\n"),
        (b"USE", b" \t\r\n"),
        (b"DEFAULT", b" \t\r\n"),
        (b"ALLOW", b" \t\r\n{"),
        (b"LOG", b" \t\r\n{"),
        (b"KILL", b" \t\r\n{"),
        (b"KILL_PROCESS", b" \t\r\n{"),
        (b"KILL_THREAD", b" \t\r\n{"),
        (b"DENY", b" \t\r\n{"),
        (b"USER_NOTIF", b" \t\r\n{"),
        (b"ERRNO", b" \t\r\n("),
        (b"TRAP", b" \t\r\n("),
        (b"TRACE", b" \t\r\n("),
    ];
    let mut rest = text.trim_ascii_start();
    loop {
        let skipped = if rest.starts_with(b"//") || rest.starts_with(b"#") {
            rest.iter().position(|byte| *byte == b'\n')
        } else if let Some(comment) = rest.strip_prefix(b"/*") {
            comment.windows(2).position(|end| end == b"*/").map(|at| at + 4)
        } else {
            break;
        };
        let Some(after) = skipped.and_then(|at| rest.get(at..)) else { return false };
        rest = after.trim_ascii_start();
    }
    STARTS.iter().any(|(word, next)| {
        let after = rest.strip_prefix(*word).and_then(<[u8]>::first);
        after.is_some_and(|byte| next.contains(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_begin_with_a_keyword() {
        for policy in [
            "POLICY a {}",
            "// x\n/* y */ #define A 1\nUSE a DEFAULT KILL",
            "ALLOW{read}",
            "#include \"x\"\nERRNO(1) { read }",
            "DEFAULT KILL",
        ] {
            assert!(is_policy(policy.as_bytes()), "{policy}");
        }
        for text in [
            "",
            "#define A 1",
            "#",
            "LOG: ret #0",
            "ret ALLOW",
            "// ALLOW",
            "{ 0x20, 0, 0, 0 }",
            "ALLOWED x",
            "/* POLICY a {}",
        ] {
            assert!(!is_policy(text.as_bytes()), "{text}");
        }
    }
}
