//! The interpreter loop for socket filters.

use callgate_core::{Ancillary, Width, load_absolute, load_indexed};

use super::op::{Code, Op};
use super::registers::{Registers, execute};
use super::target::Target;

/// The value that the code returns for a packet.
#[inline]
pub(super) fn run(code: &Code, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
    let (mut at, mut x) = (usize::from(code.entry), 0);
    // Many filters consist of probes only, and return right after them.
    probe(code, packet, &mut at, &mut x);
    match code.returned(at) {
        Some(value) => value,
        None => execute(code, packet, ancillary, at, x),
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

/// The loop for all operations.
#[inline(never)]
fn execute(code: &Code, packet: &[u8], ancillary: &dyn Ancillary, at: usize, x: u32) -> u32 {
    value(code, packet, ancillary, at, x).unwrap_or(0)
}

/// `None` if a load or a division ends the program.
#[inline(always)]
fn value(
    code: &Code,
    packet: &[u8],
    ancillary: &dyn Ancillary,
    mut at: usize,
    x: u32,
) -> Option<u32> {
    let mut registers = Registers::default();
    registers.x = x;
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
