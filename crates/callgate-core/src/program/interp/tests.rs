//! Each instruction, on syscalls and on packets.

use super::super::{NoAncillary, Program, SocketProgram};
use super::*;
use crate::SeccompData;

/// The value of a seccomp program that ends with `ret a`.
fn value(body: &[Insn]) -> u32 {
    let mut insns = body.to_vec();
    insns.push(Insn::new(Op::RetA, 0));
    let program = Program::new(insns).unwrap();
    program.run(&SeccompData::default(), Endian::Little).verdict.0
}

/// `a OP k` and `a OP x`, which must agree.
fn binary(by_k: Op, by_x: Op, a: u32, operand: u32) -> u32 {
    let constant = value(&[Insn::new(Op::LdImm, a), Insn::new(by_k, operand)]);
    let index =
        value(&[Insn::new(Op::LdxImm, operand), Insn::new(Op::LdImm, a), Insn::new(by_x, 0)]);
    assert_eq!(constant, index, "{by_k:?} {a:#x} {operand:#x}");
    constant
}

#[test]
fn arithmetic_wraps_at_32_bits() {
    assert_eq!(binary(Op::AddK, Op::AddX, u32::MAX, 2), 1);
    assert_eq!(binary(Op::SubK, Op::SubX, 1, 2), u32::MAX);
    assert_eq!(binary(Op::MulK, Op::MulX, 0x8000_0001, 2), 2);
    assert_eq!(binary(Op::DivK, Op::DivX, u32::MAX, 2), 0x7fff_ffff);
    assert_eq!(binary(Op::OrK, Op::OrX, 0b1100, 0b1010), 0b1110);
    assert_eq!(binary(Op::AndK, Op::AndX, 0b1100, 0b1010), 0b1000);
    assert_eq!(binary(Op::XorK, Op::XorX, 0b1100, 0b1010), 0b0110);
    assert_eq!(binary(Op::LshK, Op::LshX, 0x8000_0001, 31), 0x8000_0000);
    assert_eq!(binary(Op::RshK, Op::RshX, 0x8000_0001, 31), 1);
    assert_eq!(value(&[Insn::new(Op::LdImm, 1), Insn::new(Op::Neg, 0)]), u32::MAX);
    assert_eq!(value(&[Insn::new(Op::LdImm, 0), Insn::new(Op::Neg, 0)]), 0);
}

#[test]
fn shifts_by_x_use_five_bits() {
    let shift =
        |op, by| value(&[Insn::new(Op::LdxImm, by), Insn::new(Op::LdImm, 6), Insn::new(op, 0)]);
    assert_eq!(shift(Op::LshX, 32), 6);
    assert_eq!(shift(Op::LshX, 33), 12);
    assert_eq!(shift(Op::RshX, 0xffff_ffe1), 3);
}

#[test]
fn division_by_a_zero_x_ends_the_program_with_0() {
    let program = Program::new(vec![
        Insn::new(Op::LdImm, 7),
        Insn::new(Op::DivX, 0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap();
    let run = program.run(&SeccompData::default(), Endian::Little);
    assert_eq!(run, Run { verdict: Verdict::KILL_THREAD, executed: 2 });
    let remainder = SocketProgram::new(vec![
        Insn::new(Op::LdImm, 7),
        Insn::new(Op::ModX, 0),
        Insn::new(Op::RetK, 1),
    ])
    .unwrap();
    assert_eq!(remainder.run(&[], &NoAncillary), 0);
}

#[test]
fn registers_start_as_0_and_move() {
    assert_eq!(value(&[]), 0);
    assert_eq!(value(&[Insn::new(Op::Txa, 0)]), 0);
    let there_and_back = [
        Insn::new(Op::LdImm, 5),
        Insn::new(Op::Tax, 0),
        Insn::new(Op::LdImm, 9),
        Insn::new(Op::St, 15),
        Insn::new(Op::Txa, 0),
        Insn::new(Op::LdxMem, 15),
        Insn::new(Op::AddX, 0),
    ];
    assert_eq!(value(&there_and_back), 14);
    let stored = [
        Insn::new(Op::LdxImm, 3),
        Insn::new(Op::Stx, 0),
        Insn::new(Op::LdxImm, 0),
        Insn::new(Op::LdMem, 0),
    ];
    assert_eq!(value(&stored), 3);
}

#[test]
fn length_of_a_syscall_is_64() {
    assert_eq!(value(&[Insn::new(Op::LdLen, 0)]), 64);
    assert_eq!(value(&[Insn::new(Op::LdxLen, 0), Insn::new(Op::Txa, 0)]), 64);
}

#[test]
fn branches_compare_unsigned() {
    let taken = |op, a, k| {
        let program = Program::new(vec![
            Insn::new(Op::LdImm, a),
            Insn::branch(op, k, 1, 0),
            Insn::new(Op::RetK, 0),
            Insn::new(Op::RetK, 1),
        ]);
        program.unwrap().run(&SeccompData::default(), Endian::Little).verdict.0 == 1
    };
    assert!(taken(Op::JgtK, 0x8000_0000, 1));
    assert!(!taken(Op::JgtK, 1, 1));
    assert!(taken(Op::JgeK, 1, 1));
    assert!(!taken(Op::JgeK, 0, 0xffff_ffff));
    assert!(taken(Op::JeqK, 7, 7));
    assert!(!taken(Op::JsetK, 0b100, 0b011));
    assert!(taken(Op::JsetK, 0b110, 0b011));
}

#[test]
fn words_of_seccomp_data_follow_the_byte_order() {
    let data = SeccompData {
        nr: 1,
        arch: 2,
        instruction_pointer: 0x0000_0003_0000_0004,
        args: [0x0000_0005_0000_0006, 0, 0, 0, 0, 0x0000_0007_0000_0008],
    };
    let load = |offset, endian| {
        let program = Program::new(vec![Insn::new(Op::LdWordAbs, offset), Insn::new(Op::RetA, 0)]);
        program.unwrap().run(&data, endian).verdict.0
    };
    for (offset, little, big) in
        [(0, 1, 1), (4, 2, 2), (8, 4, 3), (12, 3, 4), (16, 6, 5), (20, 5, 6), (60, 7, 8)]
    {
        assert_eq!(load(offset, Endian::Little), little, "{offset}");
        assert_eq!(load(offset, Endian::Big), big, "{offset}");
    }
}

#[test]
fn a_trace_shows_each_instruction_with_the_registers_before_it() {
    let program = Program::new(vec![
        Insn::new(Op::LdImm, 4),
        Insn::new(Op::Ja, 1),
        Insn::new(Op::RetK, 1),
        Insn::new(Op::RetA, 0),
    ])
    .unwrap();
    let mut seen = Vec::new();
    let run = program.trace(&SeccompData::default(), Endian::Little, |step| {
        seen.push((step.index, step.insn.op, step.a));
    });
    assert_eq!(seen, [(0, Op::LdImm, 0), (1, Op::Ja, 4), (3, Op::RetA, 4)]);
    assert_eq!(run, Run { verdict: Verdict(4), executed: 3 });
}

#[test]
fn a_step_shows_whether_the_condition_of_its_branch_holds() {
    let holds = |insn| Step { index: 0, insn, a: 5, x: 6 }.holds();
    for (insn, expected) in [
        (Insn::branch(Op::JeqK, 5, 0, 0), Some(true)),
        (Insn::branch(Op::JeqX, 5, 0, 0), Some(false)),
        (Insn::branch(Op::JgeX, 0, 0, 0), Some(false)),
        (Insn::branch(Op::JsetX, 0, 0, 0), Some(true)),
        (Insn::new(Op::AddK, 5), None),
        (Insn::new(Op::Ja, 5), None),
    ] {
        assert_eq!(holds(insn), expected, "{insn}");
    }
}

/// The acceptance rules refuse these loads; without them, they still never lead to ALLOW.
#[test]
fn other_loads_than_those_of_seccomp_end_a_filter_with_0() {
    let input = WordInput { data: &SeccompData::default(), endian: Endian::Little };
    let end = |load| execute(&[load, Insn::new(Op::RetK, Verdict::ALLOW.0)], &input, |_| ());
    assert_eq!(end(Insn::new(Op::LdWordAbs, 60)), (Verdict::ALLOW.0, 2));
    for op in Op::ALL.iter().copied().filter(|op| op.width().is_some() && !op.in_seccomp()) {
        assert_eq!(end(Insn::new(op, 0)), (0, 1), "{op:?}");
    }
    for k in [2, 64, AncillaryWord::Cpu.offset()] {
        assert_eq!(end(Insn::new(Op::LdWordAbs, k)), (0, 1), "{k:#x}");
    }
}

struct SomeAncillary;

impl Ancillary for SomeAncillary {
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        match word {
            AncillaryWord::Mark => 0x1234,
            AncillaryWord::NetlinkAttribute => a + x + packet.len() as u32,
            _ => 0,
        }
    }
    fn network_header(&self) -> usize {
        2
    }
    fn link_header(&self) -> Option<usize> {
        None
    }
}

/// The value for the packet 0x10, 0x11, … of ten bytes; 0xbad in place of "ended early".
fn packet_value(body: &[Insn]) -> u32 {
    let mut insns = body.to_vec();
    insns.push(Insn::new(Op::RetA, 0));
    let packet: Vec<u8> = (0x10..0x1a).collect();
    SocketProgram::new(insns).unwrap().run(&packet, &SomeAncillary)
}

#[test]
fn packets_are_in_network_order() {
    assert_eq!(packet_value(&[Insn::new(Op::LdWordAbs, 6)]), 0x1617_1819);
    assert_eq!(packet_value(&[Insn::new(Op::LdHalfAbs, 1)]), 0x1112);
    assert_eq!(packet_value(&[Insn::new(Op::LdByteAbs, 9)]), 0x19);
    assert_eq!(packet_value(&[Insn::new(Op::LdLen, 0)]), 10);
    let indexed = |op, x, k| packet_value(&[Insn::new(Op::LdxImm, x), Insn::new(op, k)]);
    assert_eq!(indexed(Op::LdWordInd, 2, 1), 0x1314_1516);
    assert_eq!(indexed(Op::LdHalfInd, 8, 0), 0x1819);
    assert_eq!(indexed(Op::LdByteInd, 0xffff_ffff, 2), 0x11, "the sum wraps");
    assert_eq!(
        packet_value(&[Insn::new(Op::LdxMsh, 3), Insn::new(Op::Txa, 0)]),
        4 * 3,
        "the low four bits of 0x13, times four"
    );
}

#[test]
fn loads_outside_of_a_packet_end_the_program_with_0() {
    let ends = |body: &[Insn]| {
        let mut insns = vec![Insn::new(Op::LdImm, 1), Insn::new(Op::LdxImm, 9)];
        insns.extend_from_slice(body);
        insns.push(Insn::new(Op::RetK, 1));
        let program = SocketProgram::new(insns).unwrap();
        program.run(&[0; 10], &SomeAncillary) == 0
    };
    assert!(!ends(&[Insn::new(Op::LdWordAbs, 6)]));
    assert!(ends(&[Insn::new(Op::LdWordAbs, 7)]));
    assert!(ends(&[Insn::new(Op::LdHalfAbs, 9)]));
    assert!(ends(&[Insn::new(Op::LdByteAbs, 10)]));
    assert!(ends(&[Insn::new(Op::LdHalfInd, 0)]));
    assert!(!ends(&[Insn::new(Op::LdByteInd, 0)]));
    assert!(ends(&[Insn::new(Op::LdxMsh, 10)]));
    assert!(ends(&[Insn::new(Op::LdWordAbs, 0x7fff_ffff)]));
    assert!(ends(&[Insn::new(Op::LdWordAbs, 0x8000_0000)]), "below every header");
    assert!(ends(&[Insn::new(Op::LdWordAbs, SKF_LL_OFF)]), "no link layer header");
}

#[test]
fn single_loads_have_the_values_of_the_instructions() {
    let packet: Vec<u8> = (0x10..0x1a).collect();
    let mark = AncillaryWord::Mark.offset();
    for (k, width, absolute, indexed) in [
        (0, Width::Word, Some(0x1011_1213), Some(0x1011_1213)),
        (8, Width::Half, Some(0x1819), Some(0x1819)),
        (9, Width::Half, None, None),
        (SKF_NET_OFF + 1, Width::Byte, Some(0x13), Some(0x13)),
        (SKF_LL_OFF, Width::Byte, None, None),
        (mark, Width::Byte, Some(0x1234), None),
        (AncillaryWord::NetlinkAttribute.offset(), Width::Word, Some(3 + 4 + 10), None),
    ] {
        let loaded = load_absolute(&packet, &SomeAncillary, k, width, 3, 4);
        assert_eq!(loaded, absolute, "{k:#x} {width:?}");
        assert_eq!(load_indexed(&packet, &SomeAncillary, k, width), indexed, "{k:#x} {width:?}");
    }
}

#[test]
fn negative_offsets_are_relative_to_a_header_or_ancillary_words() {
    assert_eq!(packet_value(&[Insn::new(Op::LdHalfAbs, SKF_NET_OFF)]), 0x1213);
    assert_eq!(packet_value(&[Insn::new(Op::LdByteAbs, SKF_NET_OFF + 1)]), 0x13);
    assert_eq!(packet_value(&[Insn::new(Op::LdWordAbs, AncillaryWord::Mark.offset())]), 0x1234);
    let netlink = [
        Insn::new(Op::LdxImm, 3),
        Insn::new(Op::LdImm, 4),
        Insn::new(Op::LdWordAbs, AncillaryWord::NetlinkAttribute.offset()),
    ];
    assert_eq!(packet_value(&netlink), 3 + 4 + 10);
    let xor = [
        Insn::new(Op::LdxImm, 0b1100),
        Insn::new(Op::LdImm, 0b1010),
        Insn::new(Op::LdWordAbs, AncillaryWord::AluXorX.offset()),
    ];
    assert_eq!(packet_value(&xor), 0b0110);
    let indexed =
        [Insn::new(Op::LdxImm, AncillaryWord::Mark.offset()), Insn::new(Op::LdWordInd, 0)];
    assert_eq!(packet_value(&indexed), 0, "indexed loads have no ancillary words");
}

#[test]
fn defaults_of_the_ancillary_data_are_zero() {
    let program = |k| {
        let insns = vec![Insn::new(Op::LdByteAbs, k), Insn::new(Op::RetA, 0)];
        SocketProgram::new(insns).unwrap().run(&[9, 8], &NoAncillary)
    };
    assert_eq!(program(AncillaryWord::Cpu.offset()), 0);
    for header in [SKF_NET_OFF, SKF_LL_OFF] {
        assert_eq!((program(header), program(header + 1)), (9, 8), "{header:#x}");
    }
}
