//! From settings to filters: which are installed, and in which order.
//!
//! systemd makes a filter for each directive and each architecture of its build, with libseccomp. Each allows the syscalls
//! of other architectures (`seccomp_init_for_arch` in `seccomp-util.c`). `SystemCallArchitectures=` is one filter for all
//! architectures; after it, systemd installs no filters for those that it denies (`seccomp_restrict_archs`).

use super::arches;
use super::directive::Directive;
use super::filters::UnitFilter;
use super::groups::known_to_systemd;
use super::options::{ReadOptions, UnitText};
use super::rules;
use super::settings::{Denial, Settings, SyscallKey, SyscallList};
use crate::files::{At, Report};
use crate::ruleset::{RuleSet, sections};
use crate::statements::{Builtin, Site, Statement, Statements};
use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Help;
use callgate_bpf::syscalls::{KernelVersion, known_name};
use callgate_core::policy::{Condition, Policy, PolicyError};
use callgate_core::{Arch, SyscallSet, Verdict};

/// The first kernel with `PR_SET_MDWE` (`prctl(2)`).
const MDWE: KernelVersion = KernelVersion { major: 6, minor: 3 };

/// libseccomp rejects this errno and larger ones (`MAX_ERRNO` in `system.h`).
const ERRNO_END: u16 = 4095;

/// The filters that were made so far.
struct Lowering<'o> {
    options: &'o ReadOptions,
    texts: &'o [UnitText<'o>],
    /// The architectures for which filters are installed.
    arches: Vec<Arch>,
    filters: Vec<UnitFilter>,
}

/// The filters of these settings. Reports errors if systemd would not start the unit.
pub(super) fn lower(
    settings: &Settings,
    texts: &[UnitText<'_>],
    options: &ReadOptions,
    report: &mut Report<'_>,
) -> Result<Vec<UnitFilter>, PolicyError> {
    let arches = arches::local(options.native, options.version);
    let mut lowering = Lowering { options, texts, arches, filters: Vec::new() };
    for directive in Directive::ALL {
        lowering.directive(*directive, settings, report)?;
    }
    if lowering.filters.is_empty() {
        lowering.explain_empty(settings, report);
    }
    Ok(lowering.filters)
}

impl Lowering<'_> {
    fn directive(
        &mut self,
        directive: Directive,
        settings: &Settings,
        report: &mut Report<'_>,
    ) -> Result<(), PolicyError> {
        let options = self.options;
        let place = settings.place(directive);
        match directive {
            Directive::SystemCallFilter => self.syscall_filter(settings, report),
            Directive::SystemCallLog => self.syscall_log(settings, report),
            Directive::SystemCallArchitectures => self.architectures(settings, report),
            Directive::RestrictAddressFamilies => {
                let families = &settings.families;
                let listed = families.listed.clone().unwrap_or_default();
                if !families.allows && listed.is_empty() {
                    return Ok(());
                }
                let rules =
                    |set: &mut _| rules::families(set, &listed, families.allows, options.native);
                self.each_arch(directive, place, report, rules)
            }
            Directive::RestrictNamespaces => match settings.namespaces {
                Some(retained) if !rules::retains_all(retained, options.version) => {
                    self.each_arch(directive, place, report, |set| {
                        rules::namespaces(set, retained, options)
                    })
                }
                _ => Ok(()),
            },
            _ if !settings.is_on(directive) => Ok(()),
            Directive::MemoryDenyWriteExecute if self.has_mdwe() => Ok(()),
            Directive::LockPersonality => {
                let personality = settings.personality.unwrap_or(0);
                self.each_arch(directive, place, report, |set| rules::personality(set, personality))
            }
            switch => {
                let rules = |set: &mut _| rules::switch(switch, set, options);
                self.each_arch(switch, place, report, rules)
            }
        }
    }

    /// Warns about the directives that are on, if none installs a filter.
    fn explain_empty(&self, settings: &Settings, report: &mut Report<'_>) {
        let ReadOptions { version, native, kernel, .. } = self.options;
        for (directive, switch) in settings.switches.iter().filter(|(_, switch)| switch.is_on) {
            let (why, help) = match directive {
                Directive::MemoryDenyWriteExecute if self.has_mdwe() => (
                    format!(
                        "systemd {version} on Linux {kernel} denies such memory with prctl(PR_SET_MDWE) instead"
                    ),
                    Advice::OlderSystemd.into(),
                ),
                _ => (
                    format!("systemd on {native} has no rules for it"),
                    Help::from("see the table in docs/systemd.md"),
                ),
            };
            report.warn(switch.at, format!("{directive} installs no filter: {why}")).set_help(help);
        }
    }

    /// Whether systemd denies memory that is writable and executable without a filter.
    fn has_mdwe(&self) -> bool {
        self.options.version.has_mdwe() && self.options.kernel >= MDWE
    }

    /// A filter for each architecture that allows what its rules do not deny. `add` adds the rules and returns whether the
    /// filter is installed.
    fn each_arch(
        &mut self,
        directive: Directive,
        place: Option<At>,
        report: &Report<'_>,
        add: impl Fn(&mut RuleSet<()>) -> bool,
    ) -> Result<(), PolicyError> {
        for arch in self.arches.clone() {
            let mut set = RuleSet::new(arch);
            if add(&mut set) {
                let stated = set.stated().map(|(nr, when, verdict, ())| (nr, when, verdict, place));
                let statements = self.statements(arch, stated, place, report);
                self.push(directive, &set, Verdict::ALLOW, statements)?;
            }
        }
        Ok(())
    }

    fn push<O: Copy>(
        &mut self,
        directive: Directive,
        set: &RuleSet<O>,
        default: Verdict,
        statements: Option<Statements>,
    ) -> Result<(), PolicyError> {
        let policy = Policy::new(sections([set], default, Verdict::ALLOW), Verdict::ALLOW)?;
        self.filters.push(UnitFilter { directive, arch: Some(set.arch()), policy, statements });
        Ok(())
    }

    /// The rules of a set, whose origins are the places of the words or directives with them; `None` unless the options ask
    /// for them.
    fn statements(
        &self,
        arch: Arch,
        stated: impl Iterator<Item = (u32, Condition, Verdict, Option<At>)>,
        default: Option<At>,
        report: &Report<'_>,
    ) -> Option<Statements> {
        if !self.options.statements {
            return None;
        }
        let site = |at: At| self.site(at, report);
        let mut statements = Statements { default: default.map(site), ..Statements::default() };
        for (nr, when, verdict, at) in stated {
            let name = || arch.syscall_name(nr).unwrap_or_default().to_owned();
            match at {
                Some(at) => {
                    let (site, name) = (site(at), name());
                    statements.rules.push(Statement { site, name, arch, nr, when, verdict });
                }
                None => statements.builtin.push(Builtin {
                    token: arch.token(),
                    syscalls: SyscallSet::one(nr),
                    verdict,
                    reason: "systemd knows the syscall, and the list does not have it",
                }),
            }
        }
        Some(statements)
    }

    fn site(&self, at: At, report: &Report<'_>) -> Site {
        let name = self.texts.get(at.file).and_then(|text| text.name);
        Site { file: name.map(str::to_owned), position: report.position(at) }
    }

    /// The native architecture is always allowed.
    fn architectures(
        &mut self,
        settings: &Settings,
        report: &Report<'_>,
    ) -> Result<(), PolicyError> {
        let (native, allowed) = (self.options.native, &settings.arches);
        if allowed.is_empty() || self.arches.is_empty() {
            return Ok(());
        }
        let is_allowed = |arch: &Arch| {
            // Programs for x32 need some syscalls of x86_64.
            let needed =
                native == Arch::X32 && *arch == Arch::X86_64 && allowed.contains(&Some(Arch::X32));
            *arch == native || needed || allowed.contains(&Some(*arch))
        };
        let before = self.arches.len();
        self.arches.retain(is_allowed);
        if self.arches.len() == before {
            return Ok(());
        }
        let sets: Vec<RuleSet<()>> = self.arches.iter().map(|arch| RuleSet::new(*arch)).collect();
        let sections = sections(&sets, Verdict::ALLOW, Verdict::KILL_THREAD);
        let policy = Policy::new(sections, Verdict::KILL_THREAD)?;
        let directive = Directive::SystemCallArchitectures;
        let place = settings.place(directive).map(|at| self.site(at, report));
        let statements = self.options.statements;
        let statements = statements.then(|| Statements { default: place, ..Statements::default() });
        let filter = UnitFilter { directive, arch: None, policy, statements };
        self.filters.push(filter);
        Ok(())
    }

    fn syscall_log(&mut self, settings: &Settings, report: &Report<'_>) -> Result<(), PolicyError> {
        let Some(list) = settings.syscall_log.as_ref().filter(|list| is_installed(list)) else {
            return Ok(());
        };
        let (default, action) = match list.allows {
            true => (Verdict::ALLOW, Verdict::LOG),
            false => (Verdict::LOG, Verdict::ALLOW),
        };
        if default == Verdict::ALLOW && list.entries.is_empty() {
            return Ok(());
        }
        for arch in self.arches.clone() {
            let mut set = RuleSet::new(arch);
            for entry in list.entries.values() {
                set.add_syscall_if_known(entry.name, &[], action, Some(entry.at));
            }
            let statements = self.statements(arch, set.stated(), Some(list.at), report);
            self.push(Directive::SystemCallLog, &set, default, statements)?;
        }
        Ok(())
    }

    fn syscall_filter(
        &mut self,
        settings: &Settings,
        report: &mut Report<'_>,
    ) -> Result<(), PolicyError> {
        let Some(list) = settings.syscall_filter.as_ref().filter(|list| is_installed(list)) else {
            return Ok(());
        };
        let mut list = list.clone();
        if self.options.version.permits_write() {
            self.permit_write(&mut list, report);
            if !is_installed(&list) {
                return Ok(());
            }
        }
        let denied = settings.denial.verdict();
        let (rest, action) = match list.allows {
            true => (denied, Verdict::ALLOW),
            false => (Verdict::ALLOW, denied),
        };
        let enosys = Verdict::errno(self.options.native.enosys());
        let is_split = list.allows && self.options.version.has_enosys_for_unknown();
        let default = if is_split { enosys } else { rest };
        self.check(&list, settings, default, report);
        let known: Vec<&'static str> = known_to_systemd(self.options.version)
            .filter(|_| default != rest)
            .filter(|name| !self.options.libseccomp_lacks.iter().any(|lacking| lacking == name))
            .filter_map(known_name)
            .filter(|name| match SyscallKey::new(name, self.options.native) {
                SyscallKey::Name(_) => false,
                number => !list.entries.contains_key(&number),
            })
            .collect();
        for arch in self.arches.clone() {
            let mut set = RuleSet::new(arch);
            for entry in list.entries.values() {
                let verdict = entry.denial.map_or(action, Denial::verdict);
                set.add_syscall_if_known(entry.name, &[], verdict, Some(entry.at));
            }
            for name in &known {
                let key = SyscallKey::new(name, self.options.native);
                set.add_syscall_if_known(name, &[], rest, list.removed.get(&key).copied());
            }
            let statements = self.statements(arch, set.stated(), Some(list.at), report);
            self.push(Directive::SystemCallFilter, &set, default, statements)?;
        }
        Ok(())
    }

    /// Permits `write`, which systemd uses itself.
    fn permit_write(&self, list: &mut SyscallList, report: &mut Report<'_>) {
        let key = SyscallKey::new("write", self.options.native);
        match list.entries.get(&key).copied() {
            Some(entry) if list.allows && entry.denial.is_some() => {
                let message = format!(
                    "systemd {} does not start this unit: it has to allow write, which has an errno in the list",
                    self.options.version
                );
                report.error(entry.at, message).help = "remove write from this line".to_owned();
            }
            Some(entry) if !list.allows => {
                list.entries.remove(&key);
                let message = format!(
                    "systemd {} does not deny write in a list that begins with ~, because it uses write itself",
                    self.options.version
                );
                report.warn(entry.at, message).help =
                    "to deny write, list what is allowed instead".to_owned();
            }
            None if list.allows => {
                if let Some(name) = known_name("write") {
                    let entry = super::settings::Entry { name, denial: None, at: list.at };
                    list.entries.insert(key, entry);
                }
            }
            _ => {}
        }
    }

    /// Reports rules that libseccomp rejects: systemd then does not start the unit.
    fn check(
        &self,
        list: &SyscallList,
        settings: &Settings,
        default: Verdict,
        report: &mut Report<'_>,
    ) {
        let version = self.options.version;
        let refused = |at: At, why: String, report: &mut Report<'_>| {
            let message =
                format!("systemd {version} does not start this unit: libseccomp rejects {why}");
            report.error(at, message).help = "choose another errno".to_owned();
        };
        if let (Denial::Errno(errno @ ERRNO_END..), Some(at)) =
            (settings.denial, settings.denial_at)
        {
            refused(at, format!("the errno {errno}; its limit is {}", ERRNO_END - 1), report);
        }
        for entry in list.entries.values() {
            let Some(denial) = entry.denial else { continue };
            if let Denial::Errno(errno @ ERRNO_END..) = denial {
                refused(
                    entry.at,
                    format!("the errno {errno}; its limit is {}", ERRNO_END - 1),
                    report,
                );
            } else if denial.verdict() == default {
                let why = format!(
                    "a rule for {} with the action of syscalls without rules, {default}",
                    entry.name
                );
                refused(entry.at, why, report);
            }
        }
    }
}

/// Whether systemd installs filters for a list: an empty one that denies is skipped.
fn is_installed(list: &SyscallList) -> bool {
    list.allows || !list.entries.is_empty()
}
