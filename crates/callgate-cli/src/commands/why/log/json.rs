//! Denials as JSON.

use std::collections::BTreeMap;

use callgate::purposes::{Danger, Purpose, danger};
use callgate::{Arch, Verdict};
use callgate_formats::CapSet;
use callgate_requests::json::Json;
use callgate_requests::logged::{action, data};
use callgate_requests::syscall;
use callgate_trace::denials::{Denial, DenialLog, Evidence, UnreadLine};
use callgate_trace::recording::{Caveat, SyscallId};

use super::super::json::answer_fields;
use super::alone::Failures;
use super::explained::{Combined, Explained, LeftOut, changed};
use super::groups::Groups;
use super::usual::{InContainer, Usual};

/// What a log contains, and each denial with its reason.
pub(super) fn log(
    name: &str,
    log: &DenialLog,
    groups: &Groups<'_>,
    explained: &[Explained<'_>],
    combined: &[Combined],
    with_dangerous: bool,
) -> Json {
    let only = match combined {
        [only] => Some(only),
        _ => None,
    };
    let named = |(call, count): (&&'static str, &u64)| {
        Json::Object(vec![("call", (*call).into()), ("count", (*count).into())])
    };
    let is_single = |one: &Explained<'_>| {
        groups.of(&one.denial).is_none_or(|of| changed(explained, groups, of).count() < 2)
    };
    let left_out = explained.iter().filter(|one| !is_single(one)).filter_map(|one| {
        let why = match one.left_out(with_dangerous)? {
            LeftOut::OnPurpose => "on_purpose",
            LeftOut::Dangerous => "dangerous",
        };
        let call = &one.denial.call.syscall;
        Some(Json::Object(vec![
            ("arch", call.arch.name().into()),
            ("call", call.name().into()),
            ("nr", call.nr.into()),
            ("reason", why.into()),
        ]))
    });
    let older = groups.older.iter().map(named);
    let unknown = groups.unknown.iter().map(named);
    let mut fields = fields(name, log, &groups.outside, groups.unrelated);
    fields.extend([
        ("older_runtime", Json::array(older)),
        ("older_libseccomp", Json::array(unknown)),
        ("known_since_libseccomp", groups.known_since.map(|since| since.to_string()).into()),
        ("denials", Json::array(explained.iter().map(denial))),
        ("left_out", Json::array(left_out)),
        ("patch", only.map(|combined| combined.patch.as_str()).into()),
        ("patched", only.map_or(0, |combined| combined.count as u64).into()),
        ("patches", Json::array(combined.iter().map(patch))),
    ]);
    Json::Object(fields)
}

/// What a log contains, and each denial, without a filter.
pub(super) fn log_alone(
    name: &str,
    log: &DenialLog,
    outside: &BTreeMap<Arch, u64>,
    failures: &Failures,
    usual: &[Usual],
) -> Json {
    let denials = log.denials.iter().enumerate().map(|(index, denial)| {
        let call = &denial.call.syscall;
        let mut fields = denial_fields(denial);
        fields.extend(syscall::fields(Some(call.arch), &data(&denial.call)));
        let may_be = |one: &&Danger| one.is_given(&denial.call.args, call.arch) != Some(false);
        let danger = call.name().and_then(danger).filter(may_be);
        fields.extend([
            ("purpose", call.name().and_then(Purpose::of).map(Purpose::id).into()),
            ("danger", danger.map(|danger| danger.reason).into()),
            ("usual", usual.get(index).map(Usual::json).into()),
        ]);
        Json::Object(fields)
    });
    let failed = failures.each().map(|(call, errno, count)| {
        Json::Object(vec![
            ("arch", call.arch.name().into()),
            ("call", call.name().into()),
            ("nr", call.nr.into()),
            ("verdict", Verdict::errno(errno).to_string().into()),
            ("count", count.into()),
        ])
    });
    let mut fields = fields(name, log, outside, failures.count);
    fields.push(("failures", Json::array(failed)));
    fields.push(("denials", Json::array(denials)));
    Json::Object(fields)
}

impl Usual {
    /// What the usual filters do with a syscall. `capabilities`: those with which Docker's default profile allows it.
    pub(in super::super) fn json(&self) -> Json {
        let verdict = |does: &InContainer| match does {
            InContainer::Allows => "allowed",
            InContainer::Some => "depends",
            InContainer::Denies(..) => "denied",
        };
        let caps = match self.container {
            InContainer::Denies(caps, _) => caps,
            InContainer::Allows | InContainer::Some => CapSet::none(),
        };
        let engines = self.engines.iter().map(|(name, does)| (*name, verdict(does).into()));
        let engines = engines.collect();
        Json::Object(vec![
            ("docker_default", verdict(&self.container).into()),
            ("engines", Json::Object(engines)),
            ("capabilities", Json::array(caps.names())),
            ("system_service", self.is_of_services.into()),
            ("systemd_sets", Json::array(self.sets.iter().copied())),
        ])
    }
}

fn fields(
    name: &str,
    log: &DenialLog,
    outside: &BTreeMap<Arch, u64>,
    unrelated: u64,
) -> Vec<(&'static str, Json)> {
    let first = log.unread.lines.first();
    let line = |one: &UnreadLine| {
        Json::Object(vec![
            ("line", one.line.into()),
            ("reason", one.why.as_str().into()),
            ("text", one.text.as_str().into()),
        ])
    };
    let unread = vec![
        ("count", log.unread.count.into()),
        ("line", first.map(|first| first.line).into()),
        ("reason", first.map(|first| first.why.as_str()).into()),
        ("lines", Json::array(log.unread.lines.iter().map(line))),
    ];
    let other = log.other.iter().map(|one| {
        Json::Object(vec![
            ("module", one.module.id().into()),
            ("count", one.count.into()),
            ("line", one.line.into()),
            ("what", one.what.as_str().into()),
            ("text", one.text.as_str().into()),
        ])
    });
    let outside = outside.iter().map(|(arch, count)| {
        Json::Object(vec![("arch", arch.name().into()), ("count", (*count).into())])
    });
    let called = |(call, count): &(SyscallId, u64)| {
        Json::Object(vec![
            ("arch", call.arch.name().into()),
            ("call", call.name().into()),
            ("nr", call.nr.into()),
            ("count", (*count).into()),
        ])
    };
    let records = |lost: &Caveat| {
        Json::Object(vec![("count", lost.count.into()), ("text", lost.text.as_str().into())])
    };
    vec![
        ("log", name.into()),
        ("lines", log.lines.into()),
        ("unread", Json::Object(unread)),
        ("other_denials", Json::array(other)),
        ("failed_after_filters", log.failed.into()),
        ("logged", log.logged.into()),
        ("logged_calls", Json::array(log.logged_calls.iter().map(called))),
        ("unselected", log.unselected.into()),
        ("unrelated", unrelated.into()),
        ("lost", log.lost.into()),
        ("lost_records", log.lost_records.as_ref().map(records).into()),
        ("outside", Json::array(outside)),
        ("assumed_arch", log.assumed_arch.into()),
    ]
}

fn patch(combined: &Combined) -> Json {
    Json::Object(vec![
        ("arches", Json::array(combined.arches.iter().map(|arch| arch.name()))),
        ("patch", combined.patch.as_str().into()),
        ("patched", (combined.count as u64).into()),
    ])
}

fn denial(one: &Explained<'_>) -> Json {
    let mut fields = denial_fields(&one.denial);
    fields.push(("never_returned", Json::array(one.foreign.iter().copied())));
    fields.extend(answer_fields(&one.answer, one.advice.as_ref()));
    Json::Object(fields)
}

fn denial_fields(denial: &Denial) -> Vec<(&'static str, Json)> {
    let evidence = match denial.call.evidence {
        Evidence::Filter => "filter",
        Evidence::Failed(_) => "failed",
        Evidence::NoReturn => "no_return",
    };
    let programs = denial.programs.iter().map(|(name, count)| {
        Json::Object(vec![("name", name.as_str().into()), ("count", (*count).into())])
    });
    let returned = denial.verdicts.iter().map(|(verdict, count)| {
        Json::Object(vec![("action", action(*verdict).into()), ("count", (*count).into())])
    });
    let known = denial.call.args.iter().map(|arg| arg.is_some());
    vec![
        ("count", denial.count.into()),
        ("programs", Json::array(programs)),
        ("other_programs", denial.others.into()),
        ("evidence", evidence.into()),
        ("returned", Json::array(returned)),
        ("known_args", Json::array(known)),
    ]
}
