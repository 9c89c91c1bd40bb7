//! The writer of each target.

use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::options::ConvertOptions;
use crate::convert::target::Target;
use crate::{firecracker, kafel, lxc, minijail, oci, snap, systemd};

/// Writes what the target can express of a filter; the rest is noted as losses.
pub(crate) fn write(fit: &mut Fit<'_>, options: &ConvertOptions) -> Result<String, ConvertError> {
    match options.target {
        Target::Oci | Target::Docker | Target::Podman => oci::convert::write(fit, options),
        Target::Kubernetes => oci::convert_resource::write(fit, options),
        Target::Systemd => systemd::write::write(fit, options),
        Target::Kafel => kafel::write::write(fit),
        Target::Minijail => minijail::write::write(fit),
        Target::Firecracker => firecracker::write::write(fit, options),
        Target::Lxc => lxc::write::write(fit),
        Target::Snap => snap::write::write(fit),
    }
}
