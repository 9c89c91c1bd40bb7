//! The filter that sections are about, and outcomes and verdicts in words, with the colour and letter of each class.

use callgate::explain::{ArchExplanation, Explanation, Outcome, argument_names, cases};
use callgate::purposes::Purpose;
use callgate::{Action, Arch, Verdict};
use callgate_core::errno_name;

use crate::markup::Markup;

/// A syscall with its number and outcome.
pub(crate) type Entry<'a> = (u32, &'static str, &'a Outcome);

/// The syscalls of an architecture, sorted by name.
pub(crate) fn entries(arch: &ArchExplanation) -> Vec<Entry<'_>> {
    let groups = arch.groups.iter();
    let mut entries: Vec<Entry<'_>> = groups
        .flat_map(|group| group.syscalls.iter().map(|(nr, name)| (*nr, *name, &group.outcome)))
        .collect();
    entries.sort_unstable_by_key(|(nr, name, _)| (*name, *nr));
    entries
}

/// The syscalls of each purpose that has any, in the order of purposes.
pub(crate) fn by_purpose<'e, 'a>(entries: &'e [Entry<'a>]) -> Vec<(Purpose, Vec<&'e Entry<'a>>)> {
    let own: Vec<Option<Purpose>> = entries.iter().map(|(_, name, _)| Purpose::of(name)).collect();
    let groups = Purpose::ALL.into_iter().map(|purpose| {
        let members = entries.iter().zip(&own).filter(|(_, own)| **own == Some(purpose));
        (purpose, members.map(|(entry, _)| entry).collect::<Vec<_>>())
    });
    groups.filter(|(_, members)| !members.is_empty()).collect()
}

/// What a verdict does, as a predicate: "fails with EPERM".
pub(crate) fn effect(verdict: Verdict) -> String {
    match verdict.action() {
        Action::Allow => "is allowed".to_owned(),
        Action::Log => "is allowed and logged".to_owned(),
        Action::Errno(errno) => match errno_name(errno) {
            Some(name) => format!("fails with {name}"),
            None if errno == 0 => "is skipped and returns 0".to_owned(),
            None => format!("fails with error {errno}"),
        },
        Action::Trap(_) => "sends the signal SIGSYS".to_owned(),
        Action::UserNotif(_) => "is decided by a supervisor".to_owned(),
        Action::Trace(_) => "is decided by a tracer".to_owned(),
        Action::KillThread => "kills the thread".to_owned(),
        _ => "kills the process".to_owned(),
    }
}

/// The verdict, or the verdicts with their conditions, a line each; arguments have the names that they have in these
/// syscalls. The first line whose condition holds decides.
pub(crate) fn lines(outcome: &Outcome, arch: Arch, syscalls: &[(u32, &str)]) -> Vec<String> {
    let names = argument_names(syscalls, arch);
    match outcome {
        Outcome::Always(verdict) => vec![verdict.to_string()],
        Outcome::Depends { .. } => {
            let case = |(verdict, when): (Verdict, Option<String>)| match when {
                Some(when) => format!("{verdict} {when}"),
                None => format!("else {verdict}"),
            };
            cases(outcome, arch, names).into_iter().map(case).collect()
        }
        Outcome::Complex { verdicts } => {
            let list: Vec<String> = verdicts.iter().map(Verdict::to_string).collect();
            vec![format!("{}, too complex to list", list.join(" or "))]
        }
    }
}

/// A verdict in its colours.
pub fn chip(verdict: Verdict) -> Markup {
    chip_with(verdict, &verdict.to_string())
}

/// A text in the colours of a verdict.
pub(crate) fn chip_with(verdict: Verdict, text: &str) -> Markup {
    Markup::of(|markup| {
        let style = format!("chip {}", Class::of_verdict(verdict).style());
        markup.span(&style, text);
    })
}

/// The lines of an outcome as one text of limited length, for tooltips.
pub(crate) fn tooltip(outcome: &Outcome, arch: Arch, syscall: (u32, &str)) -> String {
    /// The maximum number of lines of a tooltip.
    const MAX: usize = 6;
    let mut lines = lines(outcome, arch, &[syscall]);
    let more = lines.len().saturating_sub(MAX);
    if more > 0 {
        lines.truncate(MAX);
        lines.push(format!("… {more} more"));
    }
    lines.join("; ")
}

/// Names, separated by commas; of many, the first ones, and a part that opens with the others. Not for the content of `p`.
pub(crate) fn names(markup: &mut Markup, names: &[&str], most: usize) {
    /// So few names are not worth a part of their own.
    const FEW: usize = 3;
    let most = if names.len() <= most + FEW { names.len() } else { most };
    let (first, rest) = names.split_at_checked(most).unwrap_or((names, &[]));
    markup.span("names", &first.join(", "));
    if !rest.is_empty() {
        markup.text(" ");
        markup.element("details", &[("class", "more")], |more| {
            more.leaf("summary", &[], &format!("and {} more", rest.len()));
            more.span("names", &rest.join(", "));
        });
    }
}

/// `1 syscall`, `2 syscalls`, with a comma between thousands.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// A number with a comma between thousands.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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

    /// The class in the style sheet, the letter and the title.
    fn looks(self) -> [&'static str; 3] {
        match self {
            Class::Allowed => ["allowed", "", "allowed"],
            Class::Logged => ["logged", "L", "allowed and logged"],
            Class::Conditional => ["conditional", "?", "depending on arguments"],
            Class::Notified => ["notified", "N", "decided by a supervisor"],
            Class::Traced => ["traced", "T", "decided by a tracer"],
            Class::Denied => ["denied", "E", "denied with an error"],
            Class::Trapped => ["trapped", "S", "denied with SIGSYS"],
            Class::Killed => ["killed", "K", "killed"],
        }
    }

    /// The class of elements in the style sheet.
    pub(crate) fn style(self) -> &'static str {
        self.looks()[0]
    }

    /// The letter in its squares; allowed syscalls have none, so that all others stand out.
    pub(crate) fn letter(self) -> &'static str {
        self.looks()[1]
    }

    /// The text in legends and headings.
    pub(crate) fn title(self) -> &'static str {
        self.looks()[2]
    }
}

/// A filter, as sections see it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub explanation: &'a Explanation,
    /// Whether it compares the architecture.
    pub checks_arch: bool,
}

/// The maximum number of architectures that a section shows in detail.
pub(crate) const MAX_ARCHES: usize = 4;

impl<'a> Subject<'a> {
    /// The architectures that sections show in detail, and the names of the others.
    pub(crate) fn shown_arches(&self) -> (&'a [ArchExplanation], Vec<&'static str>) {
        let arches = &self.explanation.arches;
        let (shown, others) = arches.split_at_checked(MAX_ARCHES).unwrap_or((arches, &[]));
        (shown, others.iter().map(|other| other.arch.name()).collect())
    }
}

/// A sentence about architectures that a section leaves out.
pub(crate) fn left_out(what: &str, others: &[&str]) -> String {
    format!(
        "{what} for {} further architectures are left out: {}.",
        others.len(),
        others.join(", ")
    )
}
