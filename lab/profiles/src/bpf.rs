//! An interpreter for seccomp's classic BPF, from `Documentation/networking/filter.rst`.

use crate::machine::Machine;
use crate::runtime::Call;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// The opcode.
    pub code: u16,
    /// How many instructions to skip when the comparison holds.
    pub jt: u8,
    /// How many to skip when it does not hold.
    pub jf: u8,
    /// The constant.
    pub k: u32,
}

/// Runs a program on a syscall, with the byte order of a machine.
///
/// # Errors
/// For an instruction that seccomp does not support, and after the end of the program.
pub fn run(program: &[Insn], call: &Call, machine: Machine) -> Result<u32, String> {
    let words = words(call, machine);
    let mut scratch = [0u32; 16];
    let (mut a, mut x, mut at) = (0u32, 0u32, 0usize);
    while let Some(&Insn { code, jt, jf, k }) = program.get(at) {
        at += 1;
        let operand = if code & 0x08 == 0 { k } else { x };
        let slot = k as usize % 16;
        match code {
            0x20 if k < 64 && k % 4 == 0 => a = words[k as usize / 4],
            0x00 => a = k,
            0x01 => x = k,
            0x60 => a = scratch[slot],
            0x61 => x = scratch[slot],
            0x80 => a = 64,
            0x81 => x = 64,
            0x02 => scratch[slot] = a,
            0x03 => scratch[slot] = x,
            0x07 => x = a,
            0x87 => a = x,
            0x06 => return Ok(k),
            0x16 => return Ok(a),
            0x05 => at += k as usize,
            0x84 => a = a.wrapping_neg(),
            _ if code & 0x07 == 0x04 => {
                a = match code & 0xf0 {
                    0x00 => a.wrapping_add(operand),
                    0x10 => a.wrapping_sub(operand),
                    0x20 => a.wrapping_mul(operand),
                    // A division by zero in X ends the program with 0.
                    0x30 => match a.checked_div(operand) {
                        Some(quotient) => quotient,
                        None => return Ok(0),
                    },
                    0x40 => a | operand,
                    0x50 => a & operand,
                    0x60 => a.checked_shl(operand & 31).unwrap_or(0),
                    0x70 => a.checked_shr(operand & 31).unwrap_or(0),
                    0xa0 => a ^ operand,
                    _ => return Err(format!("code {code:#x}")),
                }
            }
            _ if code & 0x07 == 0x05 => {
                let holds = match code & 0xf0 {
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    0x40 => a & operand != 0,
                    _ => return Err(format!("code {code:#x}")),
                };
                at += usize::from(if holds { jt } else { jf });
            }
            _ => return Err(format!("code {code:#x}")),
        }
    }
    Err("the program does not end with a return".to_owned())
}

/// `struct seccomp_data`, word by word.
fn words(call: &Call, machine: Machine) -> [u32; 16] {
    let mut words = [0; 16];
    (words[0], words[1]) = (call.nr, call.token);
    let values = std::iter::once(call.ip).chain(call.args);
    for (i, value) in values.enumerate() {
        let (low, high) = (value as u32, (value >> 32) as u32);
        let pair = if machine.is_big_endian() { [high, low] } else { [low, high] };
        words[2 + 2 * i..][..2].copy_from_slice(&pair);
    }
    words
}
