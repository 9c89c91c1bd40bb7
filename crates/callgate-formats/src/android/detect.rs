//! Detection of lists of Android.

use super::line::is_entry;
use callgate_bpf::diagnostic::Diagnostic;

/// Whether a text begins as a list: with an entry such as `close(int) all`.
pub(super) fn is_list(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(is_entry)
}

/// Refuses a list whose syscalls are not allowed. As in bionic's genseccomp.py, the name of the file decides.
///
/// # Errors
/// For lists of what is blocked, and of priorities.
pub(super) fn check_list_name(name: &str) -> Result<(), Diagnostic> {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let what = if name.contains("blocklist") || name.contains("blacklist") {
        "a block list has no filter of its own"
    } else if name.ends_with("priority.txt") {
        "a list of priorities has no filter of its own"
    } else {
        return Ok(());
    };
    Err(Diagnostic::error(None, what)
        .help("give the directory libc of bionic, with its lists unchanged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_with_an_entry() {
        for list in ["close(int) all", "# x\n\nint __close:close(int)\tarm,lp64\n"] {
            assert!(is_list(list.as_bytes()), "{list}");
        }
        for text in [
            "",
            "# x",
            "close(3) = 0",
            "futex\nioctl\n",
            "ld [4]\nret ALLOW",
            "f(x) { all }",
            "read: 1",
        ] {
            assert!(!is_list(text.as_bytes()), "{text}");
        }
    }
}
