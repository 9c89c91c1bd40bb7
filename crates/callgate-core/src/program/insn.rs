//! Instructions: as the kernel stores them ([`RawInsn`], with any opcode), and with a known operation
//! ([`Insn`]). Conversion between them is lossless.

use std::fmt;

use super::op::{Op, Operand};
use crate::Endian;

/// One instruction (`struct sock_filter`) whose operation is known.
///
/// Fields that an operation does not use, which the kernel ignores, are preserved, so that a program
/// survives a round trip byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Insn {
    /// The operation.
    pub op: Op,
    /// For a branch: how many instructions to skip when the condition holds.
    pub jt: u8,
    /// For a branch: how many instructions to skip when it does not.
    pub jf: u8,
    /// The constant, offset, scratch index or jump distance.
    pub k: u32,
}

impl Insn {
    /// An instruction that is not a branch.
    pub const fn new(op: Op, k: u32) -> Insn {
        Insn { op, jt: 0, jf: 0, k }
    }

    /// A branch.
    pub const fn branch(op: Op, k: u32, jt: u8, jf: u8) -> Insn {
        Insn { op, jt, jf, k }
    }

    /// Whether a field that the operation does not use is not 0. The kernel ignores it, but mnemonics
    /// cannot express it.
    pub const fn has_ignored_bits(self) -> bool {
        let jumps = !self.op.is_branch() && (self.jt != 0 || self.jf != 0);
        jumps || (!self.op.uses_k() && self.k != 0)
    }

    /// The operand as `bpf_asm` writes it; jump targets are left out.
    pub fn operand_text(self) -> String {
        let k = self.k;
        match self.op.operand() {
            Operand::None | Operand::Jump => String::new(),
            Operand::Constant | Operand::BranchConstant => format!("#{k:#x}"),
            Operand::X | Operand::BranchX => "x".to_owned(),
            Operand::A => "a".to_owned(),
            Operand::Absolute => format!("[{}]", k as i32),
            Operand::Indexed => format!("[x + {}]", k as i32),
            Operand::Scratch => format!("M[{k}]"),
            Operand::Length => "#len".to_owned(),
            Operand::HeaderLength => format!("4*([{}]&0xf)", k as i32),
        }
    }
}

impl fmt::Display for Insn {
    /// As Linux's `bpf_asm` writes it, with jump distances (`+0` is the next instruction) in place
    /// of labels: `jeq #0x3b, +0, +15`. Ignored fields are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Insn { op, jt, jf, k } = *self;
        f.write_str(op.mnemonic())?;
        match (self.operand_text(), op.operand()) {
            (_, Operand::Jump) => write!(f, " +{k}"),
            (operand, _) if op.is_branch() => write!(f, " {operand}, +{jt}, +{jf}"),
            (operand, _) if operand.is_empty() => Ok(()),
            (operand, _) => write!(f, " {operand}"),
        }
    }
}

/// One instruction as the kernel stores it (`struct sock_filter`), perhaps with an unknown opcode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawInsn {
    /// The opcode; see [`Op::code`].
    pub code: u16,
    /// For a branch: how many instructions to skip when the condition holds.
    pub jt: u8,
    /// For a branch: how many instructions to skip when it does not.
    pub jf: u8,
    /// The constant, offset, scratch index or jump distance.
    pub k: u32,
}

impl RawInsn {
    /// The size of an instruction in bytes.
    pub const SIZE: usize = 8;

    /// The instruction in the given byte order.
    pub const fn to_bytes(self, endian: Endian) -> [u8; RawInsn::SIZE] {
        let (code, k) = match endian {
            Endian::Little => (self.code.to_le_bytes(), self.k.to_le_bytes()),
            Endian::Big => (self.code.to_be_bytes(), self.k.to_be_bytes()),
        };
        [code[0], code[1], self.jt, self.jf, k[0], k[1], k[2], k[3]]
    }

    /// Reads an instruction in the given byte order.
    pub const fn from_bytes(bytes: [u8; RawInsn::SIZE], endian: Endian) -> RawInsn {
        let [c0, c1, jt, jf, k0, k1, k2, k3] = bytes;
        let (code, k) = match endian {
            Endian::Little => (u16::from_le_bytes([c0, c1]), u32::from_le_bytes([k0, k1, k2, k3])),
            Endian::Big => (u16::from_be_bytes([c0, c1]), u32::from_be_bytes([k0, k1, k2, k3])),
        };
        RawInsn { code, jt, jf, k }
    }
}

impl fmt::Display for RawInsn {
    /// The instruction if its opcode is known, otherwise the four fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Insn::try_from(*self) {
            Ok(insn) => insn.fmt(f),
            Err(_) => {
                write!(f, "{{ {:#04x}, {}, {}, {:#010x} }}", self.code, self.jt, self.jf, self.k)
            }
        }
    }
}

impl From<Insn> for RawInsn {
    fn from(insn: Insn) -> RawInsn {
        RawInsn { code: insn.op.code(), jt: insn.jt, jf: insn.jf, k: insn.k }
    }
}

impl TryFrom<RawInsn> for Insn {
    type Error = UnknownCode;

    fn try_from(raw: RawInsn) -> Result<Insn, UnknownCode> {
        match Op::from_code(raw.code) {
            Some(op) => Ok(Insn { op, jt: raw.jt, jf: raw.jf, k: raw.k }),
            None => Err(UnknownCode { code: raw.code }),
        }
    }
}

/// The error for an opcode that is not one of classic BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode {
    code: u16,
}

impl UnknownCode {
    /// The code.
    pub const fn code(self) -> u16 {
        self.code
    }
}

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x} is not an opcode of classic BPF", self.code)
    }
}

impl std::error::Error for UnknownCode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_round_trip() {
        let mut known = 0;
        for code in 0..=u16::MAX {
            let raw = RawInsn { code, jt: 1, jf: 2, k: 3 };
            match Insn::try_from(raw) {
                Ok(insn) => {
                    known += 1;
                    assert_eq!(RawInsn::from(insn), raw);
                }
                Err(error) => assert_eq!(error.code(), code),
            }
        }
        assert_eq!(known, Op::ALL.len());
    }

    #[test]
    fn bytes_follow_the_byte_order() {
        let raw = RawInsn { code: 0x15, jt: 1, jf: 2, k: 0xc000_003e };
        assert_eq!(raw.to_bytes(Endian::Little), [0x15, 0, 1, 2, 0x3e, 0, 0, 0xc0]);
        assert_eq!(raw.to_bytes(Endian::Big), [0, 0x15, 1, 2, 0xc0, 0, 0, 0x3e]);
        for endian in [Endian::Little, Endian::Big] {
            assert_eq!(RawInsn::from_bytes(raw.to_bytes(endian), endian), raw);
        }
    }

    #[test]
    fn ignored_bits_are_detected() {
        assert!(!Insn::branch(Op::JeqK, 1, 2, 3).has_ignored_bits());
        assert!(Insn::branch(Op::JeqX, 1, 2, 3).has_ignored_bits());
        assert!(Insn::branch(Op::Ja, 1, 1, 0).has_ignored_bits());
        assert!(Insn::new(Op::Tax, 1).has_ignored_bits());
        assert!(Insn::new(Op::LdLen, 1).has_ignored_bits());
        assert!(!Insn::new(Op::RetK, 1).has_ignored_bits());
    }

    #[test]
    fn short_form_names_every_operand() {
        for (insn, text) in [
            (Insn::new(Op::Tax, 0), "tax"),
            (Insn::new(Op::LdImm, 59), "ld #0x3b"),
            (Insn::new(Op::AddX, 0), "add x"),
            (Insn::new(Op::RetA, 0), "ret a"),
            (Insn::new(Op::LdWordAbs, 0xffff_f000), "ld [-4096]"),
            (Insn::new(Op::LdHalfInd, 12), "ldh [x + 12]"),
            (Insn::new(Op::Stx, 15), "stx M[15]"),
            (Insn::new(Op::LdxLen, 0), "ldx #len"),
            (Insn::new(Op::LdxMsh, 14), "ldxb 4*([14]&0xf)"),
            (Insn::new(Op::Ja, 300), "ja +300"),
            (Insn::branch(Op::JeqK, 59, 0, 15), "jeq #0x3b, +0, +15"),
            (Insn::branch(Op::JsetX, 0, 255, 1), "jset x, +255, +1"),
        ] {
            assert_eq!(insn.to_string(), text);
        }
        assert_eq!(
            RawInsn { code: 0xffff, jt: 0, jf: 0, k: 1 }.to_string(),
            "{ 0xffff, 0, 0, 0x00000001 }"
        );
    }
}
