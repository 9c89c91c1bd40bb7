//! Findings as SARIF (Static Analysis Results Interchange Format, version 2.1.0), which code scanning services read.

use callgate::lint::{Check, Finding};
use callgate_requests::json::Json;
use callgate_requests::syscall;

use callgate_requests::lint::Report;

use crate::advice;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// One log with one run.
pub(super) fn log(reports: &[Report]) -> Json {
    let results = reports.iter().flat_map(|report| {
        report.findings.iter().map(|finding| result(report, finding)).collect::<Vec<_>>()
    });
    let driver = Json::Object(vec![
        ("name", "callgate".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rules", Json::array(Check::ALL.iter().copied().map(rule))),
    ]);
    let run = Json::Object(vec![
        ("tool", Json::Object(vec![("driver", driver)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", Json::array(results)),
    ]);
    Json::Object(vec![
        ("$schema", SCHEMA.into()),
        ("version", "2.1.0".into()),
        ("runs", Json::array([run])),
    ])
}

fn text(text: &str) -> Json {
    Json::Object(vec![("text", text.into())])
}

fn rule(check: Check) -> Json {
    let level = Json::Object(vec![("level", check.level().name().into())]);
    Json::Object(vec![
        ("id", check.id().into()),
        ("shortDescription", text(check.title())),
        ("fullDescription", text(advice::about(check))),
        ("defaultConfiguration", level),
    ])
}

fn result(report: &Report, finding: &Finding) -> Json {
    let mut message = finding.message.clone();
    for example in &finding.examples {
        let call = syscall::show(Some(example.arch), &example.data);
        message += &format!("\nExample: {} {call}: {}", example.arch, example.verdict);
    }
    let help = advice::of(&finding.help);
    if !help.is_empty() {
        message += &format!("\nHelp: {help}");
    }
    let mut physical =
        vec![("artifactLocation", Json::Object(vec![("uri", uri(report.file(finding)).into())]))];
    if let Some(site) = &finding.site {
        let region = vec![
            ("startLine", site.position.line.into()),
            ("startColumn", site.position.column.into()),
        ];
        physical.push(("region", Json::Object(region)));
    }
    let location = Json::Object(vec![("physicalLocation", Json::Object(physical))]);
    let index = Check::ALL.iter().position(|check| *check == finding.check).unwrap_or_default();
    Json::Object(vec![
        ("ruleId", finding.check.id().into()),
        ("ruleIndex", (index as u64).into()),
        ("level", finding.check.level().name().into()),
        ("message", text(&message)),
        ("locations", Json::array([location])),
    ])
}

/// A file name as a relative or `file:` URI.
fn uri(file: &str) -> String {
    let mut uri = if file.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in file.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn names_of_files_become_uris() {
        assert_eq!(uri("a b/ü.json"), "a%20b/%C3%BC.json");
        assert_eq!(uri("/etc/x#1"), "file:///etc/x%231");
    }
}
