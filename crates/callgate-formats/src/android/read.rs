//! Reads lists: from the texts to an [`AndroidPolicy`].

use std::collections::{BTreeMap, BTreeSet};

use super::line::{arch_name, arches_of, arm_name, kernel_name, number};
use super::lists::{ArchLists, Lists, lists};
use super::options::{AndroidPolicy, ListText, ReadOptions};
use crate::capabilities::CapSet;
use crate::files::{At, FileErrors, Report};
use crate::statements::{Inactive, Inactivity, Site, Statement, Statements};
use callgate_bpf::diagnostic::Severity;
use callgate_core::policy::{Condition, Policy, PolicyError, Rule, Section};
use callgate_core::{Arch, Verdict};

/// Reads the lists of a filter. A list of allowed syscalls alone is the filter that allows only these.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::android::{ListKind, ListText, ReadOptions, read};
///
/// let lists = [
///     ListText::new(ListKind::Base, "__close:close(int) all\nchroot(const char*) all\n"),
///     ListText::new(ListKind::Block, "chroot(const char*) all\n"),
/// ];
/// let policy = read(&lists, &ReadOptions::new(Arch::Aarch64))?.policy;
/// let call = |nr| SeccompData { nr, arch: Arch::Aarch64.token(), ..SeccompData::default() };
/// assert_eq!(policy.evaluate(&call(57)), Verdict::ALLOW); // close
/// assert_eq!(policy.evaluate(&call(51)), Verdict::trap(0)); // chroot
/// # Ok::<(), callgate_formats::android::FileErrors>(())
/// ```
///
/// # Errors
/// All messages about the texts, including warnings, if at least one is an error.
pub fn read(texts: &[ListText<'_>], options: &ReadOptions) -> Result<AndroidPolicy, FileErrors> {
    let mut report = Report::new(texts.iter().map(|list| list.text));
    let arches = arches_of(options.native);
    if arches.is_empty() {
        let message = format!("bionic has no filters for {}", options.native);
        report.error(At::default(), message).help =
            "give one of its architectures: x86_64, aarch64 or riscv64, for old lists mipsel64"
                .to_owned();
        return Err(report.finish().into());
    }
    let lists = lists(&mut report, texts, arches, options);
    if report.failed() {
        return Err(report.finish().into());
    }
    warn_about_old(&mut report, &lists);
    match lower(&mut report, &lists) {
        Ok((policy, priorities, entries)) if !report.failed() => {
            let statements =
                options.statements.then(|| statements(&report, texts, &lists, &entries));
            Ok(AndroidPolicy { policy, priorities, statements, warnings: report.finish() })
        }
        Ok(_) => Err(report.finish().into()),
        Err(error) => {
            report.error(At::default(), error.to_string());
            Err(report.finish().into())
        }
    }
}

/// Warns if the C library of this version may not have an architecture, for which `all` stands here.
fn warn_about_old(report: &mut Report<'_>, lists: &Lists<'_>) {
    let Some(at) = lists.base_at else { return };
    let is_rare = |arch: Arch| matches!(arch, Arch::Riscv64 | Arch::Mipsel64 | Arch::Mipsel);
    for of_arch in lists.arches.iter().filter(|of_arch| is_rare(of_arch.arch)) {
        if !lists.named.has(of_arch.arch) {
            let name = arch_name(of_arch.arch);
            let message =
                format!("no entry names {name}, so this version of bionic may not have it");
            report.warn(at, message).help =
                "Android 10 and earlier have mips and mips64, Android 14 and later riscv64"
                    .to_owned();
        }
    }
}

/// What bionic's filters return for syscalls that they do not allow, and for other architectures.
const OTHERS: Verdict = Verdict::trap(0);

/// Architectures of an entry that have the same problem, by its place and its name.
type Problems<'t> = BTreeMap<(At, &'t str), Vec<Arch>>;

/// The syscalls that an architecture allows, by name, with their numbers and the places of the entries.
pub(super) type Allowed = BTreeMap<&'static str, (u32, At)>;

/// The policy, the frequent syscalls that it allows, and the entries of each architecture.
pub(super) fn lower(
    report: &mut Report<'_>,
    lists: &Lists<'_>,
) -> Result<(Policy, Vec<&'static str>, Vec<Allowed>), PolicyError> {
    check_blocked(report, &lists.arches, lists.base_at.is_some());
    let mut missing = Problems::new();
    let mut sections = Vec::new();
    let mut entries = Vec::new();
    let mut frequent = BTreeSet::new();
    for of_arch in &lists.arches {
        let arch = of_arch.arch;
        let mut allowed = Allowed::new();
        let kept = of_arch.base.iter().filter(|(name, _)| !of_arch.blocked.contains_key(**name));
        for (name, at) in kept.chain(&of_arch.allowed) {
            match (number(arch, name), kernel_name(name)) {
                (Some(nr), Some(name)) => {
                    allowed.entry(name).or_insert((nr, *at));
                }
                _ => missing.entry((*at, *name)).or_default().push(arch),
            }
        }
        trap_low_priorities(report, lists, arch, &mut allowed);
        frequent.extend(allowed.keys().copied());
        let rule = Rule {
            syscalls: allowed.values().map(|(nr, _)| *nr).collect(),
            when: Condition::always(),
            verdict: Verdict::ALLOW,
        };
        sections.push(Section::new(arch, vec![rule], OTHERS));
        entries.push(allowed);
    }
    for ((at, name), arches) in missing {
        let message = format!("there is no syscall `{name}` on {}", names_of(&arches));
        report.error(at, message).help = match arm_name(name)
            .filter(|_| arches.contains(&Arch::Arm))
        {
            Some(other) => format!("on arm it is `{other}`"),
            None => "genseccomp.py refuses it; remove the architecture from this entry".to_owned(),
        };
    }
    let mut priorities = Vec::new();
    for priority in &lists.priorities {
        if frequent.contains(priority.name) {
            priorities.push(priority.name);
        } else {
            let message = format!("`{}` has no effect: it is not allowed", priority.name);
            report.warn(priority.at, message).help = "remove it".to_owned();
        }
    }
    Ok((Policy::new(sections, OTHERS)?, priorities, entries))
}

/// Reports blocked syscalls that the C library does not have, or that an allow list allows again.
fn check_blocked(report: &mut Report<'_>, arches: &[ArchLists<'_>], has_base: bool) {
    let mut unused = Problems::new();
    let mut allowed = Problems::new();
    for of_arch in arches {
        for (name, at) in &of_arch.blocked {
            let problems = if has_base && !of_arch.base.contains_key(name) {
                &mut unused
            } else if of_arch.allowed.contains_key(name) {
                &mut allowed
            } else {
                continue;
            };
            problems.entry((*at, *name)).or_default().push(of_arch.arch);
        }
    }
    for ((at, name), arches) in unused {
        let message = format!(
            "`{name}` is blocked on {}, but SYSCALLS.TXT does not have it",
            names_of(&arches)
        );
        report.error(at, message).help =
            "genseccomp.py refuses it; remove the entry, or the architecture from it".to_owned();
    }
    for ((at, name), arches) in allowed {
        let message = format!(
            "`{name}` is allowed on {} although it is blocked here: an allow list has it, too",
            names_of(&arches)
        );
        report.warn(at, message).help = "remove it from one of the two lists".to_owned();
    }
}

/// Removes frequent syscalls that the program traps, because their numbers are below those of all others: it compares the
/// lowest number of the others first.
fn trap_low_priorities(
    report: &mut Report<'_>,
    lists: &Lists<'_>,
    arch: Arch,
    allowed: &mut Allowed,
) {
    let is_frequent = |name: &str| lists.priorities.iter().any(|priority| priority.name == name);
    let others = allowed.iter().filter(|(name, _)| !is_frequent(name));
    let start = At::default();
    let name = arch_name(arch);
    let Some((first, lowest)) =
        others.map(|(name, (nr, _))| (*name, *nr)).min_by_key(|(_, nr)| *nr)
    else {
        let (severity, message, help) = match lists.base_at {
            Some(_) => (
                Severity::Error,
                format!("no syscall without priority is allowed on {name}"),
                "genseccomp.py fails without one; add an entry for this architecture",
            ),
            None => (
                Severity::Warning,
                format!("no syscall is allowed on {name}: every syscall gets {OTHERS}"),
                "add an entry for this architecture",
            ),
        };
        report.report(severity, lists.base_at.unwrap_or(start), message).help = help.to_owned();
        return;
    };
    for priority in &lists.priorities {
        if let Some((nr, _)) = allowed.get(priority.name).copied().filter(|(nr, _)| *nr < lowest) {
            allowed.remove(priority.name);
            let message = format!(
                "bionic's program traps `{}` on {name}: its number, {nr}, is below that of `{first}`, {lowest}, which \
                 the program compares first",
                priority.name
            );
            report.warn(priority.at, message).help =
                "remove it from the list of priorities to allow it".to_owned();
        }
    }
}

fn names_of(arches: &[Arch]) -> String {
    arches.iter().map(|arch| arch_name(*arch)).collect::<Vec<_>>().join(" and ")
}

/// The entries that allow syscalls, and those that block lists remove.
pub(super) fn statements(
    report: &Report<'_>,
    texts: &[ListText<'_>],
    lists: &Lists<'_>,
    entries: &[Allowed],
) -> Statements {
    let name = |at: At| texts.get(at.file).and_then(|text| text.name);
    let site = |at: At| Site { file: name(at).map(str::to_owned), position: report.position(at) };
    let mut statements = Statements::default();
    let mut blocked = BTreeSet::new();
    for (of_arch, allowed) in lists.arches.iter().zip(entries) {
        let arch = of_arch.arch;
        statements.rules.extend(allowed.iter().map(|(name, (nr, at))| Statement {
            site: site(*at),
            name: (*name).to_owned(),
            arch,
            nr: *nr,
            when: Condition::always(),
            verdict: Verdict::ALLOW,
        }));
        for (name, at) in &of_arch.base {
            let Some(block) = of_arch.blocked.get(name) else { continue };
            let known = kernel_name(name).filter(|_| number(arch, name).is_some());
            if let Some(known) = known.filter(|known| !allowed.contains_key(known)) {
                blocked.insert((*at, known, *block));
            }
        }
    }
    let inactive = |(at, known, block): (At, &'static str, At)| {
        let line = report.line(block);
        let reason = match name(block) {
            Some(file) => format!("{file}:{line} blocks it"),
            None => format!("line {line} of a block list blocks it"),
        };
        Inactive {
            site: site(at),
            name: known.to_owned(),
            verdict: Verdict::ALLOW,
            reason: Inactivity::Elsewhere(reason),
            missing: CapSet::none(),
        }
    };
    statements.inactive = blocked.into_iter().map(inactive).collect();
    statements
}
