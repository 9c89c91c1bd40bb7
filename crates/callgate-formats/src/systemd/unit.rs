//! Reader of the directives: from lines to settings.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::arches;
use super::lines::{BLANK, Lines, Logical, words};
use super::options::{ExecSection, ReadOptions, TextForm, UnitText};
use super::settings::{Denial, Directive, Member, Settings, Switch};
use super::values::{self, boolean};
use crate::diagnostics::quote::shorten;
use crate::files::{At, Report};
use callgate_bpf::suggest::nearest;
use callgate_core::Arch;

/// The maximum length of a line with its continuations (`LONG_LINE_MAX` in `fileio.h`).
const LONGEST: usize = 1 << 20;

/// Keys that are read besides the names of directives.
const OTHER_KEYS: [&str; 3] = ["SystemCallErrorNumber", "Personality", "DynamicUser"];

/// Keys of systemd that resemble one that is read.
const SIMILAR: [&str; 1] = ["ProtectProc"];

/// The maximum number of keys for which a similar one is searched. systemd has about 500 keys.
const MAX_KEYS: usize = 2000;

/// The section of a line.
enum Section {
    /// Before the first header.
    None,
    Read,
    /// A section that is not read; the lines in it are ignored.
    Other(String),
}

/// Reads texts into settings.
pub(super) struct UnitReader<'o, 't> {
    pub(super) options: &'o ReadOptions,
    pub(super) report: Report<'t>,
    pub(super) settings: Settings,
    /// The section whose directives are read.
    section: Option<ExecSection>,
    /// The index of the file that is being read.
    pub(super) file: usize,
    /// The number of syscalls to which words expanded so far.
    pub(super) expanded: usize,
    /// The syscalls of the groups that were named so far.
    pub(super) groups: BTreeMap<String, Rc<[Member]>>,
    /// Keys that are not read, and the key that each resembles.
    similar: BTreeMap<String, Option<&'static str>>,
}

impl<'o, 't> UnitReader<'o, 't> {
    pub(super) fn new(texts: &[UnitText<'t>], options: &'o ReadOptions) -> UnitReader<'o, 't> {
        UnitReader {
            options,
            report: Report::new(texts.iter().map(|text| text.text)),
            settings: Settings::default(),
            section: options.section,
            file: 0,
            expanded: 0,
            groups: BTreeMap::new(),
            similar: BTreeMap::new(),
        }
    }

    /// Reads one text, after those before it.
    pub(super) fn read(&mut self, file: usize, text: &UnitText<'_>) {
        self.file = file;
        if let Some(offset) = text.text.find('\0') {
            let at = self.at(offset);
            self.report.error(at, "the text contains a NUL byte").help =
                "systemd reads it as the end of a line; remove it".to_owned();
            return;
        }
        let mut section = match text.form {
            TextForm::Unit => Section::None,
            TextForm::Directives | TextForm::Filter => Section::Read,
        };
        for line in Lines::new(text.text) {
            if line.text.len() > LONGEST {
                let at = self.at(line.offset(0));
                let message = format!(
                    "the line and its continuations have {} bytes, the limit is {LONGEST}",
                    line.text.len()
                );
                let help = "systemd does not read such a file; use several lines";
                self.report.error(at, message).set_too_large(help);
                continue;
            }
            match text.form {
                TextForm::Filter => self.filter_line(&line),
                TextForm::Unit => self.line(&line.trimmed(), &mut section),
                TextForm::Directives => {
                    for one in assignments(&line) {
                        self.line(&one, &mut section);
                    }
                }
            }
        }
    }

    pub(super) fn at(&self, offset: usize) -> At {
        At { file: self.file, offset }
    }

    /// A line of a unit file.
    fn line(&mut self, line: &Logical, section: &mut Section) {
        if line.text.is_empty() {
            return;
        }
        let at = self.at(line.offset(0));
        if let Some(rest) = line.text.strip_prefix('[') {
            match rest.strip_suffix(']') {
                Some(name) => *section = self.header(name, at),
                None => {
                    let message = format!("invalid section header \"{}\"", shorten(&line.text));
                    self.report.error(at, message).help =
                        "systemd does not read such a file; write a header such as [Service]"
                            .to_owned();
                }
            }
            return;
        }
        let Some(equals) = line.text.find('=') else {
            if !matches!(section, Section::Other(_)) {
                let message =
                    format!("missing = in \"{}\"; systemd ignores the line", shorten(&line.text));
                self.report.warn(at, message).help = "write KEY=VALUE".to_owned();
            }
            return;
        };
        let (key, value) = (line.part(0, equals), line.part(equals + 1, line.text.len()));
        match section {
            Section::Read => self.assignment(&key.text, at, &value),
            Section::None if is_read(&key.text) => {
                let message =
                    format!("{} is outside of a section; systemd ignores the line", key.text);
                self.report.warn(at, message).help =
                    "write a header such as [Service] before it".to_owned();
            }
            Section::Other(name) if is_read(&key.text) => {
                let message = format!("{} has no effect in the section [{name}]", key.text);
                let name = self.section.map_or("Service", ExecSection::name);
                self.report.warn(at, message).help = format!("move it to the section [{name}]");
            }
            Section::None | Section::Other(_) => {}
        }
    }

    fn header(&mut self, name: &str, at: At) -> Section {
        let found = ExecSection::from_name(name);
        match (found, self.section) {
            (Some(_), None) => {
                self.section = found;
                Section::Read
            }
            (Some(found), Some(own)) if found == own => Section::Read,
            (Some(_), Some(own)) => {
                let message =
                    format!("the section [{name}] is ignored in a unit with [{}]", own.name());
                self.report.warn(at, message).help =
                    "a unit has one section that describes its processes".to_owned();
                Section::Other(name.to_owned())
            }
            (None, _) => {
                let all = ExecSection::ALL.map(ExecSection::name);
                if let Some(near) = all.into_iter().find(|known| known.eq_ignore_ascii_case(name)) {
                    let message = format!("unknown section [{name}]; systemd ignores it");
                    self.report.warn(at, message).help = format!("did you mean [{near}]?");
                }
                Section::Other(shorten(name))
            }
        }
    }

    fn assignment(&mut self, key: &str, at: At, value: &Logical) {
        let directive = Directive::ALL.iter().find(|directive| directive.name() == key);
        if let Some(directive) = directive {
            self.settings.places.insert(*directive, at);
        }
        match directive {
            Some(Directive::SystemCallFilter) => self.syscalls(Directive::SystemCallFilter, value),
            Some(Directive::SystemCallLog) => self.syscalls(Directive::SystemCallLog, value),
            Some(Directive::SystemCallArchitectures) => self.arches(value),
            Some(Directive::RestrictAddressFamilies) => self.families(value),
            Some(Directive::RestrictNamespaces) => self.namespaces(value),
            Some(Directive::ProtectHostname) => self.hostname(at, value),
            Some(switch) => self.switch(*switch, at, value),
            None => match key {
                "SystemCallErrorNumber" => self.error_number(value),
                "Personality" => self.personality(value),
                "DynamicUser" => self.dynamic_user(at, value),
                _ => self.other(key, at, value),
            },
        }
    }

    /// An assignment that installs no filter.
    fn other(&mut self, key: &str, at: At, value: &Logical) {
        let prefixes = value.text.trim_start_matches(['-', '@', ':', '!', '|']);
        if key.starts_with("Exec") && prefixes.starts_with('+') {
            let at = self.at(value.offset(value.text.len() - prefixes.len()));
            let message = format!(
                "the command of {key} runs without filters, because its path has the prefix +"
            );
            self.report.warn(at, message).help =
                "remove the + to apply the filters to it".to_owned();
            return;
        }
        if key.starts_with("X-") || SIMILAR.contains(&key) || key.starts_with("Exec") {
            return;
        }
        if let Some(near) = self.similar(key) {
            let message = format!("unknown key \"{}\"; systemd ignores the line", shorten(key));
            self.report.warn(at, message).help = format!("did you mean {near}?");
        }
    }

    /// The key that another one resembles. The search takes time, so it is done once per key, and for a limited number of
    /// keys.
    fn similar(&mut self, key: &str) -> Option<&'static str> {
        if let Some(known) = self.similar.get(key) {
            return *known;
        }
        if self.similar.len() >= MAX_KEYS {
            return None;
        }
        let folded = keys().find(|known| known.eq_ignore_ascii_case(key));
        let found = folded.or_else(|| nearest(key, keys()));
        self.similar.insert(key.to_owned(), found);
        found
    }

    /// A boolean value. An invalid one is ignored with a warning.
    fn boolean(&mut self, key: &str, value: &Logical) -> Option<bool> {
        let found = boolean(&value.text);
        if found.is_none() {
            self.invalid(value, &format!("boolean value of {key}"), "write yes or no");
        }
        found
    }

    /// Warns that a value is invalid.
    fn invalid(&mut self, value: &Logical, what: &str, help: &str) {
        let at = self.at(value.offset(0));
        let message =
            format!("invalid {what}: \"{}\"; systemd ignores the line", shorten(&value.text));
        self.report.warn(at, message).help = help.to_owned();
    }

    fn switch(&mut self, directive: Directive, at: At, value: &Logical) {
        if let Some(is_on) = self.boolean(directive.name(), value) {
            self.set(directive, Switch { is_on, at });
        }
    }

    fn set(&mut self, directive: Directive, new: Switch) {
        let old = self.settings.switches.insert(directive, new);
        let Some(old) = old.filter(|old| old.at.file == new.at.file && old.is_on != new.is_on)
        else {
            return;
        };
        let message = format!(
            "this line replaces the value of {directive} in line {}",
            self.report.line(old.at)
        );
        self.report.warn(new.at, message).help = "remove one of the lines".to_owned();
    }

    fn dynamic_user(&mut self, at: At, value: &Logical) {
        match boolean(&value.text) {
            Some(is_on) => self.settings.dynamic_user = Some(Switch { is_on, at }),
            None => {
                let at = self.at(value.offset(0));
                let message =
                    format!("invalid boolean value of DynamicUser: \"{}\"", shorten(&value.text));
                self.report.error(at, message).help =
                    "systemd does not load such a unit; write yes or no".to_owned();
            }
        }
    }

    fn hostname(&mut self, at: At, value: &Logical) {
        if !self.options.version.has_private_hostname() {
            return self.switch(Directive::ProtectHostname, at, value);
        }
        let (word, host) = match value.text.split_once(':') {
            Some((word, host)) => (word, Some(host)),
            None => (value.text.as_str(), None),
        };
        let mode = match word {
            "" if host.is_none() => Some(false),
            "private" => Some(false),
            _ => boolean(word).filter(|is_on| *is_on || host.is_none()),
        };
        // systemd also ignores an invalid host name; a specifier in it may stand for a valid one.
        let is_valid = host.is_none_or(|host| host.contains('%') || values::is_host_name(host));
        match mode.filter(|_| is_valid) {
            Some(is_on) => self.set(Directive::ProtectHostname, Switch { is_on, at }),
            None => self.invalid(
                value,
                "value of ProtectHostname",
                "write yes, no or private; after yes and private, a host name of at most 64 letters, digits, - and . may \
                 follow a colon",
            ),
        }
    }

    fn error_number(&mut self, value: &Logical) {
        let at = self.at(value.offset(0));
        let denial = match value.text.as_str() {
            "" | "kill" => Denial::Kill,
            text => match values::errno(text, self.options.native) {
                Ok(0) => {
                    let help = "0 would report success; write an errno, or kill";
                    return self.invalid(value, "value of SystemCallErrorNumber", help);
                }
                Ok(errno) => Denial::Errno(errno),
                Err(help) => {
                    return self.invalid(
                        value,
                        "value of SystemCallErrorNumber",
                        &format!("{help}, or kill"),
                    );
                }
            },
        };
        self.settings.denial = denial;
        self.settings.denial_at = Some(at);
    }

    fn personality(&mut self, value: &Logical) {
        if value.text.is_empty() {
            self.settings.personality = None;
            return;
        }
        match arches::personality(&value.text, self.options.native) {
            Some(personality) => self.settings.personality = Some(personality),
            None => {
                let what = format!("personality for systemd on {}", self.options.native);
                self.invalid(
                    value,
                    &what,
                    "write the name of the native architecture, or of its 32-bit one",
                );
            }
        }
    }

    fn arches(&mut self, value: &Logical) {
        if value.text.is_empty() {
            self.settings.arches.clear();
            return;
        }
        let found = words(&value.text, true);
        for word in found.words {
            if word.text == "native" {
                self.settings.arches.insert(None);
                continue;
            }
            if let Some(arch) = arches::from_name(&word.text, self.options.version) {
                self.settings.arches.insert(Some(arch));
                continue;
            }
            let at = self.at(value.offset(word.at));
            let message = format!(
                "unknown architecture \"{}\"; systemd ignores the word",
                shorten(&word.text)
            );
            let meant = Arch::from_name(&word.text).and_then(arches::name);
            let search = || meant.or_else(|| nearest(&word.text, arches::names()));
            let help = self.report.did_you_mean(search, "write native, or a name such as x86-64");
            self.report.warn(at, message).help = help;
        }
        self.broken(value, found.error);
    }

    /// Warns about the end of a value whose syntax is invalid.
    pub(super) fn broken(&mut self, value: &Logical, error: Option<(usize, &'static str)>) {
        let Some((index, why)) = error else { return };
        let at = self.at(value.offset(index));
        self.report.warn(at, format!("{why}; systemd ignores the rest of the line")).help =
            "words are separated by spaces".to_owned();
    }

    fn families(&mut self, value: &Logical) {
        let families = &mut self.settings.families;
        match value.text.as_str() {
            "" => {
                *families = Default::default();
                return;
            }
            "none" => {
                (families.allows, families.listed) = (true, None);
                return;
            }
            _ => {}
        }
        let (is_inverted, start, rest) = sign(&value.text);
        if families.listed.is_none() {
            families.allows = !is_inverted;
        }
        let (allows, mut listed) = (families.allows, families.listed.take().unwrap_or_default());
        let found = words(rest, true);
        for word in found.words {
            match values::family(&word.text) {
                Some(family) if is_inverted != allows => drop(listed.insert(family)),
                Some(family) => drop(listed.remove(&family)),
                None => {
                    let at = self.at(value.offset(start + word.at));
                    let message = format!(
                        "unknown address family \"{}\"; systemd ignores the word",
                        shorten(&word.text)
                    );
                    let search = || nearest(&word.text, values::families().map(|(name, _)| name));
                    let help = self
                        .report
                        .did_you_mean(search, "write a name such as AF_INET, or none alone");
                    self.report.warn(at, message).help = help;
                }
            }
        }
        self.settings.families.listed = Some(listed);
        self.broken(value, found.error.map(|(index, why)| (start + index, why)));
    }

    fn namespaces(&mut self, value: &Logical) {
        match value.text.as_str() {
            "" => return self.settings.namespaces = None,
            text => {
                if let Some(restricts) = boolean(text) {
                    self.settings.namespaces = Some(if restricts {
                        0
                    } else {
                        values::all_namespaces(self.options.version)
                    });
                    return;
                }
            }
        }
        let (is_inverted, start, rest) = sign(&value.text);
        let found = words(rest, false);
        let mut flags = 0;
        for word in &found.words {
            let Some(flag) = values::namespace(&word.text) else {
                let at = self.at(value.offset(start + word.at));
                let message = format!(
                    "unknown namespace \"{}\"; systemd ignores the line",
                    shorten(&word.text)
                );
                let names = values::namespaces().map(|(name, _)| name);
                let help = "write yes, no, or some of cgroup, ipc, mnt, net, pid, time, user, uts";
                let help = self.report.did_you_mean(|| nearest(&word.text, names), help);
                self.report.warn(at, message).help = help;
                return;
            };
            flags |= flag;
        }
        if found.error.is_some() {
            return self.broken(value, found.error.map(|(index, why)| (start + index, why)));
        }
        self.settings.namespaces = Some(match (self.settings.namespaces, is_inverted) {
            (None, true) => values::all_namespaces(self.options.version) & !flags,
            (None, false) => flags,
            (Some(old), true) => old & !flags,
            (Some(old), false) => old | flags,
        });
    }
}

/// The assignments in a line: each begins with a key that is read, after a blank. Only text on the command line may have
/// several in a line; in a unit file, they belong to the value.
fn assignments(line: &Logical) -> Vec<Logical> {
    let begins = |at: &usize| {
        let rest = line.text.get(*at..).unwrap_or_default();
        keys().any(|key| rest.strip_prefix(key).is_some_and(|rest| rest.starts_with('=')))
    };
    let blanks = line.text.match_indices(BLANK).map(|(at, blank)| at + blank.len());
    let starts = blanks.filter(begins).collect::<Vec<usize>>();
    let ends = starts.iter().copied().chain([line.text.len()]);
    [0].into_iter()
        .chain(starts.iter().copied())
        .zip(ends)
        .map(|(start, end)| line.part(start, end))
        .collect()
}

/// Whether a value begins with `~`; where the rest of it starts; the rest.
pub(super) fn sign(value: &str) -> (bool, usize, &str) {
    match value.strip_prefix('~') {
        Some(rest) => (true, 1, rest),
        None => (false, 0, value),
    }
}

fn keys() -> impl Iterator<Item = &'static str> {
    Directive::ALL.iter().map(|directive| directive.name()).chain(OTHER_KEYS)
}

pub(super) fn is_read(key: &str) -> bool {
    keys().any(|known| known == key)
}
