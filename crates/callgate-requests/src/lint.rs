//! Findings of lint: the chosen ones, and JSON.

use callgate::lint::{self, Allow, AllowText, Allowed, Check, Example, Finding, Level, Subject};
use callgate::{Arch, ErrorKind};
use callgate_bpf::diagnostic::Diagnostic;

use crate::json::Json;
use crate::source::{Message, Messages, SourceContent, SourceStack, SourceText, read};
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

    /// The chosen findings for a source that was read into this stack with `statements`. The warnings of its reader are among
    /// them, and comments in its text silence findings.
    ///
    /// # Errors
    /// As [`lint::lint`].
    pub fn of_stack(
        source: &SourceText,
        stack: &SourceStack,
        warnings_of_reader: &[Message],
        choice: &Choice,
    ) -> Result<Report, Messages> {
        let drop_ins = source.drop_ins();
        let is_drop_in = |file: &String| drop_ins.iter().any(|one| one.name == **file);
        let (mut warnings, mut of_files) = (Vec::new(), Vec::new());
        for Message { source: file, diagnostic, .. } in warnings_of_reader {
            match file.as_ref().filter(|file| is_drop_in(file)) {
                Some(file) => of_files.push((file.clone(), diagnostic.clone())),
                None => warnings.push(diagnostic.clone()),
            }
        }
        let mut filters: Vec<_> =
            stack.filters.iter().map(|filter| (filter.name.as_str(), filter.subject())).collect();
        if let Some((_, first)) = filters.first_mut() {
            *first = first.with_warnings(&warnings).with_warnings_of_files(&of_files);
        }
        let own = match &source.content {
            SourceContent::Text(text) => Some(AllowText { file: None, text }),
            _ => None,
        };
        let files = drop_ins.iter();
        let files = files.map(|one| AllowText { file: Some(&one.name), text: &one.text });
        let texts: Vec<AllowText<'_>> = own.into_iter().chain(files).collect();
        Report::new(&stack.name, &filters, &stack.arches(), &texts, choice).map_err(|error| {
            match error.kind() {
                ErrorKind::Compile(error) => stack.failed(error),
                _ => Message::all(&stack.name, [Diagnostic::error(None, error.to_string())]),
            }
        })
    }

    /// What was found, in a line; of several filters, with the name of the program that it is about.
    pub fn title(&self, finding: &Finding) -> String {
        let is_about_one = matches!(finding.check, Check::NotCached | Check::SlowProgram);
        match self.filters.get(finding.filter) {
            Some(name) if is_about_one && self.filters.len() > 1 => {
                format!("{name}: {}", finding.message)
            }
            _ => finding.message.clone(),
        }
    }

    /// The place of a finding: file, line and column.
    pub fn place(&self, finding: &Finding) -> Option<String> {
        let position = finding.site.as_ref()?.position;
        Some(format!("{}:{}:{}", self.file(finding), position.line, position.column))
    }

    /// The syscalls that show a finding, with their verdicts; at most three.
    pub fn examples(finding: &Finding) -> Vec<String> {
        /// The maximum number of examples.
        const MAX: usize = 3;
        let examples = finding.examples.iter().take(MAX);
        examples
            .map(|example| {
                let call = syscall::show(Some(example.arch), &example.data);
                format!("{} {call}: {}", example.arch, example.verdict)
            })
            .collect()
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
        ("help", (*finding.help).into()),
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
    let stack: SourceStack = read(&source, &mut warnings)?;
    stack.check_values()?;
    Report::of_stack(&source, &stack, &warnings, choice).map(|report| report.json())
}
