//! Why there is no profile.

use std::fmt;

use super::times;
use crate::check::Finding;
use crate::recording::Caveat;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_bpf::syscalls::Arch;
use callgate_formats::ruleset::UnknownCall;
use callgate_proof::diagram::DiagramError;
use callgate_proof::policy::PolicyError;

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateError(pub(super) Kind);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Empty,
    Incomplete(Vec<Caveat>),
    NothingFor { wanted: Vec<Arch>, recorded: Vec<Arch> },
    Arches(PolicyError),
    OneArch { given: Vec<Arch> },
    DiagramError(DiagramError),
    Denies(Box<Finding>),
    NotRead(Diagnostics),
    ReadDifferently,
    Conflict(&'static str),
    UnknownCall(UnknownCall),
}

impl GenerateError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match &self.0 {
            Kind::Empty => "record a run of the program",
            Kind::Incomplete(_) => {
                "record again, or take it as it is (callgate generate --partial): what is missing will be \
                 denied"
            }
            Kind::NothingFor { .. } => "name the architecture of the recording, or leave it to it",
            Kind::Arches(_) => "name the architectures of one machine",
            Kind::OneArch { .. } => "name one of them with --arch, or choose another form",
            Kind::DiagramError(_) => "limit fewer arguments",
            Kind::Denies(_)
            | Kind::NotRead(_)
            | Kind::ReadDifferently
            | Kind::Conflict(_)
            | Kind::UnknownCall(_) => {
                "this is a defect of callgate: please report it with the recording"
            }
        }
    }
}

impl From<Kind> for GenerateError {
    fn from(kind: Kind) -> GenerateError {
        GenerateError(kind)
    }
}

impl From<DiagramError> for GenerateError {
    fn from(error: DiagramError) -> GenerateError {
        GenerateError(Kind::DiagramError(error))
    }
}

fn names(arches: &[Arch]) -> String {
    arches.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("nothing was recorded"),
            Kind::Incomplete(caveats) => {
                let texts: Vec<&str> = caveats.iter().map(|caveat| caveat.text.as_str()).collect();
                write!(f, "the recording is incomplete: {}", texts.join("; "))
            }
            Kind::NothingFor { wanted, recorded } => write!(
                f,
                "no calls were recorded for {}, only for {}",
                names(wanted),
                names(recorded)
            ),
            Kind::Arches(error) => error.fmt(f),
            Kind::OneArch { given } => write!(
                f,
                "a Kafel policy is for one architecture, but the profile would be for {}: {}",
                given.len(),
                names(given)
            ),
            Kind::DiagramError(error) => error.fmt(f),
            Kind::Denies(finding) => {
                let call = finding.call;
                write!(
                    f,
                    "the profile would deny {} on {}, which was recorded {}, for example {:x?}",
                    call.name().unwrap_or("a call without a name"),
                    call.arch,
                    times(finding.count),
                    finding.example
                )
            }
            Kind::NotRead(messages) => {
                let first = messages.first().map_or("", |message| message.message.as_str());
                write!(f, "the profile that was written cannot be read: {first}")
            }
            Kind::ReadDifferently => {
                f.write_str("the profile that was written means something else when it is read")
            }
            Kind::Conflict(name) => write!(f, "the rules for {name} contradict each other"),
            Kind::UnknownCall(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GenerateError {}
