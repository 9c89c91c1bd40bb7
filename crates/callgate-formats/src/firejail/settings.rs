//! What the lines of a profile set about filters.

use super::lists::is_valid;
use super::table::{FAMILIES, FILTER_COMMANDS, NAMESPACES};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::included::{Place, Reports, Sources, Span};
use callgate_bpf::suggest::nearest;
use callgate_core::{Verdict, errno_number};

/// What denied syscalls get unless `seccomp-error-action` says otherwise: EPERM.
pub(super) const DEFAULT_ACTION: Verdict = Verdict::errno(1);

/// What a profile sets. Of commands with a list, the last one counts; places are those of the command.
#[derive(Debug)]
pub(super) struct Settings {
    /// `seccomp`, with or without a list, or another command that turns the filter on.
    pub(super) is_on: Option<Span>,
    /// The list of `seccomp LIST`.
    pub(super) list: Option<Span>,
    /// The list of `seccomp.drop`.
    pub(super) drop: Option<Span>,
    /// The list of `seccomp.keep`.
    pub(super) keep: Option<Span>,
    /// The list of `seccomp.32.drop`.
    pub(super) drop_32: Option<Span>,
    pub(super) block_secondary: Option<Span>,
    pub(super) memory_deny_write_execute: Option<Span>,
    pub(super) namespaces: Option<Names>,
    pub(super) protocol: Option<Names>,
    pub(super) action: Verdict,
    pub(super) allow_debuggers: Option<Span>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            is_on: None,
            list: None,
            drop: None,
            keep: None,
            drop_32: None,
            block_secondary: None,
            memory_deny_write_execute: None,
            namespaces: None,
            protocol: None,
            action: DEFAULT_ACTION,
            allow_debuggers: None,
        }
    }
}

/// A list of names that several lines change.
#[derive(Debug)]
pub(super) struct Names {
    /// The last command.
    pub(super) at: Span,
    items: Vec<(String, Place)>,
}

/// The maximum number of names in a list, far more than there are.
const MAX_NAMES: usize = 100;

impl Names {
    /// Applies a line: `name` and `+name` add, `-name` removes, `=name` replaces all.
    pub(super) fn change(list: &mut Option<Names>, at: Span, (text, from): (&str, Place)) {
        let names = list.get_or_insert_with(|| Names { at, items: Vec::new() });
        names.at = at;
        let mut offset = from.offset;
        for item in text.split(',') {
            let place = Place { offset, ..from };
            offset = offset.saturating_add(u32::try_from(item.len() + 1).unwrap_or(u32::MAX));
            if let Some(name) = item.strip_prefix('-') {
                names.items.retain(|(known, _)| known != name);
                continue;
            }
            let name = match item.strip_prefix('=') {
                Some(name) => {
                    names.items.clear();
                    name
                }
                None => item.strip_prefix('+').unwrap_or(item),
            };
            let is_new = !name.is_empty() && !names.items.iter().any(|(known, _)| known == name);
            if is_new && names.items.len() < MAX_NAMES {
                names.items.push((name.to_owned(), place));
            }
        }
    }

    /// The values of the names. Reports unknown ones.
    fn values(&self, what: &str, known: &[(&'static str, u64)], reports: &mut Reports) -> Vec<u64> {
        let mut values = Vec::new();
        for (name, place) in &self.items {
            if let Some((_, value)) = known.iter().find(|(known, _)| known == name) {
                values.push(*value);
                continue;
            }
            let near = reports.nearest(|| nearest(name, known.iter().map(|(name, _)| *name)));
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let otherwise = format!("write {}", names.join(", "));
            let message = format!("firejail knows no {what} `{}`", shorten(name));
            reports.error(*place, message).help = did_you_mean(near, &otherwise);
        }
        values
    }

    /// The socket families.
    pub(super) fn families(&self, reports: &mut Reports) -> Vec<u64> {
        let families = self.values("protocol", &FAMILIES, reports);
        if families.is_empty() && !reports.failed() {
            let message = "firejail refuses a list of protocols without any";
            reports.error(self.at.at, message).help = "name one, such as `unix`".to_owned();
        }
        families
    }

    /// The flags of the namespaces.
    pub(super) fn flags(&self, reports: &mut Reports) -> u64 {
        let flags = self.values("namespace", &NAMESPACES, reports);
        flags.into_iter().fold(0, |all, flag| all | flag)
    }
}

/// What a line of a profile is about: its command and the text behind it.
#[derive(Clone, Copy)]
pub(super) struct Command<'c> {
    /// The command.
    pub(super) name: &'c str,
    pub(super) at: Span,
    /// What follows the command and a blank.
    pub(super) value: &'c str,
    pub(super) value_at: Span,
}

impl Settings {
    /// Applies a line with a command about filters.
    pub(super) fn apply(&mut self, command: Command<'_>, sources: &Sources, reports: &mut Reports) {
        let Command { name, at, value, value_at } = command;
        let is_alone = value.is_empty();
        match name {
            "seccomp" if is_alone => self.is_on = Some(at),
            "seccomp" | "seccomp.drop" | "seccomp.keep" | "seccomp.32.drop" if !is_alone => {
                if !is_valid(value_at, sources, reports) {
                    return;
                }
                let list = match name {
                    "seccomp.drop" => &mut self.drop,
                    "seccomp.keep" => &mut self.keep,
                    "seccomp.32.drop" => &mut self.drop_32,
                    _ => &mut self.list,
                };
                if let Some(before) = list.replace(value_at) {
                    let message = "this list has no effect: a later one replaces it";
                    reports.warn(before.at, message).help = "join the two lists".to_owned();
                }
                if name != "seccomp.32.drop" {
                    self.is_on = Some(at);
                }
            }
            "seccomp.32" | "seccomp.32.keep" if !is_alone => {
                let why = match name {
                    "seccomp.32" => {
                        "which filter for i386 firejail installs depends on the lists for x86-64"
                    }
                    _ => "firejail makes a filter for x86-64 of it, not for i386",
                };
                let message = format!("`{name}` is not read: {why}");
                reports.error(at.at, message).help =
                    "write seccomp.32.drop, with seccomp.drop for x86-64".to_owned();
            }
            "seccomp.block-secondary" if is_alone => self.block_secondary = Some(at),
            "memory-deny-write-execute" if is_alone => self.memory_deny_write_execute = Some(at),
            "allow-debuggers" if is_alone => self.allow_debuggers = Some(at),
            "restrict-namespaces" => {
                let all = NAMESPACES.map(|(name, _)| name).join(",");
                let text = if is_alone { (all.as_str(), at.at) } else { (value, value_at.at) };
                Names::change(&mut self.namespaces, at, text);
            }
            "protocol" if !is_alone => {
                Names::change(&mut self.protocol, at, (value, value_at.at));
            }
            "seccomp-error-action" if !is_alone => self.set_action(value, value_at, reports),
            _ => refuse(command, reports),
        }
    }

    fn set_action(&mut self, value: &str, at: Span, reports: &mut Reports) {
        self.action = match value {
            "kill" => Verdict::KILL_THREAD,
            "log" => Verdict::LOG,
            errno => match errno_number(&errno.to_ascii_uppercase()) {
                Some(errno) => Verdict::errno(errno),
                None => {
                    let message = format!("`{}` is not a Firejail action", shorten(errno));
                    reports.error(at.at, message).help =
                        "write kill, log, or the name of an errno such as EPERM".to_owned();
                    return;
                }
            },
        };
    }
}

/// Refuses a line about filters that firejail refuses.
fn refuse(command: Command<'_>, reports: &mut Reports) {
    let Command { name, at, value, .. } = command;
    let (message, help) = match FILTER_COMMANDS.contains(&name) {
        true if value.is_empty() => (
            format!("firejail refuses `{name}` without a value"),
            "write it behind the command".to_owned(),
        ),
        true => (
            format!("`{name}` has no value, so firejail refuses `{}`", shorten(value)),
            "remove the value".to_owned(),
        ),
        false => {
            let near = reports.nearest(|| nearest(name, FILTER_COMMANDS));
            (
                format!("firejail has no command `{}`", shorten(name)),
                did_you_mean(near, "see the manual page firejail-profile(5)"),
            )
        }
    };
    reports.error(at.at, message).help = help;
}
