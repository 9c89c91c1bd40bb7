//! Options about reading as words of a command line.

use super::definition;
use super::options::SourceOptions;
use super::values::{EndianArg, EnosysArg, KernelArg, SemanticsArg};

impl SourceOptions {
    /// The options as words of a command line, for commands in messages.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let enosys = |value: &EnosysArg| match value {
            EnosysArg::On => "on",
            EnosysArg::Runc1_1 => "runc-1.1",
            EnosysArg::Off => "off",
        };
        let order = |order: &EndianArg| match order {
            EndianArg::Little => "little",
            EndianArg::Big => "big",
        };
        let semantics = |compiler: &SemanticsArg| match compiler {
            SemanticsArg::C => "c",
            SemanticsArg::Python => "python",
        };
        let kernel = match &self.kernel {
            Some(KernelArg::Version(version)) => Some(version.to_string()),
            Some(KernelArg::Running | KernelArg::Source(_)) | None => None,
        };
        let named = [
            ("--kernel", kernel),
            ("--caps", self.caps.map(|caps| caps.to_string())),
            ("--enosys-above", self.enosys_above.as_ref().map(|value| enosys(value).to_owned())),
            ("--libseccomp", self.libseccomp.map(|version| version.to_string())),
            ("--runc", self.runc.map(|version| version.to_string())),
            ("--systemd", self.systemd.map(|version| version.to_string())),
            (
                "--minijail-semantics",
                self.minijail_semantics.as_ref().map(|compiler| semantics(compiler).to_owned()),
            ),
            ("--endian", self.endian.as_ref().map(|value| order(value).to_owned())),
        ];
        let arches = self.arch.iter().map(|arch| ("--arch", Some(arch.name().to_owned())));
        let mut arguments = Vec::new();
        for (name, value) in arches.chain(named) {
            arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        }
        arguments.extend(self.base.iter().flat_map(|file| ["--base".to_owned(), file.value()]));
        let roots = self.include_root.iter();
        arguments.extend(roots.flat_map(|root| ["--include-root".to_owned(), root.value()]));
        arguments.extend(self.macros.all().iter().flat_map(definition::arguments));
        arguments.extend(self.crun.then(|| "--crun".to_owned()));
        arguments.extend(self.strict.then(|| "--strict".to_owned()));
        arguments
    }
}
