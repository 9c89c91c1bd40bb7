//! What a generated profile comes to, and why each call is granted.

use std::fmt::Write;
use std::path::Path;

use callgate::codegen::{Count, Weights};
use callgate::compile::{self, Compiled, Stats};
use callgate::diagram::Store;
use callgate::explain::{Outcome, explain};
use callgate::generate::{Draft, Form, Grant, Reason, Written};
use callgate::policy::Policy;
use callgate::{Arch, Verdict};

use crate::json::Json;
use crate::output::wrap;
use crate::recordings::Named;
use crate::report::{Failure, Result};
use crate::source;
use crate::text::{argument, count, times};

/// What a profile comes to.
pub(super) struct Figures {
    stats: Stats,
    /// Per architecture, of the calls that it has: how many are denied, whatever their arguments, and how
    /// many there are.
    denied: Vec<(Arch, usize, usize)>,
}

impl Figures {
    pub(super) fn of(draft: &Draft, written: &Written) -> Result<Figures> {
        let counts = draft.recorded().calls().filter_map(|(call, seen)| {
            let (arch, name) = (Some(call.arch), call.name()?.to_owned());
            Some(Count { arch, name, count: seen.count() as f64 })
        });
        let weights = Weights::of(counts).map_err(|error| Failure::new(error.to_string()))?;
        let options = compile::Options { weights, ..compile::Options::default() };
        let Compiled { stats, .. } = compile::compile(&written.policy, &options)
            .map_err(|error| source::failed("the profile", &error))?;
        Ok(Figures { stats, denied: denied(draft, &written.policy)? })
    }

    pub(super) fn text(&self, draft: &Draft, form: Form) -> String {
        let of = |wanted: fn(&Grant) -> bool| draft.grants().filter(|grant| wanted(grant)).count();
        let limited = if form.says_arguments() { of(|grant| !grant.limits.is_empty()) } else { 0 };
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
                count(draft.grants().count() + draft.granted_by(form).count()),
            ),
        );
        line(
            "  recorded",
            format!(
                "{}, {}{}",
                count(of(Grant::is_recorded)),
                times(recorded.total()),
                match recorded.runs().len() {
                    0 => String::new(),
                    1 => " in 1 run".to_owned(),
                    runs => format!(" in {runs} runs"),
                }
            ),
        );
        let at_start = of(|grant| grant.reason == Reason::Runtime);
        if at_start > 0 {
            line("  at the start", format!("{}: {}", count(at_start), draft.runtime().why()));
        }
        let by_kernel = of(|grant| grant.reason == Reason::Kernel);
        if by_kernel > 0 {
            line("  by the kernel", format!("{}, after signals and in sleeps", count(by_kernel)));
        }
        let siblings = of(|grant| matches!(grant.reason, Reason::Sibling { .. }))
            + draft.granted_by(form).count();
        if siblings > 0 {
            line(
                "  like others",
                format!("{}, for other C libraries and other days", count(siblings)),
            );
        }
        for (arch, denied, all) in &self.denied {
            line("denied", format!("{denied} of the {all} calls of {arch}"));
        }
        line("", draft.deny().why().to_owned());
        let mut filter = format!("{} instructions", self.stats.insns);
        if let Some(mean) = self.stats.expected_insns {
            filter += &format!(", {mean:.1} executed for the mean recorded call");
        }
        line("filter", filter);
        text
    }

    pub(super) fn json(&self, draft: &Draft, form: Form) -> String {
        let denied = self.denied.iter().map(|(arch, denied, all)| {
            Json::Object(vec![
                ("arch", arch.name().into()),
                ("denied", (*denied).into()),
                ("calls", (*all).into()),
            ])
        });
        let refused = draft.refused().iter().copied().filter(|_| form.says_arguments());
        let name = match form {
            Form::Oci => "oci",
            Form::Systemd => "systemd",
            Form::Kafel => "kafel",
        };
        let value = Json::Object(vec![
            ("form", name.into()),
            ("runtime", draft.runtime().name().into()),
            ("insns", self.stats.insns.into()),
            ("expected_insns", self.stats.expected_insns.into()),
            ("constant_allow", self.stats.constant_allow.into()),
            ("arches", Json::array(denied)),
            ("grants", Json::array(draft.grants().map(grant_json))),
            ("refused", Json::array(refused)),
        ]);
        format!("{value}\n")
    }
}

/// How many calls of each architecture are denied, and how many it has.
fn denied(draft: &Draft, policy: &Policy) -> Result<Vec<(Arch, usize, usize)>> {
    let mut store = Store::default();
    let root = store.policy(policy).map_err(|error| Failure::new(error.to_string()))?;
    let explanation = explain(&store, root, draft.arches());
    let is_denied = |outcome: &Outcome| match outcome {
        // A profile that logs what others deny: the same calls.
        Outcome::Always(verdict) => *verdict != Verdict::ALLOW,
        Outcome::Depends { .. } | Outcome::Complex { .. } => false,
    };
    let of_arch = explanation.arches.iter().map(|arch| {
        let all = arch.groups.iter().map(|group| group.calls.len()).sum();
        let denied = arch.groups.iter().filter(|group| is_denied(&group.outcome));
        (arch.arch, denied.map(|group| group.calls.len()).sum(), all)
    });
    Ok(of_arch.collect())
}

/// Why each call is granted.
pub(super) fn grants(text: &mut String, draft: &Draft, form: Form) {
    text.push('\n');
    let runtime = draft.runtime().name();
    for grant in draft.grants() {
        let why = match grant.reason {
            Reason::Recorded(count) if grant.at_start => {
                format!("recorded {}, and at the start by {runtime}", times(count))
            }
            Reason::Recorded(count) => format!("recorded {}", times(count)),
            Reason::Runtime => format!("at the start by {runtime}"),
            Reason::Kernel => "the kernel makes it, after a signal or in a sleep".to_owned(),
            Reason::Sibling { of, why } => format!("like {of}: {why}"),
        };
        let _ = write!(text, "{:<20} ", grant.name);
        wrap(text, &why, 21, 21);
        let mut more = |words: String| {
            let _ = write!(text, "{:21}", "");
            wrap(text, &words, 21, 23);
        };
        for limit in &grant.limits {
            more(format!("only {limit}: {}", limit.why));
        }
        for unlimited in &grant.unlimited {
            more(format!("any {}: {}", unlimited.name, unlimited.why));
        }
    }
    for name in draft.refused() {
        let why = if form.says_arguments() {
            "fails with ENOSYS, so that libraries fall back to a granted call"
        } else {
            "another call for what is granted with any arguments"
        };
        let _ = write!(text, "{name:<20} ");
        wrap(text, why, 21, 21);
    }
}

/// Says that recordings are weights.
pub(super) fn weights(text: &mut String, path: &Path, named: &[Named]) {
    // What was read from standard input cannot be read again.
    let Some(names) = named.iter().map(Named::argument).collect::<Option<Vec<String>>>() else {
        return;
    };
    let one = match names.as_slice() {
        [one] => one,
        _ => {
            let _ = writeln!(
                text,
                "all in one      callgate record merge -o all.json {}",
                names.join(" ")
            );
            "all.json"
        }
    };
    let path = argument(&path.to_string_lossy());
    let _ = writeln!(text, "compile         callgate compile {path} --weights {one} -o filter.bpf");
}

fn grant_json(grant: &Grant) -> Json {
    let (reason, count, of, why) = match grant.reason {
        Reason::Recorded(count) => ("recorded", Some(count), None, None),
        Reason::Runtime => ("runtime", None, None, None),
        Reason::Kernel => ("kernel", None, None, None),
        Reason::Sibling { of, why } => ("like", None, Some(of), Some(why)),
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
        ("limits", Json::array(limits)),
        ("unlimited", Json::array(unlimited)),
    ])
}
