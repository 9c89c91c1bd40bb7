//! From the typed model of a profile to a policy: which entries apply on which architectures, how they combine, and the ENOSYS
//! check before them.

use super::model::{Entry, Model, Name, SyscallName};
use super::options::{Dialect, EnosysAbove, ReadOptions};
use crate::capabilities::CapSet;
use crate::profile::Profile;
use crate::rule_readers::{
    Words, report_contradictions, report_hidden, report_overridden, report_rejected,
    report_unknown_syscall, rules_of,
};
use crate::ruleset::{RuleSet, sections};
use crate::statements::{Builtin, Gated, Inactive, Inactivity, Statements, other_abis};
use crate::syntax::reader::Reader;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::KnownSyscall;
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{Action, Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

/// The verdict for syscalls of an architecture that the filter does not cover: libseccomp's default.
pub const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// A profile, and what it is read for.
pub(super) struct Lowering<'l, 't, 'n> {
    pub(super) reader: &'l mut Reader<'t>,
    pub(super) model: &'l Model<'n>,
    pub(super) dialect: Dialect,
    pub(super) options: &'l ReadOptions,
}

impl<'n> Lowering<'_, '_, 'n> {
    /// Turns a profile into a policy, with its statements if the options ask for them. `None` only after an error was reported.
    pub(super) fn lower(&mut self) -> Option<Profile> {
        self.check_names();
        let arches = self.choose_arches();
        self.check_libseccomp(&arches);
        let applies = |entry: &&Entry<'_>| elsewhere(entry, self.options).is_none();
        let entries: Vec<&Entry<'_>> = self.model.entries.iter().filter(applies).collect();
        self.check_notify(&entries);
        if self.dialect != Dialect::Oci {
            self.check_errnos(&entries);
        }
        let rules = self.combine(&entries, &arches, self.model.default.verdict)?;
        match self.dialect {
            // The specification does not mention libseccomp; by it, only rules with the same condition contradict each other.
            Dialect::Oci => report_contradictions(self.reader, &rules, WORDS),
            _ => report_rejected(self.reader, &rules, WORDS),
        }
        if !self.reader.failed()
            && rules.iter().all(RuleSet::is_empty)
            && !self.model.entries.is_empty()
        {
            let message = format!(
                "no entry has an effect: every syscall gets {}",
                self.model.default.verdict
            );
            self.reader.warn(self.model.at, message).help =
                "either no entry applies to this machine, or all have the default action"
                    .to_owned();
        }

        let mut stated = self.options.statements.then(|| self.statements(&rules));
        let mut sections = sections(&rules, self.model.default.verdict, BAD_ARCH);
        let permissive = matches!(
            self.model.default.verdict.action(),
            Action::Allow | Action::Log | Action::Trace(_)
        );
        let mut added = Vec::new();
        let enosys = self.options.enosys_above.unwrap_or(self.dialect.enosys_above());
        if enosys != EnosysAbove::Off && !permissive {
            let listed = self.listed_arches(&arches);
            let counts = |arch: Arch| enosys == EnosysAbove::On || listed.contains(&arch);
            let names = entries.iter().flat_map(|entry| &entry.names);
            let named: Vec<KnownSyscall> = names.filter_map(|name| name.syscall).collect();
            let has_number = |syscall: KnownSyscall, arch| self.has_number(syscall, arch);
            let with_zero = enosys != EnosysAbove::Runc1_1_0;
            for section in &mut sections {
                added.extend(enosys_above(section, &named, counts, has_number, with_zero));
            }
        }
        if let Some(stated) = &mut stated {
            stated.builtin.extend(added.iter().cloned());
            stated.builtin.extend(other_abis(&sections, BAD_ARCH));
        }
        match Policy::new(sections, BAD_ARCH) {
            Ok(policy) => Some(Profile {
                priorities: priorities(self.model.default.verdict, &entries),
                dialect: Some(self.dialect),
                flags: self.model.flags,
                listener: self.model.listener.clone(),
                statements: stated,
                added,
                ..Profile::of(policy)
            }),
            Err(error) => {
                self.reader.error(self.model.at, error.to_string());
                None
            }
        }
    }

    /// The rules of all entries that apply. `None` only after an error was reported.
    pub(super) fn combine(
        &mut self,
        entries: &[&Entry<'n>],
        arches: &[Arch],
        default: Verdict,
    ) -> Option<Vec<RuleSet<Name<'n>>>> {
        let mut sets: Vec<RuleSet<Name<'n>>> = arches.iter().copied().map(RuleSet::new).collect();
        let mut hidden: Vec<(usize, u32, Name<'n>)> = Vec::new();
        let mut count = 0usize;
        // For each syscall, the last entry that names it.
        let mut named_by: Vec<Option<usize>> = vec![None; KnownSyscall::COUNT];
        let other = entries.iter().enumerate().filter(|(_, entry)| entry.action.verdict != default);
        for (index, entry) in other {
            self.check_wide_values(entry, arches);
            let always = entry.alternatives.iter().all(Vec::is_empty);
            let per_name = comparisons(entry).saturating_mul(arches.len());
            for name in entry.names.iter().copied() {
                // Names of other architectures' syscalls give no rules, and neither do unknown ones.
                let Some(syscall) = name.syscall else { continue };
                if !self.is_known_to_library(syscall) {
                    continue;
                }
                let named_before =
                    named_by.get_mut(syscall.index()).and_then(|by| by.replace(index));
                // Without conditions, a repeated name changes nothing.
                if always && named_before == Some(index) {
                    continue;
                }
                count = count.saturating_add(per_name);
                if count > MAX_COMPARISONS {
                    self.too_many_rules(entries, arches.len(), name.at);
                    return None;
                }
                let origin = name.origin();
                for comparisons in &entry.alternatives {
                    for (index, set) in sets.iter_mut().enumerate() {
                        let has_number = self.has_number(syscall, set.arch());
                        let verdict = entry.action.verdict;
                        let via =
                            set.add_numbered(syscall, has_number, comparisons, verdict, origin);
                        hidden.extend(via.map(|nr| (index, nr, origin)));
                    }
                }
            }
        }
        report_overridden(self.reader, sets.iter().flat_map(RuleSet::overridden).collect());
        report_hidden(self.reader, &sets, hidden);
        Some(sets)
    }

    /// Reports architectures that the given version of libseccomp does not support.
    fn check_libseccomp(&mut self, arches: &[Arch]) {
        let Some(version) = self.options.libseccomp else { return };
        if let Some(arch) = arches.iter().find(|arch| !version.supports(**arch)) {
            let message = format!("libseccomp {version} does not support {arch}");
            self.reader.error(self.model.at, message).help =
                "give a newer version, or other architectures".to_owned();
        }
    }

    /// Whether the runtime's libseccomp knows the name of a syscall. The runtime leaves out the rules for others.
    fn is_known_to_library(&self, syscall: KnownSyscall) -> bool {
        self.options.libseccomp.is_none_or(|version| version.knows(syscall.name()))
    }

    /// Whether the runtime's libseccomp has a number for a syscall on an architecture that has it.
    fn has_number(&self, syscall: KnownSyscall, arch: Arch) -> bool {
        self.options.libseccomp.is_none_or(|version| version.has_number(syscall.name(), arch))
    }

    fn too_many_rules(&mut self, entries: &[&Entry<'_>], arches: usize, at: usize) {
        let of_entry = |entry: &&Entry<'_>| entry.names.len().saturating_mul(comparisons(entry));
        let all = entries.iter().map(of_entry).fold(0, usize::saturating_add);
        let message = format!(
            "the rules of this profile have up to {} comparisons; the limit is {MAX_COMPARISONS}. Each name \
         of an entry gets all conditions of the entry, on each of {arches} architectures",
            all.saturating_mul(arches)
        );
        let help = "list each name once, and compare with ranges or bits instead of single values";
        self.reader.error(at, message).set_too_large(help);
    }

    /// Reports syscall names that no architecture has.
    fn check_names(&mut self) {
        let names = self.model.entries.iter().flat_map(|entry| &entry.names);
        for unknown in names.filter(|name| !name.name.is_empty() && !name.is_known()) {
            report_unknown_syscall(
                self.reader,
                unknown.name,
                unknown.at,
                self.options.strict,
                "it is skipped",
                &[],
                None,
            );
        }
    }

    /// Reports errnos that libseccomp rejects.
    fn check_errnos(&mut self, entries: &[&Entry<'_>]) {
        let named = |entry: &&&Entry<'_>| {
            entry.action.verdict != self.model.default.verdict
                && !entry.alternatives.is_empty()
                && entry.names.iter().any(|name| name.is_known())
        };
        let actions = entries.iter().filter(named).map(|entry| &entry.action);
        for action in std::iter::once(&self.model.default).chain(actions) {
            let verdict = action.verdict;
            if verdict.action() == Action::Errno(verdict.data())
                && verdict.data() > MAX_LIBSECCOMP_ERRNO
            {
                let message = format!(
                    "the errno is {}; libseccomp's limit is {MAX_LIBSECCOMP_ERRNO}, so the container would not \
                 start",
                    verdict.data()
                );
                self.reader.error(action.at, message).help = "use an errno that exists".to_owned();
            }
        }
    }

    /// Reports uses of SCMP_ACT_NOTIFY that block the container or its runtime.
    fn check_notify(&mut self, entries: &[&Entry<'_>]) {
        const NOTIFY: &str = "SCMP_ACT_NOTIFY";
        let by_runc = matches!(self.dialect, Dialect::Docker | Dialect::Runc);
        let severity = if by_runc { Severity::Error } else { Severity::Warning };
        if self.model.default.name == NOTIFY {
            let message = "SCMP_ACT_NOTIFY as the default action blocks the container before its listener \
                       is connected";
            self.reader.report(severity, self.model.default.at, message).help =
                "runc rejects it; use SCMP_ACT_NOTIFY only for syscalls that the listener handles"
                    .to_owned();
        }
        let notifying = entries.iter().filter(|entry| entry.action.name == NOTIFY);
        for entry in notifying.clone() {
            if let Some(write) = entry.names.iter().find(|name| name.name == "write") {
                let message = "SCMP_ACT_NOTIFY for `write` blocks the runtime itself, which needs `write` \
                           to hand over the listener";
                self.reader.report(severity, write.at, message).help =
                    "runc rejects it; remove `write` from this entry".to_owned();
            }
        }
        if let (Some(entry), None) = (notifying.into_iter().next(), &self.model.listener) {
            let message = "SCMP_ACT_NOTIFY without `listenerPath`: without a listener, these syscalls fail \
                       with ENOSYS";
            self.reader.warn(entry.action.at, message).help =
                "set `listenerPath` to the listener's socket".to_owned();
        }
    }

    /// Warns about values of which a 32-bit architecture compares only the low half.
    fn check_wide_values(&mut self, entry: &Entry<'_>, arches: &[Arch]) {
        let Some(narrow) = arches.iter().find(|arch| !arch.is_64bit()) else { return };
        let wide =
            entry.alternatives.iter().flatten().find(|test| test.value() > u64::from(u32::MAX));
        if let (Some(wide), Some(SyscallName { at, name, .. })) = (wide, entry.names.first()) {
            let message = format!(
                "on {narrow}, argument {} of `{name}` is compared with {:#x} instead of {:#x}: only \
             the low 32 bits exist there",
                wide.arg(),
                wide.value() as u32,
                wide.value()
            );
            self.reader.warn(*at, message).help =
                "libseccomp does the same; check that this is intended".to_owned();
        }
    }

    /// What a profile states, whose rules for each architecture are `sets`.
    pub(super) fn statements(&mut self, sets: &[RuleSet<Name<'_>>]) -> Statements {
        let (mut inactive, mut gated) = (Vec::new(), Vec::new());
        for entry in &self.model.entries {
            let verdict = entry.action.verdict;
            let rule = |at: usize, name: &str, reason: Inactivity| Inactive {
                site: self.reader.site(at),
                name: name.to_owned(),
                verdict,
                reason,
                missing: entry.includes.caps.without(self.options.caps),
            };
            let elsewhere = elsewhere(entry, self.options).map(Inactivity::Elsewhere);
            let is_default = verdict == self.model.default.verdict;
            match elsewhere.or_else(|| is_default.then_some(Inactivity::DefaultAction)) {
                Some(reason) => {
                    let names = entry.names.iter();
                    inactive.extend(names.map(|name| rule(name.at, name.name, reason.clone())));
                }
                None => {
                    for name in entry.names.iter().copied().filter(|name| name.is_known()) {
                        let rule = |reason| rule(name.at, name.name, reason);
                        let arches = || sets.iter().map(RuleSet::arch);
                        let missing = arches().filter(|arch| !has(*arch, name));
                        inactive.extend(missing.map(|arch| rule(Inactivity::MissingOn(arch))));
                        let unknown = |arch: &Arch| {
                            has(*arch, name)
                                && name.syscall.is_some_and(|one| !self.has_number(one, *arch))
                        };
                        if let Some(version) = self.options.libseccomp {
                            let unknown = arches().filter(unknown);
                            inactive.extend(
                                unknown.map(|arch| rule(Inactivity::UnknownTo(version, arch))),
                            );
                        }
                    }
                }
            }
            let capabilities = entry.includes.caps;
            if capabilities != CapSet::none() {
                gated.extend(entry.names.iter().map(|name| Gated {
                    site: self.reader.site(name.at),
                    name: name.name.to_owned(),
                    verdict,
                    capabilities,
                }));
            }
        }
        Statements {
            rules: rules_of(self.reader, sets),
            inactive,
            gated,
            builtin: Vec::new(),
            default: Some(self.reader.site(self.model.default.at)),
        }
    }
}

/// Maximum number of comparisons in the rules of a profile. Each name of an entry gets all conditions of the entry, on
/// each architecture; a rule without conditions counts as one comparison. The runtimes' own profiles have a few
/// thousand.
const MAX_COMPARISONS: usize = 150_000;

/// The number of comparisons that one name of an entry has on one architecture.
fn comparisons(entry: &Entry<'_>) -> usize {
    entry.alternatives.iter().map(|all| all.len().max(1)).sum()
}

/// How messages name the parts of a profile.
const WORDS: Words = Words { unit: "entry", consequence: "so the container would not start" };

/// Adds runc's rule at the front of a section: numbers above the largest one of the syscalls that the entries name get
/// ENOSYS, so that programs can fall back from syscalls newer than the profile.
///
/// Returns the rule.
///
/// x86_64 and x32 have separate bounds. On s390 and s390x number 0 gets ENOSYS too (`with_zero`), because the kernel reports 0 for
/// an unknown syscall number. An architecture of which no number above 0 is named gets no rule.
///
/// A `defaultErrnoRet` of ENOSYS does not matter: runc (1.1 to 1.5) means to leave the check out then, but compares the number
/// with an action (`generatePatch`).
///
/// Where `socketcall` or `ipc` exist, syscalls that are reached through them do not count, even if they also have a
/// number: libseccomp resolves their names to negative numbers there.
pub(super) fn enosys_above(
    section: &mut Section,
    named: &[KnownSyscall],
    counts: impl Fn(Arch) -> bool,
    has_number: impl Fn(KnownSyscall, Arch) -> bool,
    with_zero: bool,
) -> Option<Builtin> {
    let mut ranges = Vec::new();
    for arch in section.arches().filter(|arch| counts(*arch)) {
        let direct = named
            .iter()
            .filter(|syscall| syscall.multiplexed(arch).is_none() && has_number(**syscall, arch));
        let largest = direct.filter_map(|syscall| syscall.number(arch)).max().unwrap_or(0);
        if largest == 0 {
            continue;
        }
        let above = largest.saturating_add(1);
        match arch {
            // Numbers with the x32 bit never belong to x86_64, with or without x32 in the filter.
            Arch::X86_64 => {
                ranges.extend([
                    (above, X32_SYSCALL_BIT - 1),
                    (2 * X32_SYSCALL_BIT, 3 * X32_SYSCALL_BIT - 1),
                ]);
            }
            Arch::X32 => {
                ranges.extend([(above, 2 * X32_SYSCALL_BIT - 1), (3 * X32_SYSCALL_BIT, u32::MAX)])
            }
            Arch::S390 | Arch::S390x if with_zero => ranges.extend([(0, 0), (above, u32::MAX)]),
            _ => ranges.push((above, u32::MAX)),
        }
    }
    let errno = section.arches().next().map_or(38, Arch::enosys);
    let syscalls = SyscallSet::from_ranges(ranges);
    if syscalls.is_empty() {
        return None;
    }
    let verdict = Verdict::errno(errno);
    let rule = Rule { syscalls: syscalls.clone(), when: Condition::always(), verdict };
    section.rules.insert(0, rule);
    let reason = "the number is larger than that of every syscall that the profile names";
    Some(Builtin { token: section.token(), syscalls, verdict, reason })
}

/// The largest errno that libseccomp accepts, one less than the kernel's.
const MAX_LIBSECCOMP_ERRNO: u16 = 4094;

/// Whether an architecture has a syscall, with a number of its own or behind a multiplexer.
fn has(arch: Arch, name: SyscallName<'_>) -> bool {
    name.syscall.is_some_and(|syscall| {
        syscall.number(arch).is_some() || syscall.multiplexed(arch).is_some()
    })
}

/// Why an entry does not apply to this process on this machine, as a clause; `None` if it does.
fn elsewhere(entry: &Entry<'_>, options: &ReadOptions) -> Option<String> {
    entry.excludes.excluded(options).or_else(|| entry.includes.missing(options))
}

/// The syscalls that entries allow with their priorities; none if all are 0, or if the default also allows others, which have
/// none.
fn priorities(default: Verdict, entries: &[&Entry<'_>]) -> Vec<(String, u8)> {
    let allowing = || entries.iter().filter(|entry| entry.action.verdict.permits());
    if default.permits() || allowing().all(|entry| entry.priority == 0) {
        return Vec::new();
    }
    let all = allowing().flat_map(|entry| entry.names.iter().map(|name| (name, entry.priority)));
    all.map(|(name, priority)| (name.name.to_owned(), priority)).collect()
}
