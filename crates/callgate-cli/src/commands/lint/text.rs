//! Findings as text.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use callgate::lint::{Check, Finding, Level};
use callgate_requests::lint::Report;
use callgate_requests::syscall;

use crate::advice;
use crate::outcome::colored;
use crate::output::{width, wrap};
use crate::text::{counted, printable};

const PLACE: Style = Style::new().bold();

/// All findings, and how many there are.
pub(super) fn findings(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        report.findings.iter().for_each(|found| finding(&mut text, report, found));
    }
    let counts: Vec<String> = [Level::Error, Level::Warning, Level::Note]
        .into_iter()
        .map(|level| (count(reports, level), level))
        .filter(|(count, _)| *count > 0)
        .map(|(count, level)| counted(count, level.name()))
        .collect();
    let mut summary = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
    let sum = |of: fn(&Report) -> usize| reports.iter().map(of).sum::<usize>() as u64;
    let (below, silenced) = (sum(|report| report.below), sum(|report| report.silenced));
    if below > 0 {
        let _ = write!(summary, "; {} below --level", counted(below, "finding"));
    }
    if silenced > 0 {
        let _ = write!(summary, "; {silenced} silenced");
    }
    wrap(&mut text, &summary, 0, 0);
    text
}

/// The number of findings of a level.
fn count(reports: &[Report], level: Level) -> u64 {
    let all = reports.iter().flat_map(|report| &report.findings);
    all.filter(|finding| finding.check.level() == level).count() as u64
}

fn finding(text: &mut String, report: &Report, finding: &Finding) {
    let file = printable(report.file(finding));
    let mut place = file.to_string();
    if let Some(site) = &finding.site {
        let _ = write!(place, ":{}:{}", site.position.line, site.position.column);
    }
    let (style, check) = (style(finding.check.level()), finding.check);
    let mut line = format!("{PLACE}{place}:{PLACE:#} {style}{}[{check}]{style:#}: ", check.level());
    let used = width(&line);
    let message = printable(&finding.message).to_string();
    if let [arch] = finding.arches.as_slice() {
        let is_named = message.contains(arch.name());
        let suffix = if is_named { String::new() } else { format!(" ({arch})") };
        wrap(&mut line, &format!("{message}{suffix}"), used, 4);
    } else {
        wrap(&mut line, &message, used, 4);
    }
    text.push_str(&line);
    for example in &finding.examples {
        let call = syscall::show(Some(example.arch), &example.data);
        let line = format!("{} {call}: {}", example.arch, colored(example.verdict));
        text.push_str("  example: ");
        wrap(text, &line, 11, 11);
    }
    let help = advice::of(&finding.help);
    if !help.is_empty() {
        text.push_str("  help: ");
        wrap(text, &printable(&help).to_string(), 8, 8);
    }
}

fn style(level: Level) -> Style {
    let color = match level {
        Level::Error => AnsiColor::Red,
        Level::Warning => AnsiColor::Yellow,
        Level::Note => AnsiColor::Cyan,
    };
    color.on_default().bold()
}

/// All checks with their explanations.
pub(super) fn list() -> String {
    let mut text = String::new();
    for check in Check::ALL.iter().copied() {
        let style = style(check.level());
        let _ = writeln!(text, "{PLACE}{check}{PLACE:#} ({style}{}{style:#})", check.level());
        text.push_str("  ");
        wrap(&mut text, &format!("{}. {}", check.title(), advice::about(check)), 2, 2);
    }
    text
}
