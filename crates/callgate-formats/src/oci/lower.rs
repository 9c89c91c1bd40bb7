//! From a typed profile to a policy: which entries apply on which architectures, how they combine,
//! and what stands in front of them.

use std::collections::BTreeSet;

use super::super::reader::Reader;
use super::super::tree::shorten;
use super::super::{FilterFlags, Listener};
use super::schema::{Arches, Entry, Raw};
use super::{Dialect, Options};
use crate::ruleset::{Conflict, Overridden, RuleSet, sections};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::{Arch, X32_SYSCALL_BIT, is_known_name, nearest_name};
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
    notify(reader, raw, dialect);
    unknown_names(reader, raw, options.strict);
    let arches = choose_arches(reader, raw, options);
    let applies =
        |entry: &&Entry<'_>| !entry.excludes.excludes(options) && entry.includes.includes(options);
    let entries: Vec<&Entry<'_>> = raw.entries.iter().filter(applies).collect();
    let rules = combine(reader, &entries, &arches, raw.default.verdict);
    if !reader.failed() && rules.iter().all(RuleSet::is_empty) && !raw.entries.is_empty() {
        let message = format!("no entry changes anything: every call gets {}", raw.default.verdict);
        reader.warn(raw.at, message).help =
            "no entry applies here, or all have the default action".to_owned();
    }

    let mut sections = sections(&rules, raw.default.verdict, BAD_ARCH);
    let permissive =
        matches!(raw.default.verdict.action(), Action::Allow | Action::Log | Action::Trace(_));
    let enosys = options.enosys_above.unwrap_or(dialect.enosys_above());
    // runc leaves its part out too when `defaultErrnoRet` says the same already.
    let said = |arch: Arch| raw.default_errno == Some(arch.enosys());
    if enosys && !permissive && !arches.first().copied().is_some_and(said) {
        for section in &mut sections {
            enosys_above(section, &entries);
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
fn notify(reader: &mut Reader<'_>, raw: &Raw<'_>, dialect: Dialect) {
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
    let notifying = raw.entries.iter().filter(|entry| entry.action.name == NOTIFY);
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

/// How many unknown names get a suggestion: a text that is no profile at all may have a million.
const SUGGESTIONS: usize = 50;

/// Names that no architecture has.
fn unknown_names(reader: &mut Reader<'_>, raw: &Raw<'_>, strict: bool) {
    let names = raw.entries.iter().flat_map(|entry| &entry.names);
    let unknown = names.filter(|(_, name)| !name.is_empty() && !is_known_name(name));
    for (count, (at, name)) in unknown.enumerate() {
        let near = if count < SUGGESTIONS { nearest_name(name) } else { None };
        let name = shorten(name);
        let (severity, message) = if strict {
            (Severity::Error, format!("no architecture has a call `{name}`"))
        } else {
            (Severity::Warning, format!("no architecture has a call `{name}`; it is skipped"))
        };
        reader.report(severity, *at, message).help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "check the spelling against syscalls(2)".to_owned(),
        };
    }
}

/// The architectures of the filter, the native one first.
fn choose_arches(reader: &mut Reader<'_>, raw: &Raw<'_>, options: &Options) -> Vec<Arch> {
    let native = options.judged_against();
    let mut chosen = vec![native];
    let mut add = |arch: Arch| {
        if !chosen.contains(&arch) {
            chosen.push(arch);
        }
    };
    if options.arches.is_empty() {
        for (at, arch) in said_arches(reader, raw, native) {
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

/// What the profile adds to the native architecture.
fn said_arches(reader: &mut Reader<'_>, raw: &Raw<'_>, native: Arch) -> Vec<(usize, Arch)> {
    let mut unknown = |severity: Severity, at: usize, name: &str| {
        let message = format!("there is no architecture \"{}\"", shorten(name));
        let spelt = Arch::from_name(name)
            .map(Arch::oci_name)
            .or_else(|| nearest(name, Arch::ALL.iter().map(|arch| arch.oci_name())));
        reader.report(severity, at, message).help = match spelt {
            Some(near) => format!("write \"{near}\""),
            None => "the names are SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64, …".to_owned(),
        };
    };
    let known = |name: &str| Arch::ALL.iter().copied().find(|arch| arch.oci_name() == name);
    let mut said = Vec::new();
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
    said
}

/// A call by its name, as one entry has it: where it stands and what it is called.
type Origin<'n> = (usize, &'n str);

/// The rules of all entries that apply.
fn combine<'n>(
    reader: &mut Reader<'_>,
    entries: &[&Entry<'n>],
    arches: &[Arch],
    default: Verdict,
) -> Vec<RuleSet<Origin<'n>>> {
    let mut sets: Vec<RuleSet<Origin<'n>>> = arches.iter().copied().map(RuleSet::new).collect();
    let mut overridden: Vec<Overridden<Origin<'n>>> = Vec::new();
    let mut hidden: Vec<(usize, u32, Origin<'n>)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.action.verdict != default) {
        wide_values(reader, entry, arches);
        for origin in entry.names.iter().copied() {
            for comparisons in &entry.alternatives {
                let mut conflict = None;
                for (index, set) in sets.iter_mut().enumerate() {
                    match set.add_call(origin.1, comparisons, entry.action.verdict, origin) {
                        Ok(added) => {
                            overridden.extend(added.overridden);
                            hidden.extend(added.hidden_behind.map(|nr| (index, nr, origin)));
                        }
                        Err(found) => conflict = conflict.or(Some(found)),
                    }
                }
                if let Some(conflict) = conflict {
                    report_conflict(reader, origin, entry.action.verdict, &conflict);
                }
            }
        }
    }
    report_overridden(reader, overridden);
    report_hidden(reader, &sets, hidden);
    sets
}

fn report_conflict(
    reader: &mut Reader<'_>,
    (at, name): Origin<'_>,
    verdict: Verdict,
    conflict: &Conflict<Origin<'_>>,
) {
    let earlier = reader.place(conflict.earlier.0);
    let condition = if conflict.same { "the same condition" } else { "a narrower condition" };
    let other = conflict.verdict;
    let via = match conflict.arch.call_name(conflict.nr) {
        Some(via) if via != name => format!(" (through `{via}` on {})", conflict.arch),
        _ => String::new(),
    };
    let message =
        format!("`{name}` gets {verdict} here, but {other} under {condition} at {earlier}{via}");
    reader.error(at, message).help = if conflict.same {
        "the runtimes refuse such a profile; remove one of the two".to_owned()
    } else {
        "the runtimes refuse such a profile; move this entry before the other, or remove one"
            .to_owned()
    };
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
fn enosys_above(section: &mut Section, entries: &[&Entry<'_>]) {
    let mut ranges = Vec::new();
    let names = || entries.iter().flat_map(|entry| &entry.names).map(|(_, name)| *name);
    for arch in &section.arches {
        let largest = names().filter_map(|name| arch.number(name)).max().unwrap_or(0);
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
    let errno = section.arches.first().map_or(38, |arch| arch.enosys());
    let calls = CallSet::from_ranges(ranges);
    if !calls.is_empty() {
        let rule = Rule { calls, when: Condition::always(), verdict: Verdict::errno(errno) };
        section.rules.insert(0, rule);
    }
}
