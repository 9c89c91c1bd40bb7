//! The filters of the other process.

use callgate::Verdict;
use callgate_core::{Insn, Op, Program};

/// The errno that the filters of the other process give.
pub(super) const DENIED: u16 = 7;

/// `syscall` gets the verdict; the others are allowed.
pub(super) fn except(syscall: libc::c_long, verdict: Verdict) -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, syscall as u32, 0, 1),
        Insn::new(Op::RetK, verdict.0),
        // The kernel ignores the fields that a load does not use, and keeps them.
        Insn { op: Op::LdWordAbs, jt: 3, jf: 4, k: 4 },
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

pub(super) fn older() -> Program {
    except(libc::SYS_getppid, Verdict::errno(DENIED))
}

pub(super) fn newer() -> Program {
    Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap()
}
