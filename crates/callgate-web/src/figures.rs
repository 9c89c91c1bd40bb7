//! The figures of a filter in a few words, which stay in view.

use callgate::compile::expected_insns;
use callgate::explain::Outcome;
use callgate_html::Markup;
use callgate_html::sections::{Finding, Severity};
use callgate_requests::source::{FORMATS, Format, Messages};

use crate::analysis::Analysis;
use crate::findings::findings;

/// The figures.
pub(crate) struct Figures {
    facts: Vec<(&'static str, String)>,
    pub(crate) findings: Vec<Finding>,
}

impl Figures {
    /// # Errors
    /// If lint cannot check the filter.
    pub(crate) fn of(analysis: &Analysis<'_>) -> Result<Figures, Messages> {
        let findings = findings(analysis)?;
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
                facts.extend(mean(analysis).map(|mean| ("Executed on average", mean)));
            }
            Err(_) => facts.push(("Program", "none".to_owned())),
        }
        facts.push(("Findings", counts(&findings)));
        Ok(Figures { facts, findings })
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
    match analysis.source.format_of(text) {
        Format::Unit => "systemd",
        Format::Source(format) => {
            let known = FORMATS.iter().find(|(_, own)| *own == format);
            known.map_or("container profile", |(name, _)| name)
        }
    }
}

/// How many syscalls of the first architecture are permitted.
fn allowed(analysis: &Analysis<'_>) -> Option<String> {
    let first = analysis.explanation.arches.first()?;
    let (mut all, mut always, mut sometimes) = (0, 0, 0);
    for group in &first.groups {
        let count = group.syscalls.len();
        all += count;
        match &group.outcome {
            Outcome::Always(verdict) => always += if verdict.permits() { count } else { 0 },
            Outcome::Depends { clauses, otherwise } => {
                let permits =
                    clauses.iter().any(|one| one.verdict.permits()) || otherwise.permits();
                sometimes += if permits { count } else { 0 };
            }
            Outcome::Complex { verdicts } => {
                let permits = verdicts.iter().any(|verdict| verdict.permits());
                sometimes += if permits { count } else { 0 };
            }
        }
    }
    let mut text = format!("{always} of {}", counted(all, "syscall"));
    if sometimes > 0 {
        text += &format!(", {sometimes} more for some arguments");
    }
    Some(text)
}

/// The mean number of executed instructions.
fn mean(analysis: &Analysis<'_>) -> Option<String> {
    let compiled = analysis.compiled.as_ref().ok()?;
    let uniform = callgate::codegen::Weights::uniform();
    let weights = analysis.own_weights().unwrap_or(&uniform);
    let weighted = weights.resolve(&analysis.store, analysis.root, &analysis.arches);
    let mean = expected_insns(
        &analysis.store,
        analysis.root,
        &compiled.program,
        &weighted,
        analysis.endian,
    )?;
    Some(format!("{mean:.2} instructions"))
}

fn counts(findings: &[Finding]) -> String {
    let levels =
        [(Severity::Danger, "danger"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let parts: Vec<String> = levels
        .into_iter()
        .map(|(severity, name)| {
            (findings.iter().filter(|finding| finding.severity == severity).count(), name)
        })
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| counted(count, name))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// `1 syscall`, `2 syscalls`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
