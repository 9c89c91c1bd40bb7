//! Whether a program passes syscalls to a listener.

use callgate_core::diagram::{Budget, Store};
use callgate_core::{Action, Endian, Insn, LongProgram, Op, Verdict};

/// Whether a program can return USER_NOTIF, so that it must be installed with `SECCOMP_FILTER_FLAG_NEW_LISTENER`. Without a
/// listener, the kernel fails these syscalls with ENOSYS.
///
/// If the program computes verdicts (`RET A`), symbolic execution finds all their values. If that exceeds the default budget,
/// the answer is `true`.
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
    let has_constant = program.iter().any(|insn| insn.op == Op::RetK && notifies(Verdict(insn.k)));
    has_constant || computed_verdicts(program).is_none_or(|all| all.into_iter().any(notifies))
}

fn notifies(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::UserNotif(_))
}

/// All verdicts of a program, also those that it computes; none if it returns only constants, and `None` if they are too hard to
/// find.
pub(crate) fn computed_verdicts(program: &[Insn]) -> Option<Vec<Verdict>> {
    if !program.iter().any(|insn| insn.op == Op::RetA) {
        return Some(Vec::new());
    }
    let program = LongProgram::new(program.to_vec()).ok()?;
    let mut store = Store::new(Budget::default());
    // The byte order swaps the halves of arguments, which have the same values.
    let func = store.program(&program, Endian::Little).ok()?;
    Some(store.verdicts(func))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(insns: &[(Op, u32)]) -> bool {
        let insns: Vec<Insn> = insns.iter().map(|(op, k)| Insn::new(*op, *k)).collect();
        needs_listener(&insns)
    }

    #[test]
    fn computed_verdicts_notify_if_one_of_their_values_does() {
        let notif = Verdict::user_notif(7).0;
        let ret = (Op::RetA, 0);
        for (insns, expected) in [
            (&[(Op::LdImm, notif), ret][..], true),
            (&[(Op::LdxImm, notif), (Op::Txa, 0), ret], true),
            (&[(Op::LdImm, notif), (Op::St, 3), (Op::LdImm, 0), (Op::LdMem, 3), ret], true),
            (&[(Op::LdImm, 0x7fc0), (Op::LshK, 16), ret], true),
            (&[(Op::LdWordAbs, 16), (Op::AndK, 0xff), (Op::OrK, notif), ret], true),
            // An argument is the verdict.
            (&[(Op::LdWordAbs, 16), ret], true),
            (&[(Op::LdWordAbs, 16), (Op::AndK, 0xff), (Op::OrK, Verdict::errno(0).0), ret], false),
            // A constant that is not the verdict.
            (&[(Op::LdImm, notif), (Op::LdImm, Verdict::ALLOW.0), ret], false),
        ] {
            assert_eq!(of(insns), expected, "{insns:?}");
        }
    }
}
