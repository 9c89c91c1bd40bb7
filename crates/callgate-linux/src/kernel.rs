//! What the running kernel knows: its release, the verdicts and the flags it supports.

use std::io;

use callgate::Verdict;

use crate::sys;
use callgate::bpf::FilterFlags;

/// The release of the running kernel, as `uname -r` prints it: `6.18.44-generic`.
///
/// # Errors
/// When `uname(2)` fails, which it does under a filter that denies it.
pub fn release() -> io::Result<String> {
    sys::uname_release()
}

/// Whether the kernel knows the action of a verdict (`SECCOMP_GET_ACTION_AVAIL`, Linux 4.14). An
/// action that it does not know kills the process.
///
/// # Errors
/// When the kernel cannot be asked: it is older, or a filter forbids the question.
pub fn knows_action(verdict: Verdict) -> io::Result<bool> {
    match sys::seccomp_action_available(verdict.0 & 0xffff_0000) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the kernel takes all these flags for a filter without a listener. Nothing is installed.
pub fn knows_flags(flags: FilterFlags) -> bool {
    sys::seccomp_knows_flags(flags.bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_starts_with_a_version() {
        let release = release().unwrap();
        let major = release.split('.').next().unwrap();
        assert!(major.parse::<u32>().is_ok(), "{release}");
    }

    #[test]
    fn actions_are_known_or_not() {
        // A kernel before 4.14 or an outer filter may refuse the question; then it must say so.
        for verdict in [Verdict::ALLOW, Verdict::errno(1), Verdict::KILL_THREAD] {
            assert!(knows_action(verdict).unwrap_or(true), "{verdict}");
        }
        assert!(!knows_action(Verdict(0x1234_0000)).unwrap_or(false));
    }
}
