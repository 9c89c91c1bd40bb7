//! Loads from the input, and calls of the helper.

use callgate_core::Width;

use super::encode::{ADD, AND, CMP, Gpr, Mem, R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP, SUB};
use super::registers::{A, CONTEXT, FRAME, SAVED_A, X, register};
use super::target::X86_64;
use crate::jit::buffer::Pos;
use crate::jit::helper::code_of;
use crate::jit::node::{Reg, Request};
use crate::jit::target::{Cond, Control, Load, Target};

impl Load for X86_64 {
    /// Takes the offset in `edx`, the code of the request in `r11d`, A and X; returns the result in
    /// `rax`, and clobbers only `rdx` and `r11`.
    fn helper_stub(&mut self) -> Pos {
        const SAVED: [(Gpr, i32); 6] =
            [(RDI, 0), (RSI, 8), (RCX, 16), (R8, 24), (R9, 32), (R10, 40)];
        self.write(|code| {
            code.rr(true, [0x81], ADD, RSP).imm32(FRAME as u32).put([0xc3]);
        });
        for (reg, at) in SAVED {
            self.write(|code| {
                code.rm(true, [0x8b], reg.0, Mem::at(RSP, at));
            });
        }
        // call [rdi]: the first field of the context is the function.
        self.write(|code| {
            code.mov(R8, X).mov(RCX, A).mov(RSI, RDX).mov(RDX, R11);
            code.rm(false, [0xff], 2, Mem::at(RDI, 0));
        });
        self.write(|code| {
            code.rm(true, [0x8b], RDI.0, Mem::at(RSP, FRAME + 8 + CONTEXT));
        });
        for (reg, at) in SAVED {
            self.write(|code| {
                code.rm(true, [0x89], reg.0, Mem::at(RSP, at));
            });
        }
        self.write(|code| {
            code.rr(true, [0x81], SUB, RSP).imm32(FRAME as u32);
        });
        self.here()
    }

    fn length(&mut self, reg: Reg) {
        self.write(|code| {
            code.mov(register(reg), RSI);
        });
    }

    fn load(&mut self, width: Width, offset: u32) {
        self.load_from(A, width, Mem::at(RDI, offset as i32), self.swaps());
    }

    fn check(&mut self, bytes: u32, short: Pos) {
        self.branch(Cond::Below, short);
        self.write(|code| {
            code.alu_imm(CMP, RSI, bytes);
        });
    }

    fn header_length(&mut self, offset: u32) {
        self.write(|code| {
            code.rm(false, [0x0f, 0xb6], X.0, Mem::at(RDI, offset as i32));
            code.alu_imm(AND, X, 15).rr(false, [0xc1], 4, X).imm8(2);
        });
    }

    fn indexed(&mut self, width: Width, offset: u32, as_is: bool, stub: Option<Pos>, short: Pos) {
        let bytes = width.bytes() as u32;
        let Some(stub) = stub else {
            self.load_from(A, width, Mem::indexed(RDI, X, 0, offset as i32), !as_is);
            self.branch(Cond::Above, short);
            self.write(|code| {
                code.rm(false, [0x8d], RDX.0, Mem::at(X, (offset + bytes) as i32));
                code.rr(false, [8 * CMP + 1], RSI.0, RDX);
            });
            return;
        };
        let done = self.here();
        self.load_from(A, width, Mem::indexed(RDI, RDX, 0, 0), self.swaps());
        let inside = self.here();
        self.jump(done);
        self.end_if_told(short);
        self.call(stub);
        self.write(|code| {
            code.mov_imm(R11, code_of(Request::Load(width)));
        });
        // Not relative to a header, and outside the packet: the end.
        self.condition(0x9, short);
        self.write(|code| {
            code.rr(false, [0x85], RDX.0, RDX);
        });
        self.branch(Cond::BelowOrEqual, inside);
        self.write(|code| {
            code.rm(true, [0x8d], R11.0, Mem::at(RDX, bytes as i32));
            code.rr(true, [8 * CMP + 1], RSI.0, R11);
        });
        self.write(|code| {
            code.rm(false, [0x8d], RDX.0, Mem::at(X, offset as i32));
        });
    }

    fn call_helper(&mut self, request: Request, offset: u32, stub: Pos, short: Pos) {
        let saved = Mem::at(RSP, SAVED_A);
        if request == Request::HeaderLength {
            self.write(|code| {
                code.mov(X, RAX).alu_imm(AND, X, 15).rr(false, [0xc1], 4, X).imm8(2);
                code.rm(false, [0x8b], A.0, saved);
            });
        }
        self.end_if_told(short);
        self.call(stub);
        self.write(|code| {
            code.mov_imm(RDX, offset).mov_imm(R11, code_of(request));
        });
        if request == Request::HeaderLength {
            self.write(|code| {
                code.rm(false, [0x89], A.0, saved);
            });
        }
    }
}

impl X86_64 {
    /// Loads into a register, with a byte swap for packets; the upper half becomes 0.
    fn load_from(&mut self, reg: Gpr, width: Width, mem: Mem, swap: bool) {
        self.write(|code| {
            match width {
                Width::Byte => code.rm(false, [0x0f, 0xb6], reg.0, mem),
                Width::Half => code.rm(false, [0x0f, 0xb7], reg.0, mem),
                Width::Word => code.rm(false, [0x8b], reg.0, mem),
            };
            match width {
                Width::Half if swap => {
                    // rol reg16, 8
                    code.put([0x66]).rr(false, [0xc1], 0, reg).imm8(8);
                }
                Width::Word if swap && reg.0 < 8 => {
                    code.put([0x0f, 0xc8 | reg.0]);
                }
                _ => {}
            }
        });
    }

    /// `test rax, rax`, and a jump if the result says that the program ends.
    fn end_if_told(&mut self, short: Pos) {
        self.condition(0x8, short);
        self.write(|code| {
            code.rr(true, [0x85], RAX.0, RAX);
        });
    }

    fn call(&mut self, stub: Pos) {
        let distance = self.here().distance(stub);
        self.write(|code| {
            code.put([0xe8]).imm32(distance);
        });
    }
}
