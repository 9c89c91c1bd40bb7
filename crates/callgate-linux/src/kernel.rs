//! Features of the running kernel: its release, and the verdicts and flags that it supports.

use std::io;

use callgate::Verdict;

use crate::sys;
use callgate_bpf::FilterFlags;

/// The release of the running kernel, as `uname -r` prints it: `6.18.44-generic`.
///
/// # Errors
/// If `uname(2)` fails, for example because a filter denies it.
pub fn release() -> io::Result<String> {
    sys::uname_release()
}

/// Whether the kernel supports the action of a verdict (`SECCOMP_GET_ACTION_AVAIL`, Linux 4.14). An unknown action
/// kills the process.
///
/// # Errors
/// If the kernel is older, or a filter denies the syscall.
pub fn knows_action(verdict: Verdict) -> io::Result<bool> {
    match sys::seccomp_action_available(verdict.0 & 0xffff_0000) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the kernel accepts all of these flags for a filter without a listener. Installs nothing.
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
        // Kernels before 4.14 and outer filters return an error.
        for verdict in [Verdict::ALLOW, Verdict::errno(1), Verdict::KILL_THREAD] {
            assert!(knows_action(verdict).unwrap_or(true), "{verdict}");
        }
        assert!(!knows_action(Verdict(0x1234_0000)).unwrap_or(false));
    }
}
