//! The kernel's limit for the filters of a process.

use callgate::Verdict;
use callgate_core::{Insn, Op, Program};
use callgate_linux::{FilterFlags, budget_used, install_unproved, kernel_insns};
use callgate_testing::TestResult;

/// The kernel accepts as many filters as fit by our count, and not one more.
pub(super) fn the_budget_is_counted_as_the_kernel_counts() -> TestResult {
    let insn = Insn::new;
    let ld = insn(Op::LdWordAbs, 0);
    let programs: [&[Insn]; 6] = [
        &[],
        // A branch to the next instruction, the other way round, and two far sides.
        &[ld, Insn::branch(Op::JeqK, 1, 1, 0), Insn::branch(Op::JgtK, 2, 0, 1), insn(Op::Neg, 0)],
        &[Insn::branch(Op::JgeK, 1, 1, 2), insn(Op::LdImm, 1), insn(Op::LdxImm, 1)],
        &[Insn::branch(Op::JsetK, 1, 0, 1), Insn::branch(Op::JsetK, 1, 1, 0), ld],
        // Constants that are negative, and comparisons with X.
        &[Insn::branch(Op::JeqK, 1 << 31, 0, 1), Insn::branch(Op::JgtX, 9, 0, 1), insn(Op::Tax, 0)],
        // A division, a length, scratch words.
        &[insn(Op::LdxLen, 0), insn(Op::DivX, 0), insn(Op::St, 1), insn(Op::LdxMem, 1), ld],
    ];
    for body in programs {
        let mut code = vec![ld; 1200];
        for insns in code.chunks_exact_mut(body.len().max(1)).take(100) {
            insns[..body.len()].copy_from_slice(body);
        }
        let allow = Verdict::ALLOW.0;
        code.push(insn(Op::LdImm, allow));
        code.push(Insn::branch(Op::JeqK, allow, 0, 1));
        code.extend([insn(Op::RetA, 0), insn(Op::RetK, allow)]);
        let program = Program::new(code).unwrap();
        let insns = kernel_insns(&program);
        let fit = (1..).find(|n| budget_used(vec![insns; n + 1]) > 32_768).unwrap();
        let installed = std::thread::spawn(move || {
            (0..).take_while(|_| install_unproved(&program, FilterFlags::NONE).is_ok()).count()
        });
        assert_eq!(installed.join().unwrap(), fit, "{body:?}: {insns}");
    }
    Ok(())
}
