//! Denials as JSON.

use callgate::denials::{DenialLog, Evidence};

use super::super::json::answer_fields;
use super::explained::{Combined, Explained};
use callgate_requests::json::Json;

/// What a log contains, and each denial with its reason.
pub(super) fn log(
    name: &str,
    log: &DenialLog,
    unrelated: u64,
    explained: &[Explained<'_>],
    combined: Option<&Combined>,
) -> Json {
    let (line, reason) = match &log.unread.first {
        Some((line, reason)) => (Json::from(*line), reason.as_str().into()),
        None => (Json::Null, Json::Null),
    };
    let unread = vec![("count", log.unread.count.into()), ("line", line), ("reason", reason)];
    Json::Object(vec![
        ("log", name.into()),
        ("lines", log.lines.into()),
        ("unread", Json::Object(unread)),
        ("logged", log.logged.into()),
        ("unrelated", unrelated.into()),
        ("lost", log.lost.into()),
        ("denials", Json::array(explained.iter().map(denial))),
        ("patch", combined.map(|combined| combined.patch.as_str()).into()),
        ("patched", combined.map_or(0, |combined| combined.count as u64).into()),
    ])
}

fn denial(one: &Explained<'_>) -> Json {
    let evidence = match one.denial.call.evidence {
        Evidence::Filter => "filter",
        Evidence::Failed(_) => "failed",
        Evidence::NoReturn => "no_return",
    };
    let programs = one.denial.programs.iter().map(|(name, count)| {
        Json::Object(vec![("name", name.as_str().into()), ("count", (*count).into())])
    });
    let known = one.denial.call.args.iter().map(|arg| arg.is_some());
    let mut fields = vec![
        ("count", one.denial.count.into()),
        ("programs", Json::array(programs)),
        ("other_programs", one.denial.others.into()),
        ("evidence", evidence.into()),
        ("known_args", Json::array(known)),
    ];
    fields.extend(answer_fields(&one.answer, one.advice.as_ref()));
    Json::Object(fields)
}
