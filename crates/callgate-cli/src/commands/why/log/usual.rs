//! What the usual filters do with a denied syscall, where the log does not come with the filter: the default profile of
//! containers, and systemd's sets.

use callgate::Verdict;
use callgate_formats::CapSet;
use callgate_formats::systemd::{SystemdVersion, group_members, group_names};
use callgate_trace::denials::{Denial, Evidence, LoggedCall};
use callgate_trace::recording::SyscallId;

use super::super::change::capabilities;
use super::super::fallback::on_purpose;
use super::super::text::cap_add;
use super::action::action;
use super::groups::Groups;
use super::search::{data, find};
use crate::options::SourceOptions;
use crate::report::{Result, muted};
use crate::source::Source;

/// The default profile of containers, which is built in.
const CONTAINERS: &str = "container-default";

/// What `SIGSYS` says about the filter.
pub(super) const SIGNAL: &str = "SIGSYS means a filter with KILL or TRAP: the program's own sandbox (browsers, OpenSSH, Tor and others \
                      have one), systemd's SystemCallFilter= without SystemCallErrorNumber=, or Android's filter for apps";

/// Who does not send it.
const NOT_CONTAINERS: &str = "not container-default, nor Docker's own: these answer with an errno";

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

/// What the default profile of containers does with a syscall.
pub(super) enum InContainer {
    /// Nothing but allow it.
    Allows,
    /// Deny it with some arguments.
    Some,
    /// Deny it with this verdict, unless the container has these capabilities; with none, always.
    Denies(CapSet, Verdict),
}

/// What the usual filters do with a syscall.
pub(in super::super) struct Usual {
    pub(super) container: InContainer,
    /// The sets of systemd that have it, the smallest first; none if the syscall has no name.
    pub(super) sets: Vec<&'static str>,
    pub(super) is_of_services: bool,
    /// Whether all denials sent `SIGSYS`, as the default profile of containers never does.
    pub(super) is_signal: bool,
    /// What programs do if the default profile of containers answers with ENOSYS.
    on_purpose: Option<String>,
}

/// What they do with each denial of a log; nothing for those after the first ones.
pub(super) fn usual(denials: &[Denial], options: &SourceOptions) -> Result<Vec<Usual>> {
    let source = Source::parse(CONTAINERS.as_ref())?.load()?;
    let mut groups = Groups::new(source, options);
    let usual = denials.iter().take(MOST).map_while(|denial| {
        let container = muted(|| in_container(denial, &mut groups))?;
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
        Some(Usual { container, sets, is_of_services, is_signal, on_purpose })
    });
    Ok(usual.collect())
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
    /// Sentences for people.
    pub(in super::super) fn sentences(&self) -> Vec<String> {
        let verdict = match &self.container {
            InContainer::Allows => "allows it".to_owned(),
            InContainer::Some => "denies it with some arguments".to_owned(),
            InContainer::Denies(_, verdict) if self.on_purpose.is_some() => {
                format!("answers with {verdict}")
            }
            InContainer::Denies(caps, _) if *caps == CapSet::none() => "denies it".to_owned(),
            InContainer::Denies(caps, _) => {
                let names: Vec<&str> = caps.names().collect();
                format!("denies it without {} ({})", names.join(" and "), cap_add(*caps))
            }
        };
        let container = match (self.is_signal, &self.on_purpose) {
            (true, _) => format!("{SIGNAL}; {NOT_CONTAINERS}"),
            (false, on_purpose) => {
                let why = on_purpose.iter().map(|why| format!("; {why}")).collect::<String>();
                format!("{CONTAINERS}, the profile of most container runtimes, {verdict}{why}")
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
