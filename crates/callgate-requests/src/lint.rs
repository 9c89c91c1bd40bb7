//! Findings of lint as JSON.

use callgate::lint::{Check, Example, Finding, Level};

use crate::json::Json;
use crate::syscall;

/// A finding; `names` are those of the filters.
pub fn finding(finding: &Finding, names: &[&str]) -> Json {
    let name = names.get(finding.filter).copied().unwrap_or_default();
    let mut fields = vec![
        ("id", finding.check.id().into()),
        ("level", finding.check.level().name().into()),
        ("filter", name.into()),
    ];
    if let Some(site) = &finding.site {
        fields.extend([
            ("file", site.file.as_deref().unwrap_or(name).into()),
            ("line", site.position.line.into()),
            ("column", site.position.column.into()),
        ]);
    }
    fields.extend([
        ("arches", Json::array(finding.arches.iter().map(|arch| arch.name()))),
        ("syscalls", Json::array(finding.syscalls.iter().copied())),
        ("title", finding.check.title().into()),
        ("message", finding.message.as_str().into()),
        ("help", finding.help.as_str().into()),
        ("examples", Json::array(finding.examples.iter().map(example))),
    ]);
    Json::Object(fields)
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

/// The level with a name.
pub fn level(name: &str) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level.name() == name)
}
