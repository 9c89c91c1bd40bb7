//! What the filters of a thread may have together.
//!
//! The kernel does not count instructions of classic BPF but of its own form, eBPF, into which it
//! translates every filter when it is installed, and four more for each filter that is there already.
//!
//! Sources: `kernel/seccomp.c`, `seccomp_attach_filter` (`MAX_INSNS_PER_PATH` and the four);
//! `net/core/filter.c`, `bpf_convert_filter` (the translation, as it is since Linux 4.14; before, a few
//! jumps took one more). With `net.core.bpf_jit_harden` constants are hidden, and programs get longer.

use callgate::bpf::{Insn, Op, Program};

/// What all filters of a thread may have together (`MAX_INSNS_PER_PATH`).
pub const MAX_INSNS_PER_THREAD: usize = 32_768;

/// What the kernel adds for each filter below the newest.
const PER_FILTER: usize = 4;

/// What the kernel puts before every program: it clears two registers and copies a third.
const PROLOGUE: usize = 3;

/// How many instructions a program has in the kernel's own form.
///
/// ```
/// use callgate::Verdict;
/// use callgate::bpf::{Insn, Op, Program};
///
/// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
/// assert_eq!(callgate_linux::kernel_insns(&program), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kernel_insns(program: &Program) -> usize {
    PROLOGUE + program.iter().map(translated).sum::<usize>()
}

/// How much of [`MAX_INSNS_PER_THREAD`] filters take together that have so many instructions each in
/// the kernel's own form.
pub fn budget_used(kernel_insns: impl IntoIterator<Item = usize>) -> usize {
    let counted = kernel_insns.into_iter().map(|insns| insns + PER_FILTER);
    counted.sum::<usize>().saturating_sub(PER_FILTER)
}

/// How many instructions one becomes.
fn translated(insn: &Insn) -> usize {
    match insn.op {
        Op::RetK => 2,
        // A zero X ends the program: three instructions and the end of it.
        Op::DivX => 5,
        op if op.is_branch() => {
            // A constant that is negative as a signed number needs a register.
            let constant = matches!(op, Op::JeqK | Op::JgtK | Op::JgeK | Op::JsetK);
            let wide = usize::from(constant && insn.k > i32::MAX as u32);
            let turned = insn.jt == 0 && !matches!(op, Op::JsetK | Op::JsetX);
            wide + if insn.jf == 0 || turned { 1 } else { 2 }
        }
        _ => 1,
    }
}
