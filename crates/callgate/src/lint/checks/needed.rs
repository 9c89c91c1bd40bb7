//! Syscalls that every program makes, although it does not ask for them.

use callgate_bpf::SyscallTable;
use callgate_core::Arch;
use callgate_core::diagram::Pred;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::Findings;
use crate::lint::view::View;

/// Syscalls, what fails without them, and what to do.
const NEEDED: [(&str, &str, &str); 5] = [
    ("rt_sigreturn", "a signal handler cannot return", "allow it"),
    (
        "sigreturn",
        "a handler of signals that is installed without SA_SIGINFO cannot return",
        "allow it",
    ),
    (
        "restart_syscall",
        "a sleep or poll that a stop signal interrupted fails (signal(7))",
        "allow it: it only continues a syscall that was already permitted",
    ),
    ("exit_group", "the process cannot exit", "allow it"),
    ("exit", "a thread cannot end", "allow it"),
];

/// Whether the kernel has a frame for handlers that are installed without SA_SIGINFO, which returns by `sigreturn`
/// (`setup_frame` in `arch/*/kernel/signal.c`). Others have the number only.
fn has_old_frames(arch: Arch) -> bool {
    matches!(
        arch,
        Arch::X86
            | Arch::Arm
            | Arch::S390
            | Arch::S390x
            | Arch::Ppc
            | Arch::Mips
            | Arch::Mipsel
            | Arch::M68k
            | Arch::Sh
            | Arch::Sheb
    )
}

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
        for (name, effect, help) in NEEDED {
            let Some((_, func)) = view.named(arch, name) else { continue };
            if view.denies(func)? != Pred::ALWAYS || (name == "sigreturn" && !has_old_frames(arch))
            {
                continue;
            }
            let message = format!("`{name}` is denied: {effect}");
            let at = view.place(arch, name, |_| true);
            let example = view.denied_example(arch, name)?;
            let finding = Finding::new(Check::NeededCall, message).help(help).at(at).on(arch);
            findings.add(finding.about([name]).examples([example]));
        }
    }
    Ok(())
}
