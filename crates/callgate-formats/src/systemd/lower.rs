//! From settings to filters: which are installed, and in which order.
//!
//! systemd makes a filter for each directive and each architecture of its build, with libseccomp. Each allows the syscalls
//! of other architectures (`seccomp_init_for_arch` in `seccomp-util.c`). `SystemCallArchitectures=` is one filter for all
//! architectures; after it, systemd installs no filters for those that it denies (`seccomp_restrict_archs`).

use super::groups::{SystemdVersion, known_to_systemd};
use super::options::{ReadOptions, UnitFilter, UnitFilters, UnitText};
use super::settings::{Denial, Directive, Settings, SyscallKey, SyscallList};
use super::unit::{UnitReader, is_read};
use super::{arches, rules};
use crate::files::{At, FileErrors, Report};
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

/// The settings and the filters that were made of them so far.
struct Lowering<'o, 't> {
    settings: &'o Settings,
    options: &'o ReadOptions,
    texts: &'o [UnitText<'o>],
    report: &'o mut Report<'t>,
    /// The architectures for which filters are installed.
    arches: Vec<Arch>,
    filters: Vec<UnitFilter>,
}

type Result<T = (), E = PolicyError> = std::result::Result<T, E>;

impl<'o> Lowering<'o, '_> {
    /// The filters of these settings. Reports errors if systemd would not start the unit.
    fn filters(mut self) -> Result<Vec<UnitFilter>> {
        for directive in Directive::ALL {
            self.directive(*directive)?;
        }
        if self.filters.is_empty() {
            self.explain_empty();
        }
        Ok(self.filters)
    }

    fn directive(&mut self, directive: Directive) -> Result {
        let settings = self.settings;
        let options = self.options;
        let place = settings.place(directive);
        match directive {
            Directive::SystemCallFilter => self.syscall_filter(),
            Directive::SystemCallLog => self.syscall_log(),
            Directive::SystemCallArchitectures => self.architectures(),
            Directive::RestrictAddressFamilies => {
                let families = &settings.families;
                let listed = families.listed.clone().unwrap_or_default();
                if !families.allows && listed.is_empty() {
                    return Ok(());
                }
                let rules =
                    |set: &mut _| rules::families(set, &listed, families.allows, options.native);
                self.each_arch(directive, place, rules)
            }
            Directive::RestrictNamespaces => match settings.namespaces {
                Some(retained) if !rules::retains_all(retained, options.version) => {
                    self.each_arch(directive, place, |set| {
                        rules::namespaces(set, retained, options)
                    })
                }
                _ => Ok(()),
            },
            _ if !settings.is_on(directive) => Ok(()),
            Directive::MemoryDenyWriteExecute if self.has_mdwe() => Ok(()),
            Directive::LockPersonality => {
                let personality = settings.personality.unwrap_or(0);
                self.each_arch(directive, place, |set| rules::personality(set, personality))
            }
            switch => {
                let rules = |set: &mut _| rules::switch(switch, set, options);
                self.each_arch(switch, place, rules)
            }
        }
    }

    /// Warns about the directives that are on, if none installs a filter.
    fn explain_empty(&mut self) {
        let ReadOptions { version, native, kernel, .. } = self.options;
        for (directive, switch) in self.settings.switches.iter().filter(|(_, switch)| switch.is_on)
        {
            let (why, help) = match directive {
                Directive::MemoryDenyWriteExecute if self.has_mdwe() => (
                    format!(
                        "systemd {version} on Linux {kernel} denies such memory with prctl(PR_SET_MDWE) instead"
                    ),
                    Advice::OlderSystemd.into(),
                ),
                _ => (
                    format!("systemd on {native} has no rules for it"),
                    Help::from("see the table in docs/reference/languages/systemd.md"),
                ),
            };
            self.report
                .warn(switch.at, format!("{directive} installs no filter: {why}"))
                .set_help(help);
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
        add: impl Fn(&mut RuleSet<()>) -> bool,
    ) -> Result {
        for arch in self.arches.clone() {
            let mut set = RuleSet::new(arch);
            if add(&mut set) {
                let stated = set.stated().map(|(nr, when, verdict, ())| (nr, when, verdict, place));
                let statements = self.statements(arch, stated, place);
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
    ) -> Result {
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
    ) -> Option<Statements> {
        if !self.options.statements {
            return None;
        }
        let site = |at: At| self.site(at);
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

    fn site(&self, at: At) -> Site {
        let name = self.texts.get(at.file).and_then(|text| text.name);
        Site { file: name.map(str::to_owned), position: self.report.position(at) }
    }

    /// The native architecture is always allowed.
    fn architectures(&mut self) -> Result {
        let (native, allowed) = (self.options.native, &self.settings.arches);
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
        let place = self.settings.place(directive).map(|at| self.site(at));
        let statements = self.options.statements;
        let statements = statements.then(|| Statements { default: place, ..Statements::default() });
        let filter = UnitFilter { directive, arch: None, policy, statements };
        self.filters.push(filter);
        Ok(())
    }

    fn syscall_log(&mut self) -> Result {
        let Some(list) = self.settings.syscall_log.as_ref().filter(|list| is_installed(list))
        else {
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
            let statements = self.statements(arch, set.stated(), Some(list.at));
            self.push(Directive::SystemCallLog, &set, default, statements)?;
        }
        Ok(())
    }

    fn syscall_filter(&mut self) -> Result {
        let Some(list) = self.settings.syscall_filter.as_ref().filter(|list| is_installed(list))
        else {
            return Ok(());
        };
        let mut list = list.clone();
        if self.options.version.permits_write() {
            self.permit_write(&mut list);
            if !is_installed(&list) {
                return Ok(());
            }
        }
        let denied = self.settings.denial.verdict();
        let (rest, action) = match list.allows {
            true => (denied, Verdict::ALLOW),
            false => (Verdict::ALLOW, denied),
        };
        let enosys = Verdict::errno(self.options.native.enosys());
        let is_split = list.allows && self.options.version.has_enosys_for_unknown();
        let default = if is_split { enosys } else { rest };
        self.check(&list, default);
        let known: Vec<&'static str> = known_to_systemd(self.options.version)
            .filter(|_| default != rest)
            .filter(|name| !self.options.lacks(name))
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
            let statements = self.statements(arch, set.stated(), Some(list.at));
            self.push(Directive::SystemCallFilter, &set, default, statements)?;
        }
        Ok(())
    }

    /// Permits `write`, which systemd uses itself.
    fn permit_write(&mut self, list: &mut SyscallList) {
        let key = SyscallKey::new("write", self.options.native);
        match list.entries.get(&key).copied() {
            Some(entry) if list.allows && entry.denial.is_some() => {
                let message = format!(
                    "systemd {} does not start this unit: it has to allow write, which has an errno in the list",
                    self.options.version
                );
                self.report.error(entry.at, message).help =
                    "remove write from this line".to_owned();
            }
            Some(entry) if !list.allows => {
                list.entries.remove(&key);
                let message = format!(
                    "systemd {} does not deny write in a list that begins with ~, because it uses write itself",
                    self.options.version
                );
                self.report.warn(entry.at, message).help =
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
    fn check(&mut self, list: &SyscallList, default: Verdict) {
        let version = self.options.version;
        let mut refused = |at: At, why: String| {
            let message =
                format!("systemd {version} does not start this unit: libseccomp rejects {why}");
            self.report.error(at, message).help = "choose another errno".to_owned();
        };
        let large = |errno: u16| format!("the errno {errno}; its limit is {}", ERRNO_END - 1);
        let Settings { denial, denial_at, .. } = *self.settings;
        if let (Denial::Errno(errno @ ERRNO_END..), Some(at)) = (denial, denial_at) {
            refused(at, large(errno));
        }
        for entry in list.entries.values() {
            match entry.denial {
                Some(Denial::Errno(errno @ ERRNO_END..)) => refused(entry.at, large(errno)),
                Some(denial) if denial.verdict() == default => {
                    let why = format!(
                        "a rule for {} with the action of syscalls without rules, {default}",
                        entry.name
                    );
                    refused(entry.at, why);
                }
                _ => {}
            }
        }
    }
}

/// Whether systemd installs filters for a list: an empty one that denies is skipped.
fn is_installed(list: &SyscallList) -> bool {
    list.allows || !list.entries.is_empty()
}

/// Reads a unit file and its drop-ins, in the order in which systemd reads them, or directives without a file.
///
/// ```
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::systemd::{self, ReadOptions, UnitText};
///
/// let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
/// let unit = UnitText::unit("[Service]\nSystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM\n");
/// let drop_in = UnitText::unit("[Service]\nSystemCallFilter=~@chown\n");
/// let unit = systemd::read(&[unit, drop_in], &options)?;
/// let call = |nr| SeccompData { nr, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(unit.evaluate(&call(0)), Verdict::ALLOW); // read
/// assert_eq!(unit.evaluate(&call(92)), Verdict::errno(1)); // chown
/// # Ok::<(), systemd::UnitErrors>(())
/// ```
///
/// # Errors
/// All messages about the texts, including warnings, if systemd would not load or start the unit, or if a limit is
/// exceeded.
pub fn read(texts: &[UnitText<'_>], options: &ReadOptions) -> Result<UnitFilters, FileErrors> {
    let mut reader = UnitReader::new(texts, options);
    for (file, text) in texts.iter().enumerate() {
        reader.read(file, text);
    }
    let UnitReader { mut report, settings, .. } = reader;
    let lowered = match report.failed() {
        true => Ok(Vec::new()),
        false => {
            let arches = arches::local(options.native, options.version);
            let (settings, report, filters) = (&settings, &mut report, Vec::new());
            Lowering { settings, options, texts, report, arches, filters }.filters()
        }
    };
    match lowered {
        Ok(filters) if !report.failed() => {
            if let Some(other) = options.is_version_assumed.then(|| older(options)).flatten() {
                if !is_same(&filters, texts, &other) {
                    let message = format!(
                        "systemd {} reads this unit in another way than systemd {}, which is assumed",
                        other.version, options.version
                    );
                    report.warn(At::default(), message).set_help(Advice::SystemdVersion);
                }
            }
            Ok(UnitFilters { filters, warnings: report.finish() })
        }
        Ok(_) => Err(report.finish().into()),
        Err(error) => {
            report.error(At::default(), error.to_string());
            Err(report.finish().into())
        }
    }
}

/// The options for the oldest known version, unless that is the one of these options.
fn older(options: &ReadOptions) -> Option<ReadOptions> {
    let version = SystemdVersion::all().next().filter(|oldest| *oldest != options.version)?;
    let (is_version_assumed, statements) = (false, false);
    Some(ReadOptions { version, is_version_assumed, statements, ..options.clone() })
}

/// Whether texts have the same filters with other options.
fn is_same(filters: &[UnitFilter], texts: &[UnitText<'_>], other: &ReadOptions) -> bool {
    let others = read(texts, other).map(|unit| unit.filters).unwrap_or_default();
    let key = |filter: &UnitFilter| (filter.directive, filter.arch, filter.policy.clone());
    filters.iter().map(key).eq(others.iter().map(key))
}

/// Whether a text consists of assignments without the header of a section, and at least one of them decides about filters: a
/// part of a unit, as people quote it.
///
/// ```
/// use callgate_formats::systemd::is_without_section;
///
/// assert!(is_without_section("# resolved\nNoNewPrivileges=yes\nSystemCallFilter=@basic-io"));
/// assert!(!is_without_section("[Service]\nSystemCallFilter=@basic-io"));
/// assert!(!is_without_section("A = sys_number"));
/// ```
pub fn is_without_section(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut lines =
        lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).peekable();
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim_end().to_owned());
    let is_key = |key: String| {
        key.starts_with(|c: char| c.is_ascii_uppercase())
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let begins = lines.peek().is_some_and(|line| key(line).is_some_and(is_key));
    let mut has_section = false;
    let mut is_about_filters = false;
    for line in lines.by_ref() {
        has_section |= line.starts_with('[');
        is_about_filters |= key(line).is_some_and(|key| is_read(&key));
    }
    begins && is_about_filters && !has_section
}
