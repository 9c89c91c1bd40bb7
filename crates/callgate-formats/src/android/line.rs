//! Lines of a list.

use super::arches::{ArchSet, is_single, words};
use crate::diagnostics::quote::shorten;
use crate::files::{At, Report};
use callgate_bpf::suggest::nearest;

/// A syscall and its architectures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'t> {
    pub(super) name: &'t str,
    pub(super) at: At,
    pub(super) arches: ArchSet,
    /// The architectures that the entry names, without those for which `all`, `lp32` or `lp64` stand.
    pub(super) named: ArchSet,
}

/// Whether a type stands before the functions of the lists, which is known from the first entry on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    has_types: Option<bool>,
}

/// The lines of a text without blanks at both ends, each with its offset. Python also ends a line at a carriage return.
pub(super) fn trimmed_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive(['\n', '\r']).filter_map(move |line| {
        let start = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        let line = line.trim();
        (!line.is_empty() && !line.starts_with('#')).then_some((start, line))
    })
}

/// An entry. `None` after an error was reported.
pub(super) fn entry<'t>(
    report: &mut Report<'_>,
    style: &mut Style,
    line: &'t str,
    at: At,
) -> Option<Entry<'t>> {
    let place = |offset: usize| At { offset: at.offset + offset, ..at };
    if let Some(nul) = line.find('\0') {
        report.error(place(nul), "a NUL byte").help = "remove it".to_owned();
        return None;
    }
    let (Some(open), Some(close)) = (line.find('('), line.rfind(')')) else {
        return no_parameters(report, line, at);
    };
    if close < open {
        return no_parameters(report, line, at);
    }
    let (head, after) = (line.get(..open)?, line.get(close + 1..)?);
    let (start, function) = function(report, style, head, at)?;
    let (in_function, name) = syscall_name(report, function, place(start))?;
    let list = after.trim();
    let list_at = close + 1 + (after.len() - after.trim_start().len());
    let (arches, named) = arches(report, list, place(list_at))?;
    Some(Entry { name, at: place(start + in_function), arches, named })
}

fn no_parameters<T>(report: &mut Report<'_>, line: &str, at: At) -> Option<T> {
    let message = format!("expected parameters in parentheses, but found `{}`", shorten(line));
    report.error(at, message).help =
        "an entry is `name(parameters) architectures`, such as `read(int, void*, size_t) all`"
            .to_owned();
    None
}

/// The function, with what belongs to it, and its offset in the text before the parameters.
fn function<'t>(
    report: &mut Report<'_>,
    style: &mut Style,
    head: &'t str,
    at: At,
) -> Option<(usize, &'t str)> {
    let trimmed = head.trim_end();
    let start = trimmed.rfind(char::is_whitespace).map_or(0, |blank| {
        blank + trimmed.get(blank..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    let has_type = start > 0;
    let has_types = *style.has_types.get_or_insert(has_type);
    let function = trimmed.get(start..)?;
    let error = match (has_types, has_type) {
        _ if function.is_empty() => {
            Some(("missing name before `(`", "write the name of a syscall"))
        }
        (true, false) => Some((
            "missing type before the function, as in the entries before",
            "until Android 15, an entry is `type name(parameters) architectures`",
        )),
        (false, true) => Some((
            "a type before the function, unlike in the entries before",
            "remove it, or give lists of one version of Android",
        )),
        (false, false) if trimmed.len() < head.len() => {
            Some(("a blank before `(`", "genseccomp.py takes it as part of the name; remove it"))
        }
        _ => None,
    };
    match error {
        Some((message, help)) => {
            report.error(at, message).help = help.to_owned();
            None
        }
        None => Some((start, function)),
    }
}

/// The name of the syscall and its offset: `read` of `__read|_read:read:1`.
fn syscall_name<'t>(
    report: &mut Report<'_>,
    function: &'t str,
    at: At,
) -> Option<(usize, &'t str)> {
    let without_alias = |text: &'t str| match text.find('|') {
        Some(bar @ 1..) => text.get(..bar).unwrap_or(text),
        _ => text,
    };
    let Some((function, rest)) = function.split_once(':') else {
        return Some((0, without_alias(function)));
    };
    let (name, number) = match rest.split_once(':') {
        Some((name, number)) => (name, Some(number)),
        None => (rest, None),
    };
    let start = function.len() + 1;
    let place = |offset: usize| At { offset: at.offset + offset, ..at };
    if function.is_empty() || name.is_empty() {
        report.error(place(function.len()), "a misplaced colon").help =
            "write `function:syscall`, or only the name if both are the same".to_owned();
        return None;
    }
    if let Some(number) = number.filter(|number| number.trim().parse::<u32>().is_err()) {
        let message = format!("`{}` is not the number of a sub-call", shorten(number));
        report.error(place(start + name.len() + 1), message).help =
            "write `function:socketcall:number`".to_owned();
        return None;
    }
    let has_alias = function.find('|').is_some_and(|bar| bar > 0);
    Some((start, if has_alias { without_alias(name) } else { name }))
}

/// The architectures of a list, and those that it names.
fn arches(report: &mut Report<'_>, list: &str, at: At) -> Option<(ArchSet, ArchSet)> {
    if let Some(all) = ArchSet::of_all(list) {
        return Some((all, ArchSet::default()));
    }
    if list.is_empty() {
        report.error(at, "missing architectures after the parameters").help =
            "write `all`, or a list such as `arm,lp64`".to_owned();
        return None;
    }
    let (mut arches, mut named) = (ArchSet::default(), ArchSet::default());
    let mut offset = 0;
    for word in list.split(',') {
        let Some(set) = ArchSet::of_word(word) else {
            let place = At { offset: at.offset + offset, ..at };
            unknown_arch(report, word, place);
            return None;
        };
        arches = arches.or(set);
        if is_single(word) {
            named = named.or(set);
        }
        offset += word.len() + 1;
    }
    Some((arches, named))
}

fn unknown_arch(report: &mut Report<'_>, word: &str, at: At) {
    let trimmed = word.trim();
    let help = if trimmed == "all" && trimmed == word {
        "`all` stands alone".to_owned()
    } else if ArchSet::of_word(trimmed).is_some() {
        "remove the blank: commas separate architectures".to_owned()
    } else if word.contains('#') {
        "a comment has a line of its own".to_owned()
    } else {
        let otherwise = format!("the architectures are {}", words().collect::<Vec<_>>().join(", "));
        report.did_you_mean(|| nearest(trimmed, words()), &otherwise)
    };
    let message = format!("`{}` is not an architecture of bionic", shorten(word));
    report.error(at, message).help = help;
}

/// Whether a text begins as a list: with an entry whose architectures are known.
///
/// ```
/// use callgate_formats::android::is_entry;
/// assert!(is_entry("# bionic\n__close:close(int)  all\n"));
/// assert!(is_entry("int close(int)  arm,lp64\n"));
/// assert!(!is_entry("close(3) = 0\n"));
/// ```
pub fn is_entry(text: &str) -> bool {
    let Some((_, line)) = trimmed_lines(text).next() else { return false };
    let (Some(open), Some(close)) = (line.find('('), line.rfind(')')) else { return false };
    let head = line.get(..open).unwrap_or_default().trim();
    let list = line.get(close + 1..).unwrap_or_default().trim();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_|:,* \t".contains(c);
    let is_arch = |word: &str| ArchSet::of_word(word).is_some();
    open < close
        && !head.is_empty()
        && head.chars().all(is_of_name)
        && (ArchSet::of_all(list).is_some() || list.split(',').all(is_arch))
}
