//! What is converted to what.

use crate::Listener;
use crate::languages::LanguageId;
use crate::oci::EnosysAbove;
use crate::systemd::SystemdVersion;
use callgate_bpf::FilterFlags;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;

/// How a filter is converted.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertOptions {
    /// The target language.
    pub target: LanguageId,
    /// The architectures of the filter; empty: those of a policy. Others that it treats in their own way are added.
    pub arches: Vec<Arch>,
    /// Whether to write the nearest stricter policy if the target cannot express the filter.
    pub closest: bool,
    /// The kernel for which the policy is read back.
    pub kernel: KernelVersion,
    /// Whether a container profile is read back with runc's rule that numbers above the largest named one fail with ENOSYS.
    /// `None`: the rule belongs to the runtime; source and policy are compared both with or both without it.
    pub enosys_above: Option<EnosysAbove>,
    /// The version of systemd.
    pub systemd: SystemdVersion,
    /// The name of the thread of a filter of Firecracker, or of a resource of Kubernetes; `None` takes a common one.
    pub name: Option<String>,
    /// The flags with which the filter is installed.
    pub flags: FilterFlags,
    /// The supervisor that handles notifications.
    pub listener: Option<Listener>,
}

impl ConvertOptions {
    /// An exact conversion for Linux 6.18 and the newest known systemd.
    pub fn new(target: LanguageId) -> ConvertOptions {
        ConvertOptions {
            target,
            arches: Vec::new(),
            closest: false,
            kernel: KernelVersion { major: 6, minor: 18 },
            enosys_above: None,
            systemd: SystemdVersion::LATEST,
            name: None,
            flags: FilterFlags::NONE,
            listener: None,
        }
    }
}
