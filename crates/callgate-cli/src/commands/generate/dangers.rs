//! What a generated profile allows that is dangerous, and that Docker's default profile denies.
//!
//! The profile is explained and linted like any other one before it is written. What is found is marked in its text,
//! printed as warnings, and in the JSON, each with what the recording says about it. Of a profile to which something was
//! added, only what it did not allow before is listed; its text is not marked.

use callgate::Arch;
use callgate::lint::{Check, Finding, Level, Subject, lint};
use callgate::purposes::{
    Danger, DangerousValue, FurtherDanger, Severity, danger, further_dangers,
};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{Verdict, Word};
use callgate_formats::change::Allowed;
use callgate_formats::languages::LanguageId;
use callgate_formats::{oci, systemd};
use callgate_requests::json::Json;
use callgate_trace::generate::{DenyAction, Draft, created_namespaces};
use callgate_trace::recording::Recording;

use super::evidence::Evidence;
use crate::advice;
use crate::options::PROMPT;
use crate::report::{self, Failure, Result, muted};
use crate::source::{Combine, SourceFilter, SourceStack};
use crate::text::{counted, printable};

/// How many warnings are printed.
const MAX_WARNINGS: usize = 8;

/// The dangers of a profile.
#[derive(Default)]
pub(super) struct Dangers {
    calls: Vec<DangerousCall>,
    /// What lint says about other syscalls.
    findings: Vec<Finding>,
    /// The other syscalls that are granted, and that Docker's default profile denies.
    looser: Vec<&'static str>,
    /// Whether everything else is executed and logged.
    is_trial: bool,
}

/// A dangerous syscall that the profile allows.
struct DangerousCall {
    name: &'static str,
    severity: Severity,
    /// What it does, as a sentence without subject and full stop.
    reason: String,
    /// What the recording says about it.
    evidence: Evidence,
}

impl Dangers {
    /// Finds the dangers of a profile in a format.
    pub(super) fn of(draft: &Draft, format: LanguageId) -> Result<Dangers> {
        let failed = |error: String| Failure::new(error);
        let policy = draft.write(format).map_err(|error| failed(error.to_string()))?.policy;
        let default = docker_default(draft.arches())?;
        let mut store = Store::default();
        let of = |store: &mut Store, policy: &Policy| -> Result<Func> {
            store.policy(policy).map_err(|error| failed(error.to_string()))
        };
        let own = of(&mut store, &policy)?;
        let other = of(&mut store, &default)?;
        let is_trial = draft.options().deny == DenyAction::Log;
        let mut calls: Vec<DangerousCall> = draft
            .granted_namespaces()
            .into_iter()
            .map(|granted| {
                let evidence = Evidence::of_grant(draft, granted.syscall, granted.is_recorded);
                DangerousCall::of_namespaces(granted.syscall, &granted.names, evidence)
            })
            .collect();
        let denied = further_dangers(&store, own, other, draft.arches());
        // --deny log executes other values as well, whether or not they are granted.
        let denied = denied
            .iter()
            .filter(|further| docker_denies(further) && (!is_trial || further.values.is_empty()));
        let more = DENIED_BY_DOCKER.iter().filter_map(|name| danger(name));
        for danger in denied.map(|further| further.danger).chain(more) {
            let is_known = calls.iter().any(|known| known.name == danger.syscall);
            // --deny log executes all others, and the summary says so.
            let is_granted = draft.grants().any(|grant| grant.name == danger.syscall);
            if !is_known && is_granted {
                let evidence = Evidence::of_grant(draft, danger.syscall, true);
                calls.push(DangerousCall::new(danger, evidence));
            }
        }
        calls.sort_by_key(|call| (std::cmp::Reverse(call.severity), call.name));
        let findings = match is_trial {
            true => Vec::new(),
            false => {
                let own = [Subject::new(&policy)];
                findings(&own, &[&[Subject::new(&default)]], draft.arches(), &calls)?
            }
        };
        let granted = draft.grants().map(|grant| grant.name);
        let granted = granted.filter(|name| !calls.iter().any(|call| call.name == *name));
        let looser =
            granted.filter(|name| is_denied(&store, other, draft.arches(), name)).collect();
        Ok(Dangers { calls, findings, looser, is_trial })
    }

    /// Finds what is dangerous in what was added to a profile.
    pub(super) fn of_update(
        recording: &Recording,
        before: &SourceStack,
        after: &SourceStack,
        added: &[Allowed],
    ) -> Result<Dangers> {
        if added.is_empty() {
            return Ok(Dangers::default());
        }
        let arches = after.arches();
        let mut calls: Vec<DangerousCall> = namespaces(added)
            .into_iter()
            .map(|(name, names)| {
                DangerousCall::of_namespaces(name, &names, Evidence::of(recording, name))
            })
            .collect();
        let default = docker_default(&arches)?;
        let mut store = Store::new(PROMPT);
        let old = muted(|| before.diagram(&mut store))?;
        let new = muted(|| after.diagram(&mut store))?;
        let docker = store.policy(&default).map_err(|error| Failure::new(error.to_string()))?;
        let since = further_dangers(&store, new, old, &arches);
        let is_added = |name: &str| added.iter().any(|allowed| allowed.name == name);
        let mut dangers: Vec<&'static Danger> = Vec::new();
        for mut further in further_dangers(&store, new, docker, &arches) {
            let name = further.danger.syscall;
            let before = since.iter().find(|other| other.danger.syscall == name);
            let is_new = match further.values.is_empty() {
                true => before.is_some() || is_added(name),
                false => {
                    let new = |value: &&DangerousValue| {
                        before.is_some_and(|other| other.values.contains(value))
                    };
                    further.values.retain(new);
                    !further.values.is_empty()
                }
            };
            if is_new && docker_denies(&further) {
                dangers.push(further.danger);
            }
        }
        let more = DENIED_BY_DOCKER.iter().filter(|name| is_added(name));
        dangers.extend(more.filter_map(|name| danger(name)));
        for danger in dangers {
            if !calls.iter().any(|known| known.name == danger.syscall) {
                let evidence = Evidence::of(recording, danger.syscall);
                calls.push(DangerousCall::new(danger, evidence));
            }
        }
        calls.sort_by_key(|call| (std::cmp::Reverse(call.severity), call.name));
        let [old, new] = [subjects(before), subjects(after)];
        let findings = findings(&new, &[&[Subject::new(&default)], &old], &arches, &calls)?;
        Ok(Dangers { calls, findings, ..Dangers::default() })
    }

    /// Marks the syscalls in the profile.
    pub(super) fn mark(&self, draft: &mut Draft) {
        for call in &self.calls {
            let text = format!(
                "{}; Docker's default profile denies this; {}",
                call.reason, call.evidence.text
            );
            draft.mark_dangerous(call.name, text);
        }
    }

    /// Prints warnings.
    pub(super) fn warn(&self) {
        if self.is_trial {
            report::warn(
                "everything is executed and logged: a trial profile, not a protection",
                "generate the profile without --deny log when the log shows that nothing is missing",
            );
            return;
        }
        for call in self.calls.iter().take(MAX_WARNINGS) {
            report::warn(
                format!(
                    "DANGEROUS: the profile allows {}, which {}; Docker's default profile denies this",
                    call.name, call.reason
                ),
                format!(
                    "{}; if the program can do without it, remove it from the profile",
                    printable(&call.evidence.text)
                ),
            );
        }
        if let Some(more @ 1..) = self.calls.len().checked_sub(MAX_WARNINGS) {
            report::warn(
                format!("DANGEROUS: {} more", counted(more as u64, "such syscall")),
                "callgate explain PROFILE lists all",
            );
        }
        for finding in self.findings.iter().take(MAX_WARNINGS) {
            report::warn(
                format!("lint of the profile: {} ({})", finding.message, finding.check.id()),
                advice::of(&finding.help),
            );
        }
        if let Some(more @ 1..) = self.findings.len().checked_sub(MAX_WARNINGS) {
            report::warn(
                format!("lint of the profile: {}", counted(more as u64, "more finding")),
                "callgate lint PROFILE lists all",
            );
        }
    }

    /// One line of the summary.
    pub(super) fn summary(&self) -> String {
        if self.is_trial {
            return "everything: a trial profile, not a protection".to_owned();
        }
        // A syscall may have several entries: namespaces that were recorded, and others that were asked for.
        let mut names: Vec<&str> = Vec::new();
        for call in &self.calls {
            if !names.contains(&call.name) {
                names.push(call.name);
            }
        }
        match names.as_slice() {
            [] => "nothing that Docker's default profile denies".to_owned(),
            names => format!(
                "{} that Docker's default profile denies: {}",
                counted(names.len() as u64, "syscall"),
                names.join(", ")
            ),
        }
    }

    /// What else is looser than Docker's default profile, as a line of the summary.
    pub(super) fn looser(&self) -> Option<String> {
        (!self.is_trial && !self.looser.is_empty()).then(|| {
            let names = self.looser.join(", ");
            format!("Docker's default profile also denies {names}; not dangerous")
        })
    }

    pub(super) fn looser_json(&self) -> Json {
        Json::array(self.looser.iter().copied())
    }

    pub(super) fn json(&self) -> Json {
        Json::array(self.calls.iter().map(|call| {
            let Evidence { count, runs, all_runs, by, .. } = &call.evidence;
            Json::Object(vec![
                ("call", call.name.into()),
                ("why", call.reason.as_str().into()),
                ("severity", severity(call.severity).into()),
                ("count", (*count).into()),
                ("in_runs", (*runs).into()),
                ("runs", (*all_runs).into()),
                ("by", Json::array(by.iter().map(String::as_str))),
            ])
        }))
    }

    pub(super) fn lint_json(&self) -> Json {
        Json::array(self.findings.iter().map(|finding| {
            Json::Object(vec![
                ("id", finding.check.id().into()),
                ("level", finding.check.level().name().into()),
                ("message", finding.message.as_str().into()),
                ("help", advice::of(&finding.help).into()),
            ])
        }))
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Moderate => "moderate",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

impl DangerousCall {
    fn new(danger: &Danger, evidence: Evidence) -> DangerousCall {
        let (name, severity) = (danger.syscall, danger.severity);
        DangerousCall { name, severity, reason: danger.reason.to_owned(), evidence }
    }

    /// One that creates these namespaces.
    fn of_namespaces(name: &'static str, names: &[&str], evidence: Evidence) -> DangerousCall {
        let severity = danger(name).map_or(Severity::High, |danger| danger.severity);
        let reason = format!(
            "creates namespaces ({}), in which code without privileges reaches more of the kernel",
            names.join(", ")
        );
        DangerousCall { name, severity, reason, evidence }
    }
}

/// The syscalls among these that create namespaces, with the names of these.
fn namespaces(added: &[Allowed]) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut found = Vec::new();
    for syscall in ["clone", "clone3", "unshare"] {
        let of_syscall = added.iter().filter(|allowed| allowed.name == syscall);
        let created: Vec<&str> =
            of_syscall.flat_map(|one| created_namespaces(one.arch, syscall, &one.args)).collect();
        // In the order of all others.
        let names = systemd::namespaces().map(|(name, _)| name);
        let names: Vec<&str> = names.filter(|name| created.contains(name)).collect();
        if !names.is_empty() {
            found.push((syscall, names));
        }
    }
    found
}

/// Dangerous syscalls that `container-default` allows, and Docker's default profile denies without further capabilities.
const DENIED_BY_DOCKER: [&str; 1] = ["pidfd_getfd"];

/// Others (docs/reference/built-in-profiles.md).
const HARMLESS_BUT_DENIED_BY_DOCKER: [&str; 10] = [
    "file_getattr",
    "file_setattr",
    "get_mempolicy",
    "lsm_get_self_attr",
    "lsm_list_modules",
    "mbind",
    "process_madvise",
    "set_mempolicy",
    "set_mempolicy_home_node",
    "uprobe",
];

/// Whether Docker's default profile denies a syscall with any arguments, on each architecture that has it.
fn is_denied(store: &Store, default: Func, arches: &[Arch], name: &str) -> bool {
    let mut verdicts = arches.iter().filter_map(|arch| {
        let numbers = store.follow(default, Word::ARCH, arch.token());
        Some(store.verdicts(store.follow(numbers, Word::NR, arch.number(name)?)))
    });
    HARMLESS_BUT_DENIED_BY_DOCKER.contains(&name)
        || verdicts.all(|verdicts| !verdicts.into_iter().any(Verdict::permits))
}

/// AF_ALG and AF_VSOCK, the families that Docker's default profile denies; `container-default` denies more.
const FAMILIES: [u32; 2] = [38, 40];

/// Whether Docker's default profile denies a syscall that `container-default` denies.
fn docker_denies(further: &FurtherDanger) -> bool {
    further.danger.syscall != "socket"
        || further.values.iter().any(|value| FAMILIES.contains(&value.bits))
}

/// `container-default` for the architectures of the profile. It follows Docker's default profile (moby/profiles 0.2.3);
/// docs/reference/built-in-profiles.md lists how they differ.
fn docker_default(arches: &[Arch]) -> Result<Policy> {
    let native = arches.first().copied();
    let native = native.ok_or_else(|| Failure::new("the profile has no architecture"))?;
    let kernel = KernelVersion { major: 6, minor: 18 };
    let options =
        oci::ReadOptions { arches: arches.to_vec(), ..oci::ReadOptions::new(native, kernel) };
    let default = callgate_formats::container_default(&options)
        .map_err(|errors| Failure::of("container-default", errors))?;
    Ok(default.policy)
}

/// The filters of a stack, for lint.
fn subjects(stack: &SourceStack) -> Vec<Subject<'_>> {
    stack.filters.iter().map(SourceFilter::subject).collect()
}

/// What lint warns about, except about syscalls that are listed, and about what others do as well.
fn findings(
    own: &[Subject<'_>],
    others: &[&[Subject<'_>]],
    arches: &[Arch],
    calls: &[DangerousCall],
) -> Result<Vec<Finding>> {
    let of = |subjects: &[Subject<'_>]| {
        lint(subjects, arches).map_err(|error| Failure::new(format!("lint: {error}")))
    };
    let mut known: Vec<Finding> = Vec::new();
    for other in others {
        known.extend(of(other)?);
    }
    let is_new = |finding: &Finding| {
        let listed = |name: &&str| calls.iter().any(|call| call.name == *name);
        let is_listed = !finding.syscalls.is_empty() && finding.syscalls.iter().all(listed);
        let is_known = |other: &Finding| {
            other.check == finding.check
                && finding.syscalls.iter().all(|name| other.syscalls.contains(name))
        };
        // Which syscalls are allowed is what the recording says.
        let is_recorded =
            matches!(finding.check, Check::SameEffect | Check::NeededCall | Check::CannotStart);
        finding.check.level() >= Level::Warning
            && !is_listed
            && !is_recorded
            && !known.iter().any(is_known)
    };
    Ok(of(own)?.into_iter().filter(is_new).collect())
}
