//! Tables of the conditions on arguments.

use callgate::explain::{ArchExplanation, Group, Outcome, argument_names, cases};
use callgate::{Arch, Verdict};

use crate::describe::{Subject, chip, counted, left_out};
use crate::markup::Markup;
use crate::page::Section;

/// The maximum number of tables per architecture.
const MAX_TABLES: usize = 100;

/// The conditions of a filter on arguments.
pub fn arguments(subject: &Subject<'_>) -> Section {
    Section::new("arguments", "Arguments", |body| {
        let (shown, others) = subject.shown_arches();
        let mut tables: Vec<(&ArchExplanation, Vec<&Group>)> = Vec::new();
        for arch in shown {
            let depends = |group: &&Group| !matches!(group.outcome, Outcome::Always(_));
            let mut groups: Vec<&Group> = arch.groups.iter().filter(depends).collect();
            groups.sort_by_key(|group| group.syscalls.iter().map(|(_, name)| *name).min());
            if !groups.is_empty() {
                tables.push((arch, groups));
            }
        }
        if tables.is_empty() {
            body.paragraph("No syscall depends on its arguments.");
            return;
        }
        body.quiet(
            "The first row of a table whose condition is met decides. A filter sees numbers only: it cannot read what \
             pointers refer to, such as names of files.",
        );
        for (at, (arch, groups)) in tables.iter().enumerate() {
            let syscalls: usize = groups.iter().map(|group| group.syscalls.len()).sum();
            let summary = format!("{}: {}", arch.arch, counted(syscalls, "syscall"));
            body.details(at == 0, &summary, |details| {
                groups.iter().take(MAX_TABLES).for_each(|group| table(details, group, arch.arch));
                if let Some(more @ 1..) = groups.len().checked_sub(MAX_TABLES) {
                    let more = counted(more, "more table");
                    details.paragraph(&format!("{more} are left out."));
                }
            });
        }
        if !others.is_empty() {
            body.paragraph(&left_out("The tables", &others));
        }
    })
}

fn table(body: &mut Markup, group: &Group, arch: Arch) {
    let mut names: Vec<&str> = group.syscalls.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    body.leaf("h3", &[("class", "names")], &names.join(", "));
    body.table("words rules", &["If", "Then"], |table| match &group.outcome {
        Outcome::Always(verdict) => last(table, "always", *verdict),
        Outcome::Depends { .. } => {
            let names = argument_names(&group.syscalls, arch);
            for (verdict, when) in cases(&group.outcome, arch, names) {
                match when {
                    Some(when) => row(table, &when, verdict),
                    None => last(table, "otherwise", verdict),
                }
            }
        }
        Outcome::Complex { verdicts } => verdicts.iter().enumerate().for_each(|(at, verdict)| {
            last(table, if at == 0 { "too complex to list" } else { "" }, *verdict);
        }),
    });
}

/// A condition, without the `if` that is above the column.
fn row(table: &mut Markup, when: &str, verdict: Verdict) {
    let condition = when.strip_prefix("if ").unwrap_or(when);
    table.element("tr", &[], |tr| {
        tr.element("td", &[], |td| td.leaf("code", &[], condition));
        verdict_cell(tr, verdict);
    });
}

fn last(table: &mut Markup, condition: &str, verdict: Verdict) {
    table.element("tr", &[], |tr| {
        tr.leaf("td", &[("class", "quiet")], condition);
        verdict_cell(tr, verdict);
    });
}

fn verdict_cell(tr: &mut Markup, verdict: Verdict) {
    tr.element("td", &[], |td| {
        td.append(&chip(verdict));
    });
}
