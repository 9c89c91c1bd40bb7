//! Options of generated profiles.

use super::namespaces::AllowedNamespaces;
use super::runtime::Runtime;
use super::systemd_versions::NEWEST;
use callgate_core::{Arch, Verdict};

/// How a profile is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateOptions {
    /// The architectures of the profile. Empty: those with recorded syscalls.
    pub arches: Vec<Arch>,
    /// Whether to grant syscalls that other C libraries call instead of recorded ones.
    pub complete: bool,
    /// Which arguments are limited.
    pub arguments: LimitedArgs,
    /// What happens to all other syscalls.
    pub deny: DenyAction,
    /// The program that installs the filter.
    pub runtime: Runtime,
    /// The version of systemd for units, at least [`OLDEST_SYSTEMD`](super::OLDEST_SYSTEMD). Syscalls that it does not
    /// know are omitted.
    pub systemd: u16,
    /// The name of a `SeccompProfile` resource.
    pub resource: String,
    /// Which namespaces the profile lets programs create.
    pub namespaces: AllowedNamespaces,
    /// Whether to grant what C libraries and the recorded language runtimes may do at any time.
    pub runtime_calls: bool,
    /// Whether recordings are accepted whose caveats say that syscalls are missing.
    pub partial: bool,
}

impl Default for GenerateOptions {
    /// For runc and crun: complete, stable arguments limited, ENOSYS for all other syscalls.
    fn default() -> GenerateOptions {
        GenerateOptions {
            arches: Vec::new(),
            complete: true,
            arguments: LimitedArgs::Stable,
            deny: DenyAction::Enosys,
            runtime: Runtime::Oci,
            systemd: NEWEST,
            resource: "generated-profile".to_owned(),
            namespaces: AllowedNamespaces::Recorded { and: 0 },
            runtime_calls: true,
            partial: false,
        }
    }
}

/// Which arguments are limited to recorded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedArgs {
    /// None.
    Off,
    /// Arguments whose other values are additional privileges, and arguments with stable values.
    Stable,
    /// All that can be limited, even if they were observed only once.
    All,
}

/// What happens to a syscall that is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyAction {
    /// It fails with ENOSYS, as on a kernel without it, so programs and libraries fall back.
    Enosys,
    /// It fails with EPERM, so programs report that it is not permitted.
    Eperm,
    /// The process is killed with SIGSYS.
    Kill,
    /// It is logged and executed, to try out a profile.
    Log,
}

impl DenyAction {
    /// The verdict. The number of ENOSYS depends on the architecture.
    pub const fn verdict(self, arch: Arch) -> Verdict {
        match self {
            DenyAction::Enosys => Verdict::errno(arch.enosys()),
            DenyAction::Eperm => Verdict::errno(1),
            DenyAction::Kill => Verdict::KILL_PROCESS,
            DenyAction::Log => Verdict::LOG,
        }
    }

    /// A description for people: what happens, and why this may be wanted.
    pub const fn description(self) -> &'static str {
        match self {
            DenyAction::Enosys => {
                "other syscalls fail with ENOSYS, as on an older kernel: libraries fall back"
            }
            DenyAction::Eperm => {
                "other syscalls fail with EPERM: programs report that they are not permitted"
            }
            DenyAction::Kill => "other syscalls kill the process: it cannot continue",
            DenyAction::Log => "other syscalls are executed and logged: to try out the profile",
        }
    }
}
