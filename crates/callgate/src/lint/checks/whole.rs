//! The filter as a whole: it denies nothing, asks a listener, decides about syscalls that no kernel has yet, costs more than
//! necessary, or is a long list whose other form is short.

use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_codegen::query::partition;
use callgate_core::diagram::Pred;
use callgate_core::{Action, Arch, Emulator, SeccompData, Verdict, Word, X32_SYSCALL_BIT};
use callgate_formats::statements::Site;
use rustc_hash::FxHashSet as HashSet;

use crate::compile::Options;
use crate::convert::ListForm;
use crate::error::Result;
use crate::explain::explain;
use crate::lint::check::Check;
use crate::lint::finding::{Example, Finding, Findings, listed};
use crate::lint::view::View;
use crate::optimize::optimize;
use crate::stack::{Stack, merge};

/// The most intervals of numbers; a filter with more does not permit everything.
const MAX_INTERVALS: usize = 1 << 14;

pub(in crate::lint) fn verdicts(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    allows_all(view, findings)?;
    notify(view, findings)?;
    unknown_numbers(view, findings)
}

/// Whether a filter permits every number of its ABIs with all arguments. Those of x32 do not count for x86-64: libseccomp
/// denies them in every filter.
fn allows_all(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    let mut permitted = Vec::new();
    for arch in view.arches.iter().copied() {
        let numbers = view.store.follow(view.whole, Word::ARCH, arch.token());
        let Some(intervals) = partition(&view.store, numbers, Word::NR, MAX_INTERVALS) else {
            return Ok(());
        };
        let (first, last) = match arch {
            Arch::X86_64 => (0, X32_SYSCALL_BIT - 1),
            Arch::X32 => (X32_SYSCALL_BIT, 2 * X32_SYSCALL_BIT - 1),
            _ => (0, u32::MAX),
        };
        for interval in intervals.iter().filter(|own| own.first <= last && first <= own.last) {
            if view.permits(interval.then)? != Pred::ALWAYS {
                return Ok(());
            }
        }
        let data =
            SeccompData { arch: arch.token(), nr: arch.first_number(), ..SeccompData::default() };
        permitted.push(view.run(arch, data)?);
    }
    let Some(example) = permitted.first().copied() else { return Ok(()) };
    let logs = permitted.iter().any(|example| example.verdict.action() == Action::Log)
        || view.store.verdicts(view.whole).iter().any(|verdict| verdict.action() == Action::Log);
    let message = match logs {
        true => "every syscall is permitted: the filter only logs, and denies nothing".to_owned(),
        false => {
            format!("every syscall gets {} or another verdict that permits it", example.verdict)
        }
    };
    let help = match logs {
        true => {
            "set another default action, such as SCMP_ACT_ERRNO, after the program was observed"
        }
        false => {
            "list the syscalls that the program does not need, or allow only those that it needs"
        }
    };
    let finding = Finding::new(Check::AllowsAll, message).help(help).examples([Some(example)]);
    findings.add(Finding { arches: view.arches.to_vec(), ..finding });
    Ok(())
}

fn notify(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        let mut names = Vec::new();
        let mut example = None;
        for (nr, name) in arch.syscalls() {
            let func = view.call(arch, nr);
            let verdicts = view.store.verdicts(func);
            let Some(verdict) = verdicts.into_iter().find(|verdict| asks_listener(*verdict)) else {
                continue;
            };
            names.push(name);
            if example.is_none() {
                let asked = callgate_codegen::query::has_verdict(&mut view.store, func, verdict)?;
                example = view.example(arch, nr, asked)?;
            }
        }
        let Some(first) = names.first() else { continue };
        let place = view.place(arch, first, |rule| asks_listener(rule.verdict));
        let message = format!("a listener decides about {}", listed(&names));
        let help = "the listener must not let the kernel continue a syscall because of memory that it has read; \
                    it can perform the syscall itself instead";
        let finding = Finding::new(Check::Notify, message).help(help).at(place).on(arch);
        findings.add(finding.about(names).examples([example]));
    }
    Ok(())
}

fn asks_listener(verdict: callgate_core::Verdict) -> bool {
    matches!(verdict.action(), Action::UserNotif(_))
}

fn unknown_numbers(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        let nr = arch.first_number() + crate::convert::UNNAMED;
        let data = SeccompData { arch: arch.token(), nr, ..SeccompData::default() };
        let example = view.run(arch, data)?;
        let verdict = example.verdict;
        let (message, help) = if verdict.permits() {
            (
                "syscalls that newer kernels add are permitted".to_owned(),
                "list what is allowed instead of what is denied",
            )
        } else if verdict.action() != Action::Errno(arch.enosys())
            && crate::lint::view::denies(verdict)
        {
            (
                format!("syscalls that newer kernels add get {verdict}; programs expect ENOSYS"),
                "return ENOSYS for numbers that are larger than those that the filter knows",
            )
        } else {
            continue;
        };
        let place =
            view.texts().find_map(|(filter, text)| Some((filter, Some(text.default.clone()?))));
        let finding = Finding::new(Check::UnknownNumbers, message).help(help).on(arch);
        findings.add(finding.at(place.unwrap_or((0, None))).examples([Some(example)]));
    }
    Ok(())
}

pub(in crate::lint) fn cost(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for filter in 0..view.subjects.len() {
        not_cached(view, findings, filter)?;
        slow_program(view, findings, filter);
    }
    unmerged_stack(view, findings);
    Ok(())
}

/// The kernel knows the numbers of its table for the arch, which those of x32 are not in.
fn not_cached(view: &mut View<'_>, findings: &mut Findings, filter: usize) -> Result<()> {
    let Some((program, _)) = view.subjects.get(filter).and_then(|subject| subject.program) else {
        return Ok(());
    };
    let Some(own) = view.own.get(filter).copied() else { return Ok(()) };
    for arch in view.arches.iter().copied().filter(|arch| *arch != Arch::X32) {
        let mut emulator = Emulator::new(program.insns());
        let is_slow = |(nr, _): &(u32, &'static str)| {
            let verdict = view.store.as_verdict(view.call_in(own, arch, *nr));
            verdict == Some(Verdict::ALLOW) && !emulator.is_constant_allow(arch.token(), *nr)
        };
        let slow: Vec<_> = arch.syscalls().filter(is_slow).collect();
        let Some((nr, _)) = slow.first() else { continue };
        let names: Vec<&'static str> = slow.iter().map(|(_, name)| *name).collect();
        let message = format!(
            "the kernel runs the filter for {} always allowed syscalls, because it cannot recognize them: {}",
            names.len(),
            listed(&names)
        );
        let data = callgate_core::SeccompData { arch: arch.token(), nr: *nr, ..Default::default() };
        let example: Option<Example> = Some(view.run(arch, data)?);
        let finding =
            Finding::new(Check::NotCached, message).help(Advice::RecognizedFirst).on(arch);
        findings.add(Finding { filter, ..finding.about(names).examples([example]) });
    }
    Ok(())
}

fn slow_program(view: &View<'_>, findings: &mut Findings, filter: usize) {
    let Some((program, endian)) = view.subjects.get(filter).and_then(|subject| subject.program)
    else {
        return;
    };
    // A program that cannot be optimized within the budget has no finding.
    let Ok(optimized) = optimize(program, endian, view.arches, &Options::default()) else { return };
    if optimized.outcome.is_err() {
        return;
    }
    let executed = |mean: Option<f64>| {
        mean.map(|mean| format!(" and {mean:.1} executed per syscall")).unwrap_or_default()
    };
    let message = format!(
        "{} instructions{}; an equal program has {}{}",
        optimized.before.insns,
        executed(optimized.before.expected_insns),
        optimized.after.insns,
        executed(optimized.after.expected_insns),
    );
    let finding = Finding::new(Check::SlowProgram, message).help(Advice::Optimize);
    findings.add(Finding { filter, ..finding });
}

fn unmerged_stack(view: &View<'_>, findings: &mut Findings) {
    if view.subjects.len() < 2 {
        return;
    }
    let options = Options::default();
    let filters: Vec<_> = view.subjects.iter().map(|subject| subject.filter).collect();
    let (mut insns, mut executed) = (0, 0.0);
    for (subject, filter) in view.subjects.iter().zip(&filters) {
        let (length, mean) = match subject.program {
            Some((program, endian)) => match optimize(program, endian, view.arches, &options) {
                Ok(optimized) => (program.len(), optimized.before.expected_insns),
                Err(_) => return,
            },
            None => match filter.compile(view.arches, &options) {
                Ok(compiled) => (compiled.program.len(), compiled.stats.expected_insns),
                Err(_) => return,
            },
        };
        insns += length;
        executed += mean.unwrap_or(0.0);
    }
    // Some stacks cannot be merged, for example because of a listener.
    let merged = Stack::new(filters).and_then(|stack| merge(&stack, view.arches, &options));
    let Ok(merged) = merged else { return };
    let stats = merged.compiled.stats;
    let message = format!(
        "{} filters have {insns} instructions, of which {executed:.1} are executed per syscall; one filter has {} \
         and {:.1}",
        view.subjects.len(),
        merged.compiled.program.len(),
        stats.expected_insns.unwrap_or(0.0),
    );
    findings.add(Finding::new(Check::UnmergedStack, message).help(Advice::Merge));
}

pub(in crate::lint) fn lists(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    let Some(arch) = view.arches.first().copied() else { return Ok(()) };
    for (filter, text) in view.texts() {
        let Some(own) = view.own.get(filter).copied() else { continue };
        let explained = explain(&view.store, own, &[arch]);
        let Some((form, [long, short])) = explained.arches.first().and_then(ListForm::much_longer)
        else {
            continue;
        };
        // One word of a text may stand for many syscalls.
        let written: HashSet<_> = text.rules.iter().map(|rule| place(&rule.site)).collect();
        if 2 * written.len() < long || short == 0 {
            continue;
        }
        // A list has a comparison for each syscall; a denylist is compared to its end where it does not apply.
        let [now, then] = match form {
            ListForm::Allowed => [long / 2, short],
            ListForm::Denied => [long, short / 2],
        };
        let message = format!(
            "this list of {} syscalls has {long} entries; one of {} syscalls would have {short}, with the same effect on all \
             syscalls that have a name. A program that tests one number after the other compares {now} on average until a \
             syscall is allowed, and {then} with the other list",
            form.name(),
            form.other().name()
        );
        let help = match form {
            ListForm::Allowed => Advice::DenyList,
            ListForm::Denied => Advice::AllowList,
        };
        let at = (filter, text.default.clone());
        findings.add(Finding::new(Check::LongList, message).help(help).at(at).on(arch));
    }
    Ok(())
}

fn place(site: &Site) -> (Option<&str>, u32, u32) {
    (site.file.as_deref(), site.position.line, site.position.column)
}
