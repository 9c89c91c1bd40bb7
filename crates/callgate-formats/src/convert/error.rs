//! Errors of conversions, and what a target cannot express.

use std::fmt;

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Help;

use super::limits::MAX_ALTERNATIVES;
use super::loss::Loss;
use callgate_core::diagram::DiagramError;

/// Why there is no conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertError(pub(crate) ConvertErrorKind);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConvertErrorKind {
    Inexpressible { target: &'static str, losses: Vec<Loss> },
    Diagram(DiagramError),
    TooManyAlternatives { given: usize, syscall: String },
    TooManyNumbers { limit: usize, arch: String },
    Unsupported(String),
    TooLarge { target: &'static str, message: String },
    Refused { target: &'static str, messages: String },
    Defect(String),
}

/// Why the conditions of a syscall have no alternatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    Diagram(DiagramError),
    /// There are more than [`MAX_ALTERNATIVES`]; `usize::MAX` if their number is not known.
    TooMany(usize),
}

impl From<DiagramError> for Stop {
    fn from(error: DiagramError) -> Stop {
        Stop::Diagram(error)
    }
}

impl ConvertError {
    /// The error for a defect of this crate.
    #[doc(hidden)]
    pub fn defect(why: impl Into<String>) -> ConvertError {
        ConvertError(ConvertErrorKind::Defect(why.into()))
    }

    pub(crate) fn too_many_numbers(limit: usize, arch: String) -> ConvertError {
        ConvertError(ConvertErrorKind::TooManyNumbers { limit, arch })
    }

    /// The error for the conditions of a syscall.
    pub(crate) fn of_syscall(stop: Stop, syscall: impl FnOnce() -> String) -> ConvertError {
        ConvertError(match stop {
            Stop::Diagram(error) => ConvertErrorKind::Diagram(error),
            Stop::TooMany(given) => {
                ConvertErrorKind::TooManyAlternatives { given, syscall: syscall() }
            }
        })
    }

    /// What the target cannot express, if that is the reason; each with an example.
    pub fn losses(&self) -> &[Loss] {
        match &self.0 {
            ConvertErrorKind::Inexpressible { losses, .. } => losses,
            _ => &[],
        }
    }

    /// Whether the reason is a defect of this crate, not the filter or the target.
    pub fn is_defect(&self) -> bool {
        match &self.0 {
            ConvertErrorKind::Defect(_) => true,
            ConvertErrorKind::Diagram(error) => error.is_defect(),
            _ => false,
        }
    }

    /// What to do.
    pub fn help(&self) -> String {
        self.what_to_do().to_string()
    }

    /// The advice that interfaces word in their own way, if [`ConvertError::help`] is such advice.
    pub fn advice(&self) -> Option<Advice> {
        self.what_to_do().advice().cloned()
    }

    fn what_to_do(&self) -> Help {
        Help::from(match &self.0 {
            ConvertErrorKind::Inexpressible { losses, .. }
                if losses.iter().any(Loss::is_about_arches) =>
            {
                return Advice::ClosestOrOneArch.into();
            }
            ConvertErrorKind::Inexpressible { losses, .. }
                if losses.iter().any(Loss::is_about_hosts) =>
            {
                return Advice::AllArchesOfHost.into();
            }
            ConvertErrorKind::Inexpressible { .. } => return Advice::ClosestOrCompile.into(),
            ConvertErrorKind::Diagram(error) if error.is_out_of_budget() => {
                "split the filter into a stack of simpler filters"
            }
            ConvertErrorKind::Diagram(error) if error.needs_values() => {
                "give the variables values: policies of other languages have none"
            }
            ConvertErrorKind::TooManyAlternatives { .. } => {
                "compare fewer arguments of this syscall with each other"
            }
            ConvertErrorKind::TooManyNumbers { .. } => {
                "no policy language can list that many syscall numbers; keep the filter as a BPF program"
            }
            ConvertErrorKind::Unsupported(_) => return Advice::OtherTargetOrArch.into(),
            ConvertErrorKind::TooLarge { .. } => return Advice::FewerValuesOrCompile.into(),
            ConvertErrorKind::Refused { .. } => return Advice::OtherTargetOrCompile.into(),
            _ => "please report this defect",
        })
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ConvertErrorKind::Inexpressible { target, losses } => {
                let s = if losses.len() == 1 { "" } else { "s" };
                write!(f, "{target} cannot express this filter, for {} reason{s}", losses.len())?;
                losses.iter().try_for_each(|loss| write!(f, "\n{loss}"))
            }
            ConvertErrorKind::Diagram(error) => error.fmt(f),
            ConvertErrorKind::TooManyAlternatives { given: usize::MAX, syscall } => write!(
                f,
                "the conditions of {syscall} compare too many values; the limit is {MAX_ALTERNATIVES} \
                 alternatives per syscall"
            ),
            ConvertErrorKind::TooManyAlternatives { given, syscall } => write!(
                f,
                "the conditions of {syscall} need at least {given} alternatives; the limit is {MAX_ALTERNATIVES}"
            ),
            ConvertErrorKind::TooManyNumbers { limit, arch } => write!(
                f,
                "the syscall numbers of {arch} have more than {limit} intervals, which is the limit"
            ),
            ConvertErrorKind::Unsupported(why) => f.write_str(why),
            ConvertErrorKind::TooLarge { target, message } => write!(
                f,
                "the {target} policy of this filter would be too large, so nothing was written: {message}"
            ),
            ConvertErrorKind::Refused { target, messages } => {
                write!(f, "{target} rejects the policy, so nothing was written: {messages}")
            }
            ConvertErrorKind::Defect(why) => {
                write!(f, "internal error: {why}; nothing was written")
            }
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<DiagramError> for ConvertError {
    fn from(error: DiagramError) -> ConvertError {
        ConvertError(ConvertErrorKind::Diagram(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_defects_are_defects() {
        let is_defect = |error: DiagramError| ConvertError::from(error).is_defect();
        assert!(!is_defect(DiagramError::VARIABLES) && !is_defect(DiagramError::nodes(1)));
        assert!(is_defect(DiagramError::defect("nothing")));
    }
}
