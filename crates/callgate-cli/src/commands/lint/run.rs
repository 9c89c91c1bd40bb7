//! Reads the sources and prints the findings.

use callgate::lint::{self, AllowText, Allowed, Check, Subject};
use callgate_requests::json::Json;
use callgate_requests::lint as as_json;

use super::args::{LintArgs, LintFormat};
use super::report::Report;
use super::{sarif, text};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{Filter, LoadedSource, Source};

pub(crate) fn run(args: &LintArgs) -> Result<u8> {
    if args.list {
        output::print(&match args.format {
            LintFormat::Text => text::list(),
            LintFormat::Json => {
                format!("{}\n", Json::array(Check::ALL.iter().copied().map(as_json::check)))
            }
            LintFormat::Sarif => {
                return Err(Failure::new("--list has no SARIF; use --format json"));
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
    stack.filters.iter().try_for_each(Filter::check_values)?;
    let subjects: Vec<Subject<'_>> = stack.filters.iter().map(Filter::subject_of_lint).collect();
    let findings = lint::lint(&subjects, &stack.arches())
        .map_err(|error| Failure::about(&stack.name, error.to_string()))?;
    let texts = loaded.texts();
    let texts: Vec<AllowText<'_>> =
        texts.iter().map(|own| AllowText { file: own.file.as_deref(), text: own.text }).collect();
    let Allowed { findings, silenced } = lint::allow(findings, &args.allow, &texts);
    let (findings, below): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.check.level() >= args.level);
    let names = stack.filters.iter().map(|filter| filter.name.clone()).collect();
    Ok(Report { name: stack.name.clone(), names, findings, below: below.len(), silenced })
}

fn json(reports: &[Report]) -> Json {
    let sources = reports.iter().map(|report| {
        let names = report.filters();
        let findings = report.findings.iter().map(|finding| as_json::finding(finding, &names));
        Json::Object(vec![
            ("filters", Json::array(names.iter().copied())),
            ("findings", Json::array(findings)),
            ("below_level", (report.below as u64).into()),
            ("silenced", (report.silenced as u64).into()),
        ])
    });
    Json::Object(vec![("sources", Json::array(sources))])
}
