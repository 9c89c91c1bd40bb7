//! The findings of lint, for the section about them.

use callgate::diagnostic::Diagnostic;
use callgate::lint::{self, AllowText, Allowed, Level};
use callgate_html::sections::{Finding, Severity};
use callgate_requests::source::{Message, Messages};
use callgate_requests::syscall;

use crate::analysis::Analysis;

/// The maximum number of syscalls that show a finding.
const MAX_EXAMPLES: usize = 3;

/// What lint found, without what comments of the text silence.
pub(crate) fn findings(analysis: &Analysis<'_>) -> Result<Vec<Finding>, Messages> {
    let filters = &analysis.stack.filters;
    let subjects: Vec<_> = filters.iter().map(|filter| filter.subject()).collect();
    let found = lint::lint(&subjects, &analysis.arches).map_err(|error| {
        let diagnostic = Diagnostic::error(None, error.to_string());
        vec![Message::about(&analysis.stack.name, diagnostic)]
    })?;
    let texts: Vec<AllowText<'_>> =
        analysis.text().map(|text| AllowText { file: None, text }).into_iter().collect();
    let Allowed { findings, .. } = lint::allow(found, &[], &texts);
    Ok(findings.iter().map(|finding| shown(finding, analysis)).collect())
}

fn shown(finding: &lint::Finding, analysis: &Analysis<'_>) -> Finding {
    let filter = analysis.stack.filters.get(finding.filter);
    let name = filter.map_or(&analysis.stack.name, |filter| &filter.name);
    let position = finding.site.as_ref().map(|site| {
        let file = site.file.as_deref().unwrap_or(&analysis.source.name);
        format!("{file}:{}:{}", site.position.line, site.position.column)
    });
    let examples: Vec<String> = finding
        .examples
        .iter()
        .take(MAX_EXAMPLES)
        .map(|example| {
            let call = syscall::show(Some(example.arch), &example.data);
            format!("{} {call}: {}", example.arch, example.verdict)
        })
        .collect();
    let about = if filter.is_some() && analysis.stack.filters.len() > 1 && finding.site.is_none() {
        format!("{name}: ")
    } else {
        String::new()
    };
    Finding {
        id: finding.check.id().to_owned(),
        severity: match finding.check.level() {
            Level::Error => Severity::Danger,
            Level::Warning => Severity::Warning,
            Level::Note => Severity::Note,
        },
        title: format!("{about}{}", finding.message),
        position: position.unwrap_or_default(),
        example: examples.join("; "),
        fix: finding.help.clone(),
    }
}
