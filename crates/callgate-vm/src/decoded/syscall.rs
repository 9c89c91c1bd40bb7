//! The interpreter loop for seccomp filters.

use super::cold::cold_path;

use callgate_core::SeccompData;

use super::op::{Code, Dense, Op};
use super::registers::{Registers, execute};
use super::target::Target;

/// The value that the code returns for a syscall.
#[inline]
pub(super) fn run(code: &Code, data: &SeccompData) -> u32 {
    // Most filters decide most syscalls by the arch and the number alone.
    let (mut at, mut a) = (code.entry, 0);
    if let Some(&Op::ArchDenseNr(arch, other, ref dense)) = code.operation(at.into()) {
        (at, a) = arch_and_nr(code, data, arch, other, dense);
    }
    match code.returned(at.into()) {
        Some(value) => value,
        None => test(code, data, at, a),
    }
}

#[inline(always)]
fn arch_and_nr(
    code: &Code,
    data: &SeccompData,
    arch: u32,
    other: Target,
    dense: &Dense,
) -> (Target, u32) {
    if data.arch == arch {
        (code.dense(dense, data.nr), data.nr)
    } else {
        cold_path();
        (other, data.arch)
    }
}

/// The loop while there are only tests, which do not use X and scratch words.
#[inline(never)]
fn test(code: &Code, data: &SeccompData, mut at: Target, mut a: u32) -> u32 {
    loop {
        let Some(op) = code.operation(at.into()) else {
            return code.returned(at.into()).unwrap_or(0);
        };
        match *op {
            Op::ArchDenseNr(arch, other, ref dense) => {
                (at, a) = arch_and_nr(code, data, arch, other, dense);
            }
            // A is dead afterwards.
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
            _ => return execute(code, data, at.into(), a).unwrap_or(0),
        }
    }
}

/// The loop for all operations; `None` if a division ends the program.
#[inline(never)]
fn execute(code: &Code, data: &SeccompData, mut at: usize, a: u32) -> Option<u32> {
    let mut registers = Registers::default();
    registers.a = a;
    loop {
        let Some(op) = code.operation(at) else { return code.returned(at) };
        at += 1;
        let mut go = |target: Target| at = target.into();
        execute!(op, code, registers, go, {
            Op::LoadNr => registers.a = data.nr,
            Op::LoadArch => registers.a = data.arch,
            Op::LoadArg(arg, shift) => registers.a = argument(data, arg, shift),
            Op::LoadIp(shift) => registers.a = (data.instruction_pointer >> (shift & 63)) as u32,
            Op::TestNr(ref test) => {
                registers.a = data.nr;
                go(test.target(registers.a));
            }
            Op::TestArch(ref test) => {
                registers.a = data.arch;
                go(test.target(registers.a));
            }
            Op::TestArg(arg, shift, ref test) => {
                registers.a = argument(data, arg, shift);
                go(test.target(registers.a));
            }
            Op::DenseNr(ref dense) => {
                registers.a = data.nr;
                go(code.dense(dense, registers.a));
            }
            Op::ArchDenseNr(arch, other, ref dense) => {
                let target;
                (target, registers.a) = arch_and_nr(code, data, arch, other, dense);
                go(target);
            }
            Op::TestWhole(ref whole) => go(whole.target(whole_argument(data, whole.arg))),
        });
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
