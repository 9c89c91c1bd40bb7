//! The writer of each target.

use super::{firecracker, kafel, kubernetes, lxc, minijail, oci, snap, systemd};
use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::options::ConvertOptions;
use crate::convert::target::Target;

/// Writes what the target can express of a filter; the rest is noted as losses.
pub(in crate::convert) fn write(
    fit: &mut Fit<'_>,
    options: &ConvertOptions,
) -> Result<String, ConvertError> {
    match options.target {
        Target::Oci | Target::Docker | Target::Podman => oci::write(fit, options),
        Target::Kubernetes => kubernetes::write(fit, options),
        Target::Systemd => systemd::write(fit, options),
        Target::Kafel => kafel::write(fit),
        Target::Minijail => minijail::write(fit),
        Target::Firecracker => firecracker::write(fit, options),
        Target::Lxc => lxc::write(fit),
        Target::Snap => snap::write(fit),
    }
}
