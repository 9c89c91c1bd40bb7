//! Warnings about options that have no effect on the given sources.

use super::definition;
use super::options::SourceOptions;
use crate::report;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_formats::languages::ReadingOption;
use callgate_requests::source::Kinds;

impl SourceOptions {
    /// Warnings about options that only affect profiles of containers, for a source that is `what` and depends on `used`.
    pub(crate) fn without_effect(&self, what: &str, used: &[ReadingOption]) -> Vec<Diagnostic> {
        if used.contains(&ReadingOption::Caps) {
            return Vec::new();
        }
        let has_kernel = self.is_for_kernel || used.contains(&ReadingOption::Kernel);
        let given = |options: &SourceOptions| {
            [
                options.given_kernel().is_some() && !has_kernel,
                options.caps.is_some(),
                options.enosys_above.is_some(),
                options.libseccomp.is_some(),
                options.runc.is_some(),
                options.crun,
            ]
        };
        let (suffix, own) = match &self.own {
            Some((suffix, own)) => (*suffix, given(own)),
            None => ("", [false; 6]),
        };
        let names = ["--kernel", "--caps", "--enosys-above", "--libseccomp", "--runc", "--crun"];
        let options = names.into_iter().zip(given(self)).zip(own);
        let given = options.filter(|((_, given), _)| *given);
        let warning = |((option, _), is_own): ((&str, bool), bool)| {
            let suffix = if is_own { suffix } else { "" };
            Diagnostic::warning(None, format!("{option}{suffix} has no effect on {what}"))
                .help("omit it: only container profiles have conditions that depend on it")
        };
        given.map(warning).collect()
    }

    /// Warns about options that affect no source of these kinds; their names end with `suffix`, which is empty for the
    /// options of all sources.
    pub(crate) fn warn_about_unused(&self, suffix: &str, kinds: Kinds) {
        let Kinds { profile, program, unit, variables, semantics, macros, .. } = kinds;
        let none = |what: &str| match suffix.strip_prefix('-') {
            Some(side) => format!("filter {} is not {what}", side.to_uppercase()),
            None => format!("no source is {what}"),
        };
        let of_profiles = [
            ("--kernel", self.given_kernel().is_some() && !self.is_for_kernel),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
            ("--libseccomp", self.libseccomp.is_some()),
            ("--runc", self.runc.is_some()),
            ("--crun", self.crun),
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
        for setting in self.set.iter().filter(|_| !variables) {
            report::warn(
                format!("--set {} has no effect: no source has variables", setting.name()),
                "omit it: only Kafel policies with $NAME have variables",
            );
        }
        if self.systemd.is_some() && !unit {
            report::warn(
                format!("--systemd{suffix} has no effect: {}", none("a systemd unit")),
                "omit it, or write systemd: before the source",
            );
        }
        if self.minijail_semantics.is_some() && !semantics {
            report::warn(
                format!(
                    "--minijail-semantics{suffix} has no effect: {}",
                    none("a minijail policy")
                ),
                "omit it: only minijail has two compilers",
            );
        }
        for root in self.include_root.iter().filter(|root| root.is_unused()) {
            report::warn(
                format!(
                    "--include-root {} has no effect: no source includes a file by an absolute path",
                    root.value()
                ),
                "omit it",
            );
        }
        for definition in self.macros.all().iter().filter(|_| !macros) {
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
