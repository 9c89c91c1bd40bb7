//! From a typed profile to a policy: which entries apply on which architectures, how they combine,
//! and what stands in front of them.

use std::collections::BTreeSet;

use super::super::reader::Reader;
use super::super::tree::shorten;
use callgate_bpf::FilterFlags;

use super::super::Listener;
use super::gate;
use super::schema::{ArchEntry, Arches, Entry, Raw};
use super::{Dialect, EnosysAbove, Options};
use crate::ruleset::{Conflict, Overridden, RuleSet, Version, sections};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{Arch, X32_SYSCALL_BIT, is_known_name, known_names};
use callgate_bpf::verdict::{Action, Verdict};
use callgate_proof::policy::{CallSet, Condition, Policy, Rule, Section};

/// What a profile means.
pub(super) struct Lowered {
    pub(super) policy: Policy,
    pub(super) flags: FilterFlags,
    pub(super) listener: Option<Listener>,
}

/// What calls of an architecture get that the filter is not about: libseccomp's default.
pub const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// Lowers a profile. `None` only after an error was reported.
pub(super) fn lower(
    reader: &mut Reader<'_>,
    raw: &Raw<'_>,
    dialect: Dialect,
    options: &Options,
) -> Option<Lowered> {
    unknown_names(reader, raw, options.strict);
    let arches = choose_arches(reader, raw, dialect, options);
    let applies =
        |entry: &&Entry<'_>| !entry.excludes.excludes(options) && entry.includes.includes(options);
    let entries: Vec<&Entry<'_>> = raw.entries.iter().filter(applies).collect();
    notify(reader, raw, &entries, dialect);
    if dialect != Dialect::Oci {
        refused_actions(reader, raw, &entries);
    }
    let rules = combine(reader, &entries, &arches, raw.default.verdict)?;
    conflicts(reader, &rules, dialect);
    if !reader.failed() && rules.iter().all(RuleSet::is_empty) && !raw.entries.is_empty() {
        let message = format!("no entry changes anything: every call gets {}", raw.default.verdict);
        reader.warn(raw.at, message).help =
            "no entry applies here, or all have the default action".to_owned();
    }

    let mut sections = sections(&rules, raw.default.verdict, BAD_ARCH);
    let permissive =
        matches!(raw.default.verdict.action(), Action::Allow | Action::Log | Action::Trace(_));
    let enosys = options.enosys_above.unwrap_or(dialect.enosys_above());
    if enosys != EnosysAbove::Off && !permissive {
        let listed = listed_arches(raw, dialect, options, &arches);
        let counts = |arch: Arch| enosys == EnosysAbove::On || listed.contains(&arch);
        for section in &mut sections {
            enosys_above(section, &entries, counts);
        }
    }
    match Policy::new(sections, BAD_ARCH) {
        Ok(policy) => Some(Lowered { policy, flags: raw.flags, listener: raw.listener.clone() }),
        Err(error) => {
            reader.error(raw.at, error.to_string());
            None
        }
    }
}

/// What goes wrong with SCMP_ACT_NOTIFY.
fn notify(reader: &mut Reader<'_>, raw: &Raw<'_>, entries: &[&Entry<'_>], dialect: Dialect) {
    const NOTIFY: &str = "SCMP_ACT_NOTIFY";
    let by_runc = matches!(dialect, Dialect::Docker | Dialect::Runc);
    let severity = if by_runc { Severity::Error } else { Severity::Warning };
    if raw.default.name == NOTIFY {
        reader
            .report(
                severity,
                raw.default.at,
                "SCMP_ACT_NOTIFY as the default action stops the \
             container before its listener is there",
            )
            .help =
            "runc refuses it; notify only for the calls that the listener handles".to_owned();
    }
    let notifying = entries.iter().filter(|entry| entry.action.name == NOTIFY);
    for entry in notifying.clone() {
        if let Some((at, _)) = entry.names.iter().find(|(_, name)| *name == "write") {
            reader
                .report(
                    severity,
                    *at,
                    "SCMP_ACT_NOTIFY for `write` stops the runtime itself, \
                 which needs it to hand over the listener",
                )
                .help = "runc refuses it; take `write` out".to_owned();
        }
    }
    if let (Some(entry), None) = (notifying.into_iter().next(), &raw.listener) {
        reader
            .warn(
                entry.action.at,
                "SCMP_ACT_NOTIFY without `listenerPath`: these calls fail \
             with ENOSYS when nobody listens",
            )
            .help = "give the listener's socket in `listenerPath`".to_owned();
    }
}

/// Names that no architecture has.
fn unknown_names(reader: &mut Reader<'_>, raw: &Raw<'_>, strict: bool) {
    let severity = if strict { Severity::Error } else { Severity::Warning };
    let names = raw.entries.iter().flat_map(|entry| &entry.names);
    for (at, name) in names.filter(|(_, name)| !name.is_empty() && !is_known_name(name)) {
        if reader.is_full(severity) {
            reader.report(severity, *at, "");
            continue;
        }
        let near = reader.nearest(name, known_names());
        let skipped = if strict { "" } else { "; it is skipped" };
        let message = format!("no architecture has a call `{}`{skipped}", shorten(name));
        reader.report(severity, *at, message).help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "check the spelling against syscalls(2)".to_owned(),
        };
    }
}

/// The largest errno that libseccomp takes is one less than the kernel's.
const LARGEST_ERRNO: u16 = 4094;

/// Actions that libseccomp refuses.
fn refused_actions(reader: &mut Reader<'_>, raw: &Raw<'_>, entries: &[&Entry<'_>]) {
    let named = |entry: &&&Entry<'_>| {
        entry.action.verdict != raw.default.verdict
            && !entry.alternatives.is_empty()
            && entry.names.iter().any(|(_, name)| is_known_name(name))
    };
    let actions = entries.iter().filter(named).map(|entry| &entry.action);
    for action in std::iter::once(&raw.default).chain(actions) {
        let verdict = action.verdict;
        if verdict.action() == Action::Errno(verdict.data()) && verdict.data() > LARGEST_ERRNO {
            let message = format!(
                "the errno is {}, but libseccomp takes at most {LARGEST_ERRNO}, so the container \
                 does not start",
                verdict.data()
            );
            reader.error(action.at, message).help = "give an errno that exists".to_owned();
        }
    }
}

/// The architectures of the filter, the native one first.
fn choose_arches(
    reader: &mut Reader<'_>,
    raw: &Raw<'_>,
    dialect: Dialect,
    options: &Options,
) -> Vec<Arch> {
    let native = options.judged_against();
    let mut chosen = vec![native];
    let mut add = |arch: Arch| {
        if !chosen.contains(&arch) {
            chosen.push(arch);
        }
    };
    if options.arches.is_empty() {
        for (at, arch) in said_arches(reader, raw, dialect, native) {
            if arch.endian() != native.endian() {
                let message = format!(
                    "{} and the native {} have different byte orders, so no kernel runs both",
                    arch.oci_name(),
                    native.oci_name()
                );
                reader.error(at, message).help =
                    "name the architectures to compile for yourself".to_owned();
            } else {
                add(arch);
            }
        }
    } else {
        options.arches.iter().copied().for_each(add);
    }
    chosen
}

/// The architectures that the profile itself names, or that were chosen instead of these.
fn listed_arches(raw: &Raw<'_>, dialect: Dialect, options: &Options, arches: &[Arch]) -> Vec<Arch> {
    let known = |name: &str| Arch::ALL.iter().copied().find(|arch| arch.oci_name() == name);
    match &raw.arches {
        _ if !options.arches.is_empty() => arches.to_vec(),
        Arches::Unsaid => Vec::new(),
        Arches::List(names) => names.iter().filter_map(|(_, name)| known(name)).collect(),
        // Docker lists the entry of the native architecture, and itself first.
        Arches::Map(entries) => {
            let native = options.judged_against();
            let is_native = |entry: &ArchEntry<'_>| known(entry.arch.1) == Some(native);
            if gate::maps(options.judged_against(), dialect) && entries.iter().any(is_native) {
                arches.to_vec()
            } else {
                Vec::new()
            }
        }
    }
}

/// What the profile adds to the native architecture.
fn said_arches(
    reader: &mut Reader<'_>,
    raw: &Raw<'_>,
    dialect: Dialect,
    native: Arch,
) -> Vec<(usize, Arch)> {
    let mut unknown = |severity: Severity, at: usize, name: &str| {
        let message = format!("there is no architecture \"{}\"", shorten(name));
        let near = reader.nearest(name, Arch::ALL.iter().map(|arch| arch.oci_name()));
        let spelt = Arch::from_name(name).map(Arch::oci_name).or(near);
        reader.report(severity, at, message).help = match spelt {
            Some(near) => format!("write \"{near}\""),
            None => "the names are SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64, …".to_owned(),
        };
    };
    let known = |name: &str| Arch::ALL.iter().copied().find(|arch| arch.oci_name() == name);
    let (mut said, mut ignored) = (Vec::new(), None);
    let mut take = |names: &[(usize, &str)], unknown: &mut dyn FnMut(Severity, usize, &str)| {
        for (at, name) in names {
            match known(name) {
                Some(arch) => said.push((*at, arch)),
                None => unknown(Severity::Error, *at, name),
            }
        }
    };
    match &raw.arches {
        Arches::Unsaid => {}
        Arches::List(names) => take(names, &mut unknown),
        Arches::Map(entries) => {
            let mut taken = false;
            for entry in entries {
                let (at, name) = entry.arch;
                match known(name) {
                    Some(arch) if arch == native && !gate::maps(native, dialect) => {
                        // Without further architectures, the entry says what holds anyway.
                        if !entry.sub_arches.is_empty() {
                            ignored.get_or_insert(at);
                        }
                    }
                    Some(arch) if arch == native && !taken => {
                        take(&entry.sub_arches, &mut unknown);
                        taken = true;
                    }
                    Some(_) => {}
                    None => unknown(Severity::Warning, at, name),
                }
            }
        }
    }
    if let Some(at) = ignored {
        let message = format!("{dialect} ignores the entry of `archMap` for {}", native.oci_name());
        reader.warn(at, message).help =
            "list the architectures in `architectures` instead".to_owned();
    }
    said
}

/// A call by its name, as one entry has it: where it stands and what it is called.
type Origin<'n> = (usize, &'n str);

/// How many comparisons the rules of a profile may have, where a rule without any counts as one: each
/// name of an entry has each of its conditions, on each architecture. The profiles of runtimes have
/// some thousand.
const MAX_COMPARISONS: usize = 500_000;

/// The rules of all entries that apply. `None` only after an error was reported.
fn combine<'n>(
    reader: &mut Reader<'_>,
    entries: &[&Entry<'n>],
    arches: &[Arch],
    default: Verdict,
) -> Option<Vec<RuleSet<Origin<'n>>>> {
    let mut sets: Vec<RuleSet<Origin<'n>>> = arches.iter().copied().map(RuleSet::new).collect();
    let mut hidden: Vec<(usize, u32, Origin<'n>)> = Vec::new();
    let mut count = 0usize;
    for entry in entries.iter().filter(|entry| entry.action.verdict != default) {
        wide_values(reader, entry, arches);
        // A name that is given again changes nothing where there is no condition.
        let mut given = BTreeSet::new();
        let always = entry.alternatives.iter().all(Vec::is_empty);
        let of_name = comparisons(entry).saturating_mul(arches.len());
        for origin in entry.names.iter().copied() {
            if always && !given.insert(origin.1) || !is_known_name(origin.1) {
                continue;
            }
            count = count.saturating_add(of_name);
            if count > MAX_COMPARISONS {
                too_many_rules(reader, entries, arches.len(), origin.0);
                return None;
            }
            for comparisons in &entry.alternatives {
                for (index, set) in sets.iter_mut().enumerate() {
                    let verdict = entry.action.verdict;
                    let via = set.add_call_if_known(origin.1, comparisons, verdict, origin);
                    hidden.extend(via.map(|nr| (index, nr, origin)));
                }
            }
        }
    }
    report_overridden(reader, sets.iter().flat_map(RuleSet::overridden).collect());
    report_hidden(reader, &sets, hidden);
    Some(sets)
}

/// What one name of an entry adds to [`MAX_COMPARISONS`] on one architecture.
fn comparisons(entry: &Entry<'_>) -> usize {
    entry.alternatives.iter().map(|all| all.len().max(1)).sum()
}

fn too_many_rules(reader: &mut Reader<'_>, entries: &[&Entry<'_>], arches: usize, at: usize) {
    let of_entry = |entry: &&Entry<'_>| entry.names.len().saturating_mul(comparisons(entry));
    let all = entries.iter().map(of_entry).fold(0, usize::saturating_add);
    let message = format!(
        "the rules of this profile have up to {} comparisons, but may have {MAX_COMPARISONS} (the \
         limit): each name of an entry has all of its conditions, on each of {arches} architectures",
        all.saturating_mul(arches)
    );
    reader.error(at, message).help =
        "give names once, and conditions that hold for a range of values or bits".to_owned();
}

/// How many nodes of libseccomp's trees are compared to find out what it refuses: a tenth of a second.
const STEPS: u64 = 20_000_000;

/// What keeps the runtimes from starting a container: rules that libseccomp refuses. The
/// specification knows no libseccomp; by it, only rules with the same condition contradict each other.
fn conflicts(reader: &mut Reader<'_>, sets: &[RuleSet<Origin<'_>>], dialect: Dialect) {
    let mut reported = BTreeSet::new();
    let (mut now, mut before) = (STEPS, STEPS);
    for set in sets {
        if dialect == Dialect::Oci {
            for conflict in set.contradictions() {
                if reported.insert((conflict.later.0, conflict.earlier.0)) {
                    report_conflict(reader, Severity::Error, &conflict);
                }
            }
            continue;
        }
        let refused = set.refused(Version::From2_6_1, &mut now);
        let refused_before = set.refused(Version::Before2_6_1, &mut before);
        for conflict in &refused.conflicts {
            if reported.insert((conflict.later.0, conflict.earlier.0)) {
                report_conflict(reader, Severity::Error, conflict);
            }
        }
        for conflict in &refused_before.conflicts {
            let is_new = !refused.conflicts.iter().any(|other| other.nr == conflict.nr);
            if is_new && reported.insert((conflict.later.0, conflict.earlier.0)) {
                report_conflict(reader, Severity::Warning, conflict);
            }
        }
        for ((at, name), rules) in refused.unknown {
            let message = format!(
                "`{name}` has {rules} rules with several actions, so many that it was not found \
                 out whether libseccomp accepts them: that takes more than {STEPS} comparisons \
                 (the limit)"
            );
            reader.warn(at, message).help =
                "give fewer rules, or one action for all rules of the call".to_owned();
        }
    }
}

fn report_conflict(reader: &mut Reader<'_>, severity: Severity, conflict: &Conflict<Origin<'_>>) {
    let (at, name) = conflict.later;
    let earlier = reader.place(conflict.earlier.0);
    let condition = if conflict.same { "the same condition" } else { "an overlapping condition" };
    let (verdict, other) = (conflict.refused, conflict.verdict);
    let via = match conflict.nr.map(|nr| conflict.arch.call_name(nr)) {
        Some(Some(via)) if via != name => format!(" (through `{via}` on {})", conflict.arch),
        None => format!(" (on {}, which has no such call)", conflict.arch),
        _ => String::new(),
    };
    let versions = match severity {
        Severity::Error => "libseccomp refuses such rules, so the container does not start",
        Severity::Warning => "libseccomp before 2.6.1 refuses such rules",
    };
    let advice = if conflict.same {
        "remove one of the two"
    } else {
        "move this entry before the other, or remove one"
    };
    let message =
        format!("`{name}` gets {verdict} here, but {other} under {condition} at {earlier}{via}");
    reader.report(severity, at, message).help = format!("{versions}; {advice}");
}

/// Each once, however many architectures it is about.
fn report_overridden(reader: &mut Reader<'_>, overridden: Vec<Overridden<Origin<'_>>>) {
    let mut reported = BTreeSet::new();
    for Overridden { loser, winner, verdict } in overridden {
        if reported.insert((loser.0, winner.0)) {
            let message = format!(
                "this rule for `{}` has no effect: the one for `{}` at {} gives {verdict} \
                 whenever it would match",
                loser.1,
                winner.1,
                reader.place(winner.0)
            );
            reader.warn(loser.0, message).help = "remove one of the two".to_owned();
        }
    }
}

fn report_hidden(
    reader: &mut Reader<'_>,
    sets: &[RuleSet<Origin<'_>>],
    hidden: Vec<(usize, u32, Origin<'_>)>,
) {
    let mut reported = BTreeSet::new();
    for (index, nr, (at, name)) in hidden {
        let Some(set) = sets.get(index) else { continue };
        if set.is_unconditional(nr) || !reported.insert((at, index)) {
            continue;
        }
        let arch = set.arch();
        let via = arch.call_name(nr).unwrap_or("another call");
        let message = format!(
            "on {arch} programs reach `{name}` through `{via}` too, where a filter cannot see \
             its arguments; there this rule does not check them"
        );
        reader.warn(at, message).help =
            format!("deny `{via}` if the condition matters on {arch}: it has direct calls as well");
    }
}

/// Values that a 32-bit architecture cuts.
fn wide_values(reader: &mut Reader<'_>, entry: &Entry<'_>, arches: &[Arch]) {
    let Some(narrow) = arches.iter().find(|arch| !arch.is_64bit()) else { return };
    let wide = entry.alternatives.iter().flatten().find(|test| test.value() > u64::from(u32::MAX));
    if let (Some(wide), Some((at, name))) = (wide, entry.names.first()) {
        let message = format!(
            "on {narrow}, argument {} of `{name}` is compared with {:#x} instead of {:#x}: only \
             the low 32 bits exist there",
            wide.arg(),
            wide.value() as u32,
            wide.value()
        );
        reader.warn(*at, message).help =
            "this is what libseccomp does; check that it is meant".to_owned();
    }
}

/// Puts runc's part in front of a section: numbers above the largest one that the entries name get
/// ENOSYS, so that programs fall back from calls newer than the profile. x86_64 and x32 have a
/// bound each. On s390 and s390x number 0 gets it too: that is what the kernel reports for a call
/// number it does not know. An architecture of which no number above 0 is named is left alone.
///
/// Names that are reached through `socketcall` or `ipc` do not count where these exist, whatever
/// number they have besides: libseccomp resolves them to negative numbers there.
fn enosys_above(section: &mut Section, entries: &[&Entry<'_>], counts: impl Fn(Arch) -> bool) {
    let mut ranges = Vec::new();
    let names: BTreeSet<&str> =
        entries.iter().flat_map(|entry| &entry.names).map(|(_, name)| *name).collect();
    for arch in section.arches().filter(|arch| counts(*arch)) {
        let direct = names.iter().filter(|name| arch.multiplexed(name).is_none());
        let largest = direct.filter_map(|name| arch.number(name)).max().unwrap_or(0);
        if largest == 0 {
            continue;
        }
        let above = largest.saturating_add(1);
        match arch {
            // Numbers with the bit of x32 are not x86_64's, with or without x32 in the filter.
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
    let calls = CallSet::from_ranges(ranges);
    if !calls.is_empty() {
        let rule = Rule { calls, when: Condition::always(), verdict: Verdict::errno(errno) };
        section.rules.insert(0, rule);
    }
}
