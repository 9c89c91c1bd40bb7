//! Filters that cost more than necessary, with figures.

use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_core::{Arch, Emulator, Verdict};

use crate::compile::Options;
use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::{Example, Finding};
use crate::lint::findings::{Findings, listed};
use crate::lint::view::View;
use crate::optimize::optimize;
use crate::stack::{Stack, merge};

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
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
