//! Classes of outcomes, each with a colour and a letter.

use callgate::explain::Outcome;
use callgate::{Action, Verdict};

/// What happens to a syscall, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Allowed,
    Logged,
    Conditional,
    Notified,
    Traced,
    Denied,
    Trapped,
    Killed,
}

impl Class {
    pub(crate) const ALL: [Class; 8] = [
        Class::Allowed,
        Class::Logged,
        Class::Conditional,
        Class::Notified,
        Class::Traced,
        Class::Denied,
        Class::Trapped,
        Class::Killed,
    ];

    pub(crate) fn of(outcome: &Outcome) -> Class {
        match outcome {
            Outcome::Always(verdict) => Class::of_verdict(*verdict),
            Outcome::Depends { .. } | Outcome::Complex { .. } => Class::Conditional,
        }
    }

    pub(crate) fn of_verdict(verdict: Verdict) -> Class {
        match verdict.action() {
            Action::Allow => Class::Allowed,
            Action::Log => Class::Logged,
            Action::UserNotif(_) => Class::Notified,
            Action::Trace(_) => Class::Traced,
            Action::Errno(_) => Class::Denied,
            Action::Trap(_) => Class::Trapped,
            _ => Class::Killed,
        }
    }

    /// The class of elements in the style sheet.
    pub(crate) fn style(self) -> &'static str {
        match self {
            Class::Allowed => "allowed",
            Class::Logged => "logged",
            Class::Conditional => "conditional",
            Class::Notified => "notified",
            Class::Traced => "traced",
            Class::Denied => "denied",
            Class::Trapped => "trapped",
            Class::Killed => "killed",
        }
    }

    /// The letter in its squares; allowed syscalls have none, so that all others stand out.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Class::Allowed => "",
            Class::Logged => "L",
            Class::Conditional => "?",
            Class::Notified => "N",
            Class::Traced => "T",
            Class::Denied => "E",
            Class::Trapped => "S",
            Class::Killed => "K",
        }
    }

    /// The text in legends and headings.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Class::Allowed => "allowed",
            Class::Logged => "allowed and logged",
            Class::Conditional => "depending on arguments",
            Class::Notified => "decided by a supervisor",
            Class::Traced => "decided by a tracer",
            Class::Denied => "denied with an error",
            Class::Trapped => "denied with SIGSYS",
            Class::Killed => "killed",
        }
    }
}
