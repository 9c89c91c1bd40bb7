//! What the usual filters do with a denied syscall, where the log does not come with the filter: the default profile of
//! containers, and systemd's sets.

use callgate_formats::CapSet;
use callgate_formats::systemd::{SystemdVersion, group_members, group_names};
use callgate_trace::denials::Denial;

use super::super::change::capabilities;
use super::super::text::cap_add;
use super::groups::Groups;
use super::search::{data, find};
use crate::options::SourceOptions;
use crate::report::{Result, muted};
use crate::source::Source;

/// The default profile of containers, which is built in.
const CONTAINERS: &str = "container-default";

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
    /// Deny it, unless the container has these capabilities; with none, always.
    Denies(CapSet),
}

/// What the usual filters do with a syscall.
pub(super) struct Usual {
    pub(super) container: InContainer,
    /// The sets of systemd that have it, the smallest first; none if the syscall has no name.
    pub(super) sets: Vec<&'static str>,
    pub(super) is_of_services: bool,
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
        Some(Usual { container, sets, is_of_services })
    });
    Ok(usual.collect())
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
            InContainer::Denies(capabilities(&group.read, arch, &data, &group.options))
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
    pub(super) fn sentences(&self) -> [String; 2] {
        let verdict = match &self.container {
            InContainer::Allows => "allows it".to_owned(),
            InContainer::Some => "denies it with some arguments".to_owned(),
            InContainer::Denies(caps) if *caps == CapSet::none() => "denies it".to_owned(),
            InContainer::Denies(caps) => {
                let names: Vec<&str> = caps.names().collect();
                format!("denies it without {} ({})", names.join(" and "), cap_add(*caps))
            }
        };
        let container = format!("{CONTAINERS}, the profile of most container runtimes, {verdict}");
        let unit = match (self.is_of_services, self.sets.first()) {
            (true, _) => format!("systemd's {SERVICES} contains it"),
            (false, Some(set)) => {
                format!("systemd's {SERVICES} does not contain it; {set} does")
            }
            (false, None) => format!("systemd's {SERVICES} does not contain it"),
        };
        [container, unit]
    }
}
