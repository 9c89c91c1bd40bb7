//! What a form makes of a draft.

use super::{kafel, oci, systemd};
use crate::check::check;
use crate::generate::directives::{self, Directive};
use crate::generate::draft::{Draft, Grant, Reason};
use crate::generate::error::{GenerateError, Kind};
use crate::generate::{Deny, runtime, times};
use crate::recording::Recording;
use callgate_bpf::syscalls::KernelVersion;
use callgate_bpf::verdict::Verdict;
use callgate_formats::oci as reader;
use callgate_formats::ruleset::{Comparison, RuleSet, sections};
use callgate_proof::diagram::Store;
use callgate_proof::policy::Policy;

/// A language for profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON for Docker, Podman, runc and other OCI runtimes. It cannot name calls by their numbers.
    Oci,
    /// Lines for a unit of systemd. It knows no numbers, and limits arguments by directives of their own.
    Systemd,
    /// A Kafel policy, for nsjail; for one architecture.
    Kafel,
}

/// A profile as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The text, with comments on all choices.
    pub text: String,
    /// What it means.
    pub policy: Policy,
}

impl Draft {
    /// Writes the profile and checks that it allows what was recorded.
    ///
    /// # Errors
    /// When the form cannot say what the profile is about: several architectures in Kafel, or
    /// architectures of different byte order in any form. And, which would be a defect of this crate,
    /// when the profile would deny a recorded call or cannot be read back.
    pub fn write(&self, form: Form) -> Result<Written, GenerateError> {
        if form == Form::Kafel && self.arches.len() > 1 {
            return Err(Kind::OneArch { given: self.arches.clone() }.into());
        }
        let mut store = Store::default();
        let directives = match form {
            // Whoever tries a profile out wants everything to run.
            Form::Systemd if self.deny != Deny::Log => directives::of(self, &mut store)?,
            _ => Vec::new(),
        };
        let policy = self.policy(form, &directives)?;
        let text = match form {
            Form::Oci => oci::write(self),
            Form::Systemd => systemd::write(self, &directives),
            Form::Kafel => kafel::write(self),
        };
        let meaning = store.policy(&policy)?;
        let denied = check(&mut store, meaning, &self.sayable(form))?;
        if let Some(finding) = denied.into_iter().find(|finding| finding.is_denied()) {
            return Err(Kind::Denies(Box::new(finding)).into());
        }
        if form == Form::Oci {
            let read = self.read_back(&text)?;
            if store.policy(&read)? != meaning {
                return Err(Kind::ReadDifferently.into());
            }
        }
        Ok(Written { text, policy })
    }

    /// What a form makes of the draft.
    fn policy(&self, form: Form, directives: &[Directive]) -> Result<Policy, GenerateError> {
        let mut sets: Vec<RuleSet<&'static str>> =
            self.arches.iter().copied().map(RuleSet::new).collect();
        let default = self.default_verdict();
        for set in &mut sets {
            let enosys = Verdict::errno(set.arch().enosys());
            let mut add = |name, comparisons: &[Comparison], verdict| {
                match set.arch().number(name) {
                    // Only libseccomp reaches calls through socketcall and ipc, too.
                    Some(nr) if form == Form::Kafel => set.add(nr, comparisons, verdict, name),
                    None if form == Form::Kafel => {}
                    _ => {
                        set.add_call(name, comparisons, verdict, name);
                    }
                }
            };
            for grant in self.grants.values().filter(|grant| self.can_name(form, grant.name)) {
                for comparisons in alternatives(grant, form) {
                    add(grant.name, &comparisons, Verdict::ALLOW);
                }
            }
            self.refused_by(form).for_each(|name| add(name, &[], enosys));
            self.granted_by(form).for_each(|name| add(name, &[], Verdict::ALLOW));
            let arch = set.arch();
            for (call, _) in self.numbers.iter().filter(|(call, _)| call.arch == arch) {
                if form.says_numbers() {
                    set.add(call.nr, &[], Verdict::ALLOW, "");
                }
            }
            if let Some(conflict) = set.contradictions().first() {
                return Err(Kind::Conflict(conflict.later).into());
            }
        }
        let mut sections = sections(&sets, default, reader::BAD_ARCH);
        for (set, directive) in sets.iter().flat_map(|set| directives.iter().map(move |d| (set, d)))
        {
            // The filter of the list comes last, so its verdict is the one for what both deny.
            let granted =
                |nr: &u32| set.arch().call_name(*nr).is_some_and(|name| self.is_granted(name));
            let rules = directive
                .rules(set.arch())
                .filter(|rule| rule.calls.ranges().iter().all(|(first, _)| granted(first)));
            let token = set.arch().token();
            if let Some(section) = sections.iter_mut().find(|section| section.token == token) {
                section.rules.splice(0..0, rules);
            }
        }
        Policy::new(sections, reader::BAD_ARCH).map_err(|error| Kind::Arches(error).into())
    }

    /// What all calls get that are not granted.
    pub(super) fn default_verdict(&self) -> Verdict {
        self.arches.first().map_or(Verdict::KILL_PROCESS, |arch| self.deny.verdict(*arch))
    }

    /// The calls that need a rule of their own to fail with ENOSYS.
    pub(super) fn refused_by(&self, form: Form) -> impl Iterator<Item = &'static str> {
        let otherwise = self.arches.first().is_some_and(|arch| {
            let default = self.deny.verdict(*arch);
            default != Verdict::errno(arch.enosys()) && !default.permits()
        });
        let said = otherwise && form.says_arguments();
        self.refused.iter().chain(&self.tried).copied().filter(move |_| said)
    }

    /// The calls that are refused for a limit which the form cannot say, and granted with it.
    pub fn granted_by(&self, form: Form) -> impl Iterator<Item = &'static str> {
        self.refused.iter().copied().filter(move |_| !form.says_arguments())
    }

    /// The part of the recording that a form can speak about.
    fn sayable(&self, form: Form) -> Recording {
        let mut sayable = self.recorded.clone();
        sayable.retain(|call| match call.name() {
            Some(name) => self.can_name(form, name),
            None => form.says_numbers(),
        });
        sayable
    }

    fn read_back(&self, text: &str) -> Result<Policy, GenerateError> {
        let native = self.arches.first().copied().ok_or(Kind::Empty)?;
        let options = reader::Options {
            dialect: Some(reader::Dialect::Docker),
            arches: self.arches.clone(),
            enosys_above: Some(reader::EnosysAbove::Off),
            strict: true,
            ..reader::Options::new(native, KernelVersion { major: 6, minor: 18 })
        };
        let profile = reader::read(text, &options).map_err(Kind::NotRead)?;
        Ok(profile.policy)
    }
}

impl Form {
    /// Whether it can grant a call by its number.
    pub fn says_numbers(self) -> bool {
        self == Form::Kafel
    }

    /// Whether its lists of calls can limit arguments.
    pub fn says_arguments(self) -> bool {
        self != Form::Systemd
    }
}

/// The conditions of a grant, one of which must hold.
pub(super) fn alternatives(grant: &Grant, form: Form) -> Vec<Vec<Comparison>> {
    if !form.says_arguments() {
        return vec![Vec::new()];
    }
    let comparisons = |all: Vec<_>| {
        all.into_iter()
            .filter_map(|(limit, cube): (&crate::generate::Limit, _)| limit.comparison(cube))
    };
    grant.alternatives().into_iter().map(|all| comparisons(all).collect()).collect()
}

/// Why calls are granted that nobody writes.
pub(super) const WHY_KERNEL: &str =
    "the kernel makes programs call it after signals, and in interrupted sleeps";

/// Whether a grant is more than its name, in a form that knows arguments.
pub(super) fn has_conditions(grant: &Grant) -> bool {
    alternatives(grant, Form::Oci).iter().all(|comparisons| !comparisons.is_empty())
}

/// The limits of a grant and what they are there for, for a comment.
pub(super) fn limits(draft: &Draft, grant: &Grant) -> String {
    let limits: Vec<String> = grant.limits.iter().map(ToString::to_string).collect();
    let whence = match grant.reason {
        Reason::Recorded(count) => format!("recorded {}", times(count)),
        Reason::Runtime => draft.runtime().why().to_owned(),
        Reason::Kernel => WHY_KERNEL.to_owned(),
        Reason::Sibling { of, why } => format!("like {of}, which was recorded: {why}"),
    };
    let start = if grant.at_start && grant.is_recorded() {
        format!(", and made at the start by {}", draft.runtime().name())
    } else {
        String::new()
    };
    let first = grant.limits.first().map_or("", |limit| limit.why);
    format!("{}: {whence}{start}; {first}.", limits.join(" and "))
}

/// Names in lines that fit into a width, each with an indentation and what stands after a name.
pub(super) fn wrapped<'n>(
    names: impl IntoIterator<Item = &'n str>,
    width: usize,
    between: &str,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.chars().count() + between.len() + name.chars().count() <= width => {
                line.push_str(between);
                line.push_str(name);
            }
            _ => lines.push(name.to_owned()),
        }
    }
    lines
}

/// What the profile was made from, for a comment.
pub(super) fn origin(draft: &Draft) -> String {
    let runs = draft.recorded.runs();
    let commands: Vec<String> = runs
        .iter()
        .filter(|run| !run.command.is_empty())
        .map(|run| run.command.join(" "))
        .collect();
    let calls = draft.recorded.total();
    let plural = if calls == 1 { "" } else { "s" };
    let mut text = format!("generated by callgate from {calls} recorded call{plural}");
    if let Some(first) = commands.first() {
        text += &format!(" of {first}");
    }
    if let Some(more @ 1..) = commands.len().checked_sub(1) {
        text += &format!(" and {more} more");
    }
    // Comments end with their line, and commands are what somebody else wrote.
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

/// Whether systemd grants a call by itself.
pub(super) fn is_added_by_systemd(grant: &Grant) -> bool {
    !grant.is_recorded() && runtime::is_added_by_systemd(grant.name)
}
