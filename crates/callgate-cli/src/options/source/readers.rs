//! The options of readers.

use callgate::Endian;
use callgate::convert::ConvertOptions;
use callgate_formats::languages::{LanguageId, Reading};
use callgate_formats::minijail::Semantics;
use callgate_formats::oci;
use callgate_formats::systemd::SystemdVersion;

use super::options::SourceOptions;
use crate::report::Result;

impl SourceOptions {
    /// How sources are read, with the kernel version only if it is given.
    pub(crate) fn reading(&self) -> Result<Reading> {
        let first = self.arch.first().copied();
        Ok(Reading {
            arches: self.arch.clone(),
            kernel: self.given_kernel(),
            caps: self.caps,
            enosys_above: self
                .enosys()
                .or(self.without_runtime_rules.then_some(oci::EnosysAbove::Off)),
            libseccomp: self.given_libseccomp(),
            systemd: self.systemd,
            minijail_semantics: self.minijail_semantics.map(Semantics::from),
            strict: self.strict,
            endian: self.endian.map(Endian::from),
            definitions: self.macros.all(),
            statements: self.statements,
            choosing: choose_part,
            ..Reading::new(first.map_or_else(|| self.machine(), Ok)?)
        })
    }

    /// The byte order of a program.
    pub(crate) fn of_program(&self) -> Result<Endian> {
        Ok(self.reading()?.of_program()?)
    }

    /// How a policy is written in a language and read back.
    pub(crate) fn to_convert(&self, target: LanguageId) -> Result<ConvertOptions> {
        let mut options = ConvertOptions::new(target);
        options.kernel = self.kernel()?;
        options.enosys_above = self.enosys();
        options.systemd = self.systemd.unwrap_or(SystemdVersion::LATEST);
        Ok(options)
    }
}

/// How a part is chosen: a Kubernetes resource, or the filter of a thread.
fn choose_part(name: &str) -> String {
    format!("add #NAME to the name of the file, such as #{name}")
}
