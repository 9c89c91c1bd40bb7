//! Runs code that was made of a socket filter.

use callgate::bpf::{Ancillary, Width, load_absolute, load_indexed};

use super::op::{Code, Op, Probe, Target};
use super::registers::Registers;

/// The value that the code returns for a packet.
#[inline]
pub(super) fn run(code: &Code, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
    let (mut a, mut x, mut at) = (0, 0, code.entry);
    // Many filters are nothing but probes: they do not come to the end of this block.
    if probe(code, packet, ancillary, &mut at, &mut a, &mut x).is_none() {
        return 0;
    }
    match code.returns.get(usize::from(at) - code.probes.len()) {
        Some(&value) => value,
        None => execute(code, packet, ancillary, at, [a, x]).unwrap_or(0),
    }
}

/// Runs probes until something else comes. `None` when a load ends the program.
#[inline(always)]
fn probe(
    code: &Code,
    packet: &[u8],
    ancillary: &dyn Ancillary,
    at: &mut Target,
    a: &mut u32,
    x: &mut u32,
) -> Option<()> {
    while let Some(probe) = code.probes.get(usize::from(*at)) {
        if probe.header != Probe::NO_HEADER {
            *x = (byte(packet, probe.header)? & 0xf) << 2;
        }
        let offset = probe.offset.wrapping_add(*x & probe.indexed);
        let start = offset as usize;
        *a = match packet.get(start..start + 4).and_then(|word| word.first_chunk()) {
            Some(&bytes) => u32::from_be_bytes(bytes) >> (probe.shift & 31),
            None => near_the_end(packet, ancillary, offset, probe.shift)?,
        };
        *at = probe.target(*at, *a);
    }
    Some(())
}

/// `None` when a load or a division ends the program.
#[inline(never)]
fn execute(
    code: &Code,
    packet: &[u8],
    ancillary: &dyn Ancillary,
    mut at: Target,
    [a, x]: [u32; 2],
) -> Option<u32> {
    let mut registers = Registers::default();
    (registers.a, registers.x) = (a, x);
    loop {
        probe(code, packet, ancillary, &mut at, &mut registers.a, &mut registers.x)?;
        let op = match code.operation(at) {
            Ok(op) => op,
            Err(value) => return Some(value),
        };
        at += 1;
        match *op {
            Op::Ret(value) => return Some(value),
            Op::RetA => return Some(registers.a),
            Op::Jump(target) | Op::Probe(target) => at = target,
            Op::LoadByte(k) => registers.a = byte(packet, k)?,
            Op::LoadHalf(k) => registers.a = half(packet, k)?,
            Op::LoadWord(k) => registers.a = word(packet, k)?,
            Op::AluHalfX(alu, k) => registers.a = alu.apply(half(packet, k)?, registers.x)?,
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
            Op::IndexedFieldByte(k, field) => {
                let byte = indexed(packet, ancillary, registers.x, k, Width::Byte)?;
                registers.a = field.of(byte);
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
            _ => registers.compute(op)?,
        }
    }
}

/// The load of a probe where no whole word lies: in the last bytes, behind them, or before a header.
#[cold]
#[inline(never)]
fn near_the_end(packet: &[u8], ancillary: &dyn Ancillary, offset: u32, shift: u8) -> Option<u32> {
    let width = match shift {
        24 => Width::Byte,
        16 => Width::Half,
        _ => Width::Word,
    };
    load_indexed(packet, ancillary, offset, width)
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

/// A load relative to X: from the start of the packet, or, with the highest bit, from a header.
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
