//! The instruction table, with one row per operation of classic BPF. Encoding, decoding, printing, parsing
//! and the acceptance rules read it; opcodes are nowhere else.
//!
//! Sources: `include/uapi/linux/bpf_common.h` and `filter.h` (codes), `net/core/filter.c`,
//! `chk_code_allowed` (what exists), `kernel/seccomp.c`, `seccomp_check_filter` (what a seccomp filter
//! may use), `include/linux/filter.h` of Linux 3.10 (`BPF_S_*`).

use crate::program::width::Width;

/// The kind of operand of an instruction, and its syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// No operand.
    None,
    /// `#k`: a constant.
    Constant,
    /// `x`: the index register.
    X,
    /// `a`: the accumulator.
    A,
    /// `[k]`: a byte offset into the input.
    Absolute,
    /// `[x + k]`: a byte offset into the input, relative to X.
    Indexed,
    /// `M[k]`: a scratch word.
    Scratch,
    /// `#len`: the length of the input.
    Length,
    /// `4*([k]&0xf)`: the length of an IP header at an offset.
    HeaderLength,
    /// `L`: an unconditional jump by `k`.
    Jump,
    /// `#k, L1, L2`: a branch on a constant.
    BranchConstant,
    /// `x, L1, L2`: a branch on X.
    BranchX,
}

macro_rules! ops {
    ($(($variant:ident, $code:literal, $mnemonic:literal, $operand:ident, $legacy:literal, $seccomp:literal, $doc:literal),)*) => {
        /// An operation of classic BPF.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $(#[doc = $doc] $variant,)*
        }

        impl Op {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// The operation with this opcode; `None` if the kernel does not know it.
            pub const fn from_code(code: u16) -> Option<Op> {
                match code {
                    $($code => Some(Op::$variant),)*
                    _ => None,
                }
            }

            /// The `code` field of `struct sock_filter`.
            pub const fn code(self) -> u16 {
                match self { $(Op::$variant => $code,)* }
            }

            /// The mnemonic of Linux's `bpf_asm`.
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Op::$variant => $mnemonic,)* }
            }

            /// The kind of its operand.
            #[inline]
            pub const fn operand(self) -> Operand {
                match self { $(Op::$variant => Operand::$operand,)* }
            }

            /// The kernel's internal name before Linux 3.15 (`BPF_S_*`), without the prefix.
            pub const fn legacy_name(self) -> &'static str {
                match self { $(Op::$variant => $legacy,)* }
            }

            /// Whether a seccomp filter may use it (`seccomp_check_filter`); only words at multiples of
            /// four below 64 for [`Op::LdWordAbs`].
            pub const fn in_seccomp(self) -> bool {
                match self { $(Op::$variant => $seccomp,)* }
            }
        }
    };
}

#[rustfmt::skip]
ops! {
    // variant, code, mnemonic, operand, name before 3.15, in seccomp, doc
    (LdWordAbs,  0x20, "ld",   Absolute,       "LD_W_ABS",   true,  "A = word at `[k]`."),
    (LdHalfAbs,  0x28, "ldh",  Absolute,       "LD_H_ABS",   false, "A = half word at `[k]`, network order."),
    (LdByteAbs,  0x30, "ldb",  Absolute,       "LD_B_ABS",   false, "A = byte at `[k]`."),
    (LdWordInd,  0x40, "ld",   Indexed,        "LD_W_IND",   false, "A = word at `[x + k]`, network order."),
    (LdHalfInd,  0x48, "ldh",  Indexed,        "LD_H_IND",   false, "A = half word at `[x + k]`, network order."),
    (LdByteInd,  0x50, "ldb",  Indexed,        "LD_B_IND",   false, "A = byte at `[x + k]`."),
    (LdLen,      0x80, "ld",   Length,         "LD_W_LEN",   true,  "A = length of the input."),
    (LdImm,      0x00, "ld",   Constant,       "LD_IMM",     true,  "A = k."),
    (LdMem,      0x60, "ld",   Scratch,        "LD_MEM",     true,  "A = `M[k]`."),
    (LdxLen,     0x81, "ldx",  Length,         "LDX_W_LEN",  true,  "X = length of the input."),
    (LdxImm,     0x01, "ldx",  Constant,       "LDX_IMM",    true,  "X = k."),
    (LdxMem,     0x61, "ldx",  Scratch,        "LDX_MEM",    true,  "X = `M[k]`."),
    (LdxMsh,     0xb1, "ldxb", HeaderLength,   "LDX_B_MSH",  false, "X = 4 * (byte at `[k]` & 15)."),
    (St,         0x02, "st",   Scratch,        "ST",         true,  "`M[k]` = A."),
    (Stx,        0x03, "stx",  Scratch,        "STX",        true,  "`M[k]` = X."),
    (AddK,       0x04, "add",  Constant,       "ALU_ADD_K",  true,  "A += k."),
    (AddX,       0x0c, "add",  X,              "ALU_ADD_X",  true,  "A += X."),
    (SubK,       0x14, "sub",  Constant,       "ALU_SUB_K",  true,  "A -= k."),
    (SubX,       0x1c, "sub",  X,              "ALU_SUB_X",  true,  "A -= X."),
    (MulK,       0x24, "mul",  Constant,       "ALU_MUL_K",  true,  "A *= k."),
    (MulX,       0x2c, "mul",  X,              "ALU_MUL_X",  true,  "A *= X."),
    (DivK,       0x34, "div",  Constant,       "ALU_DIV_K",  true,  "A /= k, unsigned."),
    (DivX,       0x3c, "div",  X,              "ALU_DIV_X",  true,  "A /= X, unsigned; the program returns 0 when X is 0."),
    (OrK,        0x44, "or",   Constant,       "ALU_OR_K",   true,  "A |= k."),
    (OrX,        0x4c, "or",   X,              "ALU_OR_X",   true,  "A |= X."),
    (AndK,       0x54, "and",  Constant,       "ALU_AND_K",  true,  "A &= k."),
    (AndX,       0x5c, "and",  X,              "ALU_AND_X",  true,  "A &= X."),
    (LshK,       0x64, "lsh",  Constant,       "ALU_LSH_K",  true,  "A <<= k."),
    (LshX,       0x6c, "lsh",  X,              "ALU_LSH_X",  true,  "A <<= X & 31."),
    (RshK,       0x74, "rsh",  Constant,       "ALU_RSH_K",  true,  "A >>= k, unsigned."),
    (RshX,       0x7c, "rsh",  X,              "ALU_RSH_X",  true,  "A >>= X & 31, unsigned."),
    (Neg,        0x84, "neg",  None,           "ALU_NEG",    true,  "A = -A."),
    (ModK,       0x94, "mod",  Constant,       "ALU_MOD_K",  false, "A %= k, unsigned."),
    (ModX,       0x9c, "mod",  X,              "ALU_MOD_X",  false, "A %= X, unsigned; the program returns 0 when X is 0."),
    (XorK,       0xa4, "xor",  Constant,       "ALU_XOR_K",  true,  "A ^= k."),
    (XorX,       0xac, "xor",  X,              "ALU_XOR_X",  true,  "A ^= X."),
    (Ja,         0x05, "ja",   Jump,           "JMP_JA",     true,  "Jump forward by k."),
    (JeqK,       0x15, "jeq",  BranchConstant, "JMP_JEQ_K",  true,  "Branch on A == k."),
    (JeqX,       0x1d, "jeq",  BranchX,        "JMP_JEQ_X",  true,  "Branch on A == X."),
    (JgtK,       0x25, "jgt",  BranchConstant, "JMP_JGT_K",  true,  "Branch on A > k, unsigned."),
    (JgtX,       0x2d, "jgt",  BranchX,        "JMP_JGT_X",  true,  "Branch on A > X, unsigned."),
    (JgeK,       0x35, "jge",  BranchConstant, "JMP_JGE_K",  true,  "Branch on A >= k, unsigned."),
    (JgeX,       0x3d, "jge",  BranchX,        "JMP_JGE_X",  true,  "Branch on A >= X, unsigned."),
    (JsetK,      0x45, "jset", BranchConstant, "JMP_JSET_K", true,  "Branch on A & k != 0."),
    (JsetX,      0x4d, "jset", BranchX,        "JMP_JSET_X", true,  "Branch on A & X != 0."),
    (RetK,       0x06, "ret",  Constant,       "RET_K",      true,  "Return k."),
    (RetA,       0x16, "ret",  A,              "RET_A",      true,  "Return A."),
    (Tax,        0x07, "tax",  None,           "MISC_TAX",   true,  "X = A."),
    (Txa,        0x87, "txa",  None,           "MISC_TXA",   true,  "A = X."),
}

impl Op {
    /// The width of a load from the input; `None` for other operations.
    #[inline]
    pub const fn width(self) -> Option<Width> {
        Some(match self {
            Op::LdWordAbs | Op::LdWordInd => Width::Word,
            Op::LdHalfAbs | Op::LdHalfInd => Width::Half,
            Op::LdByteAbs | Op::LdByteInd | Op::LdxMsh => Width::Byte,
            _ => return None,
        })
    }

    /// Whether it is a branch.
    #[inline]
    pub const fn is_branch(self) -> bool {
        matches!(self.operand(), Operand::BranchConstant | Operand::BranchX)
    }

    /// Whether the `k` field is used; otherwise the kernel ignores it.
    pub const fn uses_k(self) -> bool {
        !matches!(
            self.operand(),
            Operand::None | Operand::X | Operand::A | Operand::Length | Operand::BranchX
        )
    }

    /// Whether it ends the program.
    #[inline]
    pub const fn is_return(self) -> bool {
        matches!(self, Op::RetK | Op::RetA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BPF_MODE` and `BPF_SIZE` in `include/uapi/linux/bpf_common.h`.
    #[test]
    fn loads_from_the_input_have_the_width_in_their_code() {
        for op in Op::ALL.iter().copied() {
            let (class, size, mode) = (op.code() & 0x07, op.code() & 0x18, op.code() & 0xe0);
            let from_input = class <= 1 && matches!(mode, 0x20 | 0x40 | 0xa0);
            let width = match size {
                0x00 => Width::Word,
                0x08 => Width::Half,
                _ => Width::Byte,
            };
            assert_eq!(op.width(), from_input.then_some(width), "{op:?}");
        }
    }
}
