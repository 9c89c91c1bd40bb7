//! The interpreter loops, for seccomp filters and for socket filters.

use super::op::cold_path;

use callgate_core::{Ancillary, SeccompData, Width, load_absolute, load_indexed};

use super::op::{Code, Dense, Op, Target};

/// The registers and scratch words.
#[derive(Default)]
struct Registers {
    a: u32,
    x: u32,
    scratch: [u32; 16],
}

impl Registers {
    #[inline(always)]
    fn scratch(&self, k: u8) -> u32 {
        self.scratch[usize::from(k & 15)]
    }

    #[inline(always)]
    fn store(&mut self, k: u8, value: u32) {
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

/// The value that the code returns for a syscall.
#[inline]
pub(super) fn on_syscall(code: &Code, data: &SeccompData) -> u32 {
    // Most filters decide most syscalls by the arch and the number alone.
    let (mut at, mut a) = (code.entry, 0);
    if let Some(&Op::ArchDenseNr(arch, other, ref dense)) = code.operation(at.into()) {
        (at, a) = arch_and_nr(code, data, arch, other, dense);
    }
    match code.returned(at.into()) {
        Some(value) => value,
        None => test_syscall(code, data, at, a),
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
fn test_syscall(code: &Code, data: &SeccompData, mut at: Target, mut a: u32) -> u32 {
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
            _ => return execute_on_syscall(code, data, at.into(), a).unwrap_or(0),
        }
    }
}

/// The loop for all operations; `None` if a division ends the program.
#[inline(never)]
fn execute_on_syscall(code: &Code, data: &SeccompData, mut at: usize, a: u32) -> Option<u32> {
    let mut registers = Registers { a, ..Registers::default() };
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

/// The value that the code returns for a packet.
#[inline]
pub(super) fn on_packet(code: &Code, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
    let (mut at, mut x) = (usize::from(code.entry), 0);
    // Many filters consist of probes only, and return right after them.
    probe(code, packet, &mut at, &mut x);
    match code.returned(at) {
        Some(value) => value,
        None => execute_on_packet(code, packet, ancillary, at, x).unwrap_or(0),
    }
}

/// Runs consecutive probes.
#[inline(always)]
fn probe(code: &Code, packet: &[u8], at: &mut usize, x: &mut u32) {
    // Offsets of 2^31 and more are not in the packet.
    let near = packet.get(..i32::MAX as usize).unwrap_or(packet);
    while let Some(probe) = code.probes.get(*at) {
        *at = probe.target(*at, near, x);
    }
}

/// The same, out of line: for the loop over other operations, where probes are rare.
#[inline(never)]
fn probe_again(code: &Code, packet: &[u8], mut at: usize, mut x: u32) -> (usize, u32) {
    probe(code, packet, &mut at, &mut x);
    (at, x)
}

/// The loop for all operations; `None` if a load or a division ends the program.
#[inline(never)]
fn execute_on_packet(
    code: &Code,
    packet: &[u8],
    ancillary: &dyn Ancillary,
    mut at: usize,
    x: u32,
) -> Option<u32> {
    let mut registers = Registers { x, ..Registers::default() };
    loop {
        let Some(op) = code.operation(at) else {
            if at < code.probes.len() {
                (at, registers.x) = probe_again(code, packet, at, registers.x);
                continue;
            }
            return code.returned(at);
        };
        at += 1;
        let mut go = |target: Target| at = target.into();
        execute!(op, code, registers, go, {
            Op::Probe(target) => go(target),
            Op::LoadByte(k) => registers.a = byte(packet, k)?,
            Op::LoadHalf(k) => registers.a = half(packet, k)?,
            Op::LoadWord(k) => registers.a = word(packet, k)?,
            Op::TestByte(k, ref test) => {
                registers.a = byte(packet, k)?;
                go(test.target(registers.a));
            }
            Op::TestHalf(k, ref test) => {
                registers.a = half(packet, k)?;
                go(test.target(registers.a));
            }
            Op::TestWord(k, ref test) => {
                registers.a = word(packet, k)?;
                go(test.target(registers.a));
            }
            Op::HalfMinusX(k) => registers.a = half(packet, k)?.wrapping_sub(registers.x),
            Op::KeepHalfMinusX(k, word) => {
                registers.a = half(packet, k)?.wrapping_sub(registers.x);
                registers.store(word, registers.a);
                at += 1;
            }
            Op::FieldByte(k, field) => registers.a = field.of(byte(packet, k)?),
            Op::IndexedByte(k) => {
                registers.a = indexed(packet, ancillary, registers.x, k, Width::Byte)?;
            }
            Op::IndexedHalf(k) => {
                registers.a = indexed(packet, ancillary, registers.x, k, Width::Half)?;
            }
            Op::IndexedWord(k) => {
                registers.a = indexed(packet, ancillary, registers.x, k, Width::Word)?;
            }
            Op::TestIndexed(width, k, ref test) => {
                registers.a = indexed(packet, ancillary, registers.x, k, width)?;
                go(test.target(registers.a));
            }
            Op::IndexedFieldByte(k, field) => {
                let byte = indexed(packet, ancillary, registers.x, k, Width::Byte)?;
                registers.a = field.of(byte);
            }
            Op::IndexedFieldEq(k, field, word, yes, no) => {
                let byte = indexed(packet, ancillary, registers.x, k, Width::Byte)?;
                (registers.x, registers.a) = (field.of(byte), registers.scratch(word));
                go(if registers.a == registers.x { yes } else { no });
            }
            Op::Special(width, k) => {
                let (a, x) = (registers.a, registers.x);
                registers.a = special(packet, ancillary, k, width, a, x)?;
            }
            Op::SpecialMsh(k) => {
                let byte = from_header(packet, ancillary, k, Width::Byte)?;
                registers.x = (byte & 0xf) << 2;
            }
            Op::Msh(k) => registers.x = (byte(packet, k)? & 0xf) << 2,
            Op::Len => registers.a = length(packet),
            Op::LenX => registers.x = length(packet),
        });
    }
}

#[cold]
#[inline(never)]
fn special(
    packet: &[u8],
    ancillary: &dyn Ancillary,
    k: u32,
    width: Width,
    a: u32,
    x: u32,
) -> Option<u32> {
    load_absolute(packet, ancillary, k, width, a, x)
}

#[inline(never)]
fn length(packet: &[u8]) -> u32 {
    u32::try_from(packet.len()).unwrap_or(u32::MAX)
}

#[inline(always)]
fn byte(packet: &[u8], k: u32) -> Option<u32> {
    packet.get(k as usize).map(|&byte| byte.into())
}

#[inline(always)]
fn half(packet: &[u8], k: u32) -> Option<u32> {
    Some(u16::from_be_bytes(*packet.get(k as usize..)?.first_chunk()?).into())
}

#[inline(always)]
fn word(packet: &[u8], k: u32) -> Option<u32> {
    Some(u32::from_be_bytes(*packet.get(k as usize..)?.first_chunk()?))
}

/// A load relative to X: from the start of the packet, or, if the highest bit of the sum is set, from a
/// header.
#[inline(always)]
fn indexed(packet: &[u8], ancillary: &dyn Ancillary, x: u32, k: u32, width: Width) -> Option<u32> {
    let offset = x.wrapping_add(k);
    if (offset as i32) < 0 {
        return from_header(packet, ancillary, offset, width);
    }
    match width {
        Width::Byte => byte(packet, offset),
        Width::Half => half(packet, offset),
        Width::Word => word(packet, offset),
    }
}

#[cold]
#[inline(never)]
fn from_header(packet: &[u8], ancillary: &dyn Ancillary, offset: u32, width: Width) -> Option<u32> {
    load_indexed(packet, ancillary, offset, width)
}
