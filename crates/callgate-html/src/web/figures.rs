//! The figures of a filter in a few words, which stay in view.

use crate::sections::Finding;
use crate::{Markup, counted, grouped};
use callgate::explain::Permission;
use callgate::lint::Level;
use callgate_formats::languages::LanguageId;
use callgate_requests::source::Messages;

use crate::web::analysis::Analysis;
use crate::web::findings::findings;

/// The figures.
pub(crate) struct Figures {
    facts: Vec<(&'static str, String)>,
    /// Or why lint cannot check the filter.
    pub(crate) findings: Result<Vec<Finding>, Messages>,
}

impl Figures {
    /// The figures; `warnings` are those of the reader.
    pub(crate) fn of(analysis: &Analysis<'_>, warnings: &Messages) -> Figures {
        let findings = findings(analysis.source, &analysis.stack, warnings);
        let names: Vec<&str> = analysis.arches.iter().map(|arch| arch.name()).collect();
        let mut facts = vec![
            ("Read as", format(analysis).to_owned()),
            (if names.len() == 1 { "Architecture" } else { "Architectures" }, names.join(", ")),
        ];
        facts.extend(allowed(analysis).map(|text| ("Allows", text)));
        match &analysis.compiled {
            Ok(compiled) => {
                let stats = &compiled.stats;
                facts.push(("Program", format!("{}, proved", counted(stats.insns, "instruction"))));
                let mean = stats.expected_insns.map(|mean| format!("{mean:.2} instructions"));
                facts.extend(mean.map(|mean| ("Executed on average", mean)));
            }
            Err(_) => facts.push(("Program", "none".to_owned())),
        }
        let found = findings.as_ref().map_or("not checked".to_owned(), |found| counts(found));
        facts.push(("Findings", found));
        Figures { facts, findings }
    }

    /// As a list of terms.
    pub(crate) fn markup(&self) -> Markup {
        Markup::of(|markup| {
            markup.element("dl", &[("class", "figures")], |list| {
                for (label, text) in &self.facts {
                    list.element("div", &[], |pair| {
                        pair.leaf("dt", &[], label);
                        pair.leaf("dd", &[], text);
                    });
                }
            });
        })
    }

    /// As a sentence.
    pub(crate) fn status(&self) -> String {
        let parts = self.facts.iter().skip(2).map(|(label, text)| format!("{label}: {text}."));
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// The format in which the source was read.
fn format(analysis: &Analysis<'_>) -> &'static str {
    let Some(text) = analysis.text() else { return "preset" };
    let format = analysis.source.format_of(text.as_bytes());
    match format.language().map(LanguageId::language) {
        // Which runtime reads it is not known.
        Some(language) if language.names.len() > 1 && analysis.source.format.is_none() => {
            "container profile"
        }
        _ => format.name(),
    }
}

/// How many syscalls of the first architecture are permitted.
fn allowed(analysis: &Analysis<'_>) -> Option<String> {
    let first = analysis.explanation.arches.first()?;
    let all: usize = first.groups.iter().map(|group| group.syscalls.len()).sum();
    let (always, sometimes) = (first.count(Permission::Always), first.count(Permission::Sometimes));
    let mut text = format!("{} of {}", grouped(always), counted(all, "syscall"));
    if sometimes > 0 {
        text += &format!(", {} more for some arguments", grouped(sometimes));
    }
    Some(text)
}

fn counts(findings: &[Finding]) -> String {
    let of = |level| findings.iter().filter(|finding| finding.check.level() == level).count();
    let parts: Vec<String> = Level::ALL
        .into_iter()
        .rev()
        .map(|level| (of(level), level.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| counted(count, name))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
