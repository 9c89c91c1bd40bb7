//! From the typed model of a profile to a policy: which entries apply on which architectures, how they combine, and the ENOSYS
//! check before them.

use super::arches::{choose_arches, listed_arches};
use super::model::{Entry, Model, Name, SyscallName};
use super::options::{Dialect, EnosysAbove, ReadOptions};
use crate::capabilities::CapSet;
use crate::profile::Listener;
use crate::rule_readers::{
    Words, report_contradictions, report_hidden, report_overridden, report_rejected,
    report_unknown_syscall, rules_of,
};
use crate::ruleset::{RuleSet, sections};
use crate::statements::{Builtin, Gated, Inactive, Inactivity, Statements, other_abis};
use crate::syntax::reader::Reader;
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::KnownSyscall;
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{Action, Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

/// What a profile means, and how it asks to be installed.
pub(super) struct Lowered {
    pub(super) policy: Policy,
    pub(super) flags: FilterFlags,
    pub(super) listener: Option<Listener>,
    /// What the profile states, if it was asked for.
    pub(super) statements: Option<Statements>,
    /// The rules that the runtime adds.
    pub(super) added: Vec<Builtin>,
}

/// The verdict for syscalls of an architecture that the filter does not cover: libseccomp's default.
pub const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// Turns a profile into a policy, with its statements if the options ask for them. `None` only after an error was reported.
pub(super) fn lower(
    reader: &mut Reader<'_>,
    model: &Model<'_>,
    dialect: Dialect,
    options: &ReadOptions,
) -> Option<Lowered> {
    check_names(reader, model, options.strict);
    let arches = choose_arches(reader, model, dialect, options);
    let applies =
        |entry: &&Entry<'_>| !entry.excludes.excludes(options) && entry.includes.includes(options);
    let entries: Vec<&Entry<'_>> = model.entries.iter().filter(applies).collect();
    check_notify(reader, model, &entries, dialect);
    if dialect != Dialect::Oci {
        check_errnos(reader, model, &entries);
    }
    let rules = combine(reader, &entries, &arches, model.default.verdict)?;
    report_conflicts(reader, &rules, dialect);
    if !reader.failed() && rules.iter().all(RuleSet::is_empty) && !model.entries.is_empty() {
        let message =
            format!("no entry has an effect: every syscall gets {}", model.default.verdict);
        reader.warn(model.at, message).help =
            "either no entry applies to this machine, or all have the default action".to_owned();
    }

    let mut stated = options.statements.then(|| statements(reader, model, &rules, options));
    let mut sections = sections(&rules, model.default.verdict, BAD_ARCH);
    let permissive =
        matches!(model.default.verdict.action(), Action::Allow | Action::Log | Action::Trace(_));
    let mut added = Vec::new();
    let enosys = options.enosys_above.unwrap_or(dialect.enosys_above());
    if enosys != EnosysAbove::Off && !permissive {
        let listed = listed_arches(model, dialect, options, &arches);
        let counts = |arch: Arch| enosys == EnosysAbove::On || listed.contains(&arch);
        let names = entries.iter().flat_map(|entry| &entry.names);
        let named: Vec<KnownSyscall> = names.filter_map(|name| name.syscall).collect();
        for section in &mut sections {
            added.extend(enosys_above(section, &named, counts));
        }
    }
    if let Some(stated) = &mut stated {
        stated.builtin.extend(added.iter().cloned());
        stated.builtin.extend(other_abis(&sections, BAD_ARCH));
    }
    match Policy::new(sections, BAD_ARCH) {
        Ok(policy) => {
            let (flags, listener) = (model.flags, model.listener.clone());
            Some(Lowered { policy, flags, listener, statements: stated, added })
        }
        Err(error) => {
            reader.error(model.at, error.to_string());
            None
        }
    }
}

/// Maximum number of comparisons in the rules of a profile. Each name of an entry gets all conditions of the entry, on
/// each architecture; a rule without conditions counts as one comparison. The runtimes' own profiles have a few
/// thousand.
const MAX_COMPARISONS: usize = 150_000;

/// The rules of all entries that apply. `None` only after an error was reported.
pub(super) fn combine<'n>(
    reader: &mut Reader<'_>,
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
        check_wide_values(reader, entry, arches);
        let always = entry.alternatives.iter().all(Vec::is_empty);
        let per_name = comparisons(entry).saturating_mul(arches.len());
        for name in entry.names.iter().copied() {
            // Names of other architectures' syscalls give no rules, and neither do unknown ones.
            let Some(syscall) = name.syscall else { continue };
            let named_before = named_by.get_mut(syscall.index()).and_then(|by| by.replace(index));
            // Without conditions, a repeated name changes nothing.
            if always && named_before == Some(index) {
                continue;
            }
            count = count.saturating_add(per_name);
            if count > MAX_COMPARISONS {
                too_many_rules(reader, entries, arches.len(), name.at);
                return None;
            }
            let origin = name.origin();
            for comparisons in &entry.alternatives {
                for (index, set) in sets.iter_mut().enumerate() {
                    let via = set.add_known(syscall, comparisons, entry.action.verdict, origin);
                    hidden.extend(via.map(|nr| (index, nr, origin)));
                }
            }
        }
    }
    report_overridden(reader, sets.iter().flat_map(RuleSet::overridden).collect());
    report_hidden(reader, &sets, hidden);
    Some(sets)
}

/// The number of comparisons that one name of an entry has on one architecture.
fn comparisons(entry: &Entry<'_>) -> usize {
    entry.alternatives.iter().map(|all| all.len().max(1)).sum()
}

fn too_many_rules(reader: &mut Reader<'_>, entries: &[&Entry<'_>], arches: usize, at: usize) {
    let of_entry = |entry: &&Entry<'_>| entry.names.len().saturating_mul(comparisons(entry));
    let all = entries.iter().map(of_entry).fold(0, usize::saturating_add);
    let message = format!(
        "the rules of this profile have up to {} comparisons; the limit is {MAX_COMPARISONS}. Each name \
         of an entry gets all conditions of the entry, on each of {arches} architectures",
        all.saturating_mul(arches)
    );
    reader.error(at, message).help =
        "list each name once, and compare with ranges or bits instead of single values".to_owned();
}

/// How messages name the parts of a profile.
const WORDS: Words = Words { unit: "entry", consequence: "so the container would not start" };

/// Reports rules that libseccomp rejects, so that a runtime could not start the container. The specification does not
/// mention libseccomp; by it, only rules with the same condition contradict each other.
pub(super) fn report_conflicts(
    reader: &mut Reader<'_>,
    sets: &[RuleSet<Name<'_>>],
    dialect: Dialect,
) {
    match dialect {
        Dialect::Oci => report_contradictions(reader, sets, WORDS),
        _ => report_rejected(reader, sets, WORDS),
    }
}

/// Adds runc's rule at the front of a section: numbers above the largest one of the syscalls that the entries name get
/// ENOSYS, so that programs can fall back from syscalls newer than the profile.
///
/// Returns the rule.
///
/// x86_64 and x32 have separate bounds. On s390 and s390x number 0 gets ENOSYS too, because the kernel reports 0 for
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
) -> Option<Builtin> {
    let mut ranges = Vec::new();
    for arch in section.arches().filter(|arch| counts(*arch)) {
        let direct = named.iter().filter(|syscall| syscall.multiplexed(arch).is_none());
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
            Arch::S390 | Arch::S390x => ranges.extend([(0, 0), (above, u32::MAX)]),
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

/// Reports syscall names that no architecture has.
pub(super) fn check_names(reader: &mut Reader<'_>, model: &Model<'_>, strict: bool) {
    let names = model.entries.iter().flat_map(|entry| &entry.names);
    for unknown in names.filter(|name| !name.name.is_empty() && !name.is_known()) {
        report_unknown_syscall(
            reader,
            unknown.name,
            unknown.at,
            strict,
            "it is skipped",
            &[],
            None,
        );
    }
}

/// The largest errno that libseccomp accepts, one less than the kernel's.
const MAX_LIBSECCOMP_ERRNO: u16 = 4094;

/// Reports errnos that libseccomp rejects.
pub(super) fn check_errnos(reader: &mut Reader<'_>, model: &Model<'_>, entries: &[&Entry<'_>]) {
    let named = |entry: &&&Entry<'_>| {
        entry.action.verdict != model.default.verdict
            && !entry.alternatives.is_empty()
            && entry.names.iter().any(|name| name.is_known())
    };
    let actions = entries.iter().filter(named).map(|entry| &entry.action);
    for action in std::iter::once(&model.default).chain(actions) {
        let verdict = action.verdict;
        if verdict.action() == Action::Errno(verdict.data())
            && verdict.data() > MAX_LIBSECCOMP_ERRNO
        {
            let message = format!(
                "the errno is {}; libseccomp's limit is {MAX_LIBSECCOMP_ERRNO}, so the container would not \
                 start",
                verdict.data()
            );
            reader.error(action.at, message).help = "use an errno that exists".to_owned();
        }
    }
}

/// Reports uses of SCMP_ACT_NOTIFY that block the container or its runtime.
pub(super) fn check_notify(
    reader: &mut Reader<'_>,
    model: &Model<'_>,
    entries: &[&Entry<'_>],
    dialect: Dialect,
) {
    const NOTIFY: &str = "SCMP_ACT_NOTIFY";
    let by_runc = matches!(dialect, Dialect::Docker | Dialect::Runc);
    let severity = if by_runc { Severity::Error } else { Severity::Warning };
    if model.default.name == NOTIFY {
        let message = "SCMP_ACT_NOTIFY as the default action blocks the container before its listener \
                       is connected";
        reader.report(severity, model.default.at, message).help =
            "runc rejects it; use SCMP_ACT_NOTIFY only for syscalls that the listener handles"
                .to_owned();
    }
    let notifying = entries.iter().filter(|entry| entry.action.name == NOTIFY);
    for entry in notifying.clone() {
        if let Some(write) = entry.names.iter().find(|name| name.name == "write") {
            let message = "SCMP_ACT_NOTIFY for `write` blocks the runtime itself, which needs `write` \
                           to hand over the listener";
            reader.report(severity, write.at, message).help =
                "runc rejects it; remove `write` from this entry".to_owned();
        }
    }
    if let (Some(entry), None) = (notifying.into_iter().next(), &model.listener) {
        let message = "SCMP_ACT_NOTIFY without `listenerPath`: without a listener, these syscalls fail \
                       with ENOSYS";
        reader.warn(entry.action.at, message).help =
            "set `listenerPath` to the listener's socket".to_owned();
    }
}

/// Warns about values of which a 32-bit architecture compares only the low half.
pub(super) fn check_wide_values(reader: &mut Reader<'_>, entry: &Entry<'_>, arches: &[Arch]) {
    let Some(narrow) = arches.iter().find(|arch| !arch.is_64bit()) else { return };
    let wide = entry.alternatives.iter().flatten().find(|test| test.value() > u64::from(u32::MAX));
    if let (Some(wide), Some(SyscallName { at, name, .. })) = (wide, entry.names.first()) {
        let message = format!(
            "on {narrow}, argument {} of `{name}` is compared with {:#x} instead of {:#x}: only \
             the low 32 bits exist there",
            wide.arg(),
            wide.value() as u32,
            wide.value()
        );
        reader.warn(*at, message).help =
            "libseccomp does the same; check that this is intended".to_owned();
    }
}

/// What a profile states, whose rules for each architecture are `sets`.
pub(super) fn statements(
    reader: &Reader<'_>,
    model: &Model<'_>,
    sets: &[RuleSet<Name<'_>>],
    options: &ReadOptions,
) -> Statements {
    let (mut inactive, mut gated) = (Vec::new(), Vec::new());
    for entry in &model.entries {
        let verdict = entry.action.verdict;
        let rule = |at: usize, name: &str, reason: Inactivity| Inactive {
            site: reader.site(at),
            name: name.to_owned(),
            verdict,
            reason,
            missing: entry.includes.missing_caps(options),
        };
        match reason(entry, model, options) {
            Some(reason) => {
                let names = entry.names.iter();
                inactive.extend(names.map(|name| rule(name.at, name.name, reason.clone())));
            }
            None => {
                for name in entry.names.iter().copied().filter(|name| name.is_known()) {
                    let arches = sets.iter().map(RuleSet::arch).filter(|arch| !has(*arch, name));
                    let rule = |arch| rule(name.at, name.name, Inactivity::MissingOn(arch));
                    inactive.extend(arches.map(rule));
                }
            }
        }
        let capabilities = entry.includes.capabilities();
        if capabilities != CapSet::none() {
            gated.extend(entry.names.iter().map(|name| Gated {
                site: reader.site(name.at),
                name: name.name.to_owned(),
                verdict,
                capabilities,
            }));
        }
    }
    Statements {
        rules: rules_of(reader, sets),
        inactive,
        gated,
        builtin: Vec::new(),
        default: Some(reader.site(model.default.at)),
    }
}

/// Whether an architecture has a syscall, with a number of its own or behind a multiplexer.
fn has(arch: Arch, name: SyscallName<'_>) -> bool {
    name.syscall.is_some_and(|syscall| {
        syscall.number(arch).is_some() || syscall.multiplexed(arch).is_some()
    })
}

/// Why an entry does not apply; `None` if it does.
fn reason(entry: &Entry<'_>, model: &Model<'_>, options: &ReadOptions) -> Option<Inactivity> {
    let gated = entry.excludes.excluded(options).or_else(|| entry.includes.missing(options));
    let is_default = entry.action.verdict == model.default.verdict;
    let elsewhere = gated.map(Inactivity::Elsewhere);
    elsewhere.or_else(|| is_default.then_some(Inactivity::DefaultAction))
}
