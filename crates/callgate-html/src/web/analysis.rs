//! A filter, what sections show of it, and its figures in a few words, which stay in view.

use callgate::compile::{Compiled, Options};
use callgate::explain::{self, Explanation, Permission};
use callgate::lint::{Check, Level};
use callgate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::Weights;
use callgate_core::diagram::{Func, Store};
use callgate_core::{LongProgram, Word};
use callgate_formats::languages::LanguageId;
use callgate_requests::lint::{Choice, Report};
use callgate_requests::source::{
    FilterContent, Message, Messages, SourceContent, SourceStack, SourceText, read,
};

use crate::sections::{Finding, Subject};
use crate::{Markup, counted, grouped};

/// A filter that was read, as a function, with its explanation and its program.
pub(crate) struct Analysis<'s> {
    pub(crate) source: &'s SourceText,
    pub(crate) stack: SourceStack,
    pub(crate) arches: Vec<Arch>,
    pub(crate) endian: Endian,
    pub(crate) store: Store,
    pub(crate) root: Func,
    pub(crate) explanation: Explanation,
    /// Or why there is none.
    pub(crate) compiled: Result<Compiled, Messages>,
}

impl<'s> Analysis<'s> {
    /// Reads and analyses a source; adds warnings.
    ///
    /// # Errors
    /// All messages about the source, without these warnings. That there is no program is not an error.
    pub(crate) fn new(
        source: &'s SourceText,
        warnings: &mut Messages,
    ) -> Result<Analysis<'s>, Messages> {
        let stack = read(source, warnings)?;
        check_variables(&stack)?;
        let (arches, endian) = (stack.arches(), stack.endian());
        let mut store = Store::default();
        let root = stack.combined_diagram(&mut store, warnings)?;
        let explanation = explain::explain(&store, root, &arches);
        let weights = own_weights(&stack).cloned().unwrap_or_else(Weights::uniform);
        let compiled = stack.compile(&Options { weights, ..Options::default() });
        Ok(Analysis { source, stack, arches, endian, store, root, explanation, compiled })
    }

    /// The filter for sections.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            name: &self.stack.name,
            explanation: &self.explanation,
            checks_arch: self.store.top_word(self.root) == Some(Word::ARCH),
        }
    }

    /// The text of the source, if it is one.
    pub(crate) fn text(&self) -> Option<&'s str> {
        match &self.source.content {
            SourceContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The program, if the source is one.
    pub(crate) fn given(&self) -> Option<(&LongProgram, Endian)> {
        match self.stack.filters.as_slice() {
            [only] => match &only.content {
                FilterContent::Program(program, endian) => Some((program, *endian)),
                FilterContent::Policy(_) => None,
            },
            _ => None,
        }
    }

    /// How often syscalls occur according to the source.
    pub(crate) fn own_weights(&self) -> Option<&Weights> {
        own_weights(&self.stack)
    }
}

/// Refuses a policy whose variables have no values: no view shows one.
fn check_variables(stack: &SourceStack) -> Result<(), Messages> {
    for filter in &stack.filters {
        let FilterContent::Policy(policy) = &filter.content else { continue };
        let names: Vec<&str> = policy.variables().iter().map(|variable| variable.name()).collect();
        let Some(first) = names.first() else { continue };
        let message = format!("variables without values: {}", names.join(", "));
        let help =
            format!("give their values in the field Variables of the options, such as {first}=1");
        return Err(vec![Message::about(
            &filter.name,
            Diagnostic::error(None, message).help(help),
        )]);
    }
    Ok(())
}

fn own_weights(stack: &SourceStack) -> Option<&Weights> {
    match stack.filters.as_slice() {
        [only] => only.weights.as_ref(),
        _ => None,
    }
}

/// How labels of costs begin.
const EXECUTED: &str = "Executed ";

/// The figures.
pub(crate) struct Figures {
    facts: Vec<(&'static str, String)>,
    /// Or why lint cannot check the filter.
    pub(crate) findings: Result<Vec<Finding>, Messages>,
    /// The syscalls that findings advise to allow.
    pub(crate) to_allow: Vec<(Arch, &'static str)>,
}

impl Figures {
    /// The figures; `warnings` are those of the reader.
    pub(crate) fn of(analysis: &Analysis<'_>, warnings: &Messages) -> Figures {
        let mut to_allow = Vec::new();
        let findings = findings(analysis.source, &analysis.stack, warnings, &mut to_allow);
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
                let means = [
                    ("Executed where the filter runs", stats.filtered_insns),
                    ("Executed before Linux 5.11", stats.expected_insns),
                ];
                let means = means.into_iter().filter_map(|(label, mean)| Some((label, mean?)));
                facts.extend(means.map(|(label, mean)| (label, format!("{mean:.2} instructions"))));
            }
            Err(_) => facts.push(("Program", "none".to_owned())),
        }
        let found = findings.as_ref().map_or("not checked".to_owned(), |found| counts(found));
        facts.push(("Findings", found));
        Figures { facts, findings, to_allow }
    }

    /// As a list of terms.
    pub(crate) fn markup(&self) -> Markup {
        Markup::of(|markup| {
            markup.element("dl", &[("class", "figures")], |list| {
                for (label, text) in &self.facts {
                    // What small screens leave to the view of the program.
                    let is_detail = label.starts_with(EXECUTED);
                    let class = [("class", "detail")];
                    let attributes: &[_] = if is_detail { &class } else { &[] };
                    list.element("div", attributes, |pair| {
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

/// What the source was read as, without an article.
fn format(analysis: &Analysis<'_>) -> &'static str {
    let Some(text) = analysis.text() else { return "built-in profile" };
    let format = analysis.source.format_of(text.as_bytes());
    match format.language().map(LanguageId::language) {
        // Which runtime reads it is known only if the format was given.
        Some(language) if language.names.len() > 1 => match analysis.source.format {
            None => "container profile",
            Some(given) => given.name(),
        },
        Some(language) => {
            let what = language.what;
            ["a ", "an "].iter().find_map(|article| what.strip_prefix(article)).unwrap_or(what)
        }
        None => "BPF program",
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

/// What `callgate lint` finds with notes, and the syscalls that findings advise to allow. `warnings` are those of the reader.
fn findings(
    source: &SourceText,
    stack: &SourceStack,
    warnings: &Messages,
    to_allow: &mut Vec<(Arch, &'static str)>,
) -> Result<Vec<Finding>, Messages> {
    let choice = Choice { level: Level::Note, ..Choice::default() };
    let report = Report::of_stack(source, stack, warnings, &choice)?;
    for found in &report.findings {
        if let (Check::NeededCall | Check::CannotStart, Some(arch)) =
            (found.check, found.arches.first())
        {
            to_allow.extend(found.syscalls.iter().map(|name| (*arch, *name)));
        }
    }
    let shown = report.findings.iter().map(|found| {
        Finding::new(found, report.title(found), report.place(found), &Report::examples(found))
    });
    Ok(shown.collect())
}
