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
    /// A resource of Kubernetes cannot express the profile.
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
        self.what_to_do().to_string()
    }

    /// The advice that interfaces word in their own way, if [`GenerateError::help`] is such advice.
    pub fn advice(&self) -> Option<Advice> {
        self.what_to_do().advice().cloned()
    }

    fn what_to_do(&self) -> Help {
        use GenerateErrorKind as Kind;
        Help::from(match &self.0 {
            Kind::Empty => "record a run of the program",
            Kind::Incomplete(_) => return Advice::AcceptIncomplete.into(),
            Kind::Merge(error) => error.help(),
            Kind::NothingFor { .. } => return Advice::ArchOfRecording.into(),
            Kind::Arches(_) => "name architectures with the same byte order",
            Kind::OneArch { .. } => return Advice::OneArchOrOtherLanguage.into(),
            Kind::NotGenerated(_) => "choose another language, and convert the profile",
            Kind::NoResource => return Advice::NoLimitsOrOtherArches.into(),
            Kind::Diagram(_) => "limit fewer arguments",
            Kind::Denies(_)
            | Kind::Unreadable(_)
            | Kind::DifferentMeaning
            | Kind::Contradiction(_)
            | Kind::UnknownSyscall(_) => {
                "this is a bug in callgate: please report it with the recording"
            }
        })
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
        use GenerateErrorKind as Kind;
        match &self.0 {
            Kind::Empty => f.write_str("nothing was recorded"),
            Kind::Incomplete(caveats) => {
                let texts: Vec<&str> = caveats.iter().map(|caveat| caveat.text.as_str()).collect();
                write!(f, "the recording is incomplete: {}", texts.join("; "))
            }
            Kind::Merge(error) => error.fmt(f),
            Kind::NothingFor { wanted, recorded } => write!(
                f,
                "no syscalls were recorded for {}, only for {}",
                names(wanted),
                names(recorded)
            ),
            Kind::Arches(error) => error.fmt(f),
            Kind::OneArch { given } => write!(
                f,
                "a Kafel policy is for one architecture, but the profile is for {}: {}",
                given.len(),
                names(given)
            ),
            Kind::NotGenerated(language) => {
                write!(f, "profiles are not generated in {language}")
            }
            Kind::NoResource => f.write_str(
                "a SeccompProfile resource cannot express the profile: it has no values from 2^63, and not all \
                 architectures",
            ),
            Kind::Diagram(error) => error.fmt(f),
            Kind::Denies(finding) => {
                let syscall = finding.syscall;
                write!(
                    f,
                    "the profile would deny {} on {}, which was recorded {}, for example {:x?}",
                    syscall.name().unwrap_or("a syscall without a name"),
                    syscall.arch,
                    times(finding.count),
                    finding.example
                )
            }
            Kind::Unreadable(messages) => {
                let first = messages.first().map_or("", |message| message.message.as_str());
                write!(f, "the written profile cannot be read: {first}")
            }
            Kind::DifferentMeaning => {
                f.write_str("the written profile has another meaning when it is read")
            }
            Kind::Contradiction(name) => write!(f, "the rules for {name} contradict each other"),
            Kind::UnknownSyscall(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GenerateError {}
