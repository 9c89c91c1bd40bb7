//! Warnings about options that have no effect on the given sources.

use super::options::SourceOptions;
use super::values::KernelArg;
use crate::report;

/// Which kinds of sources there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) profile: bool,
    /// A profile of a container, to which runc adds rules.
    pub(crate) container: bool,
    pub(crate) program: bool,
    /// A unit of systemd.
    pub(crate) unit: bool,
}

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

    /// Warns about options that affect no source of these kinds; their names end with `suffix`. `counts` tells whether
    /// counts are read, too.
    pub(crate) fn warn_about_unused(&self, suffix: &str, kinds: Kinds, counts: bool) {
        let Kinds { profile, program, unit, .. } = kinds;
        let of_profiles = [
            ("--kernel", matches!(self.kernel, Some(KernelArg::Version(_)))),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
            ("--strict", self.strict && !counts),
        ];
        for (option, _) in of_profiles.into_iter().filter(|(_, given)| *given && !profile) {
            report::warn(
                format!("{option}{suffix} has no effect: no source is a profile"),
                "omit it: only profiles have conditions that depend on it",
            );
        }
        for file in self.base.iter().filter(|file| file.is_unused()) {
            report::warn(
                format!(
                    "--base{suffix} {} has no effect: no source names this base profile",
                    file.value()
                ),
                "omit it, or write NAME= with the name in baseProfileName",
            );
        }
        if self.systemd.is_some() && !unit {
            report::warn(
                format!("--systemd{suffix} has no effect: no source is a unit of systemd"),
                "omit it, or write systemd: before the source",
            );
        }
        if self.endian.is_some() && !program {
            report::warn(
                format!("--endian{suffix} has no effect: no source is a program"),
                "omit it: the byte order of a profile is that of its architectures (--arch)",
            );
        }
    }
}
