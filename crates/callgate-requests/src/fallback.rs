//! Syscalls for which ENOSYS is an answer on purpose: the libraries that make them use an older syscall then.
//!
//! Sources: glibc (`clone-internal.c`, `fstatat64.c`, `faccessat.c`, `fchmodat.c`, `closefrom.c`, `renameat2.c`, `preadv2.c`,
//! `epoll_pwait2.c`, `rtld.c`), Rust's standard library (`sys/fs`), Go (`os/pidfd_linux.go`, `internal/sysrand`).

use callgate::{Arch, Verdict};

/// What libraries use if a syscall fails with ENOSYS; `None` if that is not known.
pub fn fallback(name: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 12] = [
        ("clone3", "clone"),
        ("close_range", "closing each descriptor"),
        ("copy_file_range", "read and write"),
        ("epoll_pwait2", "epoll_pwait"),
        ("faccessat2", "faccessat"),
        ("fchmodat2", "fchmodat"),
        ("getrandom", "/dev/urandom"),
        ("pidfd_open", "the numbers of processes"),
        ("preadv2", "preadv"),
        ("renameat2", "renameat"),
        ("rseq", "working without it"),
        ("statx", "fstatat"),
    ];
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, then)| *then)
}

/// The sentence for a syscall that a filter answers with ENOSYS on purpose.
pub fn on_purpose(arch: Option<Arch>, name: &str, verdict: Verdict) -> Option<String> {
    let enosys = Verdict::errno(arch?.enosys());
    let then = fallback(name).filter(|_| verdict == enosys)?;
    Some(format!(
        "ENOSYS is the answer on purpose: libraries take it for an older kernel and fall back to {then}; nothing to change"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enosys_is_an_answer_on_purpose() {
        let of = |name, errno| on_purpose(Some(Arch::X86_64), name, Verdict::errno(errno));
        assert!(of("clone3", 38).is_some_and(|text| text.contains("fall back to clone;")));
        assert_eq!(of("clone3", 1), None);
        assert_eq!(of("mount", 38), None);
        assert_eq!(on_purpose(None, "clone3", Verdict::errno(38)), None);
    }
}
