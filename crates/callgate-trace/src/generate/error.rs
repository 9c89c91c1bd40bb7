//! Why no profile is generated.

use std::fmt;

use super::grant::times;
use crate::check::Finding;
use crate::recording::{Caveat, MergeError};
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostics, Help};
use callgate_core::Arch;
use callgate_core::diagram::DiagramError;
use callgate_core::policy::PolicyError;
use callgate_formats::ruleset::UnknownSyscall;

/// Why no profile is generated.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateError(GenerateErrorKind);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum GenerateErrorKind {
    Empty,
    Incomplete(Vec<Caveat>),
    Merge(MergeError),
    NothingFor {
        wanted: Vec<Arch>,
        recorded: Vec<Arch>,
    },
    Arches(PolicyError),
    OneArch {
        given: Vec<Arch>,
    },
    /// A language in which no profiles are generated.
    NotGenerated(&'static str),
    /// A Kubernetes resource cannot express the profile.
    NoResource,
    Diagram(DiagramError),
    /// The profile would deny a recorded syscall.
    Denies(Box<Finding>),
    /// The written profile cannot be read.
    Unreadable(Diagnostics),
    /// The written profile has another meaning when it is read.
    DifferentMeaning,
    Contradiction(&'static str),
    UnknownSyscall(UnknownSyscall),
}

impl GenerateError {
    /// Why the recordings cannot be merged, if this is the reason.
    pub fn merge_error(&self) -> Option<&MergeError> {
        match &self.0 {
            GenerateErrorKind::Merge(error) => Some(error),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        self.parts().1.to_string()
    }

    /// The advice that interfaces word in their own way, if [`GenerateError::help`] is such advice.
    pub fn advice(&self) -> Option<Advice> {
        self.parts().1.advice().cloned()
    }

    /// What is wrong, and what to do about it.
    fn parts(&self) -> (String, Help) {
        use GenerateErrorKind as Kind;
        const BUG: &str = "this is a bug in callgate: please report it with the recording";
        let (message, help): (String, &str) = match &self.0 {
            Kind::Empty => ("nothing was recorded".to_owned(), "record a run of the program"),
            Kind::Incomplete(caveats) => {
                let texts: Vec<&str> = caveats.iter().map(|caveat| caveat.text.as_str()).collect();
                let message = format!("the recording is incomplete: {}", texts.join("; "));
                return (message, Advice::AcceptIncomplete.into());
            }
            Kind::Merge(error) => (error.to_string(), error.help()),
            Kind::NothingFor { wanted, recorded } => {
                let (wanted, recorded) = (names(wanted), names(recorded));
                let message =
                    format!("no syscalls were recorded for {wanted}, only for {recorded}");
                return (message, Advice::ArchOfRecording.into());
            }
            Kind::Arches(error) => {
                (error.to_string(), "name architectures with the same byte order")
            }
            Kind::OneArch { given } => {
                let (count, names) = (given.len(), names(given));
                let message = format!(
                    "a Kafel policy is for one architecture, but the profile is for {count}: {names}"
                );
                return (message, Advice::OneArchOrOtherLanguage.into());
            }
            Kind::NotGenerated(language) => (
                format!("profiles are not generated in {language}"),
                "choose another language, and convert the profile",
            ),
            Kind::NoResource => {
                let message = "a SeccompProfile resource cannot express the profile: it has no values from 2^63, and \
                               not all architectures";
                return (message.to_owned(), Advice::NoLimitsOrOtherArches.into());
            }
            Kind::Diagram(error) => (error.to_string(), "limit fewer arguments"),
            Kind::Denies(finding) => {
                let Finding { syscall, count, example, .. } = &**finding;
                let (name, arch) =
                    (syscall.name().unwrap_or("a syscall without a name"), syscall.arch);
                let message = format!(
                    "the profile would deny {name} on {arch}, which was recorded {}, for example {example:x?}",
                    times(*count)
                );
                (message, BUG)
            }
            Kind::Unreadable(messages) => {
                let first = messages.first().map_or("", |message| message.message.as_str());
                (format!("the written profile cannot be read: {first}"), BUG)
            }
            Kind::DifferentMeaning => {
                ("the written profile has another meaning when it is read".to_owned(), BUG)
            }
            Kind::Contradiction(name) => {
                (format!("the rules for {name} contradict each other"), BUG)
            }
            Kind::UnknownSyscall(error) => (error.to_string(), BUG),
        };
        (message, help.into())
    }
}

impl From<GenerateErrorKind> for GenerateError {
    fn from(kind: GenerateErrorKind) -> GenerateError {
        GenerateError(kind)
    }
}

impl From<DiagramError> for GenerateError {
    fn from(error: DiagramError) -> GenerateError {
        GenerateError(GenerateErrorKind::Diagram(error))
    }
}

fn names(arches: &[Arch]) -> String {
    arches.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().0)
    }
}

impl std::error::Error for GenerateError {}
