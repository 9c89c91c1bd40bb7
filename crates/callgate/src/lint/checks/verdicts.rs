//! Verdicts of the filter as a whole: it denies nothing, it asks a listener, it decides about syscalls that no kernel has yet.

use callgate_bpf::SyscallTable;
use callgate_core::diagram::Pred;
use callgate_core::{Action, SeccompData, Word};

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::{Findings, listed};
use crate::lint::view::View;

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    allows_all(view, findings)?;
    notify(view, findings)?;
    unknown_numbers(view, findings)
}

fn allows_all(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    let mut permitted = Vec::new();
    for arch in view.arches.iter().copied() {
        let numbers = view.store.follow(view.whole, Word::ARCH, arch.token());
        if view.permits(numbers)? != Pred::ALWAYS {
            return Ok(());
        }
        let data =
            SeccompData { arch: arch.token(), nr: arch.first_number(), ..SeccompData::default() };
        permitted.push(view.run(arch, data)?);
    }
    let Some(example) = permitted.first().copied() else { return Ok(()) };
    let message =
        format!("every syscall gets {} or another verdict that permits it", example.verdict);
    let finding = Finding::new(Check::AllowsAll, message)
        .help("list the syscalls that the program does not need, or allow only those that it needs")
        .examples([Some(example)]);
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
