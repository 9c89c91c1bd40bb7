//! Warnings about options that have no effect on the given sources.

use super::definition;
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
        let given = |options: &SourceOptions| {
            [
                options.fixes_kernel() && !has_kernel,
                options.caps.is_some(),
                options.enosys_above.is_some(),
            ]
        };
        let (suffix, own) = match &self.own {
            Some((suffix, own)) => (*suffix, given(own)),
            None => ("", [false; 3]),
        };
        let options =
            ["--kernel", "--caps", "--enosys-above"].into_iter().zip(given(self)).zip(own);
        for ((option, _), is_own) in options.filter(|((_, given), _)| *given) {
            let suffix = if is_own { suffix } else { "" };
            report::warn_about(
                name,
                format!("{option}{suffix} has no effect on {what}"),
                "omit it: only container profiles have conditions that depend on it",
            );
        }
    }

    /// Whether a version of the kernel is given, not only where to take it from.
    fn fixes_kernel(&self) -> bool {
        matches!(self.kernel, Some(KernelArg::Version(_)))
    }

    /// Warns about options that affect no source of these kinds; their names end with `suffix`, which is empty for the
    /// options of all sources.
    pub(crate) fn warn_about_unused(&self, suffix: &str, kinds: Kinds) {
        let Kinds { profile, program, unit, .. } = kinds;
        let none = |what: &str| match suffix.strip_prefix('-') {
            Some(side) => format!("filter {} is not {what}", side.to_uppercase()),
            None => format!("no source is {what}"),
        };
        let of_profiles = [
            ("--kernel", self.fixes_kernel()),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
        ];
        for (option, _) in of_profiles.into_iter().filter(|(_, given)| *given && !profile) {
            report::warn(
                format!("{option}{suffix} has no effect: {}", none("a profile")),
                "omit it: only profiles have conditions that depend on it",
            );
        }
        let names_it = match suffix.strip_prefix('-') {
            Some(side) => format!("filter {} does not name this base profile", side.to_uppercase()),
            None => "no source names this base profile".to_owned(),
        };
        for file in self.base.iter().filter(|file| file.is_unused()) {
            report::warn(
                format!("--base{suffix} {} has no effect: {names_it}", file.value()),
                "omit it, or write NAME= with the name in baseProfileName",
            );
        }
        for setting in self.set.iter().filter(|setting| setting.is_unused()) {
            report::warn(
                format!("--set {} has no effect: no source has variables", setting.name()),
                "omit it: only Kafel policies with $NAME have variables",
            );
        }
        if self.systemd.is_some() && !unit {
            report::warn(
                format!("--systemd{suffix} has no effect: {}", none("a unit of systemd")),
                "omit it, or write systemd: before the source",
            );
        }
        for definition in self.macros.all().iter().filter(|_| !program) {
            let [option, value] = definition::arguments(definition);
            report::warn(
                format!("{option} {value} has no effect: {}", none("a program")),
                "omit it: only C as text has macros",
            );
        }
        if self.endian.is_some() && !program {
            report::warn(
                format!("--endian{suffix} has no effect: {}", none("a program")),
                "omit it: the byte order of a profile is that of its architectures (--arch)",
            );
        }
    }
}
