//! Runs code that was made of a socket filter.

use callgate::bpf::{Ancillary, Width, load_absolute, load_indexed};

use super::op::{Code, Op};
use super::registers::Registers;

/// The value that the code returns for a packet.
pub(super) fn run(code: &Code, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
    execute(code, packet, ancillary).unwrap_or(0)
}

/// `None` when a load or a division ends the program.
#[inline(always)]
fn execute(code: &Code, packet: &[u8], ancillary: &dyn Ancillary) -> Option<u32> {
    let mut registers = Registers::default();
    let mut at = 0;
    loop {
        let op = code.ops.get(at)?;
        at += 1;
        match *op {
            Op::Ret(value) => return Some(value),
            Op::RetA => return Some(registers.a),
            Op::Jump(target) => at = target.into(),
            Op::LoadByte(k) => registers.a = byte(packet, k)?,
            Op::LoadHalf(k) => registers.a = half(packet, k)?,
            Op::LoadWord(k) => registers.a = word(packet, k)?,
            Op::TestByte(k, ref test) => {
                registers.a = byte(packet, k)?;
                at = test.target(registers.a);
            }
            Op::TestHalf(k, ref test) => {
                registers.a = half(packet, k)?;
                at = test.target(registers.a);
            }
            Op::TestWord(k, ref test) => {
                registers.a = word(packet, k)?;
                at = test.target(registers.a);
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
            Op::IndexedTestByte(k, ref test) => {
                registers.a = indexed(packet, ancillary, registers.x, k, Width::Byte)?;
                at = test.target(registers.a);
            }
            Op::IndexedTestHalf(k, ref test) => {
                registers.a = indexed(packet, ancillary, registers.x, k, Width::Half)?;
                at = test.target(registers.a);
            }
            Op::IndexedTestWord(k, ref test) => {
                registers.a = indexed(packet, ancillary, registers.x, k, Width::Word)?;
                at = test.target(registers.a);
            }
            Op::IndexedFieldByte(k, field) => {
                let byte = indexed(packet, ancillary, registers.x, k, Width::Byte)?;
                registers.a = field.of(byte);
            }
            Op::Special(width, k) => {
                let (a, x) = (registers.a, registers.x);
                registers.a = load_absolute(packet, ancillary, k, width, a, x)?;
            }
            Op::SpecialMsh(k) => {
                let byte = load_indexed(packet, ancillary, k, Width::Byte)?;
                registers.x = (byte & 0xf) << 2;
            }
            Op::Msh(k) => registers.x = (byte(packet, k)? & 0xf) << 2,
            Op::Len => registers.a = length(packet),
            Op::LenX => registers.x = length(packet),
            Op::Test(ref test) => at = test.target(registers.a),
            Op::TestX(cmp, yes, no) => {
                at = if cmp.holds(registers.a, registers.x) { yes } else { no }.into();
            }
            Op::Dense(ref dense) => at = code.dense(dense, registers.a),
            Op::Search(ref search) => at = code.search(search, registers.a),
            _ => registers.compute(op)?,
        }
    }
}

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
