//! Reasons as JSON.

use callgate_bpf::SyscallTable;
use callgate_formats::change::SideEffect;
use callgate_formats::statements::{Inactive, Site, Statement};
use callgate_formats::why::{Cause, Why};

use super::answer::Answer;
use super::change::Advice;
use super::reason::{FilterReason, Reason, condition};
use callgate_requests::explanation::verdict_json;
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// The syscall, the verdict, and each filter with its reason, the one that decides first.
pub(super) fn answer_fields(
    answer: &Answer<'_>,
    advice: Option<&Advice>,
) -> Vec<(&'static str, Json)> {
    let mut fields = syscall::fields(answer.arch, &answer.data);
    fields.extend([
        ("verdict", answer.verdict.to_string().into()),
        ("value", answer.verdict.0.into()),
        ("filters", Json::array(answer.filters.iter().map(|one| filter(answer, one)))),
        ("change", advice.map(change).into()),
    ]);
    fields
}

/// What allows the syscall.
pub(super) fn change(advice: &Advice) -> Json {
    let mut fields = vec![("capabilities", Json::array(advice.caps.names()))];
    match &advice.change {
        Ok(change) => fields.extend([
            ("patch", change.patch.as_str().into()),
            ("all_arguments", change.allowed.args.is_empty().into()),
            ("condition", change.allowed.condition().into()),
            ("multiplexed", change.verified.multiplexed.as_ref().map(side_effect).into()),
            ("side_effect", change.verified.side_effect.as_ref().map(side_effect).into()),
            ("by_hand", Json::Null),
        ]),
        Err(by_hand) => fields.extend([
            ("patch", Json::Null),
            ("all_arguments", Json::Null),
            ("condition", Json::Null),
            ("multiplexed", Json::Null),
            ("side_effect", Json::Null),
            ("by_hand", by_hand.as_str().into()),
        ]),
    }
    Json::Object(fields)
}

/// A syscall with another verdict than before.
fn side_effect(effect: &SideEffect) -> Json {
    let mut fields = syscall::fields(syscall::arch_of(&effect.data), &effect.data);
    fields.extend([("before", verdict_json(effect.before)), ("after", verdict_json(effect.after))]);
    Json::Object(fields)
}

fn filter(answer: &Answer<'_>, filter: &FilterReason<'_>) -> Json {
    let mut fields = vec![
        ("name", filter.name.into()),
        ("verdict", filter.verdict.to_string().into()),
        ("value", filter.verdict.0.into()),
    ];
    match &filter.reason {
        Reason::Policy => fields.push(("cause", "policy".into())),
        Reason::Instruction { index, text } => fields.extend([
            ("cause", "instruction".into()),
            ("instruction", (*index).into()),
            ("insn", text.as_str().into()),
        ]),
        Reason::Text(why) => fields.extend(text(answer, filter, why)),
    }
    Json::Object(fields)
}

fn text(
    answer: &Answer<'_>,
    filter: &FilterReason<'_>,
    why: &Why<'_>,
) -> Vec<(&'static str, Json)> {
    let rule = |rule: &&Statement| {
        let arch = answer.arch.unwrap_or(rule.arch);
        let when = condition(rule, arch, rule.arch.syscall_name(rule.nr));
        let mut fields = site(&rule.site, filter.name);
        fields.extend([
            ("name", rule.name.as_str().into()),
            ("verdict", verdict_json(rule.verdict)),
            ("condition", when.into()),
        ]);
        Json::Object(fields)
    };
    let inactive = |rule: &&Inactive| {
        let mut fields = site(&rule.site, filter.name);
        fields.extend([
            ("name", rule.name.as_str().into()),
            ("verdict", verdict_json(rule.verdict)),
            ("reason", rule.reason.to_string().into()),
        ]);
        Json::Object(fields)
    };
    let mut fields = match &why.cause {
        Cause::Rules(rules) => {
            vec![("cause", "rules".into()), ("rules", Json::array(rules.iter().map(rule)))]
        }
        Cause::Builtin(builtin) => {
            vec![("cause", "builtin".into()), ("reason", builtin.reason.into())]
        }
        Cause::Default(at) => {
            let mut fields = vec![("cause", "default".into())];
            fields.extend(at.iter().flat_map(|at| site(at, filter.name)));
            fields
        }
        Cause::OtherArch => vec![("cause", "other_arch".into())],
    };
    fields.extend([
        ("overruled", Json::array(why.overruled.iter().map(rule))),
        ("unmet", Json::array(why.unmet.iter().map(rule))),
        ("inactive", Json::array(why.inactive.iter().map(inactive))),
    ]);
    fields
}

/// The file, line and column of a place.
fn site(site: &Site, name: &str) -> Vec<(&'static str, Json)> {
    vec![
        ("file", site.file.as_deref().unwrap_or(name).into()),
        ("line", site.position.line.into()),
        ("column", site.position.column.into()),
    ]
}
