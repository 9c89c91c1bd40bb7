//! Findings of lint: the chosen ones, and JSON.

use callgate::diagnostic::Diagnostic;
use callgate::lint::{self, Allow, AllowText, Allowed, Check, Example, Finding, Level, Subject};
use callgate::{Arch, ErrorKind};

use crate::json::Json;
use crate::source::{Message, Messages, SourceContent, SourceText, Stack, read};
use crate::syscall;

/// Which findings count.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The least serious findings that count.
    pub level: Level,
    /// Silenced checks.
    pub allow: Vec<Allow>,
}

impl Default for Choice {
    /// Warnings and errors.
    fn default() -> Choice {
        Choice { level: Level::Warning, allow: Vec::new() }
    }
}

/// What was found in one source.
pub struct Report {
    /// Its name.
    pub name: String,
    /// The names of its filters.
    pub filters: Vec<String>,
    /// Those of the chosen level and above.
    pub findings: Vec<Finding>,
    /// The number of those below.
    pub below: usize,
    /// The number of those that options or comments silence.
    pub silenced: usize,
}

impl Report {
    /// The chosen findings for filters, whose texts may have comments. Each filter has a name.
    ///
    /// # Errors
    /// As [`lint::lint`].
    pub fn new(
        name: &str,
        filters: &[(&str, Subject<'_>)],
        arches: &[Arch],
        texts: &[AllowText<'_>],
        choice: &Choice,
    ) -> callgate::Result<Report> {
        let subjects: Vec<Subject<'_>> = filters.iter().map(|(_, subject)| *subject).collect();
        let findings = lint::lint(&subjects, arches)?;
        let Allowed { findings, silenced } = lint::allow(findings, &choice.allow, texts);
        let (findings, below): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|finding| finding.check.level() >= choice.level);
        let filters = filters.iter().map(|(name, _)| (*name).to_owned()).collect();
        Ok(Report { name: name.to_owned(), filters, findings, below: below.len(), silenced })
    }

    /// The name of the file that a finding is about.
    pub fn file<'r>(&'r self, finding: &'r Finding) -> &'r str {
        file(finding, &self.name)
    }

    /// All of it.
    pub fn json(&self) -> Json {
        Json::Object(vec![
            ("source", self.name.as_str().into()),
            (
                "findings",
                Json::array(
                    self.findings.iter().map(|found| finding(found, &self.name, &self.filters)),
                ),
            ),
            ("below_level", self.below.into()),
            ("silenced", self.silenced.into()),
        ])
    }
}

/// The name of the file that a finding about a source is about.
fn file<'f>(finding: &'f Finding, source: &'f str) -> &'f str {
    finding.site.as_ref().and_then(|site| site.file.as_deref()).unwrap_or(source)
}

/// A finding about a source, whose filters have these names.
pub fn finding(finding: &Finding, source: &str, filters: &[String]) -> Json {
    let filter = filters.get(finding.filter).map_or(source, String::as_str);
    let position = finding.site.as_ref().map(|site| site.position);
    Json::Object(vec![
        ("id", finding.check.id().into()),
        ("level", finding.check.level().name().into()),
        ("filter", filter.into()),
        ("file", file(finding, source).into()),
        ("line", position.map(|position| position.line).into()),
        ("column", position.map(|position| position.column).into()),
        ("arches", Json::array(finding.arches.iter().map(|arch| arch.name()))),
        ("syscalls", Json::array(finding.syscalls.iter().copied())),
        ("title", finding.check.title().into()),
        ("message", finding.message.as_str().into()),
        ("help", finding.help.as_str().into()),
        ("examples", Json::array(finding.examples.iter().map(example))),
    ])
}

fn example(example: &Example) -> Json {
    let mut fields = syscall::fields(Some(example.arch), &example.data);
    fields.extend([
        ("text", syscall::show(Some(example.arch), &example.data).into()),
        ("verdict", example.verdict.to_string().into()),
        ("value", example.verdict.0.into()),
    ]);
    Json::Object(fields)
}

/// A check, for lists of all checks.
pub fn check(check: Check) -> Json {
    Json::Object(vec![
        ("id", check.id().into()),
        ("level", check.level().name().into()),
        ("title", check.title().into()),
        ("about", check.about().into()),
    ])
}

/// The findings for a source. The warnings of its reader are among them.
pub(crate) fn run(source: &SourceText, choice: &Choice) -> Result<Json, Messages> {
    let mut source = source.clone();
    source.reading.statements = true;
    let mut warnings = Messages::new();
    let stack: Stack = read(&source, &mut warnings)?;
    let warnings: Vec<Diagnostic> =
        warnings.into_iter().map(|Message { diagnostic, .. }| diagnostic).collect();
    let mut filters: Vec<_> =
        stack.filters.iter().map(|filter| (filter.name.as_str(), filter.subject())).collect();
    if let Some((_, first)) = filters.first_mut() {
        *first = first.with_warnings(&warnings);
    }
    let text = match &source.content {
        SourceContent::Text(text) => Some(AllowText { file: None, text }),
        _ => None,
    };
    Report::new(&stack.name, &filters, &stack.arches(), text.as_slice(), choice)
        .map(|report| report.json())
        .map_err(|error| match error.kind() {
            ErrorKind::Compile(error) => Message::failed(&stack.name, error),
            _ => Message::all(&stack.name, [Diagnostic::error(None, error.to_string())]),
        })
}
