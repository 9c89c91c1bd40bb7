//! The registers and scratch words, and the operations that touch nothing else.

use super::op::Op;

#[derive(Default)]
pub(super) struct Registers {
    pub(super) a: u32,
    pub(super) x: u32,
    scratch: [u32; 16],
}

impl Registers {
    /// X = A, then A = M[k].
    #[inline(always)]
    pub(super) fn swap(&mut self, k: u8) {
        self.x = self.a;
        self.a = self.scratch[usize::from(k & 15)];
    }

    /// `None` ends the program with 0; so does an operation that is not for registers.
    #[inline(always)]
    pub(super) fn compute(&mut self, op: &Op) -> Option<()> {
        match *op {
            Op::Imm(value) => self.a = value,
            Op::ImmX(value) => self.x = value,
            Op::Mem(k) => self.a = self.scratch[usize::from(k & 15)],
            Op::MemX(k) => self.x = self.scratch[usize::from(k & 15)],
            Op::Store(k) => self.scratch[usize::from(k & 15)] = self.a,
            Op::StoreX(k) => self.scratch[usize::from(k & 15)] = self.x,
            Op::AluK(alu, k) => self.a = alu.apply(self.a, k)?,
            Op::AluX(alu) => self.a = alu.apply(self.a, self.x)?,
            Op::AluMemX(alu, k) => {
                self.a = alu.apply(self.scratch[usize::from(k & 15)], self.x)?;
            }
            Op::Field(field) => self.a = field.of(self.a),
            Op::Neg => self.a = self.a.wrapping_neg(),
            Op::Tax => self.x = self.a,
            Op::Txa => self.a = self.x,
            _ => return None,
        }
        Some(())
    }
}
