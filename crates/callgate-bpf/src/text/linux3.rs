//! The internal opcodes of Linux 3.5 to 3.14.
//!
//! These kernels translated the opcodes of a filter to consecutive numbers of their own (`BPF_S_*`), and the loads of a
//! seccomp filter to `BPF_S_ANC_SECCOMP_LD_W`. A dump of such a kernel's memory has these numbers. Linux 3.7 inserted
//! MOD and XOR, and later versions appended words of packets.
//!
//! A program cannot end with the same number in both encodings: returns are 1 and 2 here, which are loads and stores
//! in the encoding of user space. So a program is translated only if it ends with such a return, and if the kernel
//! accepts the result.
//!
//! The kernel replaced the divisor of a division by its reciprocal, so a program that divides cannot be translated.
//!
//! Source: `include/linux/filter.h`, `sk_chk_filter` in `net/core/filter.c`, `seccomp_check_filter` in
//! `kernel/seccomp.c`.

use crate::disasm::SECCOMP_LOAD;
use callgate_core::{AncillaryWord, LongProgram, Op, RawInsn};

/// The operations in the order of their numbers, from 1 on; words of packets follow.
const SINCE_3_7: &[Op] = {
    use Op::*;
    &[
        RetK, RetA, AddK, AddX, SubK, SubX, MulK, MulX, DivX, ModK, ModX, AndK, AndX, OrK, OrX,
        XorK, XorX, LshK, LshX, RshK, RshX, Neg, LdWordAbs, LdHalfAbs, LdByteAbs, LdLen, LdWordInd,
        LdHalfInd, LdByteInd, LdImm, LdxLen, LdxMsh, LdxImm, Tax, Txa, DivK, LdMem, LdxMem, St,
        Stx, Ja, JeqK, JeqX, JgeK, JgeX, JgtK, JgtX, JsetK, JsetX,
    ]
};

/// The operations that Linux 3.7 added.
const ADDED: &[Op] = &[Op::ModK, Op::ModX, Op::XorK, Op::XorX];

/// How many words of packets have numbers before that of a load in a seccomp filter.
const WORDS: u16 = 11;

/// A program with the opcodes of user space; `None` if it does not have those of Linux 3.
///
/// ```
/// use callgate_core::RawInsn;
/// use callgate_bpf::text::from_linux3;
///
/// let insn = |code, jt, jf, k| RawInsn { code, jt, jf, k };
/// let dump = [insn(0x3d, 0, 0, 0), insn(0x2a, 0, 1, 59), insn(1, 0, 0, 0), insn(1, 0, 0, 0x7fff_0000)];
/// let codes: Option<Vec<u16>> = from_linux3(&dump).map(|p| p.iter().map(|insn| insn.code).collect());
/// assert_eq!(codes, Some(vec![0x20, 0x15, 0x06, 0x06]));
/// assert_eq!(from_linux3(&[insn(6, 0, 0, 0)]), None);
/// ```
pub fn from_linux3(insns: &[RawInsn]) -> Option<Vec<RawInsn>> {
    insns.last().filter(|last| matches!(last.code, 1 | 2))?;
    [true, false].into_iter().find_map(|since_3_7| {
        let translated: Option<Vec<RawInsn>> =
            insns.iter().map(|insn| translate(*insn, since_3_7)).collect();
        translated.filter(|translated| LongProgram::from_raw(translated).is_ok())
    })
}

fn translate(insn: RawInsn, since_3_7: bool) -> Option<RawInsn> {
    let op = op(insn.code, since_3_7).filter(|op| *op != Op::DivK)?;
    Some(RawInsn { code: op.code(), ..insn })
}

/// The operation with a number.
fn op(number: u16, since_3_7: bool) -> Option<Op> {
    let has = |op: &&Op| since_3_7 || !ADDED.contains(op);
    let place = usize::from(number.checked_sub(1)?);
    let known = SINCE_3_7.iter().filter(has).nth(place).copied();
    let count = SINCE_3_7.iter().filter(has).count() as u16;
    known.or((number == count + WORDS + 1).then_some(Op::LdWordAbs))
}

/// The code of a name such as `BPF_S_ALU_AND_K`, without the prefix.
pub(super) fn code_of_name(name: &str) -> Option<u16> {
    let ancillary = AncillaryWord::ALL.iter().any(|word| word.legacy_name() == Some(name));
    if name == SECCOMP_LOAD || ancillary {
        return Some(Op::LdWordAbs.code());
    }
    Op::ALL.iter().find(|op| op.legacy_name() == name).map(|op| op.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn insn(code: u16, jt: u8, jf: u8, k: u32) -> RawInsn {
        RawInsn { code, jt, jf, k }
    }

    /// `include/linux/filter.h` of Linux 3.10 and of Linux 3.5.
    #[test]
    fn numbers_are_those_of_the_kernel() {
        for (number, name) in [
            (1, "RET_K"),
            (9, "ALU_DIV_X"),
            (16, "ALU_XOR_K"),
            (22, "ALU_NEG"),
            (26, "LD_W_LEN"),
            (36, "ALU_DIV_K"),
            (41, "JMP_JA"),
            (42, "JMP_JEQ_K"),
            (49, "JMP_JSET_X"),
        ] {
            assert_eq!(op(number, true).map(Op::legacy_name), Some(name));
        }
        assert_eq!((op(0x3d, true), op(50, true)), (Some(Op::LdWordAbs), None));
        assert_eq!((op(0x39, false), op(38, false)), (Some(Op::LdWordAbs), Some(Op::JeqK)));
        assert_eq!((op(0, true), op(65, true)), (None, None));
        assert_eq!(SINCE_3_7.len(), Op::ALL.len());
    }

    #[test]
    fn both_numberings_are_recognised() {
        let expected =
            [insn(0x20, 0, 0, 0), insn(0x15, 0, 1, 59), insn(6, 0, 0, 0), insn(0x16, 0, 0, 0)];
        let numbered = |load, jeq| {
            [insn(load, 0, 0, 0), insn(jeq, 0, 1, 59), insn(1, 0, 0, 0), insn(2, 0, 0, 0)]
        };
        assert_eq!(from_linux3(&numbered(0x3d, 42)).as_deref(), Some(&expected[..]));
        assert_eq!(from_linux3(&numbered(0x39, 38)).as_deref(), Some(&expected[..]));
        assert_eq!(from_linux3(&numbered(0x20, 0x15)), None);
        assert_eq!(
            from_linux3(&[insn(0x3d, 0, 0, 0), insn(36, 0, 0, 2), insn(1, 0, 0, 0)]),
            None,
            "a division"
        );
        assert_eq!(from_linux3(&[]), None);
    }
}
