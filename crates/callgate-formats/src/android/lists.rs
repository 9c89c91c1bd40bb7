//! The syscalls of all lists, for the architectures of a filter.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{
    ArchSet, Entry, Style, entry, is_known, kernel_name, report_unknown, trimmed_lines,
};
use super::options::{ListKind, ListText, ReadOptions};
use crate::diagnostics::quote::shorten;
use crate::files::{At, Report};
use callgate_bpf::diagnostic::Severity;
use callgate_core::Arch;

/// Names of syscalls, each with the place of its first entry.
pub(super) type Names<'t> = BTreeMap<&'t str, At>;

/// The syscalls of an architecture. There are at most as many as syscalls are known.
#[derive(Debug)]
pub(super) struct ArchLists<'t> {
    pub(super) arch: Arch,
    pub(super) base: Names<'t>,
    pub(super) allowed: Names<'t>,
    pub(super) blocked: Names<'t>,
}

/// All lists.
#[derive(Debug)]
pub(super) struct Lists<'t> {
    pub(super) arches: Vec<ArchLists<'t>>,
    pub(super) priorities: Vec<Priority>,
    /// The place of the list of the C library's syscalls, if there is one.
    pub(super) base_at: Option<At>,
    /// The architectures that this list names.
    pub(super) named: ArchSet,
}

/// Reads the lists for these architectures.
pub(super) fn lists<'t>(
    report: &mut Report<'_>,
    texts: &[ListText<'t>],
    arches: &[Arch],
    options: &ReadOptions,
) -> Lists<'t> {
    let new = |arch: &Arch| ArchLists {
        arch: *arch,
        base: Names::new(),
        allowed: Names::new(),
        blocked: Names::new(),
    };
    let mut lists = Lists {
        arches: arches.iter().map(new).collect(),
        priorities: Vec::new(),
        base_at: None,
        named: ArchSet::default(),
    };
    let mut style = Style::default();
    for (file, list) in texts.iter().enumerate() {
        let start = At { file, offset: 0 };
        if list.text.starts_with('\u{feff}') {
            report.error(start, "a byte order mark").help =
                "bionic's tools take it as part of the first line; remove it".to_owned();
            continue;
        }
        if list.kind == ListKind::Priority {
            priorities(report, list.text, file, &mut lists.priorities);
            continue;
        }
        if list.kind == ListKind::Base {
            lists.base_at.get_or_insert(start);
        }
        for (offset, line) in trimmed_lines(list.text) {
            let is_first_column =
                offset == 0 || list.text.as_bytes().get(offset - 1) == Some(&b'\n');
            let is_ignored = options.is_app_zygote
                && list.kind == ListKind::Block
                && is_first_column
                && is_group_change(line);
            if is_ignored {
                continue;
            }
            if let Some(entry) = entry(report, &mut style, line, At { file, offset }) {
                lists.add(report, list.kind, &entry);
            }
        }
    }
    lists
}

/// Whether bionic's build omits a line of the block list for app zygotes: a `grep` for the name, with the type before it
/// until Android 15.
fn is_group_change(line: &str) -> bool {
    let rest = line.strip_prefix("int").map_or(line, |rest| rest.trim_start_matches([' ', '\t']));
    rest.starts_with("setresgid")
}

impl<'t> Lists<'t> {
    fn add(&mut self, report: &mut Report<'_>, kind: ListKind, entry: &Entry<'t>) {
        let Entry { name, at, arches, named } = *entry;
        if !is_known(name) {
            report_unknown(report, Severity::Error, name, at);
            return;
        }
        if kind == ListKind::Base {
            self.named = self.named.or(named);
        }
        for list in self.arches.iter_mut().filter(|list| arches.has(list.arch)) {
            let names = match kind {
                ListKind::Base => &mut list.base,
                ListKind::Block => &mut list.blocked,
                _ => &mut list.allowed,
            };
            names.entry(name).or_insert(at);
        }
    }
}

/// A frequent syscall.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priority {
    /// Its name in the kernel's tables.
    pub(super) name: &'static str,
    pub(super) at: At,
}

/// Adds the names of a list, each once. genseccomp.py ignores lines that are not a name, so they are warnings.
pub(super) fn priorities(
    report: &mut Report<'_>,
    text: &str,
    file: usize,
    priorities: &mut Vec<Priority>,
) {
    let mut known: BTreeSet<&str> = priorities.iter().map(|one| one.name).collect();
    for (offset, line) in trimmed_lines(text) {
        let at = At { file, offset };
        if !is_name(line) {
            if !report.leave_out(Severity::Warning, at) {
                let message = format!("`{}` is ignored: it is not a name", shorten(line));
                report.warn(at, message).help =
                    "write one name per line; comments have a line of their own".to_owned();
            }
            continue;
        }
        match kernel_name(line).filter(|_| is_known(line)) {
            None => report_unknown(report, Severity::Warning, line, at),
            Some(name) if !known.insert(name) => {
                if !report.leave_out(Severity::Warning, at) {
                    let message = format!("`{name}` is ignored: an earlier line has it");
                    report.warn(at, message).help = "remove it".to_owned();
                }
            }
            Some(name) => priorities.push(Priority { name, at }),
        }
    }
}

/// Whether genseccomp.py takes a line as a name: at least two letters, digits and underscores, first not a digit.
fn is_name(line: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    line.len() > 1
        && line.bytes().all(is_of_name)
        && !line.starts_with(|c: char| c.is_ascii_digit())
}
