//! The options of each reader of sources.

use callgate::convert::{ConvertOptions, Target};
use callgate::formats::systemd::{self, SystemdVersion};
use callgate::formats::{CapSet, android, firecracker, kafel, lxc, minijail, oci, snap};
use callgate::{Arch, Endian};

use super::options::SourceOptions;
use crate::options::machine::{NATIVE_ENDIAN, native_arch};
use crate::report::{Failure, Result};

impl SourceOptions {
    /// How a profile is read.
    pub(crate) fn of_profile(&self, dialect: Option<oci::Dialect>) -> Result<oci::ReadOptions> {
        Ok(oci::ReadOptions {
            dialect,
            resource: None,
            arches: self.arch.clone(),
            native: match self.arch.first() {
                Some(arch) => *arch,
                None => native_arch()?,
            },
            caps: self.caps.unwrap_or_else(CapSet::docker),
            kernel: self.kernel()?,
            enosys_above: self.enosys_above.map(oci::EnosysAbove::from),
            strict: self.strict,
            identity: None,
        })
    }

    /// How a unit of systemd is read.
    pub(crate) fn of_unit(&self) -> Result<systemd::ReadOptions> {
        let native = self.host()?;
        let mut options = systemd::ReadOptions::new(native, self.kernel()?);
        options.version = self.systemd.unwrap_or(SystemdVersion::LATEST);
        options.strict = self.strict;
        let built_for = options.arches();
        let is_other = |arch: &&Arch| **arch != native && !built_for.contains(arch);
        if let Some(other) = self.arch.iter().find(is_other) {
            return Err(Failure::new(format!(
                "systemd for {native} installs no filters for {other}, so a unit is not read for both"
            ))
            .help(format!("give only --arch {native}, or only --arch {other}")));
        }
        Ok(options)
    }

    /// How a Kafel policy is read.
    pub(crate) fn of_kafel(&self) -> Result<kafel::ReadOptions> {
        let arches = if self.arch.is_empty() { vec![native_arch()?] } else { self.arch.clone() };
        Ok(kafel::ReadOptions::for_arches(arches))
    }

    /// How a profile of LXC is read.
    pub(crate) fn of_lxc(&self) -> Result<lxc::ReadOptions> {
        Ok(lxc::ReadOptions { native: self.host()?, strict: self.strict })
    }

    /// How a profile of a snap is read.
    pub(crate) fn of_snap(&self) -> Result<snap::ReadOptions> {
        Ok(snap::ReadOptions { native: self.host()?, strict: self.strict })
    }

    /// How lists of Android are read.
    pub(crate) fn of_android(&self) -> Result<android::ReadOptions> {
        Ok(android::ReadOptions::new(self.host()?))
    }

    /// The architecture of the host: the first of --arch with 64 bits, or the first.
    fn host(&self) -> Result<Arch> {
        let wide = self.arch.iter().find(|arch| arch.is_64bit());
        wide.or(self.arch.first()).map_or_else(native_arch, |arch| Ok(*arch))
    }

    /// How a document of Firecracker is read.
    pub(crate) fn of_firecracker(&self) -> Result<firecracker::ReadOptions> {
        Ok(firecracker::ReadOptions::new(self.only_arch("a filter of Firecracker")?))
    }

    /// How a policy of minijail is read.
    pub(crate) fn of_minijail(&self) -> Result<minijail::ReadOptions> {
        Ok(minijail::ReadOptions::new(self.only_arch("a policy of minijail")?))
    }

    /// The architecture of a source that is for one only, such as "a filter of Firecracker".
    fn only_arch(&self, what: &str) -> Result<Arch> {
        match self.arch.as_slice() {
            [] => native_arch(),
            [first, others @ ..] if others.iter().all(|other| other == first) => Ok(*first),
            arches => {
                let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
                Err(Failure::new(format!(
                    "{what} is for one architecture, not for {}",
                    names.join(", ")
                ))
                .help("give --arch once, and compile a filter for each architecture"))
            }
        }
    }

    /// The byte order of a program.
    pub(crate) fn of_program(&self) -> Result<Endian> {
        let of_arch = self.arch.first().map(|arch| arch.endian());
        let given = self.endian.map(Endian::from);
        if let Some(odd) = self.arch.iter().find(|arch| Some(arch.endian()) != given.or(of_arch)) {
            return Err(Failure::new(format!(
                "the byte order of {odd} contradicts the other options"
            ))
            .help("give only --endian, or architectures with the same byte order"));
        }
        Ok(given.or(of_arch).unwrap_or(NATIVE_ENDIAN))
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
