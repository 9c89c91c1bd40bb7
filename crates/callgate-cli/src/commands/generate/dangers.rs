//! What a generated profile allows that is dangerous, and that Docker's default profile denies.
//!
//! The profile is explained and linted like any other one before it is written. What is found is marked in its text,
//! printed as warnings, and in the JSON, each with what the recording says about it.

use callgate::diagram::{Func, Store};
use callgate::formats::{self, oci};
use callgate::generate::{DenyAction, Draft, GrantReason, GrantedNamespaces, ProfileFormat};
use callgate::lint::{Check, Finding, Level, Subject, lint};
use callgate::policy::Policy;
use callgate::purposes::{FurtherDanger, Severity, danger, further_dangers};
use callgate::syscalls::KernelVersion;
use callgate_requests::json::Json;

use crate::report::{self, Failure, Result};
use crate::text::{counted, printable, times};

/// How many warnings are printed.
const MAX_WARNINGS: usize = 8;

/// The dangers of a profile.
pub(super) struct Dangers {
    calls: Vec<DangerousCall>,
    /// What lint says about other syscalls.
    findings: Vec<Finding>,
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

/// What the recording says about a syscall.
struct Evidence {
    /// How often it was recorded; `None` if it was not.
    count: Option<u64>,
    /// In how many of the runs.
    runs: u64,
    all_runs: u64,
    /// The executables or programs that made it, if they are known.
    by: Vec<String>,
    text: String,
}

impl Dangers {
    /// Finds the dangers of a profile in a format.
    pub(super) fn of(draft: &Draft, format: ProfileFormat) -> Result<Dangers> {
        let failed = |error: String| Failure::new(error);
        let policy = draft.write(format).map_err(|error| failed(error.to_string()))?.policy;
        let default = docker_default(draft)?;
        let mut store = Store::default();
        let of = |store: &mut Store, policy: &Policy| -> Result<Func> {
            store.policy(policy).map_err(|error| failed(error.to_string()))
        };
        let own = of(&mut store, &policy)?;
        let other = of(&mut store, &default)?;
        let mut calls: Vec<DangerousCall> = draft
            .granted_namespaces()
            .into_iter()
            .map(|granted| DangerousCall {
                name: granted.syscall,
                severity: Severity::High,
                reason: creates(&granted),
                evidence: Evidence::of(draft, granted.syscall, granted.is_recorded),
            })
            .collect();
        let denied = further_dangers(&store, own, other, draft.arches());
        let denied = denied.iter().filter(|further| docker_denies(further));
        let more = DENIED_BY_DOCKER.iter().filter_map(|name| danger(name));
        for danger in denied.map(|further| further.danger).chain(more) {
            let is_known = calls.iter().any(|known| known.name == danger.syscall);
            // --deny log executes all others, and the summary says so.
            let is_granted = draft.grants().any(|grant| grant.name == danger.syscall);
            if !is_known && is_granted {
                calls.push(DangerousCall {
                    name: danger.syscall,
                    severity: danger.severity,
                    reason: danger.reason.to_owned(),
                    evidence: Evidence::of(draft, danger.syscall, true),
                });
            }
        }
        calls.sort_by_key(|call| (std::cmp::Reverse(call.severity), call.name));
        let findings = match draft.deny() {
            DenyAction::Log => Vec::new(),
            _ => findings(draft, &policy, &default, &calls)?,
        };
        Ok(Dangers { calls, findings })
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
                finding.help.clone(),
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
        match self.calls.as_slice() {
            [] => "nothing that Docker's default profile denies".to_owned(),
            calls => {
                let names: Vec<&str> = calls.iter().map(|call| call.name).collect();
                format!(
                    "{} that Docker's default profile denies: {}",
                    counted(calls.len() as u64, "syscall"),
                    names.join(", ")
                )
            }
        }
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
                ("help", finding.help.as_str().into()),
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

/// `creates namespaces (pid, user)`.
fn creates(granted: &GrantedNamespaces) -> String {
    format!(
        "creates namespaces ({}), in which code without privileges reaches more of the kernel",
        granted.names.join(", ")
    )
}

/// Dangerous syscalls that `container-default` allows, and Docker's default profile denies without further capabilities.
const DENIED_BY_DOCKER: [&str; 1] = ["pidfd_getfd"];

/// AF_ALG and AF_VSOCK, the families that Docker's default profile denies; `container-default` denies more.
const FAMILIES: [u32; 2] = [38, 40];

/// Whether Docker's default profile denies a syscall that `container-default` denies.
fn docker_denies(further: &FurtherDanger) -> bool {
    further.danger.syscall != "socket"
        || further.values.iter().any(|value| FAMILIES.contains(&value.bits))
}

/// `container-default` for the architectures of the profile. It follows Docker's default profile (moby/profiles 0.2.3);
/// docs/container-default.md lists how they differ.
fn docker_default(draft: &Draft) -> Result<Policy> {
    let native = draft.arches().first().copied();
    let native = native.ok_or_else(|| Failure::new("the profile has no architecture"))?;
    let kernel = KernelVersion { major: 6, minor: 18 };
    let options = oci::ReadOptions {
        arches: draft.arches().to_vec(),
        ..oci::ReadOptions::new(native, kernel)
    };
    let default = formats::container_default(&options)
        .map_err(|errors| Failure::of("container-default", errors))?;
    Ok(default.policy)
}

/// What lint warns about, except about syscalls that are listed, and about what Docker's default profile does as well.
fn findings(
    draft: &Draft,
    policy: &Policy,
    default: &Policy,
    calls: &[DangerousCall],
) -> Result<Vec<Finding>> {
    let of = |policy: &Policy| {
        lint(&[Subject::new(policy)], draft.arches())
            .map_err(|error| Failure::new(format!("lint: {error}")))
    };
    let defaults = of(default)?;
    let is_new = |finding: &Finding| {
        let listed = |name: &&str| calls.iter().any(|call| call.name == *name);
        let is_listed = !finding.syscalls.is_empty() && finding.syscalls.iter().all(listed);
        let in_default = |other: &Finding| {
            other.check == finding.check
                && finding.syscalls.iter().all(|name| other.syscalls.contains(name))
        };
        // Which syscalls are allowed is what the recording says.
        let is_recorded = matches!(finding.check, Check::SameEffect | Check::NeededCall);
        finding.check.level() >= Level::Warning
            && !is_listed
            && !is_recorded
            && !defaults.iter().any(in_default)
    };
    Ok(of(policy)?.into_iter().filter(is_new).collect())
}

impl Evidence {
    fn of(draft: &Draft, name: &str, is_recorded: bool) -> Evidence {
        let recording = draft.recorded();
        let all_runs = recording.runs().len() as u64;
        let (mut count, mut runs) = (0_u64, 0);
        let mut by: Vec<String> = Vec::new();
        for (_, stats) in recording.syscalls().filter(|(id, _)| id.name() == Some(name)) {
            count = count.saturating_add(stats.count());
            runs = runs.max(stats.runs());
            let labels = stats.common_labels();
            by.extend(
                labels.filter(|(key, _)| *key == "executable").map(|(_, path)| path.to_owned()),
            );
        }
        if let [run] = recording.runs() {
            let executable = run.labels.get("executable").cloned();
            by.extend(executable.or_else(|| run.program().map(str::to_owned)));
        }
        by.sort_unstable();
        by.dedup();
        let grant = draft.grants().find(|grant| grant.name == name);
        let code = grant.and_then(|grant| grant.code.clone());
        let text = match (count, grant.map(|grant| grant.reason), code) {
            _ if !is_recorded => "it was not recorded, but asked for (--namespaces)".to_owned(),
            (1.., _, _) => {
                let mut text = format!("it was recorded {}", times(count));
                if all_runs > 1 {
                    text += &format!(", in {runs} of {all_runs} runs");
                }
                if !by.is_empty() {
                    text += &format!(", of {}", by.join(", "));
                }
                text
            }
            (_, _, Some(place)) => format!("it was not recorded, but is in the code: {place}"),
            (_, Some(GrantReason::Runtime), _) => {
                format!("it was not recorded: {}", draft.runtime().description())
            }
            _ => "it was not recorded".to_owned(),
        };
        let count = Some(count).filter(|count| *count > 0 && is_recorded);
        Evidence { count, runs, all_runs, by, text }
    }
}
