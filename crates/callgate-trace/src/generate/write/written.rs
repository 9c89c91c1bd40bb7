//! Writes a draft in a format, and checks the result.

use super::annotated::annotated;
use super::policy::policy;
use crate::check::check;
use crate::generate::directives;
use crate::generate::draft::Draft;
use crate::generate::error::{GenerateError, GenerateErrorKind};
use crate::recording::Recording;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_formats::annotated::AnnotatedWriter;
use callgate_formats::languages::{Input, LanguageId, NoFiles, Reading, Text};
use callgate_formats::oci::{Dialect, EnosysAbove};

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
    pub fn write(&self, format: LanguageId) -> Result<WrittenProfile, GenerateError> {
        let Some(to) = format.annotated() else {
            return Err(GenerateErrorKind::NotGenerated(format.name()).into());
        };
        if to.for_one_arch && self.arches.len() > 1 {
            return Err(GenerateErrorKind::OneArch { given: self.arches.clone() }.into());
        }
        let mut store = Store::default();
        let directives = match to.is_unit {
            true => directives::permitted(self, to, &mut store)?,
            false => Vec::new(),
        };
        let policy = policy(self, to, &directives)?;
        let annotated = annotated(self, to, &directives);
        let text = (to.write)(&annotated).ok_or(GenerateErrorKind::NoResource)?;
        let meaning = store.policy(&policy)?;
        let findings = check(&mut store, meaning, &self.expressible(to))?;
        if let Some(finding) = findings.into_iter().find(|finding| finding.is_denied()) {
            return Err(GenerateErrorKind::Denies(Box::new(finding)).into());
        }
        if to.is_read_back {
            let read = self.read_back(format, &text)?;
            if store.policy(&read)? != meaning {
                return Err(GenerateErrorKind::DifferentMeaning.into());
            }
        }
        Ok(WrittenProfile { text, policy })
    }

    /// The part of the recording that a language can express, and that is not denied on purpose.
    fn expressible(&self, to: &AnnotatedWriter) -> Recording {
        let mut expressible = self.recorded.clone();
        expressible.retain(|syscall| match syscall.name() {
            Some(name) => self.can_name(to, name) && !self.refuses(name),
            None => to.has_numbers,
        });
        expressible
    }

    /// Reads a text as its language, without the rules that a runtime adds.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_back(&self, format: LanguageId, text: &str) -> Result<Policy, GenerateError> {
        let native = self.arches.first().copied().ok_or(GenerateErrorKind::Empty)?;
        let reading = Reading {
            arches: self.arches.clone(),
            kernel: Some(KernelVersion { major: 6, minor: 18 }),
            enosys_above: Some(EnosysAbove::Off),
            strict: true,
            ..Reading::new(native)
        };
        let texts = [Text::of(text)];
        let dialect = format.writer().and_then(|writer| writer.dialect);
        let input = Input { name: dialect.map(Dialect::name), ..Input::of(&texts) };
        let read = (format.language().read)(&input, &reading, &mut NoFiles).map_err(|errors| {
            let diagnostics = errors.into_vec().into_iter().map(|message| message.diagnostic);
            GenerateErrorKind::Unreadable(diagnostics.collect::<Vec<_>>().into())
        })?;
        let only = read.filters.into_iter().next().ok_or(GenerateErrorKind::Empty)?;
        Ok(only.profile.policy)
    }
}
