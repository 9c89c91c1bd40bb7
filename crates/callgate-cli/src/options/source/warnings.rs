//! Warnings about options that have no effect on the given sources.

use super::options::SourceOptions;
use super::values::KernelArg;
use crate::report;

impl SourceOptions {
    /// Warns about options that only affect profiles of containers. `what` the source is; `has_kernel` tells whether it
    /// depends on the kernel, too.
    pub(crate) fn warn_about_containers(&self, name: &str, what: &str, has_kernel: bool) {
        let given = [
            ("--kernel", matches!(self.kernel, Some(KernelArg::Version(_))) && !has_kernel),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
        ];
        for (option, _) in given.into_iter().filter(|(_, given)| *given) {
            report::warn_about(
                name,
                format!("{option} has no effect on {what}"),
                "omit it: only container profiles have conditions that depend on it",
            );
        }
    }

    /// Warns about options that affect no source: `profile` and `program` tell whether such a source
    /// exists, `unit` whether one is of systemd, `counts` whether counts are read, too.
    pub(crate) fn warn_about_unused(&self, profile: bool, program: bool, unit: bool, counts: bool) {
        let of_profiles = [
            ("--kernel", matches!(self.kernel, Some(KernelArg::Version(_)))),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
            ("--strict", self.strict && !counts),
        ];
        for (option, _) in of_profiles.into_iter().filter(|(_, given)| *given && !profile) {
            report::warn(
                format!("{option} has no effect: no source is a profile"),
                "omit it: only profiles have conditions that depend on it",
            );
        }
        if self.systemd.is_some() && !unit {
            report::warn(
                "--systemd has no effect: no source is a unit of systemd",
                "omit it, or write systemd: before the source",
            );
        }
        if self.endian.is_some() && !program {
            report::warn(
                "--endian has no effect: no source is a program",
                "omit it: the byte order of a profile is that of its architectures (--arch)",
            );
        }
    }
}
