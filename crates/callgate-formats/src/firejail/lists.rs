//! Lists of syscalls: from their text to entries, and from entries to the rules of firejail's programs.
//!
//! An entry is `name`, `$number` or `@group`, perhaps with `:errno` or `:kill` behind it, or with `!` before it for an exception.
//! firejail (`src/lib/syscall.c`, `src/fseccomp/seccomp.c`) goes through a list several times, and each time adds instructions; the
//! first one that matches decides:
//!
//! - A list of what is denied: the exceptions, and the entries with an errno or `kill`; the default list, unless the command is
//!   `seccomp.drop`; all entries. Those of `@default-keep` are denied by another program, which the program itself installs.
//! - A list of what is allowed: the exceptions, which are denied, and the entries with an errno or `kill`; `@default-keep`; all
//!   entries.

use super::table::{GROUPS, KEPT, is_known, members, numbers};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::included::{Place, Reports, Sources, Span};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::nearest_name;
use callgate_core::{Arch, Verdict, X32_SYSCALL_BIT, errno_number};

/// A rule of a program: it decides if no earlier one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) nr: u32,
    pub(super) verdict: Verdict,
    /// What states it.
    pub(super) at: Span,
}

/// An entry of a list.
#[derive(Debug)]
struct Entry {
    at: Span,
    numbers: Vec<u32>,
    /// Whether firejail has a name for the number. Without one, a list of what is denied ignores the entry.
    is_named: bool,
    is_exempt: bool,
    /// The verdict of an entry with an errno or `kill`.
    own: Option<Verdict>,
}

impl Entry {
    fn items(&self, verdict: Verdict) -> impl Iterator<Item = Item> + '_ {
        self.numbers.iter().map(move |nr| Item { nr: *nr, verdict, at: self.at })
    }
}

/// The rules of a list of what is denied.
pub(super) struct Denied {
    /// Those of the program that firejail installs.
    pub(super) before: Vec<Item>,
    /// Those of the program that a preloaded library installs.
    pub(super) after: Vec<Item>,
}

/// How lists are read.
pub(super) struct Lists<'l> {
    pub(super) sources: &'l Sources,
    pub(super) reports: &'l mut Reports,
    pub(super) arch: Arch,
    pub(super) strict: bool,
    /// What denied syscalls get.
    pub(super) action: Verdict,
}

/// Refuses characters that firejail refuses in lists, and lists without entries. Returns whether there were none.
pub(super) fn is_valid(list: Span, sources: &Sources, reports: &mut Reports) -> bool {
    let text = sources.text(list);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_,:@-$!".contains(c);
    if let Some((at, odd)) = text.char_indices().find(|(_, c)| !is_part(*c)) {
        let message = format!("a list of syscalls has no {odd:?}");
        reports.error(offset(list, at), message).help =
            "separate the entries with commas, without blanks".to_owned();
        return false;
    }
    if text.trim_matches(',').is_empty() {
        let message = "the list of syscalls is empty, and firejail refuses it";
        reports.error(list.at, message).help = "name a syscall or a group".to_owned();
        return false;
    }
    true
}

fn offset(span: Span, at: usize) -> Place {
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    Place { offset: span.at.offset.saturating_add(at), ..span.at }
}

impl Lists<'_> {
    /// The rules of a list of what is denied, after the default list if there is one.
    pub(super) fn denied(&mut self, list: Option<Span>, default: Option<Span>) -> Denied {
        let (arch, action) = (self.arch, self.action);
        let entries = list.map_or_else(Vec::new, |list| self.entries(list, true));
        let mut denied = Denied { before: Vec::new(), after: Vec::new() };
        for entry in &entries {
            match (entry.own, entry.is_exempt) {
                (Some(own), _) => denied.before.extend(entry.items(own)),
                (None, true) => denied.before.extend(entry.items(Verdict::ALLOW)),
                (None, false) => {}
            }
        }
        if let Some(at) = default {
            let names = members("@default-nodebuggers").unwrap_or_default();
            let item = |nr| Item { nr, verdict: action, at };
            denied.before.extend(numbers(names, arch).into_iter().map(item));
        }
        let kept = kept(arch);
        for entry in entries.iter().filter(|entry| !entry.is_exempt && entry.is_named) {
            for item in entry.items(entry.own.unwrap_or(action)) {
                match kept.contains(&item.nr) {
                    true => denied.after.push(Item { verdict: action, ..item }),
                    false => denied.before.push(item),
                }
            }
        }
        self.check_jumps(list.or(default), &denied.before);
        denied
    }

    /// The rules of a list of what is allowed.
    pub(super) fn allowed(&mut self, list: Span) -> Vec<Item> {
        let (arch, action) = (self.arch, self.action);
        let entries = self.entries(list, false);
        let mut items = Vec::new();
        for entry in &entries {
            match (entry.own, entry.is_exempt) {
                (Some(own), _) => items.extend(entry.items(own)),
                (None, true) => items.extend(entry.items(action)),
                (None, false) => {}
            }
        }
        let of_kept = |nr| Item { nr, verdict: Verdict::ALLOW, at: list };
        items.extend(kept(arch).into_iter().map(of_kept));
        for entry in entries.iter().filter(|entry| !entry.is_exempt) {
            items.extend(entry.items(entry.own.unwrap_or(Verdict::ALLOW)));
        }
        items
    }

    /// firejail's optimizer replaces the action behind each denied number with a jump to the end of the program, whose offset has
    /// 8 bits. Reports lists for which it does not suffice: what their programs do is not modelled.
    fn check_jumps(&mut self, list: Option<Span>, items: &[Item]) {
        /// Fewer numbers are not optimized.
        const FEWEST: usize = 5;
        let is_denied = |item: &&Item| item.verdict == self.action;
        if items.iter().filter(is_denied).count() < FEWEST {
            return;
        }
        let behind = items.iter().skip_while(|item| !is_denied(item)).skip(1);
        let distance: usize =
            behind.map(|item| 2 - usize::from(item.verdict == self.action)).sum::<usize>() + 1;
        if let (Some(list), true) = (list, distance > usize::from(u8::MAX)) {
            let message = format!(
                "firejail's optimizer writes a wrong program for this list: it jumps over {distance} instructions, and the \
                 offset of a jump is at most {}",
                u8::MAX
            );
            self.reports.error(list.at, message).set_too_large("deny fewer syscalls");
        }
    }

    /// The entries of a list.
    fn entries(&mut self, list: Span, denies: bool) -> Vec<Entry> {
        let sources = self.sources;
        let text = sources.text(list);
        let mut found = Vec::new();
        let mut at = 0;
        for item in text.split(',') {
            let len = u32::try_from(item.len()).unwrap_or(u32::MAX);
            let span = Span { at: offset(list, at), len };
            at += item.len() + 1;
            if !item.is_empty() {
                found.extend(self.entry(item, span, denies));
            }
        }
        found
    }

    /// An entry; `None` if firejail ignores it, or after an error.
    fn entry(&mut self, item: &str, at: Span, denies: bool) -> Option<Entry> {
        let arch = self.arch;
        if item.starts_with('@') {
            let Some(names) = members(item) else {
                let known = || nearest(item, GROUPS.iter().map(|(name, _)| *name));
                let near = self.reports.nearest(known);
                let message = format!("firejail has no group of syscalls `{}`", shorten(item));
                self.reports.error(at.at, message).help =
                    did_you_mean(near, "name the syscalls of the group");
                return None;
            };
            let numbers = numbers(names, arch);
            return Some(Entry { at, numbers, is_named: true, is_exempt: false, own: None });
        }
        let (is_exempt, rest) = match item.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, item),
        };
        let (name, action) = match rest.split_once(':') {
            Some((name, action)) => (name, Some(action)),
            None => (rest, None),
        };
        if name.is_empty() {
            let message = format!("`{}` names no syscall", shorten(item));
            self.reports.error(at.at, message).help = "write a name before the colon".to_owned();
            return None;
        }
        if is_exempt && name.starts_with('@') {
            let message = format!("firejail ignores `{}`: a group is no exception", shorten(item));
            self.reports.warn(at.at, message).help = "name each syscall of the group".to_owned();
            return None;
        }
        let own = match action {
            None => None,
            Some("kill") => Some(Verdict::KILL_THREAD),
            Some(errno) => match errno_number(&errno.to_ascii_uppercase()) {
                Some(errno) => Some(Verdict::errno(errno)),
                None => {
                    let message = format!(
                        "firejail ignores `{}`, because `{}` is neither an errno nor `kill`",
                        shorten(item),
                        shorten(errno)
                    );
                    self.skip(at, message).help = "write the name of an errno".to_owned();
                    return None;
                }
            },
        };
        let (nr, is_named) = self.number(name, at)?;
        // firejail negates the number of an exception, which has no effect on 0.
        let is_exempt = match (is_exempt, nr) {
            (true, 0) => {
                let message = format!(
                    "firejail reads `{}` as `{}`, because an exception is a negative number, and this one is 0",
                    shorten(item),
                    shorten(rest)
                );
                self.reports.warn(at.at, message).help = "remove it".to_owned();
                false
            }
            (is_exempt, _) => is_exempt,
        };
        if is_exempt && own.is_some() {
            let message = format!("`{}` has no effect: an exception has no action", shorten(item));
            self.reports.warn(at.at, message).help = "remove the action".to_owned();
            return None;
        }
        let is_kept = arch == Arch::X86_64 && kept(arch).contains(&nr);
        if is_kept && (own.is_some() || (is_exempt && !denies)) {
            let message = format!(
                "firejail cannot start a program with `{}`: it needs this syscall after it has installed the filter",
                shorten(item)
            );
            self.reports.error(at.at, message).help =
                "remove it, or deny the syscall without an action".to_owned();
            return None;
        }
        if denies && !is_named && own.is_none() && !is_exempt {
            let message = format!(
                "firejail ignores `{}`: it has no name for this number, and denies by name",
                shorten(item)
            );
            self.skip(at, message).help = "give it an errno, such as `:EPERM`".to_owned();
            return None;
        }
        Some(Entry { at, numbers: vec![nr], is_named, is_exempt, own })
    }

    /// The number of a syscall, and whether firejail has a name for it.
    fn number(&mut self, name: &str, at: Span) -> Option<(u32, bool)> {
        let arch = self.arch;
        if let Some(digits) = name.strip_prefix('$') {
            let Some(nr) = number(digits) else {
                let message = format!("`{}` is not the number of a syscall", shorten(name));
                self.reports.error(at.at, message).help =
                    "write a number up to 0x3fffffff in C's notation".to_owned();
                return None;
            };
            return Some((nr, is_known(arch, nr)));
        }
        match arch.number(name) {
            Some(nr) if is_known(arch, nr) => Some((nr, true)),
            Some(_) => {
                let message = format!(
                    "firejail ignores `{}`, because it does not know this syscall",
                    shorten(name)
                );
                self.skip(at, message).help =
                    "newer versions of firejail may know it; remove it".to_owned();
                None
            }
            None => {
                let near = self.reports.nearest(|| nearest_name(name));
                let message = format!(
                    "firejail ignores `{}`, because {arch} has no such syscall",
                    shorten(name)
                );
                self.skip(at, message).help =
                    did_you_mean(near, "check the spelling against syscalls(2)");
                None
            }
        }
    }

    /// A message about an entry that firejail ignores: an error if the text is read strictly.
    fn skip(&mut self, at: Span, message: String) -> &mut Diagnostic {
        match self.strict {
            true => self.reports.error(at.at, message),
            false => self.reports.warn(at.at, message),
        }
    }
}

/// The numbers that firejail needs after it has installed its filters.
fn kept(arch: Arch) -> Vec<u32> {
    numbers(members(KEPT).unwrap_or_default(), arch)
}

/// A number as `strtol` reads it, without text behind it. Those of x32 are not syscalls of a list.
fn number(digits: &str) -> Option<u32> {
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u32::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_alphanumeric());
    value.ok().filter(|nr| is_plain && *nr < X32_SYSCALL_BIT)
}
