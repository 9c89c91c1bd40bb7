//! Partial evaluation: the verdict of a filter when only the arch and the syscall number are known.
//!
//! The code runs with registers whose values may be unknown, until a branch or the result depends on an
//! unknown value. Unknown values that are never used do no harm, so programs that read arguments on some
//! paths have constant verdicts on the others. This follows one path for one pair of arch and number
//! through the decoded code, jump tables included; a dataflow analysis over the instructions would visit
//! all of them for each of the 512 numbers of an arch.
//!
//! The decision diagram (`callgate-proof`) is exact, but takes 100 times as long: 260 to 1,460
//! microseconds for the 512 numbers of an arch, with filters for containers and services, where this
//! takes 3 to 4. For these filters both find the same verdicts; a test in `callgate-measure` compares them.

use super::op::{Code, Op};
use super::target::Target;
use callgate_bpf::Alu;

struct Registers {
    a: Option<u32>,
    x: Option<u32>,
    scratch: [Option<u32>; 16],
}

/// The value that the code returns for all syscalls with this arch and number; `None` if it depends on
/// anything else, or may do so.
pub(super) fn evaluate(code: &Code, arch: u32, nr: u32) -> Option<u32> {
    let mut registers = Registers { a: Some(0), x: Some(0), scratch: [Some(0); 16] };
    let mut at = code.entry;
    loop {
        let Some(op) = code.operation(at.into()) else { return code.returned(at.into()) };
        at = match registers.step(code, op, at.wrapping_add(1), arch, nr)? {
            Next::At(at) => at,
            Next::End(value) => return Some(value),
        };
    }
}

enum Next {
    At(Target),
    End(u32),
}

impl Registers {
    /// Executes one operation; `None` if the next one is unknown.
    fn step(&mut self, code: &Code, op: &Op, next: Target, arch: u32, nr: u32) -> Option<Next> {
        let target = match *op {
            Op::Ret(value) => return Some(Next::End(value)),
            Op::RetA => return self.a.map(Next::End),
            Op::Jump(target) => target,
            Op::TestNr(ref test) => {
                self.a = Some(nr);
                test.target(nr)
            }
            Op::TestArch(ref test) => {
                self.a = Some(arch);
                test.target(arch)
            }
            Op::TestArg(_, _, ref test) => {
                self.a = None;
                // Both targets may be the same.
                return (test.yes == test.no).then_some(Next::At(test.yes));
            }
            Op::DenseNr(ref dense) => {
                self.a = Some(nr);
                code.dense(dense, nr)
            }
            Op::ArchDenseNr(wanted, other, ref dense) => {
                let here = arch == wanted;
                self.a = Some(if here { nr } else { arch });
                if here { code.dense(dense, nr) } else { other }
            }
            Op::TestWhole(ref whole) => {
                self.a = None;
                return (whole.yes == whole.no).then_some(Next::At(whole.yes));
            }
            Op::Test(ref test) => test.target(self.a?),
            Op::TestX(cmp, yes, no) => {
                if cmp.holds(self.a?, self.x?) {
                    yes
                } else {
                    no
                }
            }
            Op::SwapEqX(k, yes, no) => {
                self.x = self.a;
                self.a = self.scratch[usize::from(k & 15)];
                if self.a? == self.x? { yes } else { no }
            }
            Op::Dense(ref dense) => code.dense(dense, self.a?),
            Op::Search(ref search) => code.search(search, self.a?),
            Op::AluK(alu, k) => return self.alu(alu, self.a, Some(k), next),
            Op::AluX(alu) => return self.alu(alu, self.a, self.x, next),
            Op::AluMemX(alu, k) => {
                let word = self.scratch[usize::from(k & 15)];
                return self.alu(alu, word, self.x, next);
            }
            _ => {
                self.assign(op, arch, nr)?;
                next
            }
        };
        Some(Next::At(target))
    }

    fn alu(&mut self, alu: Alu, a: Option<u32>, by: Option<u32>, next: Target) -> Option<Next> {
        let divides = matches!(alu, Alu::Div | Alu::Mod);
        self.a = match (a, by) {
            (_, Some(0)) if divides => return Some(Next::End(0)),
            (_, None) if divides => return None,
            (_, Some(0)) if matches!(alu, Alu::And | Alu::Mul) => Some(0),
            (Some(a), Some(by)) => alu.apply(a, by),
            _ => None,
        };
        Some(Next::At(next))
    }

    fn assign(&mut self, op: &Op, arch: u32, nr: u32) -> Option<()> {
        match *op {
            Op::LoadNr => self.a = Some(nr),
            Op::LoadArch => self.a = Some(arch),
            Op::LoadArg(..) | Op::LoadIp(_) => self.a = None,
            Op::Imm(value) => self.a = Some(value),
            Op::ImmX(value) => self.x = Some(value),
            Op::Mem(k) => self.a = self.scratch[usize::from(k & 15)],
            Op::MemX(k) => self.x = self.scratch[usize::from(k & 15)],
            Op::Store(k) => self.scratch[usize::from(k & 15)] = self.a,
            Op::StoreX(k) => self.scratch[usize::from(k & 15)] = self.x,
            Op::Field(field) => self.a = self.a.map(|a| field.of(a)),
            Op::Neg => self.a = self.a.map(u32::wrapping_neg),
            Op::Tax => self.x = self.a,
            Op::Txa => self.a = self.x,
            // Operations of packets.
            _ => return None,
        }
        Some(())
    }
}
