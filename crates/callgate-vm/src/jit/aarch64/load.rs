//! What comes from the input, and from beside it.

use callgate_bpf::Width;

use super::{
    A, Aarch64, CONTEXT, Code, GE, INPUT, LENGTH, LINK, LT, T0, T1, T2, X, encode as e, register,
    size,
};
use crate::jit::buffer::Pos;
use crate::jit::node::{Ask, Reg};
use crate::jit::outside::kind;
use crate::jit::target::{Cond, Control, Load, Target};

impl Load for Aarch64 {
    /// Takes the offset in `T0`, what is asked in `T1`, A and X; the answer is in `T0`. Everything else
    /// but `T1` is as it was, also `T2`, in which the caller keeps its own return address.
    fn outside_routine(&mut self) -> Pos {
        const SAVED: [(e::Reg, e::Reg); 8] =
            [(0, 1), (2, 3), (4, 7), (8, 9), (10, 11), (12, 13), (14, 15), (29, LINK)];
        const VECTORS: [u32; 4] = [16, 18, 20, 22];
        const FRAME: u32 = 16 * (SAVED.len() + VECTORS.len()) as u32;
        let places = || (0..).step_by(16);
        let vectors = || places().skip(SAVED.len()).zip(VECTORS);
        let mut routine = Code::<40>::new();
        let code = &mut routine;
        code.put(e::sub_imm64(e::SP, e::SP, FRAME << 10));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::stp64(t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::stp_d(t, t + 1, at));
        }
        // A and X are the fourth and fifth argument already.
        code.put(e::mov64(0, CONTEXT)).put(e::mov(1, T0)).put(e::mov(2, T1));
        // The first field of the context is the function.
        code.put(e::ldr64(9, 0)).put(e::blr(9)).put(e::mov64(T0, 0));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::ldp64(t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::ldp_d(t, t + 1, at));
        }
        code.put(e::add_imm64(e::SP, e::SP, FRAME << 10)).put(e::RET);
        self.prepend(&routine);
        self.here()
    }

    fn length(&mut self, reg: Reg) {
        self.write(|code| {
            code.put(e::mov(register(reg), LENGTH));
        });
    }

    fn load(&mut self, width: Width, offset: u32) {
        self.load_to(A, width, offset);
    }

    fn check(&mut self, bytes: u32, short: Pos) {
        self.branch(Cond::Below, short);
        self.write(|code| {
            code.compare(LENGTH, bytes);
        });
    }

    fn header_length(&mut self, offset: u32) {
        self.write(|code| {
            code.put(e::ubfiz(X, X, 2, 4));
        });
        self.load_to(X, Width::Byte, offset);
    }

    fn indexed(
        &mut self,
        width: Width,
        offset: u32,
        as_is: bool,
        routine: Option<Pos>,
        short: Pos,
    ) {
        let (bytes, swap) = (width.bytes() as u32, self.packet && !as_is);
        let done = self.here();
        self.write(|code| {
            code.put(e::ldr_index(size(width), A, INPUT, T0));
            if swap {
                code.swap(A, width);
            }
        });
        match routine {
            None => self.branch(Cond::Above, short),
            Some(routine) => {
                let inside = self.here();
                self.jump(done);
                self.write(|code| {
                    code.put(e::mov(A, T0));
                });
                self.ask(Ask::Load(width), routine, short);
                // Not negative, and not inside: the end.
                self.condition(GE, short);
                self.write(|code| {
                    code.compare(T0, 0);
                });
                self.branch(Cond::NotAbove, inside);
            }
        }
        self.write(|code| {
            code.add(T0, X, offset).put(e::add_imm64(T1, T0, bytes << 10));
            code.put(e::cmp64(T1, LENGTH));
        });
    }

    fn outside(&mut self, ask: Ask, offset: u32, routine: Pos, short: Pos) {
        self.write(|code| {
            code.put(match ask {
                Ask::HeaderLength => e::ubfiz(X, T0, 2, 4),
                _ => e::mov(A, T0),
            });
        });
        self.ask(ask, routine, short);
        self.write(|code| {
            code.set(T0, offset);
        });
    }
}

impl Aarch64 {
    fn load_to(&mut self, reg: e::Reg, width: Width, offset: u32) {
        let packet = self.packet;
        self.write(|code| {
            match e::ldr(size(width), reg, INPUT, offset) {
                Some(load) => code.put(load),
                None => code.set(T2, offset).put(e::ldr_index(size(width), reg, INPUT, T2)),
            };
            if packet {
                code.swap(reg, width);
            }
        });
    }

    /// Asks; the offset is in `T0`, and the answer is afterwards.
    fn ask(&mut self, ask: Ask, routine: Pos, short: Pos) {
        self.condition(LT, short);
        self.write(|code| {
            code.put(e::mov64(LINK, T2)).put(e::cmp_imm64(T0, 0));
        });
        let distance = self.distance(routine);
        self.write(|code| {
            code.set(T1, kind(ask)).put(e::mov64(T2, LINK)).put(e::bl(distance));
        });
    }
}
