//! Loads from the input, and calls of the helper.

use callgate_core::Width;

use super::code::Code;
use super::encode as e;
use super::registers::{A, CONTEXT, GE, INPUT, LENGTH, LINK, LT, T0, T1, T2, X, register, size};
use super::target::Aarch64;
use crate::jit::buffer::Pos;
use crate::jit::helper::code_of;
use crate::jit::node::{Reg, Request};
use crate::jit::target::{Cond, Control, Load, Target};

impl Load for Aarch64 {
    /// Takes the offset in `T0`, the code of the request in `T1`, A and X; returns the result in `T0`, and
    /// clobbers only `T1`. `T2` holds the caller's own return address.
    fn helper_stub(&mut self) -> Pos {
        const SAVED: [(e::Reg, e::Reg); 8] =
            [(0, 1), (2, 3), (4, 7), (8, 9), (10, 11), (12, 13), (14, 15), (29, LINK)];
        const VECTORS: [u32; 4] = [16, 18, 20, 22];
        const FRAME: u32 = 16 * (SAVED.len() + VECTORS.len()) as u32;
        let places = || (0..).step_by(16);
        let vectors = || places().skip(SAVED.len()).zip(VECTORS);
        let mut stub = Code::<40>::new();
        let code = &mut stub;
        code.put(e::sub_imm64(e::SP, e::SP, FRAME << 10));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::stp64(t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::stp_d(t, t + 1, at));
        }
        // A and X already are the fourth and fifth argument.
        code.put(e::mov64(0, CONTEXT)).put(e::mov(1, T0)).put(e::mov(2, T1));
        // The first field of the context is the address of the helper.
        code.put(e::ldr64(9, 0)).put(e::blr(9)).put(e::mov64(T0, 0));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::ldp64(t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::ldp_d(t, t + 1, at));
        }
        code.put(e::add_imm64(e::SP, e::SP, FRAME << 10)).put(e::RET);
        self.prepend(&stub);
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

    fn indexed(&mut self, width: Width, offset: u32, as_is: bool, stub: Option<Pos>, short: Pos) {
        let (bytes, swap) = (width.bytes() as u32, self.packet && !as_is);
        let done = self.here();
        self.write(|code| {
            code.put(e::ldr_index(size(width), A, INPUT, T0));
            if swap {
                code.swap(A, width);
            }
        });
        match stub {
            None => self.branch(Cond::Above, short),
            Some(stub) => {
                let inside = self.here();
                self.jump(done);
                self.write(|code| {
                    code.put(e::mov(A, T0));
                });
                self.request(Request::Load(width), stub, short);
                // Not relative to a header, and outside the packet: the end.
                self.condition(GE, short);
                self.write(|code| {
                    code.compare(T0, 0);
                });
                self.branch(Cond::BelowOrEqual, inside);
            }
        }
        self.write(|code| {
            code.add(T0, X, offset).put(e::add_imm64(T1, T0, bytes << 10));
            code.put(e::cmp64(T1, LENGTH));
        });
    }

    fn call_helper(&mut self, request: Request, offset: u32, stub: Pos, short: Pos) {
        self.write(|code| {
            code.put(match request {
                Request::HeaderLength => e::ubfiz(X, T0, 2, 4),
                _ => e::mov(A, T0),
            });
        });
        self.request(request, stub, short);
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

    /// Calls the stub: the offset is in `T0` before, the result afterwards.
    fn request(&mut self, request: Request, stub: Pos, short: Pos) {
        self.condition(LT, short);
        self.write(|code| {
            code.put(e::mov64(LINK, T2)).put(e::cmp_imm64(T0, 0));
        });
        let distance = self.distance(stub);
        self.write(|code| {
            code.set(T1, code_of(request)).put(e::mov64(T2, LINK)).put(e::bl(distance));
        });
    }
}
