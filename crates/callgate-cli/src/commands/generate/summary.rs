//! A summary of a generated profile, and the reason for each granted syscall.

use std::fmt::Write;
use std::path::Path;

use callgate::compile::{self, Compiled, Stats};
use callgate::explain::{Outcome, explain};
use callgate::{Arch, Verdict};
use callgate_codegen::{Count, Weights};
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_formats::annotated::AnnotatedWriter;
use callgate_formats::languages::LanguageId;
use callgate_trace::generate::{
    DenyAction, Draft, Grant, GrantReason, GrantedNamespaces, LanguageRuntime, WrittenProfile,
};
use callgate_trace::unseen::Unseen;

use super::classes::Classes;
use super::dangers::Dangers;
use super::programs::Programs;
use super::unseen;

use crate::output::wrap;
use crate::recordings::NamedRecording;
use crate::report::{Failure, Result};
use crate::source;
use crate::text::{argument, counted, printable, times};
use callgate_requests::json::Json;

/// Statistics about a profile and its filter.
pub(super) struct Summary {
    stats: Stats,
    /// Per architecture: how many syscalls are denied for all arguments, and how many syscalls there are.
    denied: Vec<(Arch, usize, usize)>,
    /// `None` if only one run was recorded.
    unseen: Option<Unseen>,
    programs: Programs,
    /// The systemd for which a unit is, if it is assumed.
    assumed: Option<String>,
}

impl Summary {
    pub(super) fn of(
        draft: &Draft,
        written: &WrittenProfile,
        named: &[NamedRecording],
        assumed: Option<String>,
    ) -> Result<Summary> {
        let counts = draft.recorded().syscalls().filter_map(|(call, stats)| {
            let (arch, name) = (Some(call.arch), call.name()?.to_owned());
            Some(Count { arch, name, count: stats.count() as f64 })
        });
        let weights = Weights::of(counts).map_err(|error| Failure::new(error.to_string()))?;
        let options = compile::Options { weights, ..compile::Options::default() };
        let Compiled { stats, .. } = compile::compile(&written.policy, &options)
            .map_err(|error| source::failed("the profile", &error))?;
        let denied = denied(draft, &written.policy)?;
        let programs = Programs::of(named);
        Ok(Summary { stats, denied, unseen: Unseen::of(draft), programs, assumed })
    }

    pub(super) fn text(&self, draft: &Draft, format: LanguageId, dangers: &Dangers) -> String {
        let of = |wanted: fn(&Grant) -> bool| draft.grants().filter(|grant| wanted(grant)).count();
        let limited = if has_arguments(format) { of(|grant| !grant.limits.is_empty()) } else { 0 };
        let recorded = draft.recorded();
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            let _ = write!(text, "{label:<16}");
            wrap(&mut text, &value, 16, 16);
        };
        line(
            "granted",
            format!(
                "{}, {limited} of them with limits on arguments",
                syscalls(draft.grants().count()),
            ),
        );
        let is_recorded = recorded.total() > 0 || !draft.has_code();
        let counts = is_recorded.then(|| {
            format!(
                "{}, {}{}",
                syscalls(of(Grant::is_recorded)),
                counted(recorded.total(), "call"),
                match recorded.runs().len() {
                    0 => String::new(),
                    1 => " in 1 run".to_owned(),
                    runs => format!(" in {runs} runs"),
                }
            )
        });
        if let Some(counts) = counts {
            line("  recorded", counts);
        }
        if let Some(programs) = self.programs.text() {
            line("  of programs", programs);
        }
        let in_code = of(|grant| grant.reason == GrantReason::Code);
        if in_code > 0 {
            line(
                "  in the code",
                format!("{} that were not recorded, with any arguments", syscalls(in_code)),
            );
        }
        let at_start = of(|grant| grant.reason == GrantReason::Runtime);
        if at_start > 0 {
            line(
                "  at the start",
                format!("{}: {}", syscalls(at_start), draft.options().runtime.description()),
            );
        }
        let by_kernel = of(|grant| grant.reason == GrantReason::Kernel);
        if by_kernel > 0 {
            line(
                "  by the kernel",
                format!("{}, after signals and interrupted sleeps", syscalls(by_kernel)),
            );
        }
        fn is_start(grant: &Grant) -> bool {
            matches!(grant.reason, GrantReason::Language { runtime: LanguageRuntime::Start, .. })
        }
        let starts = of(is_start);
        if starts > 0 {
            line(
                "  of the start",
                format!("{}: it was not recorded, and may make others", syscalls(starts)),
            );
        }
        let by_runtime =
            of(|grant| matches!(grant.reason, GrantReason::Language { .. }) && !is_start(grant));
        if by_runtime > 0 {
            let others = draft.languages().iter().filter(|one| **one != LanguageRuntime::Start);
            let names: Vec<&str> = others.map(|one| one.name()).collect();
            line(
                "  by runtime",
                format!(
                    "{}, which {} may make at any time",
                    syscalls(by_runtime),
                    names.join(" and ")
                ),
            );
        }
        let siblings = of(|grant| matches!(grant.reason, GrantReason::Sibling { .. }));
        if siblings > 0 {
            line(
                "  related",
                format!("{}, which other C libraries or later runs may make", syscalls(siblings)),
            );
        }
        for (arch, denied, all) in &self.denied {
            line("denied", format!("{denied} of the {all} syscalls of {arch}"));
        }
        line("", draft.options().deny.description().to_owned());
        if let Some(assumed) = &self.assumed {
            line("for", assumed.clone());
        }
        line("namespaces", namespaces(draft));
        line("dangerous", dangers.summary());
        if let Some(looser) = dangers.looser() {
            line("looser", looser);
        }
        let mut filter = format!("{} instructions", self.stats.insns);
        if let Some(mean) = self.stats.expected_insns {
            filter += &format!(", {mean:.1} executed per recorded call (mean)");
        }
        line("filter", filter);
        if is_recorded {
            line("unseen", unseen::text(self.unseen.as_ref()));
        }
        text
    }

    pub(super) fn json(
        &self,
        draft: &Draft,
        format: LanguageId,
        classes: Option<&Classes>,
        dangers: &Dangers,
    ) -> String {
        let denied = self.denied.iter().map(|(arch, denied, all)| {
            Json::Object(vec![
                ("arch", arch.name().into()),
                ("denied", (*denied).into()),
                ("calls", (*all).into()),
            ])
        });
        let refused = draft.refused().iter().copied().filter(|_| has_arguments(format));
        let value = Json::Object(vec![
            ("form", format.name().into()),
            ("runtime", draft.options().runtime.name().into()),
            ("insns", self.stats.insns.into()),
            ("filtered_insns", self.stats.filtered_insns.into()),
            ("expected_insns", self.stats.expected_insns.into()),
            ("constant_allow", self.stats.constant_allow.into()),
            ("arches", Json::array(denied)),
            ("unseen", unseen::json(self.unseen.as_ref())),
            ("programs", self.programs.json()),
            ("assumed", self.assumed.as_deref().map_or(Json::Null, Json::from)),
            ("static", classes.map_or(Json::Null, Classes::json)),
            ("grants", Json::array(draft.grants().map(grant_json))),
            ("refused", Json::array(refused)),
            ("languages", Json::array(draft.languages().iter().map(|one| one.id()))),
            ("namespaces", namespaces_json(draft)),
            ("dangerous", dangers.json()),
            ("looser", dangers.looser_json()),
            ("lint", dangers.lint_json()),
        ]);
        format!("{value}\n")
    }
}

/// Which namespaces programs can create, and how others are prevented.
fn namespaces(draft: &Draft) -> String {
    if draft.options().deny == DenyAction::Log {
        return "all, as everything else".to_owned();
    }
    let granted = draft.granted_namespaces();
    let clone3 = match draft.refused().contains(&"clone3") {
        true => "; clone3 fails with ENOSYS, because no filter sees its flags: libraries use clone",
        false => "",
    };
    match granted.as_slice() {
        [] => format!("none can be created{clone3}"),
        granted => {
            let of = |one: &GrantedNamespaces| {
                let why = if one.is_recorded { "recorded" } else { "asked for" };
                format!("{} by {} ({why})", one.names.join(", "), one.syscall)
            };
            let all: Vec<String> = granted.iter().map(of).collect();
            format!("can be created: {}{clone3}", all.join("; "))
        }
    }
}

fn namespaces_json(draft: &Draft) -> Json {
    Json::array(draft.granted_namespaces().into_iter().map(|granted| {
        Json::Object(vec![
            ("call", granted.syscall.into()),
            ("names", Json::array(granted.names)),
            ("recorded", granted.is_recorded.into()),
        ])
    }))
}

/// The number of denied syscalls and of all syscalls, per architecture.
fn denied(draft: &Draft, policy: &Policy) -> Result<Vec<(Arch, usize, usize)>> {
    let mut store = Store::default();
    let root = store.policy(policy).map_err(|error| Failure::new(error.to_string()))?;
    let explanation = explain(&store, root, draft.arches());
    let is_denied = |outcome: &Outcome| match outcome {
        // With --deny log, logged syscalls are those that other actions deny.
        Outcome::Always(verdict) => *verdict != Verdict::ALLOW,
        Outcome::Depends { .. } | Outcome::Complex { .. } => false,
    };
    let of_arch = explanation.arches.iter().map(|arch| {
        let all = arch.groups.iter().map(|group| group.syscalls.len()).sum();
        let denied = arch.groups.iter().filter(|group| is_denied(&group.outcome));
        (arch.arch, denied.map(|group| group.syscalls.len()).sum(), all)
    });
    Ok(of_arch.collect())
}

/// The reason for each granted syscall.
pub(super) fn grants(text: &mut String, draft: &Draft, format: LanguageId) {
    let arch = draft.arches().first().copied();
    text.push('\n');
    let runtime = draft.options().runtime.name();
    for grant in draft.grants() {
        let why = match grant.reason {
            GrantReason::Recorded(count) if grant.at_start => {
                format!("recorded {}, and at the start by {runtime}", times(count))
            }
            GrantReason::Recorded(count) => format!("recorded {}", times(count)),
            GrantReason::Code => "not recorded".to_owned(),
            GrantReason::Runtime => format!("at the start by {runtime}"),
            GrantReason::Kernel => {
                "the kernel makes programs call it after signals and in interrupted sleeps"
                    .to_owned()
            }
            GrantReason::Language { runtime, source } => {
                let (name, when) = (runtime.name(), runtime.when());
                format!("by the runtime: {name} may make it {when} ({source})")
            }
            GrantReason::Sibling { of, why } => format!("related to {of}: {why}"),
        };
        let why = match &grant.code {
            Some(place) => format!("{why}; in the code of {}", printable(place)),
            None => why,
        };
        let _ = write!(text, "{:<20} ", grant.name);
        wrap(text, &why, 21, 21);
        let mut more = |words: String| {
            let _ = write!(text, "{:21}", "");
            wrap(text, &words, 21, 23);
        };
        for limit in &grant.limits {
            let words =
                arch.map_or_else(|| limit.to_string(), |arch| limit.in_words(arch, grant.name));
            more(format!("only if {words}: {}", limit.why));
        }
        for unlimited in &grant.unlimited {
            more(format!("any {}: {}", unlimited.name, unlimited.why));
        }
    }
    for name in draft.refused() {
        let is_listed =
            |to: &AnnotatedWriter| draft.listed_for_directives(to).any(|listed| listed == *name);
        let why = if format.annotated().is_some_and(is_listed) {
            "listed, but fails with ENOSYS because of RestrictNamespaces=, so that libraries fall back to a granted \
             syscall"
        } else {
            "fails with ENOSYS, so that libraries fall back to a granted syscall"
        };
        let _ = write!(text, "{name:<20} ");
        wrap(text, why, 21, 21);
    }
}

/// Shows how the written profile gets to where it is used.
pub(super) fn usage(text: &mut String, path: &Path, to: &AnnotatedWriter) {
    let path = argument(&path.to_string_lossy());
    // Not wrapped: lines are pasted into a shell.
    for (at, line) in to.usage.lines().enumerate() {
        let label = if at == 0 { "use" } else { "" };
        let _ = writeln!(text, "{label:<16}{}", line.replace("FILE", &path));
    }
}

/// Shows how to compile the profile with the recordings as weights.
pub(super) fn weights(text: &mut String, path: &Path, named: &[NamedRecording]) {
    // Standard input cannot be read again.
    let Some(names) = named.iter().map(NamedRecording::argument).collect::<Option<Vec<String>>>()
    else {
        return;
    };
    let one = match names.as_slice() {
        [] => return,
        [one] => one,
        _ => {
            let _ = writeln!(
                text,
                "merge           callgate record merge -o all.json {}",
                names.join(" ")
            );
            "all.json"
        }
    };
    let path = argument(&path.to_string_lossy());
    let _ = writeln!(text, "compile         callgate compile {path} --weights {one} -o filter.bpf");
}

/// `1 syscall`, `2 syscalls`.
fn syscalls(count: usize) -> String {
    counted(count as u64, "syscall")
}

fn grant_json(grant: &Grant) -> Json {
    let (reason, count, of, why) = match grant.reason {
        GrantReason::Language { runtime, source } => {
            ("by_runtime", None, Some(runtime.id()), Some(source))
        }
        GrantReason::Recorded(count) => ("recorded", Some(count), None, None),
        GrantReason::Code => ("code", None, None, None),
        GrantReason::Runtime => ("runtime", None, None, None),
        GrantReason::Kernel => ("kernel", None, None, None),
        GrantReason::Sibling { of, why } => ("like", None, Some(of), Some(why)),
    };
    let limits = grant.limits.iter().map(|limit| {
        let cubes = limit.cubes();
        let cubes = cubes.iter().map(|cube| {
            Json::Object(vec![("mask", cube.mask.into()), ("equals", cube.wanted.into())])
        });
        Json::Object(vec![
            ("arg", limit.arg.into()),
            ("name", limit.name.into()),
            ("text", limit.to_string().into()),
            ("why", limit.why.into()),
            ("allowed", Json::array(cubes)),
        ])
    });
    let unlimited = grant.unlimited.iter().map(|unlimited| {
        Json::Object(vec![("name", unlimited.name.into()), ("why", unlimited.why.as_str().into())])
    });
    Json::Object(vec![
        ("call", grant.name.into()),
        ("reason", reason.into()),
        ("count", count.into()),
        ("like", of.into()),
        ("why", why.into()),
        ("at_start", grant.at_start.into()),
        ("code", grant.code.as_deref().into()),
        ("limits", Json::array(limits)),
        ("unlimited", Json::array(unlimited)),
    ])
}

/// Whether lists of syscalls can limit arguments in a language.
fn has_arguments(format: LanguageId) -> bool {
    format.annotated().is_some_and(|to| to.has_arguments())
}
