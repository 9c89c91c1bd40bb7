//! An explanation as Markdown, for pull requests.

use std::fmt::Write;

use callgate::Arch;
use callgate::explain::RulePlaces as _;
use callgate::explain::{
    self, ArchExplanation, Group, Listed, Order, Outcome, Permission, listed, names_of, parts,
    ranges, remark,
};
use callgate::purposes::allowed_dangers;

use super::explained::Explained;
use crate::markdown::{code, codes, plain, styled_code};
use crate::outcome::{self, argument_names, paint};
use crate::text::counted;

/// The most reasons why allowed syscalls are dangerous that are listed.
const MAX_DANGERS: usize = 8;

pub(super) fn text(explained: &Explained<'_>) -> String {
    let mut text = format!("### What {} allows\n\n", code(explained.name));
    if explained.is_whole {
        summary(&mut text, explained);
    }
    if !explained.notes.is_empty() {
        text.push_str("**Notes**\n\n");
        for finding in &explained.notes {
            let _ = writeln!(text, "- {}", plain(&finding.line()));
        }
        text.push('\n');
    }
    for arch in listed(&explained.explanation) {
        let (title, list) = match &arch {
            Listed::Whole(arch) => (format!("Syscalls on {}", arch.arch), *arch),
            Listed::Differences { first, others } if others.groups.is_empty() => {
                (format!("Syscalls on {}: as {}", others.arch, first.arch), others)
            }
            Listed::Differences { first, others } => {
                (format!("Syscalls on {}: as {}, except", others.arch, first.arch), others)
            }
        };
        if explained.is_whole {
            let _ = writeln!(text, "<details><summary>{title}</summary>\n");
        } else {
            let _ = writeln!(text, "**{title}**\n");
        }
        arch_text(&mut text, list, explained);
        text.push_str(if explained.is_whole { "</details>\n\n" } else { "\n" });
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn summary(text: &mut String, explained: &Explained<'_>) {
    let arches = &explained.explanation.arches;
    // Few filters have a supervisor.
    let delegates = arches.iter().any(|arch| arch.count(Permission::Delegated) > 0);
    let mut columns = vec![
        ("allowed", Permission::Always),
        ("conditionally allowed", Permission::Sometimes),
        ("denied", Permission::Never),
    ];
    if delegates {
        columns.insert(2, ("decided by another process", Permission::Delegated));
    }
    let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    let _ = writeln!(text, "| architecture | {} |", titles.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(columns.len()));
    for arch in arches {
        let counts: Vec<String> =
            columns.iter().map(|(_, permission)| arch.count(*permission).to_string()).collect();
        let _ = writeln!(text, "| {} | {} |", arch.arch, counts.join(" | "));
    }
    let others = match explained.explanation.other_arches {
        Some(verdict) => code(&verdict.to_string()),
        None if explained.explanation.checks_arch => "depends on the syscall".to_owned(),
        None => "by syscall number: the filter does not check the architecture".to_owned(),
    };
    let _ = writeln!(text, "\nAll other architectures: {others}\n");
    if let Some(conditions) = &explained.conditions {
        let _ = writeln!(
            text,
            "The counts are with the profile's conditions as for {}.\n",
            code(conditions)
        );
    }
    if let Some(assumed) = &explained.assumed {
        let _ = writeln!(text, "The unit is {}.\n", plain(assumed));
    }
    let dangers = allowed_dangers(&explained.explanation);
    if dangers.is_empty() {
        text.push_str("No dangerous syscall is allowed.\n\n");
        return;
    }
    text.push_str("**Dangerous syscalls that are allowed**\n\n");
    let all: Vec<Arch> = arches.iter().map(|arch| arch.arch).collect();
    let (shown, more) = dangers.split_at(dangers.len().min(MAX_DANGERS));
    for danger in shown {
        let names = codes(danger.syscalls.iter().copied());
        let _ = writeln!(text, "- {names}{}: {}", remark(danger, &all), danger.reason);
    }
    if !more.is_empty() {
        let _ = writeln!(text, "- also {}", codes(names_of(more)));
    }
    text.push('\n');
}

fn arch_text(text: &mut String, list: &ArchExplanation, explained: &Explained<'_>) {
    for part in parts(list, explained.order) {
        if let Some(heading) = &part.heading {
            let count = format!("{} of {} allowed", heading.allowed, heading.all);
            let _ = writeln!(text, "**{}** ({count})\n", heading.title);
        }
        for group in &part.groups {
            entry(text, group, list.arch, explained);
        }
        text.push('\n');
    }
    if !list.unnamed.is_empty() {
        text.push_str("Unnamed numbers:\n\n");
        for (outcome, numbers) in &list.unnamed {
            let _ = writeln!(
                text,
                "- {}: {}",
                plain(&explain::unnamed(outcome, paint)),
                ranges(numbers)
            );
        }
        text.push('\n');
    }
}

/// The syscalls with one outcome as an item of a list.
fn entry(text: &mut String, group: &Group, arch: Arch, explained: &Explained<'_>) {
    let mut names: Vec<(&str, u32)> =
        group.syscalls.iter().map(|(nr, name)| (*name, *nr)).collect();
    names.sort_unstable();
    let names: Vec<String> = names
        .into_iter()
        .map(|(name, nr)| {
            let places = explained.places.as_ref().map(|places| places.of_syscall(arch, nr));
            match places.filter(|places| !places.is_empty()) {
                Some(places) => {
                    let places: Vec<String> = places.iter().map(|place| code(place)).collect();
                    format!("{} ({})", code(name), places.join(", "))
                }
                None => code(name),
            }
        })
        .collect();
    let names = names.join(", ");
    match &group.outcome {
        Outcome::Always(verdict) if explained.order == Order::Name => {
            let _ = writeln!(text, "- {names}: {}", code(&verdict.to_string()));
        }
        Outcome::Always(verdict) => {
            let count = counted(group.syscalls.len() as u64, "syscall");
            let _ =
                writeln!(text, "- {} ({count}): {names}", plain(&explain::always(*verdict, paint)));
        }
        outcome => {
            let lines = outcome::lines(outcome, arch, argument_names(&group.syscalls, arch));
            let lines: Vec<String> = lines.iter().map(|line| styled_code(line)).collect();
            let _ = writeln!(text, "- {names}: {}", lines.join("; "));
        }
    }
}
