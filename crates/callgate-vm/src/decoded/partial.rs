//! Partial evaluation: the verdict of a filter when only the arch and the syscall number are known.
//!
//! The code runs with registers whose values may be unknown, until a branch or the result depends on an
//! unknown value. Unknown values that are never used do no harm, so programs that read arguments on some
//! paths have constant verdicts on the others. This follows one path for one pair of arch and number
//! through the decoded code, jump tables included; a dataflow analysis over the instructions would visit
//! all of them for each of the 512 numbers of an arch. The tests of the arch are followed once for all numbers,
//! most numbers lead through the jump table directly to a return, and an evaluation counts for all following numbers
//! with the same outcome of each test.
//!
//! The decision diagram (`callgate-core`) is exact, but takes 100 times as long: 260 to 1,460
//! microseconds for the 512 numbers of an arch, with filters for containers and services, where this
//! takes 3 to 4. For these filters both find the same verdicts; a test in `callgate-measure` compares them.

use super::op::{Code, Dense, Op, Target, Test, Whole};
use callgate_core::{Alu, Verdict};

struct Registers {
    a: Option<u32>,
    x: Option<u32>,
    scratch: [Option<u32>; 16],
    /// Whether A is the syscall number.
    holds_nr: bool,
    /// The path is the same up to this number.
    until: u32,
}

/// The verdicts on syscalls with one arch, by number.
pub(crate) struct OfArch<'c> {
    code: &'c Code,
    arch: u32,
    /// The place of the first operation that depends on more than the arch.
    start: Target,
}

impl<'c> OfArch<'c> {
    /// Executes the operations before the first one that depends on more than the arch. They set only A, and the operation
    /// after a test or a jump table does not depend on how it was reached, except for A.
    pub(super) fn new(code: &'c Code, arch: u32) -> OfArch<'c> {
        let mut start = code.entry;
        loop {
            start = match code.operation(start.into()) {
                Some(&Op::ArchDenseNr(wanted, other, _)) if wanted != arch => other,
                Some(Op::TestArch(test)) => test.target(arch),
                _ => return OfArch { code, arch, start },
            };
        }
    }

    /// The verdict on all syscalls with this number; `None` if it depends on the arguments or the instruction pointer. With
    /// it, a number up to which that is the same.
    ///
    /// This is sound but not complete: it may be `None` for a constant verdict if the program computes
    /// with arguments that cancel out, or branches on an argument to two paths with the same verdict.
    pub(crate) fn verdict(&self, nr: u32) -> (Option<Verdict>, u32) {
        let OfArch { code, arch, start } = *self;
        let a = if start == code.entry { 0 } else { arch };
        if let Some(Op::ArchDenseNr(_, _, dense) | Op::DenseNr(dense)) =
            code.operation(start.into())
            && let Some(value) = code.returned(code.dense(dense, nr).into())
        {
            return (Some(Verdict(value)), until_of_dense(dense, nr));
        }
        let (value, until) = evaluate(code, start, a, arch, nr);
        (value.map(Verdict), until)
    }
}

/// The value that the code returns from a place on, with this value of A, for all syscalls with this arch and number; and a
/// number up to which that is the same.
fn evaluate(code: &Code, mut at: Target, a: u32, arch: u32, nr: u32) -> (Option<u32>, u32) {
    let (a, x, scratch) = (Some(a), Some(0), [Some(0); 16]);
    let mut registers = Registers { a, x, scratch, holds_nr: false, until: u32::MAX };
    loop {
        let Some(op) = code.operation(at.into()) else {
            return (code.returned(at.into()), registers.until);
        };
        at = match registers.step(code, op, at.wrapping_add(1), arch, nr) {
            Some(Next::At(at)) => at,
            Some(Next::End(value)) => return (Some(value), registers.until),
            None => return (None, registers.until),
        };
    }
}

enum Next {
    At(Target),
    End(u32),
}

/// The last number with the same outcome of a test of the number.
fn until_of_test(test: &Test, nr: u32) -> u32 {
    match test.mask {
        u32::MAX if nr < test.lo => test.lo - 1,
        u32::MAX if test.holds(nr) => test.lo.saturating_add(test.span),
        u32::MAX => u32::MAX,
        // The bits below the mask do not matter.
        mask => nr | !(u32::MAX.checked_shl(mask.trailing_zeros()).unwrap_or(0)),
    }
}

/// The last number with the same target of a jump table. Inside the table, it is the number itself.
fn until_of_dense(dense: &Dense, nr: u32) -> u32 {
    match nr.wrapping_sub(dense.base) {
        _ if nr < dense.base => dense.base - 1,
        at if at < dense.len => nr,
        _ => u32::MAX,
    }
}

impl Registers {
    /// Executes one operation; `None` if the next one is unknown.
    fn step(&mut self, code: &Code, op: &Op, next: Target, arch: u32, nr: u32) -> Option<Next> {
        match *op {
            Op::LoadNr | Op::TestNr(_) | Op::DenseNr(_) => self.load(Some(nr), true),
            Op::ArchDenseNr(wanted, ..) if wanted == arch => self.load(Some(nr), true),
            Op::LoadArch | Op::TestArch(_) | Op::ArchDenseNr(..) => self.load(Some(arch), false),
            Op::LoadArg(..) | Op::LoadIp(_) | Op::TestArg(..) | Op::TestWhole(_) => {
                self.load(None, false);
            }
            _ => {}
        }
        let target = match *op {
            Op::Ret(value) => return Some(Next::End(value)),
            Op::Jump(target) => target,
            Op::LoadNr | Op::LoadArch | Op::LoadArg(..) | Op::LoadIp(_) => next,
            Op::TestArch(ref test) => test.target(arch),
            // Both targets may be the same.
            Op::TestArg(_, _, Test { yes, no, .. }) | Op::TestWhole(Whole { yes, no, .. }) => {
                return (yes == no).then_some(Next::At(yes));
            }
            Op::TestNr(ref test) | Op::Test(ref test) if self.holds_nr => {
                self.same_until(until_of_test(test, nr));
                test.target(nr)
            }
            Op::DenseNr(ref dense) | Op::ArchDenseNr(_, _, ref dense) | Op::Dense(ref dense)
                if self.holds_nr =>
            {
                self.same_until(until_of_dense(dense, nr));
                code.dense(dense, nr)
            }
            Op::ArchDenseNr(_, other, _) => other,
            Op::Search(ref search) if self.holds_nr => {
                self.same_until(code.search_until(search, nr));
                code.search(search, nr)
            }
            _ => {
                // Registers may hold values that were computed from the number.
                self.until = nr;
                return self.compute(code, op, next);
            }
        };
        Some(Next::At(target))
    }

    /// Sets A to a known or an unknown value; `holds_nr` if that is the number.
    fn load(&mut self, value: Option<u32>, holds_nr: bool) {
        (self.a, self.holds_nr) = (value, holds_nr);
    }

    fn same_until(&mut self, until: u32) {
        self.until = self.until.min(until);
    }

    /// Executes an operation on registers.
    fn compute(&mut self, code: &Code, op: &Op, next: Target) -> Option<Next> {
        self.holds_nr = false;
        let target = match *op {
            Op::RetA => return self.a.map(Next::End),
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
                self.assign(op)?;
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

    fn assign(&mut self, op: &Op) -> Option<()> {
        match *op {
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

#[cfg(test)]
mod tests;
