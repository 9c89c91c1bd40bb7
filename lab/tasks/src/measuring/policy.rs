//! Profiles as rules that libseccomp can compile, too.

use callgate::Arch;
use callgate_bpf::diagnostic::Severity;
use callgate_core::policy::Policy;
use callgate_formats::{container_default, oci};
use callgate_tasks::Result;

/// As libseccomp, which does not generate runc's rule for new numbers; for this machine alone.
fn reading() -> Result<oci::ReadOptions> {
    let arch = Arch::native().ok_or("unknown architecture")?;
    let kernel = callgate_linux::kernel::release().map_err(|error| error.to_string())?;
    let version = kernel.parse().map_err(|error| format!("{kernel}: {error}"))?;
    Ok(oci::ReadOptions {
        arches: vec![arch],
        enosys_above: Some(oci::EnosysAbove::Off),
        ..oci::ReadOptions::new(arch, version)
    })
}

/// The rules of the profile `container-default`.
pub(crate) fn built_in_policy() -> Result<Policy> {
    Ok(container_default(&reading()?).map_err(|error| error.to_string())?.policy)
}

/// The rules of a container profile.
pub(super) fn policy(text: &str) -> Result<Policy> {
    let profile = oci::read(text, &reading()?).map_err(|messages| {
        let errors = messages.iter().filter(|message| message.severity == Severity::Error);
        errors.map(ToString::to_string).collect::<Vec<_>>().join("; ")
    })?;
    Ok(profile.policy)
}
