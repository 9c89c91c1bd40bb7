//! Caveats: why a recording may have fewer, more or other syscalls than the program makes without a recorder.
//!
//! A caveat is noticed during recording, but matters when a profile is generated, possibly later and from several
//! merged recordings. Therefore it is stored in the recording, with an identifier for programs and a text for people.
//! Readers treat unknown identifiers according to their [`Effect`].

use std::time::Duration;

/// Why a recording may differ from a run without a recorder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caveat {
    /// A stable identifier, such as `denied-calls`. The [JSON format](super#json-format) lists them.
    pub id: String,
    /// The effect on the recording.
    pub effect: Effect,
    /// How many syscalls, threads or other things it concerns, if known.
    pub count: Option<u64>,
    /// A description for people.
    pub text: String,
}

/// How a recording differs from the syscalls that the program makes without a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Syscalls are missing: a profile made from it denies them.
    Incomplete,
    /// Only a part of the run was recorded, as intended: a profile made from it denies other syscalls.
    Excerpt,
    /// The program ran differently than without a recorder, and may make other syscalls.
    Altered,
    /// It contains syscalls that a filter denied: a profile made from it allows them.
    Excess,
}

impl Effect {
    /// All effects.
    pub const ALL: &'static [Effect] =
        &[Effect::Incomplete, Effect::Excerpt, Effect::Altered, Effect::Excess];

    /// The name in a recording.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Incomplete => "incomplete",
            Effect::Excerpt => "excerpt",
            Effect::Altered => "altered",
            Effect::Excess => "excess",
        }
    }
}

impl Caveat {
    /// Identifier: the end of the recording is missing.
    pub const CUT_OFF: &'static str = "cut-off";

    /// Syscalls are missing.
    pub(crate) fn incomplete(id: &str, count: Option<u64>, text: String) -> Caveat {
        Caveat { id: id.to_owned(), effect: Effect::Incomplete, count, text }
    }

    /// The recording was truncated.
    pub(crate) fn cut_off() -> Caveat {
        let text = "the recording is truncated: later entries are missing";
        Caveat::incomplete(Caveat::CUT_OFF, None, text.to_owned())
    }

    /// The recording was saved while the command was running.
    pub fn unfinished() -> Caveat {
        let text =
            "the recording was saved while the command was running: later syscalls are missing";
        Caveat::incomplete(Caveat::CUT_OFF, None, text.to_owned())
    }

    /// Processes were recorded for this long while they ran; `to` describes them.
    pub fn attached(to: &str, time: Duration) -> Caveat {
        let seconds = time.as_secs_f64();
        let text = format!(
            "{to} was recorded for {seconds:.1} s while it ran: earlier and later syscalls are missing"
        );
        Caveat { effect: Effect::Excerpt, ..Caveat::incomplete("attached", None, text) }
    }

    /// This many lines of a log look like denials, the first in this line, and could not be read.
    pub(crate) fn unread_denials(count: u64, first: u64) -> Caveat {
        let text = match count {
            1 => format!("line {first} of the log looks like a denial, but could not be read"),
            count => format!(
                "{count} lines of the log look like denials, the first is line {first}, but could not be read"
            ),
        };
        Caveat::incomplete("unread-denials", Some(count), text)
    }

    pub(super) fn lost(syscalls: u64) -> Caveat {
        let text = match syscalls {
            1 => "at least 1 syscall is missing from the recording".to_owned(),
            syscalls => format!("at least {syscalls} syscalls are missing from the recording"),
        };
        Caveat::incomplete("lost-calls", Some(syscalls), text)
    }
}
