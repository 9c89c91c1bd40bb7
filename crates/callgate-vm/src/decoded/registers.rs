//! The registers and scratch words, and the operations that use nothing else.

#[derive(Default)]
pub(super) struct Registers {
    pub(super) a: u32,
    pub(super) x: u32,
    scratch: [u32; 16],
}

impl Registers {
    #[inline(always)]
    pub(super) fn scratch(&self, k: u8) -> u32 {
        self.scratch[usize::from(k & 15)]
    }

    #[inline(always)]
    pub(super) fn store(&mut self, k: u8, value: u32) {
        self.scratch[usize::from(k & 15)] = value;
    }
}

/// Executes an operation: by one of the given arms, or here if it only uses registers. Both are one
/// `match`, so that dispatch is one indirect jump. `go` takes a target. The function returns `None` if
/// the program ends with 0, or if the operation is for the other kind of input.
macro_rules! execute {
    ($op:ident, $code:ident, $registers:ident, $go:ident, { $($arms:tt)* }) => {
        match *$op {
            $($arms)*
            Op::Ret(value) => return Some(value),
            Op::RetA => return Some($registers.a),
            Op::Jump(target) => $go(target),
            Op::Imm(value) => $registers.a = value,
            Op::ImmX(value) => $registers.x = value,
            Op::Mem(k) => $registers.a = $registers.scratch(k),
            Op::MemX(k) => $registers.x = $registers.scratch(k),
            Op::Store(k) => $registers.store(k, $registers.a),
            Op::StoreX(k) => $registers.store(k, $registers.x),
            Op::AluK(alu, k) => $registers.a = alu.apply($registers.a, k)?,
            Op::AluX(alu) => $registers.a = alu.apply($registers.a, $registers.x)?,
            Op::AluMemX(alu, k) => {
                $registers.a = alu.apply($registers.scratch(k), $registers.x)?;
            }
            Op::Field(field) => $registers.a = field.of($registers.a),
            Op::Neg => $registers.a = $registers.a.wrapping_neg(),
            Op::Tax => $registers.x = $registers.a,
            Op::Txa => $registers.a = $registers.x,
            Op::Test(ref test) => $go(test.target($registers.a)),
            Op::TestX(cmp, yes, no) => {
                $go(if cmp.holds($registers.a, $registers.x) { yes } else { no });
            }
            Op::SwapEqX(k, yes, no) => {
                $registers.x = $registers.a;
                $registers.a = $registers.scratch(k);
                $go(if $registers.a == $registers.x { yes } else { no });
            }
            Op::Dense(ref dense) => $go($code.dense(dense, $registers.a)),
            Op::Search(ref search) => $go($code.search(search, $registers.a)),
            _ => return None,
        }
    };
}

pub(super) use execute;
