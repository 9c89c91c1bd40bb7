//! Syscalls that every program makes, although it does not ask for them.

use callgate_proof::diagram::Pred;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::Findings;
use crate::lint::view::View;

/// Syscalls, alternatives of which one is enough, and what fails without them.
const NEEDED: [(&[&str], &str, &str); 4] = [
    (&["rt_sigreturn", "sigreturn"], "a signal handler cannot return", "allow it"),
    (
        &["restart_syscall"],
        "a sleep or poll that a stop signal interrupted fails (signal(7))",
        "allow it: it only continues a syscall that was already permitted",
    ),
    (&["exit_group"], "the process cannot exit", "allow it"),
    (&["exit"], "a thread cannot end", "allow it"),
];

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        // An ABI of which nothing is permitted is denied on purpose.
        let mut is_used = false;
        for (_, name) in arch.syscalls() {
            is_used = is_used || view.may_be_permitted(arch, name)?;
        }
        if !is_used {
            continue;
        }
        for (names, effect, help) in NEEDED {
            let mut denied = Vec::new();
            let mut is_possible = false;
            for name in names.iter().copied() {
                let Some((_, func)) = view.named(arch, name) else { continue };
                match view.denies(func)? {
                    Pred::ALWAYS => denied.push(name),
                    _ => is_possible = true,
                }
            }
            let Some(first) = denied.first().copied().filter(|_| !is_possible) else { continue };
            let message = format!("`{first}` is denied: {effect}");
            let at = view.place(arch, first, |_| true);
            let example = view.denied_example(arch, first)?;
            let finding = Finding::new(Check::NeededCall, message).help(help).at(at).on(arch);
            findings.add(finding.about([first]).examples([example]));
        }
    }
    Ok(())
}
