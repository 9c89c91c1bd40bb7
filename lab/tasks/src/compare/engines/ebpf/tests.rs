//! Compares a small eBPF interpreter, written from RFC 9669, with the reference interpreter.

use callgate::{Endian, SeccompData};
use callgate_bpf::asm;
use callgate_bpf::random::Rng;
use callgate_core::{NoAncillary, Operand, SocketProgram, Step, Word};
use callgate_vm::differential;

use super::*;

/// Addresses of the context, the input, and the top of the stack.
const CONTEXT: u64 = 0x1000;
const PACKET: u64 = 0x1_0000;
const STACK_END: u64 = 0x9000_0000;

/// Runs a program on a context and a packet; all accesses must be inside of them or the stack.
fn run(code: &[u8], context: &[u8], packet: &[u8]) -> u32 {
    let mut stack = [0xaau8; 512];
    let mut registers = [0xdead_beef_dead_beefu64; 11];
    registers[1] = CONTEXT;
    registers[10] = STACK_END;
    let mut at = 0;
    loop {
        let insn: [u8; 8] = code[8 * at..8 * at + 8].try_into().unwrap();
        at += 1;
        let (class, op) = (insn[0] & 7, insn[0] & 0xf0);
        let (to, from) = (usize::from(insn[1] & 15), usize::from(insn[1] >> 4));
        let offset = i64::from(i16::from_le_bytes([insn[2], insn[3]]));
        let k = u32::from_le_bytes(insn[4..].try_into().unwrap());
        // 64-bit operations sign-extend constants.
        let right = if insn[0] & BY_X != 0 { registers[from] } else { i64::from(k as i32) as u64 };
        let bytes = match insn[0] & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        };
        match class {
            LDX => {
                let address = registers[from].wrapping_add_signed(offset);
                let source: &[u8] = match address {
                    PACKET.. if address < PACKET + packet.len() as u64 => {
                        &packet[(address - PACKET) as usize..]
                    }
                    CONTEXT..PACKET => &context[(address - CONTEXT) as usize..],
                    _ => &stack[512 - (STACK_END - address) as usize..],
                };
                let mut value = [0; 8];
                value[..bytes].copy_from_slice(&source[..bytes]);
                registers[to] = u64::from_le_bytes(value);
            }
            STX => {
                let address = registers[to].wrapping_add_signed(offset);
                let place = 512 - (STACK_END - address) as usize;
                stack[place..place + bytes]
                    .copy_from_slice(&registers[from].to_le_bytes()[..bytes]);
            }
            ALU if insn[0] == ALU | SWAP_TO_BIG => {
                let value = registers[to];
                registers[to] = match k {
                    16 => (value as u16).swap_bytes().into(),
                    32 => (value as u32).swap_bytes().into(),
                    _ => panic!("a swap of {k} bits"),
                };
            }
            ALU => {
                let (a, b) = (registers[to] as u32, right as u32);
                let value = match op {
                    ADD => a.wrapping_add(b),
                    SUB => a.wrapping_sub(b),
                    MUL => a.wrapping_mul(b),
                    DIV => a / b,
                    MOD => a % b,
                    OR => a | b,
                    AND => a & b,
                    XOR => a ^ b,
                    LSH => a << (b & 31),
                    RSH => a >> (b & 31),
                    NEG => a.wrapping_neg(),
                    MOV => b,
                    _ => panic!("operation {op:#x}"),
                };
                registers[to] = value.into();
            }
            ALU64 => match op {
                ADD => registers[to] = registers[to].wrapping_add(right),
                MOV => registers[to] = right,
                _ => panic!("operation {op:#x} of 64 bits"),
            },
            _ if insn[0] == JMP | EXIT => {
                assert_eq!(registers[0] >> 32, 0, "the upper half of what is returned");
                return registers[0] as u32;
            }
            _ => {
                let narrow = |value: u64| if class == JMP32 { value as u32 as u64 } else { value };
                let (left, right) = (narrow(registers[to]), narrow(right));
                let taken = match op {
                    JA => true,
                    JEQ => left == right,
                    JNE => left != right,
                    JGT => left > right,
                    JGE => left >= right,
                    JLT => left < right,
                    JLE => left <= right,
                    JSET => left & right != 0,
                    _ => panic!("jump {op:#x}"),
                };
                if taken {
                    at = at.checked_add_signed(offset as isize).unwrap();
                }
            }
        }
    }
}

fn run_packet(code: &[u8], packet: &[u8]) -> u32 {
    let context = [PACKET.to_le_bytes(), (packet.len() as u64).to_le_bytes()].concat();
    run(code, &context, packet)
}

#[test]
fn random_filters_of_calls_return_what_the_reference_returns() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let program = differential::seccomp_program(&mut rng);
        let code = to_ebpf(program.insns(), false).unwrap();
        for _ in 0..20 {
            let mut data = SeccompData::default();
            for word in Word::all() {
                let insn = rng.pick(program.insns()).unwrap();
                data.set_word(word, insn.k.wrapping_add(rng.below(3) as u32));
            }
            let expected = program.run(&data, Endian::Little).verdict.0;
            assert_eq!(run(&code, &data.to_bytes(Endian::Little), &[]), expected, "seed {seed}");
        }
    }
}

#[test]
fn random_filters_of_packets_return_what_the_reference_returns() {
    let (mut converted, mut indexed_inside) = (0, 0);
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let program = differential::socket_program(&mut rng);
        let Ok(code) = to_ebpf(program.insns(), true) else { continue };
        converted += 1;
        let mut inside = false;
        for length in 0..30u32 {
            let packet: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
            // A negative offset from X is relative to a header, which is not supported here.
            let mut in_headers = false;
            let expected = program.trace(&packet, &NoAncillary, |Step { insn, x, .. }| {
                let indexed = insn.op.operand() == Operand::Indexed;
                in_headers |= indexed && x.wrapping_add(insn.k) >= 0x8000_0000;
                inside |= indexed && x.wrapping_add(insn.k) < length;
            });
            if !in_headers {
                assert_eq!(run_packet(&code, &packet), expected, "seed {seed}: {program:?}");
            }
        }
        indexed_inside += u32::from(inside);
    }
    assert!(converted > 500 && indexed_inside > 100, "{converted}, {indexed_inside}");
}

fn socket(text: &str) -> Result<Vec<u8>> {
    let program = SocketProgram::new(asm::assemble(text).unwrap()).unwrap();
    to_ebpf(program.insns(), true)
}

#[test]
fn loads_relative_to_x_stay_inside_of_the_packet() {
    let code = socket("ldb [0]\n tax\n ldh [x + 1]\n ret a").unwrap();
    assert_eq!(run_packet(&code, &[0, 1, 2]), 0x102);
    assert_eq!(run_packet(&code, &[1, 9, 1, 2]), 0x102);
    assert_eq!(run_packet(&code, &[2, 9, 1, 2]), 0);
    let wraps = socket("ldx #0xffffffff\n ldb [x + 1]\n ret a").unwrap();
    assert_eq!(run_packet(&wraps, &[7]), 7);
    let far = socket("ldx #0xfffffffe\n ldb [x + 1]\n ret #1").unwrap();
    assert_eq!(run_packet(&far, &[7]), 0);
    let long = socket("ldh [40000]\n ret a").unwrap();
    let mut packet = vec![0; 40_001];
    assert_eq!(run_packet(&long, &packet), 0);
    packet.extend([0; 1]);
    packet[40_001] = 5;
    assert_eq!(run_packet(&long, &packet), 5);
}

#[test]
fn what_is_not_in_the_packet_is_refused() {
    for text in ["ld #proto\n ret a", "ldb [-0x100000]\n ret a", "ld [0x7ffffffe]\n ret a"] {
        assert!(socket(text).unwrap_err().contains("ancillary or header-relative"), "{text}");
    }
    // This looks like a load but is not one.
    let old = socket("ldx #12\n ld #10\n ld [-0xfd8]\n ret a").unwrap();
    assert_eq!(run_packet(&old, &[]), 6);
}
