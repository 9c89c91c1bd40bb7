//! Reader of the lists `SystemCallFilter=` and `SystemCallLog=` (`config_parse_syscall_filter` and
//! `config_parse_syscall_log` in `load-fragment.c`, `seccomp_parse_syscall_filter` in `seccomp-util.c`).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::groups::{SystemdVersion, group_members, is_group, nearest_group};
use super::lines::{Logical, words};
use super::settings::{Denial, Directive, Entry, Member, SyscallKey, SyscallList};
use super::unit::{UnitReader, sign};
use super::values::errno;
use crate::diagnostics::quote::shorten;
use crate::files::At;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{is_known_name, known_name, nearest_name};

/// The maximum number of syscalls to which the words of a unit may expand.
const EXPANDED: usize = 2_000_000;

/// A word of a list.
struct Item<'w> {
    /// The word as it is written.
    word: &'w str,
    at: At,
    /// The syscall or the group.
    name: &'w str,
    denial: Option<Denial>,
    /// Whether the value begins with `~`.
    is_inverted: bool,
}

impl UnitReader<'_, '_> {
    /// A line of values of `SystemCallFilter=`, in which `~` begins a value.
    pub(super) fn filter_line(&mut self, line: &Logical) {
        let words = words(&line.text, false).words;
        let mut starts: Vec<usize> =
            words.iter().filter(|word| word.text.starts_with('~')).map(|word| word.at).collect();
        starts.extend(words.first().map(|word| word.at));
        starts.push(line.text.len());
        starts.sort_unstable();
        starts.dedup();
        for (start, end) in starts.iter().zip(starts.iter().skip(1)) {
            self.syscalls(Directive::SystemCallFilter, &line.part(*start, *end));
        }
    }

    /// A value of `SystemCallFilter=` or `SystemCallLog=`.
    pub(super) fn syscalls(&mut self, directive: Directive, value: &Logical) {
        let is_log = directive == Directive::SystemCallLog;
        let old = self.settings.list(is_log).take();
        if value.text.is_empty() {
            return;
        }
        let at = self.at(value.offset(0));
        let (is_inverted, start, rest) = sign(&value.text);
        let mut list = match old {
            Some(list) => list,
            None => self.new_list(directive, !is_inverted, at),
        };
        let found = words(rest, false);
        if !is_inverted && !list.allows && !list.is_reported && !found.words.is_empty() {
            list.is_reported = true;
            let first = match list.at.file == at.file {
                true => format!("line {}", self.report.line(list.at)),
                false => "an earlier file".to_owned(),
            };
            let message = format!(
                "this line does not begin a list of its own: it removes syscalls from the list of {first}, \
                 which begins with ~"
            );
            self.report.warn(at, message).help =
                format!("write an empty {directive}= before it to begin a new list");
        }
        for word in &found.words {
            let at = self.at(value.offset(start + word.at));
            if let Some(item) = self.item(&word.text, at, is_inverted, is_log) {
                self.add(&mut list, &item);
            }
        }
        self.broken(value, found.error.map(|(index, why)| (start + index, why)));
        *self.settings.list(is_log) = Some(list);
    }

    /// An empty list; a list of allowed syscalls contains `@default`.
    fn new_list(&mut self, directive: Directive, allows: bool, at: At) -> SyscallList {
        let mut entries = BTreeMap::new();
        if allows && directive == Directive::SystemCallFilter {
            let default = self.group("@default").unwrap_or_default();
            if self.may_expand(default.len(), at) {
                let entry = |one: &Member| (one.key, Entry { name: one.name, denial: None, at });
                entries.extend(default.iter().map(entry));
            }
        }
        let (removed, words) = (BTreeMap::new(), BTreeSet::new());
        SyscallList { allows, at, entries, removed, words, is_reported: false }
    }

    /// The syscall with a name, if libseccomp knows it.
    fn resolve(&self, name: &str) -> Option<Member> {
        let name = known_name(name).filter(|_| !self.options.lacks(name))?;
        Some(Member { name, key: SyscallKey::new(name, self.options.native) })
    }

    /// The syscalls of a group that libseccomp knows. A unit may name a group very often, so each is resolved once.
    fn group(&mut self, name: &str) -> Option<Rc<[Member]>> {
        if let Some(known) = self.groups.get(name) {
            return Some(Rc::clone(known));
        }
        let names = group_members(name, self.options.version)?;
        let members: Rc<[Member]> =
            names.into_iter().filter_map(|name| self.resolve(name)).collect();
        self.groups.insert(name.to_owned(), Rc::clone(&members));
        Some(members)
    }

    /// Counts syscalls to which a word expands; false from the limit on, which is reported once.
    fn may_expand(&mut self, syscalls: usize, at: At) -> bool {
        let before = self.expanded;
        self.expanded += syscalls;
        if before <= EXPANDED && self.expanded > EXPANDED {
            let message = format!(
                "the words expand to more than {EXPANDED} syscalls, the limit, from here on"
            );
            self.report.error(at, message).set_too_large("name each group once");
        }
        self.expanded <= EXPANDED
    }

    /// Splits a word into a name and what happens to the syscall; `None` if systemd ignores the word.
    fn item<'w>(
        &mut self,
        word: &'w str,
        at: At,
        is_inverted: bool,
        is_log: bool,
    ) -> Option<Item<'w>> {
        let (name, denial) = match word.split_once(':').filter(|_| !is_log) {
            None => (word, None),
            Some((name, "kill")) => (name, Some(Denial::Kill)),
            Some((name, text)) => match errno(text, self.options.native) {
                Ok(errno) => (name, Some(Denial::Errno(errno))),
                Err(help) => {
                    let message = format!(
                        "invalid errno \"{}\" in \"{}\"; systemd ignores the word",
                        shorten(text),
                        shorten(word)
                    );
                    self.report.warn(at, message).help = format!("{help}, or kill");
                    return None;
                }
            },
        };
        if name.is_empty() {
            let message =
                format!("missing syscall in \"{}\"; systemd ignores the word", shorten(word));
            self.report.warn(at, message).help =
                "write a syscall or a group before the colon".to_owned();
            return None;
        }
        if denial.is_some() && !is_inverted {
            let message = format!(
                "\"{}\" has an errno, but this line does not begin with ~; systemd ignores the word",
                shorten(word)
            );
            self.report.warn(at, message).help =
                format!("write SystemCallFilter=~{} on a line of its own", shorten(word));
            return None;
        }
        Some(Item { word, at, name, denial, is_inverted })
    }

    fn add(&mut self, list: &mut SyscallList, item: &Item<'_>) {
        let members = match item.name.starts_with('@') {
            true => match self.group(item.name) {
                Some(members) => members,
                None => return self.unknown_group(item),
            },
            false => match known_name(item.name) {
                Some(name) => self.resolve(name).into_iter().collect(),
                None => return self.unknown_syscall(item),
            },
        };
        if !self.may_expand(members.len().max(1), item.at) {
            return;
        }
        let puts = item.is_inverted != list.allows || (list.allows && item.denial.is_some());
        let mut changes = false;
        for Member { name, key } in members.iter().copied() {
            if puts {
                let entry = Entry { name, denial: item.denial, at: item.at };
                let old = list.entries.insert(key, entry);
                changes |= old.is_none_or(|old| old.denial != item.denial);
            } else if list.entries.remove(&key).is_some() {
                list.removed.insert(key, item.at);
                changes = true;
            }
        }
        let is_new = list.words.insert((item.is_inverted, item.word.to_owned()));
        if changes || (puts && is_new) {
            return;
        }
        let word = shorten(item.word);
        let message = match (puts, list.allows) {
            (true, _) => format!("\"{word}\" is repeated"),
            (false, true) => {
                format!("\"{word}\" has no effect: it denies what the list does not allow anyway")
            }
            (false, false) => {
                format!("\"{word}\" has no effect: it allows what the list does not deny anyway")
            }
        };
        let help = match puts {
            true => "remove the word",
            false => "remove the word, or put it after the line that adds its syscalls",
        };
        self.report.warn(item.at, message).help = help.to_owned();
    }

    fn severity(&self) -> Severity {
        if self.options.strict { Severity::Error } else { Severity::Warning }
    }

    fn unknown_group(&mut self, item: &Item<'_>) {
        let (name, version) = (item.name, self.options.version);
        let message =
            format!("unknown group \"{}\" in systemd {version}; systemd ignores it", shorten(name));
        let since = SystemdVersion::all().find(|other| is_group(name, *other));
        let help = match since {
            _ if has_quotes(item.word) => QUOTES.to_owned(),
            Some(since) => format!("systemd {since} and later have it"),
            None => self.report.did_you_mean(
                || nearest_group(name, version),
                "`systemd-analyze syscall-filter` lists the groups",
            ),
        };
        self.report.report(self.severity(), item.at, message).help = help;
    }

    fn unknown_syscall(&mut self, item: &Item<'_>) {
        let (name, word) = (item.name, shorten(item.word));
        if let Some(rest) = name.strip_prefix('~').filter(|rest| !rest.is_empty()) {
            let message = format!(
                "\"{word}\" is not a syscall: ~ negates a whole line and stands at its beginning"
            );
            self.report.report(self.severity(), item.at, message).help =
                format!("write SystemCallFilter=~{} on a line of its own", shorten(rest));
            return;
        }
        if is_known_name(name) {
            let message =
                format!("\"{word}\" has no effect: no supported architecture has this syscall");
            self.report.warn(item.at, message).help = "remove it".to_owned();
            return;
        }
        let message = format!("unknown syscall \"{}\"; systemd ignores it", shorten(name));
        let search =
            || nearest_name(name).or_else(|| group_without_sign(name, self.options.version));
        let help = match has_quotes(item.word) {
            true => QUOTES.to_owned(),
            false => self.report.did_you_mean(search, "check the name"),
        };
        self.report.report(self.severity(), item.at, message).help = help;
    }
}

/// Help for words with quotes (`config_parse_syscall_filter` calls `extract_first_word` without `EXTRACT_UNQUOTE`).
const QUOTES: &str = "write the words without quotes: systemd does not remove quotes here";

fn has_quotes(word: &str) -> bool {
    word.contains(['"', '\''])
}

/// The group with this name, which lacks its `@`.
fn group_without_sign(name: &str, version: SystemdVersion) -> Option<&'static str> {
    let word = format!("@{name}");
    super::groups::group_names(version).find(|group| *group == word)
}
