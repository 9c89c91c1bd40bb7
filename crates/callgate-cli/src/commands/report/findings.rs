//! The findings of lint.

use callgate::lint::{self, Level};
use callgate_html::Section;
use callgate_html::sections::{self, Finding, Severity};
use callgate_requests::syscall;

use crate::report::{Failure, Result};
use crate::source::{Filter, Stack};

/// The section with the findings for the filters of a source.
pub(super) fn findings(stack: &Stack) -> Result<Section> {
    stack.filters.iter().try_for_each(Filter::check_values)?;
    let subjects: Vec<_> = stack.filters.iter().map(Filter::subject_of_lint).collect();
    let found = lint::lint(&subjects, &stack.arches())
        .map_err(|error| Failure::about(&stack.name, error.to_string()))?;
    let found: Vec<Finding> = found.iter().map(|finding| shown(finding, stack)).collect();
    Ok(sections::findings(&found))
}

fn shown(finding: &lint::Finding, stack: &Stack) -> Finding {
    let severity = match finding.check.level() {
        Level::Error => Severity::Danger,
        Level::Warning => Severity::Warning,
        Level::Note => Severity::Note,
    };
    let position = finding.site.as_ref().map(|site| {
        let file = site.file.as_deref().unwrap_or(&stack.name);
        format!("{file}:{}:{}", site.position.line, site.position.column)
    });
    let example = |example: &lint::Example| {
        let call = syscall::show(Some(example.arch), &example.data);
        format!("{} {call}: {}", example.arch, example.verdict)
    };
    let examples: Vec<String> = finding.examples.iter().map(example).collect();
    Finding {
        id: finding.check.id().to_owned(),
        severity,
        title: finding.message.clone(),
        position: position.unwrap_or_default(),
        example: examples.join("; "),
        fix: finding.help.clone(),
    }
}
