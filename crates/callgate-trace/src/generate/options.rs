//! What a profile should be like.

use super::{Draft, GenerateError, NEWEST_SYSTEMD, Runtime};
use crate::recording::Recording;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;

/// What a profile should be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Exactly these architectures. Empty: those of which calls were recorded.
    pub arches: Vec<Arch>,
    /// Whether calls are granted that stand for recorded ones in other C libraries.
    pub complete: bool,
    /// Which arguments are limited.
    pub arguments: Arguments,
    /// What happens to all other calls.
    pub deny: Deny,
    /// Who installs the filter.
    pub runtime: Runtime,
    /// The version of systemd that a unit is for, at least [`OLDEST_SYSTEMD`](super::OLDEST_SYSTEMD): calls that it does not know are
    /// left out.
    pub systemd: u16,
    /// Whether recordings will do that say of themselves that calls are missing.
    pub partial: bool,
}

impl Default for Options {
    /// For runc and crun: complete, stable arguments limited, ENOSYS for the rest.
    fn default() -> Options {
        Options {
            arches: Vec::new(),
            complete: true,
            arguments: Arguments::Stable,
            deny: Deny::Enosys,
            runtime: Runtime::Oci,
            systemd: NEWEST_SYSTEMD,
            partial: false,
        }
    }
}

/// Which arguments are limited to recorded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// None.
    Off,
    /// Those whose other values are privileges of their own, and those that are stable.
    Stable,
    /// All that can be limited, however little was seen of them.
    All,
}

/// What happens to a call that is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deny {
    /// It fails with ENOSYS, as on a kernel that does not have it: programs and libraries fall back.
    Enosys,
    /// It fails with EPERM: programs say that something is not permitted.
    Eperm,
    /// The process is killed with SIGSYS.
    Kill,
    /// It is logged and executed: to try a profile out.
    Log,
}

impl Deny {
    /// The verdict; ENOSYS has not the same number everywhere.
    pub const fn verdict(self, arch: Arch) -> Verdict {
        match self {
            Deny::Enosys => Verdict::errno(arch.enosys()),
            Deny::Eperm => Verdict::errno(1),
            Deny::Kill => Verdict::KILL_PROCESS,
            Deny::Log => Verdict::LOG,
        }
    }

    /// Why one would choose it, for people.
    pub const fn why(self) -> &'static str {
        match self {
            Deny::Enosys => {
                "other calls fail with ENOSYS, as on an older kernel: libraries fall back"
            }
            Deny::Eperm => "other calls fail with EPERM: programs say that it is not permitted",
            Deny::Kill => "other calls kill the process: nothing goes on after a surprise",
            Deny::Log => "other calls run and are logged: to try the profile out",
        }
    }
}

/// Makes a profile that allows what was recorded, all together, and as little else as the options say.
///
/// # Errors
/// When nothing was recorded for the architectures, when they have different byte orders, or when calls
/// are missing in a recording ([`Effect::Incomplete`](crate::recording::Effect::Incomplete)) and
/// [`Options::partial`] does not permit it.
pub fn generate(recordings: &[Recording], options: &Options) -> Result<Draft, GenerateError> {
    super::draft::draft(recordings, options)
}

/// `once`, `2 times`.
pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
