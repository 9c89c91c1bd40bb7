//! Differences as Markdown, for pull requests: what is allowed newly comes first.

use std::fmt::Write;

use callgate_bpf::syscalls::list_syscalls;
use callgate_codegen::query::Difference;

use super::shared::{Change, Sides, Titles, by_abi, by_change, dangers, summary};
use crate::markdown::{code, codes, plain, styled_code};
use crate::text::{counted, printable};
use callgate_requests::differences::{Compared, Differences};
use callgate_requests::syscall;

/// The most names of further syscalls in a line; more can be opened.
const MAX_NAMES: usize = 12;

pub(crate) fn markdown(
    differences: &Differences,
    names: &[String; 2],
    compared: &Compared<'_>,
    titles: Titles,
    is_none: bool,
    is_about_some: bool,
    remarks: &[String],
) -> String {
    let [a, b] = names.each_ref().map(|name| code(name));
    let title = match titles {
        Titles::Changes => format!("Changes from {a} to {b}"),
        Titles::Excess => format!("What {a} allows and {b} does not"),
    };
    let none = match (titles, is_about_some) {
        (Titles::Changes, false) => {
            "None: both return the same verdict for every syscall and all arguments."
        }
        (Titles::Changes, true) => {
            "None: both return the same verdict for these syscalls and all arguments."
        }
        (Titles::Excess, false) => "Nothing, for any syscall and arguments.",
        (Titles::Excess, true) => "Nothing, for these syscalls and any arguments.",
    };
    let mut text = format!("### {title}\n\n");
    for remark in remarks {
        let _ = writeln!(text, "{}\n", plain(remark));
    }
    if is_none {
        let _ = writeln!(text, "{none}");
        return text;
    }
    let all = by_change(differences.list(), compared, titles);
    if !all.is_empty() {
        let [a, b] = names.each_ref().map(|name| printable(name).to_string());
        let _ = writeln!(text, "{}\n", plain(&summary(differences, compared, [&a, &b], titles)));
    }
    let kinds: &[(Change, &str)] = match titles {
        Titles::Changes => &[
            (Change::More, "More is allowed"),
            (Change::Both, "Allowed with other arguments"),
            (Change::Less, "Less is allowed"),
            (Change::Other, "Other verdicts"),
        ],
        Titles::Excess => &[],
    };
    if matches!(titles, Titles::Excess) {
        all.iter().for_each(|(change, one)| group(&mut text, one, compared, titles, *change));
    }
    for (kind, title) in kinds {
        let of_kind: Vec<_> = all.iter().filter(|(own, _)| own == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = writeln!(text, "**{title}**\n");
        of_kind.into_iter().for_each(|(_, one)| group(&mut text, one, compared, titles, *kind));
        text.push('\n');
    }
    match differences.more() {
        0 => {}
        more => {
            let more = counted(more as u64, "more group");
            let _ = writeln!(text, "… and {more}; `--all` lists them");
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn group(
    text: &mut String,
    difference: &Difference,
    compared: &Compared<'_>,
    titles: Titles,
    change: Change,
) {
    let data = &difference.data;
    let arch = syscall::arch_of(data);
    let Sides { all, example } = Sides::of(compared, arch, difference);
    let call = code(&syscall::show(arch, data));
    let both = |a: &str, b: &str| match titles {
        Titles::Changes => format!("{a} → {b}"),
        Titles::Excess => format!("{a}, not {b}"),
    };
    let [a, b] = all.map(|side| styled_code(&side));
    let (all, arch_name) = (both(&a, &b), syscall::arch_name(arch, data.arch));
    let _ = match example {
        Some(verdicts) => {
            let [a, b] = verdicts.map(|verdict| code(&verdict.to_string()));
            let (name, example) = (code(&syscall::name(arch, data.nr)), both(&a, &b));
            writeln!(text, "- {arch_name} {name}: {all}; for example {call}: {example}")
        }
        None => writeln!(text, "- {arch_name} {call}: {all}"),
    };
    for (title, syscalls) in by_abi(arch, difference) {
        let others = list_syscalls(data.arch, &syscalls, Some(data.nr), usize::MAX);
        let others: Vec<&str> = others.split(", ").filter(|name| !name.is_empty()).collect();
        match others.len() {
            0 => {}
            count if count <= MAX_NAMES => {
                let _ = writeln!(text, "  - {title}: {}", codes(others));
            }
            count => {
                let names = codes(others);
                let _ = writeln!(
                    text,
                    "  - <details><summary>{title}: {count} others</summary>\n\n    {names}\n\n    </details>"
                );
            }
        }
    }
    for (reason, names) in dangers(difference, titles, change, compared) {
        let _ = writeln!(text, "  - **danger**: {}: {reason}", codes(names));
    }
}
