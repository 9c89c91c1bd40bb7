//! Reads the sources and prints the findings.

use callgate::lint::{AllowText, Check};
use callgate_requests::json::Json;
use callgate_requests::lint::{self, Choice, Report};

use super::args::{LintArgs, LintFormat};
use super::{sarif, text};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{LoadedSource, Source, SourceFilter, SourceStack};

pub(crate) fn run(args: &LintArgs) -> Result<u8> {
    if args.list_checks {
        output::print(&match args.format {
            LintFormat::Text => text::list(),
            LintFormat::Json => {
                format!("{}\n", Json::array(Check::ALL.iter().copied().map(lint::check)))
            }
            LintFormat::Sarif => {
                return Err(Failure::new("--list-checks has no SARIF; use --format json"));
            }
        })?;
        return Ok(0);
    }
    // A source that cannot be read does not hide the findings of the others.
    let mut reports = Vec::new();
    let mut failed = None;
    for source in &args.sources {
        let found = Source::parse(source)
            .and_then(|source| source.load())
            .and_then(|loaded| report(&loaded, args));
        match found {
            Ok(report) => reports.push(report),
            Err(failure) => failed = Some(failure.print()),
        }
    }
    if let (Some(status), true) = (failed, reports.is_empty()) {
        return Ok(status);
    }
    output::print(&match args.format {
        LintFormat::Text => text::findings(&reports),
        LintFormat::Json => format!("{}\n", json(&reports)),
        LintFormat::Sarif => format!("{}\n", sarif::log(&reports)),
    })?;
    let found = reports.iter().any(|report| !report.findings.is_empty());
    Ok(failed.unwrap_or(u8::from(found)))
}

fn report(loaded: &LoadedSource, args: &LintArgs) -> Result<Report> {
    let stack = loaded.read(&args.reading.for_lint())?;
    report_of(loaded, &stack, &Choice { level: args.level, allow: args.allow.clone() })
}

/// The chosen findings for a source that was read into this stack.
pub(crate) fn report_of(
    loaded: &LoadedSource,
    stack: &SourceStack,
    choice: &Choice,
) -> Result<Report> {
    stack.filters.iter().try_for_each(SourceFilter::check_values)?;
    let filters: Vec<_> =
        stack.filters.iter().map(|filter| (filter.name.as_str(), filter.subject())).collect();
    let texts = loaded.texts();
    let texts: Vec<AllowText<'_>> =
        texts.iter().map(|own| AllowText { file: own.file.as_deref(), text: own.text }).collect();
    Report::new(&stack.name, &filters, &stack.arches(), &texts, choice)
        .map_err(|error| Failure::about(&stack.name, error.to_string()))
}

fn json(reports: &[Report]) -> Json {
    Json::Object(vec![("sources", Json::array(reports.iter().map(Report::json)))])
}
