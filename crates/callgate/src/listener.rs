//! Whether a program passes syscalls to a listener.

use callgate_core::{Action, Insn, Op, Verdict};

/// Whether a program can return USER_NOTIF, so that it must be installed with `SECCOMP_FILTER_FLAG_NEW_LISTENER`. Without a
/// listener, the kernel fails these syscalls with ENOSYS.
///
/// Programs that return the accumulator count if they load such a verdict as a constant.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, needs_listener};
///
/// let builder = Filter::builder(Arch::X86_64).allow(["read"])?;
/// assert!(!needs_listener(builder.clone().build()?.compile()?.insns()));
/// let notifies = builder.rule(Verdict::user_notif(0), ["openat"])?.build()?.compile()?;
/// assert!(needs_listener(notifies.insns()));
/// # Ok::<(), callgate::Error>(())
/// ```
pub fn needs_listener(program: &[Insn]) -> bool {
    let returns_accumulator = program.iter().any(|insn| insn.op == Op::RetA);
    program.iter().any(|insn| {
        let is_returned = insn.op == Op::RetK || returns_accumulator && insn.op == Op::LdImm;
        is_returned && matches!(Verdict(insn.k).action(), Action::UserNotif(_))
    })
}
