//! What the usual filters do with a denied syscall, where the log does not come with the filter: the default profiles of
//! container engines, and systemd's sets.

use callgate::Verdict;
use callgate_formats::BuiltIn;
use callgate_formats::CapSet;
use callgate_formats::libseccomp_versions::LibseccompVersion;
use callgate_formats::systemd::{SystemdVersion, group_members, group_names};
use callgate_requests::fallback::on_purpose;
use callgate_requests::logged::{action, data, find};
use callgate_trace::denials::{Denial, Evidence, LoggedCall};
use callgate_trace::recording::SyscallId;

use super::super::change::capabilities;
use super::super::text::cap_add;
use super::groups::Groups;
use crate::options::SourceOptions;
use crate::report::{Result, muted};
use crate::source::Source;

/// The default profiles of container engines, the most usual one first.
const ENGINES: [&str; 4] =
    ["docker-default", "containerd-default", "podman-default", "crio-default"];

/// What `SIGSYS` says about the filter.
pub(super) const SIGNAL: &str = "SIGSYS means a filter with KILL or TRAP: the program's own sandbox (browsers, OpenSSH, Tor and others \
                      have one), systemd's SystemCallFilter= without SystemCallErrorNumber=, or Android's filter for apps";

/// Who does not send it.
const NOT_CONTAINERS: &str =
    "not the default profile of a container engine: these answer with an errno";

/// Whether all denials sent `SIGSYS`.
fn is_signal(denial: &Denial) -> bool {
    let is_errno =
        |verdict: Verdict| !matches!(action(verdict), "KILL_PROCESS" | "KILL_THREAD" | "TRAP");
    denial.has_signal && !denial.verdicts.iter().any(|(verdict, _)| is_errno(*verdict))
}

/// The set of systemd from which units usually start.
const SERVICES: &str = "@system-service";

/// The most denials that are answered: the profile is read again for each capability that may be missing.
const MOST: usize = 20;

/// What the default profile of an engine does with a syscall.
#[derive(Clone, Copy)]
pub(super) enum InContainer {
    /// Nothing but allow it.
    Allows,
    /// Deny it with some arguments.
    Some,
    /// Deny it with this verdict, unless the container has these capabilities; with none, always.
    Denies(CapSet, Verdict),
}

impl InContainer {
    /// Whether both let the same syscalls run, with the same capabilities.
    fn is_like(&self, other: &InContainer) -> bool {
        match (self, other) {
            (InContainer::Denies(own, _), InContainer::Denies(other, _)) => own == other,
            (own, other) => std::mem::discriminant(own) == std::mem::discriminant(other),
        }
    }
}

/// What the usual filters do with a syscall.
pub(in super::super) struct Usual {
    /// What Docker's default profile does.
    pub(super) container: InContainer,
    /// What that of each engine does, with its name.
    pub(super) engines: Vec<(&'static str, InContainer)>,
    /// The sets of systemd that have it, the smallest first; none if the syscall has no name.
    pub(super) sets: Vec<&'static str>,
    pub(super) is_of_services: bool,
    /// Whether all denials sent `SIGSYS`, as the default profile of containers never does.
    pub(super) is_signal: bool,
    /// Whether an old version of Docker's default profile denies it, or an old libseccomp does not know it.
    pub(super) may_be_denied_by_older: bool,
    /// What programs do if the default profile of containers answers with ENOSYS.
    on_purpose: Option<String>,
}

/// What they do with each denial of a log; nothing for those after the first ones.
pub(super) fn usual(denials: &[Denial], options: &SourceOptions) -> Result<Vec<Usual>> {
    let source = |name: &str| muted(|| Source::parse(name.as_ref())?.load());
    let mut all: Vec<(&'static str, Groups<'_>)> = Vec::new();
    for name in ENGINES {
        all.push((name, Groups::new(source(name)?, options)));
    }
    let mut oldest = match oldest() {
        Some(name) => Some(Groups::new(source(&name)?, options)),
        None => None,
    };
    let usual = denials.iter().take(MOST).map_while(|denial| {
        let of = |(name, groups): &mut (&'static str, Groups<'_>)| {
            Some((*name, muted(|| in_container(denial, groups))?))
        };
        let engines: Vec<(&str, InContainer)> = all.iter_mut().map(of).collect::<Option<_>>()?;
        let (_, container) = *engines.first()?;
        let name = denial.call.syscall.name();
        let sets = name.map(sets).unwrap_or_default();
        let is_of_services = name.is_some_and(|name| has(SERVICES, name));
        let on_purpose = match (&container, name) {
            (InContainer::Denies(_, verdict), Some(name)) => {
                on_purpose(Some(denial.call.syscall.arch), name, *verdict)
            }
            _ => None,
        };
        let is_signal = is_signal(denial);
        let call = &denial.call.syscall;
        let is_new = name.and_then(|name| LibseccompVersion::since(name, call.arch));
        let allows = |groups: &mut Groups<'_>| {
            matches!(muted(|| in_container(denial, groups)), Some(InContainer::Allows))
        };
        let may_be_denied_by_older = is_new.is_none_or(|first| first.previous().is_some())
            || !oldest.as_mut().is_some_and(allows);
        Some(Usual {
            may_be_denied_by_older,
            container,
            engines,
            sets,
            is_of_services,
            is_signal,
            on_purpose,
        })
    });
    Ok(usual.collect())
}

/// The name of the oldest version of Docker's default profile that is known.
fn oldest() -> Option<String> {
    let (first, _) = ENGINES.split_first()?;
    let versions = BuiltIn::named(first)?.versions();
    Some(format!("{first}@{}", versions.first()?))
}

/// What they do with a syscall.
pub(in super::super) fn usual_of(
    syscall: SyscallId,
    options: &SourceOptions,
) -> Result<Option<Usual>> {
    let denial = denial_of(syscall, 1);
    Ok(usual(&[denial], options)?.into_iter().next())
}

/// A denial of a syscall, about which nothing else is known.
pub(super) fn denial_of(syscall: SyscallId, count: u64) -> Denial {
    let evidence = Evidence::Filter;
    Denial {
        call: LoggedCall { syscall, args: [None; 6], evidence, is_of_narrow_kernel: false },
        count,
        programs: Vec::new(),
        others: 0,
        verdicts: Vec::new(),
        has_signal: false,
    }
}

/// `None` if the profile cannot be read for the machine.
fn in_container(denial: &Denial, groups: &mut Groups<'_>) -> Option<InContainer> {
    groups.relevant(&denial.call)?;
    let group = groups.of(denial)?;
    let diagram = group.read.diagram().ok()?;
    let denied = find(diagram, &denial.call, |verdict| !verdict.permits());
    let allowed = find(diagram, &denial.call, |verdict| verdict.permits());
    Some(match (denied, allowed) {
        (None, _) => InContainer::Allows,
        (Some(_), Some(_)) => InContainer::Some,
        (Some(_), None) => {
            let arch = Some(denial.call.syscall.arch);
            let data = data(&denial.call);
            let caps = capabilities(&group.read, arch, &data, &group.options);
            let (store, root) = diagram;
            InContainer::Denies(caps, store.evaluate(*root, &data).ok()?)
        }
    })
}

fn has(set: &str, name: &str) -> bool {
    group_members(set, SystemdVersion::LATEST).is_some_and(|members| members.contains(&name))
}

/// The sets that have a syscall, the smallest first, without those that other sets are made of for all programs.
fn sets(name: &str) -> Vec<&'static str> {
    const GENERAL: [&str; 3] = ["@known", SERVICES, "@default"];
    let version = SystemdVersion::LATEST;
    let sets = group_names(version).filter(|set| !GENERAL.contains(set) && has(set, name));
    let mut sets: Vec<&str> = sets.collect();
    sets.sort_by_key(|set| group_members(set, version).map_or(0, |members| members.len()));
    sets
}

impl Usual {
    /// What the default profiles of engines do, those that do the same together.
    fn of_engines(&self, on_purpose: Option<&str>) -> String {
        let mut groups: Vec<(InContainer, Vec<&str>)> = Vec::new();
        for (name, does) in &self.engines {
            match groups.iter_mut().find(|(other, _)| other.is_like(does)) {
                Some((_, names)) => names.push(name),
                None => groups.push((*does, vec![name])),
            }
        }
        let part = |(does, names): &(InContainer, Vec<&str>)| {
            let s = if names.len() == 1 { "s" } else { "" };
            let who = match names.split_last() {
                _ if names.len() == ENGINES.len() => {
                    "the default profiles of Docker, containerd, Podman and CRI-O".to_owned()
                }
                Some((last, others)) if !others.is_empty() => {
                    format!("{} and {last}", others.join(", "))
                }
                _ => names.concat(),
            };
            match does {
                InContainer::Allows => format!("{who} allow{s} it"),
                InContainer::Some => {
                    format!(
                        "{who} {} it with some arguments",
                        if s.is_empty() { "deny" } else { "denies" }
                    )
                }
                InContainer::Denies(_, verdict) if on_purpose.is_some() => {
                    format!("{who} answer{s} with {verdict}")
                }
                InContainer::Denies(caps, _) => {
                    let deny = if s.is_empty() { "deny" } else { "denies" };
                    let names: Vec<&str> = caps.names().collect();
                    match names.as_slice() {
                        [] => format!("{who} {deny} it"),
                        names => format!(
                            "{who} {deny} it without {} ({})",
                            names.join(" and "),
                            cap_add(*caps)
                        ),
                    }
                }
            }
        };
        groups.iter().map(part).collect::<Vec<_>>().join("; ")
    }

    /// Sentences for people. `failed`: with what the syscall failed, if that is known.
    pub(in super::super) fn sentences(&self, failed: Option<Verdict>) -> Vec<String> {
        let is_answer = |failed: Verdict| matches!(self.container, InContainer::Denies(_, own) if own == failed);
        let on_purpose = self.on_purpose.as_deref().filter(|_| failed.is_none_or(is_answer));
        let container = match self.is_signal {
            true => format!("{SIGNAL}; {NOT_CONTAINERS}"),
            false => {
                let why = on_purpose.map(|why| format!("; {why}")).unwrap_or_default();
                format!("{}{why}", self.of_engines(on_purpose))
            }
        };
        let unit = match (self.is_of_services, self.sets.first()) {
            (true, _) => format!("systemd's {SERVICES} contains it"),
            (false, Some(set)) => {
                format!("systemd's {SERVICES} does not contain it; {set} does")
            }
            (false, None) => format!("systemd's {SERVICES} does not contain it"),
        };
        vec![container, unit]
    }
}
