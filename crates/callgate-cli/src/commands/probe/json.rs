//! The report as JSON.

use callgate_linux::SeccompMode;
use callgate_measure::own_filters::{Finding, Outcome, ProbeCall, ProbedCall};
use callgate_requests::json::Json;

use super::found::Report;
use super::nearest::Nearest;

use super::summary::{errno_text, reason};

pub(super) fn list(calls: &[ProbeCall]) -> Json {
    Json::array(calls.iter().map(|call| {
        Json::Object(vec![
            ("syscall", call.syscall.into()),
            ("call", call.shown.as_str().into()),
            ("answers", call.answers.as_str().into()),
        ])
    }))
}

/// With names, only the calls of these syscalls.
pub(super) fn report(report: &Report, names: &[String]) -> Json {
    let mode = match report.mode() {
        SeccompMode::Off => "off",
        SeccompMode::Strict => "strict",
        SeccompMode::Filter => "filter",
        SeccompMode::Unknown => "unknown",
    };
    let status = report.status.as_ref();
    let is_wanted =
        |call: &&ProbedCall| names.is_empty() || names.iter().any(|name| name == call.call.syscall);
    let arch = callgate::Arch::native().map(|arch| arch.name());
    let nearest = report.nearest.as_ref().map(|nearest| of_nearest(nearest, &report.calls));
    Json::Object(vec![
        ("mode", mode.into()),
        ("filters", status.and_then(|status| status.filters).map(|count| count as u64).into()),
        ("no_new_privs", status.and_then(|status| status.no_new_privs).into()),
        ("arch", arch.into()),
        ("calls", Json::array(report.calls.iter().filter(is_wanted).map(of_call))),
        ("nearest", nearest.into()),
    ])
}

fn of_call(call: &ProbedCall) -> Json {
    let (finding, errno, doubt) = match &call.finding {
        Finding::Allowed => ("allowed", None, None),
        Finding::Denied(errno) => ("denied", Some(*errno), None),
        Finding::Killed => ("killed", None, None),
        Finding::Trapped => ("trapped", None, None),
        Finding::KilledOrTrapped => ("killed or trapped", None, None),
        Finding::Unknown(doubt) => ("unknown", None, Some(reason(doubt))),
    };
    Json::Object(vec![
        ("syscall", call.call.syscall.into()),
        ("call", call.call.shown.as_str().into()),
        ("nr", call.data.nr.into()),
        ("args", Json::array(call.data.args)),
        ("answer", answer(call.outcome).into()),
        ("finding", finding.into()),
        ("errno", errno.map(u64::from).into()),
        ("reason", doubt.into()),
    ])
}

fn answer(outcome: Outcome) -> String {
    match outcome {
        Outcome::Errno(errno) => errno_text(errno),
        Outcome::Value(value) => value.to_string(),
        Outcome::Killed => "SIGSYS".to_owned(),
        Outcome::Trapped(data) => format!("SIGSYS({data})"),
        Outcome::NoAnswer => "none".to_owned(),
        Outcome::Ended(status) => format!("ended({status:#x})"),
        Outcome::NotMade => "not made".to_owned(),
    }
}

fn of_nearest(nearest: &Nearest, calls: &[ProbedCall]) -> Json {
    let different = nearest.different.iter().filter_map(|(at, verdict)| {
        let call = calls.get(*at)?;
        Some(Json::Object(vec![
            ("call", call.call.shown.as_str().into()),
            ("answer", answer(call.outcome).into()),
            ("profile", verdict.to_string().into()),
        ]))
    });
    Json::Object(vec![
        ("profile", nearest.name.as_str().into()),
        ("releases", Json::array(nearest.releases.iter().map(String::as_str))),
        ("capabilities", nearest.caps.to_string().into()),
        ("libseccomp", nearest.libseccomp.map(|(_, newest)| newest.to_string()).into()),
        ("compared", (nearest.compared as u64).into()),
        ("different", Json::array(different)),
        ("as_near", Json::array(nearest.others.iter().map(String::as_str))),
    ])
}
