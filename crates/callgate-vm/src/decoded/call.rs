//! Runs code that was made of a seccomp filter.

use std::hint::cold_path;

use callgate::SeccompData;

use super::op::{Code, Op, Target};
use super::registers::Registers;

/// The value that the code returns for a call.
#[inline]
pub(super) fn run(code: &Code, data: &SeccompData) -> u32 {
    let mut a = 0;
    let mut at = code.entry;
    // Many filters do nothing else for most calls: X and scratch words are left alone.
    loop {
        let op = match code.operation(at) {
            Ok(op) => op,
            Err(value) => return value,
        };
        match *op {
            Op::ArchDenseNr(arch, other, ref dense) => {
                if data.arch == arch {
                    a = data.nr;
                    at = code.dense(dense, a);
                } else {
                    cold_path();
                    a = data.arch;
                    at = other;
                }
            }
            // Nobody reads A afterwards.
            Op::TestWhole(ref whole) => at = whole.target(whole_argument(data, whole.arg)),
            Op::TestNr(ref test) => {
                a = data.nr;
                at = test.target(a);
            }
            Op::TestArch(ref test) => {
                a = data.arch;
                at = test.target(a);
            }
            Op::TestArg(arg, shift, ref test) => {
                a = argument(data, arg, shift);
                at = test.target(a);
            }
            Op::DenseNr(ref dense) => {
                a = data.nr;
                at = code.dense(dense, a);
            }
            _ => return execute(code, data, at, a),
        }
    }
}

/// Goes on with any operation.
#[inline(never)]
fn execute(code: &Code, data: &SeccompData, mut at: Target, a: u32) -> u32 {
    let mut registers = Registers::default();
    registers.a = a;
    loop {
        let op = match code.operation(at) {
            Ok(op) => op,
            Err(value) => return value,
        };
        at += 1;
        match *op {
            Op::Ret(value) => return value,
            Op::RetA => return registers.a,
            Op::Jump(target) => at = target,
            Op::LoadNr => registers.a = data.nr,
            Op::LoadArch => registers.a = data.arch,
            Op::LoadArg(arg, shift) => registers.a = argument(data, arg, shift),
            Op::LoadIp(shift) => registers.a = (data.instruction_pointer >> (shift & 63)) as u32,
            Op::TestNr(ref test) => {
                registers.a = data.nr;
                at = test.target(registers.a);
            }
            Op::TestArch(ref test) => {
                registers.a = data.arch;
                at = test.target(registers.a);
            }
            Op::TestArg(arg, shift, ref test) => {
                registers.a = argument(data, arg, shift);
                at = test.target(registers.a);
            }
            Op::DenseNr(ref dense) => {
                registers.a = data.nr;
                at = code.dense(dense, registers.a);
            }
            Op::ArchDenseNr(arch, other, ref dense) => {
                let here = data.arch == arch;
                registers.a = if here { data.nr } else { data.arch };
                at = if here { code.dense(dense, registers.a) } else { other };
            }
            Op::TestWhole(ref whole) => at = whole.target(whole_argument(data, whole.arg)),
            Op::Test(ref test) => at = test.target(registers.a),
            Op::TestX(cmp, yes, no) => {
                at = if cmp.holds(registers.a, registers.x) { yes } else { no };
            }
            Op::SwapTestX(cmp, k, yes, no) => {
                registers.swap(k);
                at = if cmp.holds(registers.a, registers.x) { yes } else { no };
            }
            Op::Dense(ref dense) => at = code.dense(dense, registers.a),
            Op::Search(ref search) => at = code.search(search, registers.a),
            _ => {
                if registers.compute(op).is_none() {
                    return 0;
                }
            }
        }
    }
}

#[inline(always)]
fn argument(data: &SeccompData, arg: u8, shift: u8) -> u32 {
    (whole_argument(data, arg) >> (shift & 63)) as u32
}

#[inline(always)]
fn whole_argument(data: &SeccompData, arg: u8) -> u64 {
    data.args.get(usize::from(arg)).copied().unwrap_or(0)
}
