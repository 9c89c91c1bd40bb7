//! The options of each reader of sources.

use callgate::Endian;
use callgate::convert::{ConvertOptions, Target};
use callgate::formats::systemd::{self, SystemdVersion};
use callgate::formats::{android, firecracker, kafel, lxc, minijail, oci, snap};
use callgate_requests::source::Reading;

use super::options::SourceOptions;
use crate::options::machine::NATIVE_ENDIAN;
use crate::report::Result;

impl SourceOptions {
    /// The options, without the kernel version, which only some readers need.
    fn reading(&self) -> Result<Reading> {
        let first = self.arch.first().copied();
        Ok(Reading {
            arches: self.arch.clone(),
            caps: self.caps,
            enosys_above: self
                .enosys_above
                .map(oci::EnosysAbove::from)
                .or(self.without_runtime_rules.then_some(oci::EnosysAbove::Off)),
            systemd: self.systemd,
            strict: self.strict,
            endian: self.endian.map(Endian::from),
            definitions: self.macros.all(),
            statements: self.statements,
            ..Reading::new(first.map_or_else(|| self.machine(), Ok)?)
        })
    }

    /// The options with the kernel version.
    fn reading_with_kernel(&self) -> Result<Reading> {
        Ok(Reading { kernel: Some(self.kernel()?), ..self.reading()? })
    }

    /// How a profile is read.
    pub(crate) fn of_profile(&self, dialect: Option<oci::Dialect>) -> Result<oci::ReadOptions> {
        Ok(self.reading_with_kernel()?.of_profile(dialect)?)
    }

    /// How a unit of systemd is read.
    pub(crate) fn of_unit(&self) -> Result<systemd::ReadOptions> {
        Ok(self.reading_with_kernel()?.of_unit()?)
    }

    /// How a Kafel policy is read.
    pub(crate) fn of_kafel(&self) -> Result<kafel::ReadOptions> {
        Ok(self.reading()?.of_kafel())
    }

    /// How a profile of LXC is read.
    pub(crate) fn of_lxc(&self) -> Result<lxc::ReadOptions> {
        Ok(self.reading()?.of_lxc())
    }

    /// How a profile of a snap is read.
    pub(crate) fn of_snap(&self) -> Result<snap::ReadOptions> {
        Ok(self.reading()?.of_snap())
    }

    /// How lists of Android are read.
    pub(crate) fn of_android(&self) -> Result<android::ReadOptions> {
        Ok(self.reading()?.of_android())
    }

    /// How a document of Firecracker is read.
    pub(crate) fn of_firecracker(&self) -> Result<firecracker::ReadOptions> {
        Ok(self.reading()?.of_firecracker()?)
    }

    /// How a policy of minijail is read.
    pub(crate) fn of_minijail(&self) -> Result<minijail::ReadOptions> {
        Ok(self.reading()?.of_minijail()?)
    }

    /// The byte order of a program.
    pub(crate) fn of_program(&self) -> Result<Endian> {
        // A machine without an architecture of ours has a byte order, too.
        match self.arch.first().copied().or(self.machine().ok()) {
            Some(_) => Ok(self.reading()?.of_program()?),
            None => Ok(self.endian.map_or(NATIVE_ENDIAN, Endian::from)),
        }
    }

    /// How a policy is written in a language and read back.
    pub(crate) fn to_convert(&self, target: Target) -> Result<ConvertOptions> {
        let mut options = ConvertOptions::new(target);
        options.kernel = self.kernel()?;
        options.enosys_above = self.enosys_above.map(oci::EnosysAbove::from);
        options.systemd = self.systemd.unwrap_or(SystemdVersion::LATEST);
        Ok(options)
    }
}
