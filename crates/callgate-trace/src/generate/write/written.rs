//! Writes a draft in a format, and checks the result.

use super::policy::policy;
use super::{kafel, oci, systemd};
use crate::check::check;
use crate::generate::directives;
use crate::generate::draft::Draft;
use crate::generate::error::{GenerateError, GenerateErrorKind};
use crate::generate::format::ProfileFormat;
use crate::recording::Recording;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_formats::oci as reader;

/// A profile as text.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenProfile {
    /// The text, with a comment on each choice.
    pub text: String,
    /// The meaning of the text.
    pub policy: Policy,
}

impl Draft {
    /// Writes the profile, and checks that it allows everything that was recorded.
    ///
    /// # Errors
    /// If the format cannot express the profile: several architectures in Kafel, an architecture or a value that a
    /// resource of Kubernetes does not have, or architectures with different byte orders in any format. Also if the profile denies a recorded syscall or cannot be read back, which would be a
    /// bug in this crate.
    pub fn write(&self, format: ProfileFormat) -> Result<WrittenProfile, GenerateError> {
        if format == ProfileFormat::Kafel && self.arches.len() > 1 {
            return Err(GenerateErrorKind::OneArch { given: self.arches.clone() }.into());
        }
        let mut store = Store::default();
        let directives = match format {
            ProfileFormat::Systemd => directives::permitted(self, &mut store)?,
            _ => Vec::new(),
        };
        let policy = policy(self, format, &directives)?;
        let text = match format {
            ProfileFormat::Oci => oci::write(self),
            ProfileFormat::Kubernetes => {
                oci::write_resource(self).ok_or(GenerateErrorKind::NoResource)?
            }
            ProfileFormat::Systemd => systemd::write(self, &directives),
            ProfileFormat::Kafel => kafel::write(self),
        };
        let meaning = store.policy(&policy)?;
        let findings = check(&mut store, meaning, &self.expressible(format))?;
        if let Some(finding) = findings.into_iter().find(|finding| finding.is_denied()) {
            return Err(GenerateErrorKind::Denies(Box::new(finding)).into());
        }
        if format == ProfileFormat::Oci {
            let read = self.read_back(&text)?;
            if store.policy(&read)? != meaning {
                return Err(GenerateErrorKind::DifferentMeaning.into());
            }
        }
        Ok(WrittenProfile { text, policy })
    }

    /// The part of the recording that a format can express, and that is not denied on purpose.
    fn expressible(&self, format: ProfileFormat) -> Recording {
        let mut expressible = self.recorded.clone();
        expressible.retain(|syscall| match syscall.name() {
            Some(name) => self.can_name(format, name) && !self.refuses(name),
            None => format.has_numbers(),
        });
        expressible
    }

    fn read_back(&self, text: &str) -> Result<Policy, GenerateError> {
        let native = self.arches.first().copied().ok_or(GenerateErrorKind::Empty)?;
        let options = reader::ReadOptions {
            dialect: Some(reader::Dialect::Docker),
            arches: self.arches.clone(),
            enosys_above: Some(reader::EnosysAbove::Off),
            strict: true,
            ..reader::ReadOptions::new(native, KernelVersion { major: 6, minor: 18 })
        };
        let profile = reader::read(text, &options).map_err(GenerateErrorKind::Unreadable)?;
        Ok(profile.policy)
    }
}
