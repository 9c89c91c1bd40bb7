//! The kernel's limit on the total length of the filters of a thread.
//!
//! The kernel counts instructions of eBPF, into which it translates every filter on installation, plus four for each
//! filter that is already installed.
//!
//! Sources: `kernel/seccomp.c`, `seccomp_attach_filter` (`MAX_INSNS_PER_PATH` and the four);
//! `net/core/filter.c`, `bpf_convert_filter` (the translation since Linux 4.14; before, a few
//! jumps took one instruction more). With `net.core.bpf_jit_harden` constants are blinded, and programs get longer.

use callgate_core::{Insn, Op, Program};

/// The maximum for all filters of a thread together (`MAX_INSNS_PER_PATH`).
pub const MAX_INSNS_PER_THREAD: usize = 32_768;

/// Added for each filter but the newest.
const PER_FILTER: usize = 4;

/// Instructions that the kernel puts before every program: it clears two registers and copies a third.
const PROLOGUE: usize = 3;

/// The number of eBPF instructions to which the kernel translates a program.
///
/// ```
/// use callgate::Verdict;
/// use callgate_core::{Insn, Op, Program};
///
/// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
/// assert_eq!(callgate_linux::kernel_insns(&program), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kernel_insns(program: &Program) -> usize {
    PROLOGUE + program.iter().map(translated).sum::<usize>()
}

/// How much of [`MAX_INSNS_PER_THREAD`] filters use, given the number of eBPF instructions of each.
pub fn budget_used(kernel_insns: impl IntoIterator<Item = usize>) -> usize {
    let counted = kernel_insns.into_iter().map(|insns| insns + PER_FILTER);
    counted.sum::<usize>().saturating_sub(PER_FILTER)
}

/// The number of eBPF instructions for one instruction.
fn translated(insn: &Insn) -> usize {
    match insn.op {
        Op::RetK => 2,
        // Returns 0 if X is zero: three instructions and the return.
        Op::DivX => 5,
        op if op.is_branch() => {
            // A constant above the signed 32-bit range needs a register.
            let constant = matches!(op, Op::JeqK | Op::JgtK | Op::JgeK | Op::JsetK);
            let wide = usize::from(constant && insn.k > i32::MAX as u32);
            let inverted = insn.jt == 0 && !matches!(op, Op::JsetK | Op::JsetX);
            wide + if insn.jf == 0 || inverted { 1 } else { 2 }
        }
        _ => 1,
    }
}
