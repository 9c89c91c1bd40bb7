//! The kernel's semantics in corner cases, for every engine.
//!
//! Sources: `net/core/filter.c`, `bpf_convert_filter`, `bpf_skb_load_helper_*`; the same cases run
//! in the kernel in `callgate-linux`: `tests/agreement.rs` for syscalls, `tests/packets/` for packets.

use callgate_bpf::asm;
use callgate_core::{
    Ancillary, AncillaryWord, Endian, NoAncillary, Program, SeccompData, SocketProgram,
};
use callgate_vm::EngineKind;

/// Checks the value that every engine returns for a syscall with this first argument.
#[track_caller]
fn call(text: &str, argument: u64, expected: u32) {
    let program = Program::new(asm::assemble(text).unwrap()).unwrap();
    let data =
        SeccompData { nr: 5, arch: 9, args: [argument, 0, 0, 0, 0, 1], ..Default::default() };
    assert_eq!(program.run(&data, Endian::Little).verdict.0, expected, "reference");
    for kind in EngineKind::ALL {
        let engine = kind.seccomp(&program, Endian::Little).unwrap();
        assert_eq!(engine.verdict(&data).0, expected, "{kind}");
        assert_eq!(engine.verdict_of_bytes(&data.to_bytes(Endian::NATIVE)).0, expected, "{kind}");
    }
}

#[track_caller]
fn packet_with(text: &str, packet: &[u8], ancillary: &dyn Ancillary, expected: u32) {
    let program = SocketProgram::new(asm::assemble(text).unwrap()).unwrap();
    assert_eq!(program.run(packet, &ancillary), expected, "reference");
    for kind in EngineKind::ALL {
        if let Some(engine) = kind.packet(&program) {
            assert_eq!(engine.unwrap().run(packet, ancillary), expected, "{kind}");
        }
    }
}

#[track_caller]
fn packet(text: &str, packet: &[u8], expected: u32) {
    packet_with(text, packet, &NoAncillary, expected);
}

#[test]
fn registers_start_as_zero() {
    call("ret a", 0, 0);
    call("txa\n ret a", 0, 0);
    call("jeq #0, +0, +1\n ret #1\n ret #2", 0, 1);
    call("jeq x, +0, +1\n ret #1\n ret #2", 0, 1);
    packet("ret a", &[], 0);
    packet("ldb [x + 1]\n ret a", &[3, 4], 4);
}

#[test]
fn shifts_by_x_use_five_bits() {
    for (by, left, right) in [
        (0, 0x81, 0x81),
        (31, 0x8000_0000, 0),
        (32, 0x81, 0x81),
        (33, 0x102, 0x40),
        (u32::MAX, 0x8000_0000, 0),
    ] {
        // X constant, and X unknown at compile time.
        call(&format!("ldx #{by}\n ld #0x81\n lsh x\n ret a"), 0, left);
        call(&format!("ldx #{by}\n ld #0x81\n rsh x\n ret a"), 0, right);
        call("ld args[0].low\n tax\n ld #0x81\n lsh x\n ret a", by.into(), left);
        call("ld args[0].low\n tax\n ld #0x81\n rsh x\n ret a", by.into(), right);
    }
}

#[test]
fn division_by_a_zero_x_returns_zero() {
    call("ld #7\n div x\n ret ALLOW", 0, 0);
    call("ld args[0].low\n tax\n ld #7\n div x\n ret ALLOW", 0, 0);
    call("ld args[0].low\n tax\n ld #7\n div x\n ret a", 2, 3);
    call("ld args[0].low\n tax\n ld #7\n div x\n ret #1", 0xffff_ffff, 1);
    packet("ldb [0]\n tax\n ld #7\n mod x\n ret #1", &[0], 0);
    packet("ldb [0]\n tax\n ld #7\n mod x\n ret a", &[4], 3);
    // The result is dead, but the division still ends the program.
    packet("ldb [0]\n tax\n mod x\n ld #3\n ret a", &[0], 0);
}

#[test]
fn the_length_is_that_of_the_input() {
    call("ld #len\n ret a", 0, 64);
    call("ldx #len\n txa\n ret a", 0, 64);
    for length in [0usize, 1, 63, 64, 65, 1500] {
        packet("ld #len\n ret a", &vec![0; length], length as u32);
        packet("ldx #len\n txa\n ret a", &vec![0; length], length as u32);
    }
}

#[test]
fn argument_halves_follow_the_byte_order() {
    call("ld args[0].low\n ret a", 0x1111_1111_2222_2222, 0x2222_2222);
    call("ld args[0].high\n ret a", 0x1111_1111_2222_2222, 0x1111_1111);
    call("ld args[5].low\n ret a", 0, 1);
    let program = Program::new(asm::assemble("ld [16]\n ret a").unwrap()).unwrap();
    let data = SeccompData { args: [0x1111_1111_2222_2222; 6], ..Default::default() };
    for kind in EngineKind::ALL {
        let big = kind.seccomp(&program, Endian::Big).unwrap();
        assert_eq!(big.verdict(&data).0, 0x1111_1111, "{kind}");
    }
}

/// All loads at all offsets of short packets: a load outside of the packet ends the program.
#[test]
fn loads_outside_the_packet_return_zero() {
    let bytes: Vec<u8> = (0x80..0xd0).collect();
    for length in (0..=12).chain([63, 64, 65, 80]) {
        for offset in (0..16).chain(60..82) {
            for (load, width) in [("ldb", 1), ("ldh", 2), ("ld", 4)] {
                let inside = bytes[..length].get(offset..offset + width);
                let value = inside.map_or(0, |bytes| {
                    bytes.iter().fold(0u32, |value, &byte| value << 8 | u32::from(byte))
                });
                let (bytes, kept) = (&bytes[..length], u32::from(inside.is_some()));
                packet(&format!("{load} [{offset}]\n ret a"), bytes, value);
                packet(&format!("{load} [{offset}]\n ret #1"), bytes, kept);
                // Followed by a test, and relative to X.
                let test = format!("jeq #{value}, +0, +1\n ret #1\n ret #2");
                packet(&format!("{load} [{offset}]\n {test}"), bytes, kept);
                let indexed = format!("ldb [0]\n tax\n {load} [x + {}]", offset as i64 - 0x80);
                let kept = if length == 0 { 0 } else { kept };
                packet(&format!("{indexed}\n {test}"), bytes, kept);
            }
        }
    }
}

#[test]
fn a_header_length_is_four_times_the_low_four_bits() {
    packet("ldxb 4*([1]&0xf)\n txa\n ret a", &[0, 0x45], 20);
    packet("ldxb 4*([2]&0xf)\n txa\n ret #1", &[0, 0x45], 0);
    let with_test = "ldxb 4*([0]&0xf)\n ldb [x + 0]\n jeq #7, +0, +1\n ret #1\n ret #2";
    packet(with_test, &[0x41, 0, 0, 0, 7], 1);
    packet(with_test, &[0x42, 0, 0, 0, 7], 0);
    packet(with_test, &[], 0);
    // A is unchanged, and X is live afterwards.
    packet("ld #9\n ldxb 4*([0]&0xf)\n ret a", &[0x41], 9);
    packet("ldxb 4*([0]&0xf)\n ldb [0]\n jeq #0x41, +0, +1\n txa\n ret a", &[0x41], 4);
}

/// Ancillary data of a test packet.
struct Beside;

impl Ancillary for Beside {
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        match word {
            AncillaryWord::Mark => 0x1234,
            AncillaryWord::NetlinkAttribute => a + 2 * x + packet.len() as u32,
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

#[test]
fn negative_offsets_are_relative_to_headers_or_ancillary_words() {
    let bytes = [0x10, 0x11, 0x12, 0x13, 0x14];
    packet("ldb [-0x100000]\n ret a", &bytes, 0x10);
    packet_with("ldb [-0x100000]\n ret a", &bytes, &Beside, 0x12);
    packet_with("ldh [-0xffffe]\n ret #1", &bytes, &Beside, 0);
    packet_with("ldb [-0x200000]\n ret #1", &bytes, &Beside, 0);
    packet("ldb [-0x200000]\n ret a", &bytes, 0x10);
    packet_with("ld #mark\n ret a", &bytes, &Beside, 0x1234);
    packet_with("ld #mark\n jeq #0x1234, +0, +1\n ret #1\n ret #2", &bytes, &Beside, 1);
    packet_with("ldx #3\n ld #7\n ld #nla\n ret a", &bytes, &Beside, 7 + 6 + 5);
    packet_with("ldb [0x80000000]\n ret #1", &bytes, &Beside, 0);
    // Loads relative to X support header-relative offsets, but no ancillary words.
    packet_with("ldx #2\n ldb [x + -0x100002]\n ret a", &bytes, &Beside, 0x12);
    packet_with("ldx #0xfffff014\n ld [x + 0]\n ret #1", &bytes, &Beside, 0);
    packet_with(
        "ldb [1]\n tax\n ldb [x + -0x100011]\n jeq #0x12, +0, +1\n ret #1\n ret #2",
        &bytes,
        &Beside,
        1,
    );
    packet_with("ldxb 4*([-0x100000]&0xf)\n txa\n ret a", &bytes, &Beside, 8);
}

#[test]
fn the_ancillary_xor_is_an_operation() {
    // SKF_AD_OFF + SKF_AD_ALU_XOR_X.
    packet_with("ldx #12\n ld #10\n ld [-0xfd8]\n ret a", &[], &Beside, 6);
}

#[test]
fn long_chains_and_distant_jumps_are_correct() {
    // More than a table can have: all even numbers, then bits.
    let mut text = String::from("ld args[0].low\n");
    for k in 0..200 {
        text += &format!("jeq #{}, yes\n", 2 * k);
    }
    text += "jset #0x8000, no\n jge #0xfffffff0, no\n ret #3\n yes: ret #1\n no: ret #2";
    for (argument, expected) in [
        (0, 1),
        (1, 3),
        (398, 1),
        (399, 3),
        (400, 3),
        (0x8000, 2),
        (0xffff_fff0, 2),
        (0x7fff_7fef, 3),
    ] {
        call(&text, argument, expected);
    }
}

/// Comparisons of both halves are fused only if A is dead; here it is returned.
#[test]
fn a_compared_half_stays_in_a() {
    let text = "ld args[0].low
        jeq #7, next, no
        ld args[0].high
        jeq #0, yes, no
        yes: ret ALLOW
        no: ret a";
    call(text, 7, 0x7fff_0000);
    call(text, 5, 5);
    call(text, 3 << 32 | 5, 5);
    call(text, 3 << 32 | 7, 3);
    let holds = "ld args[0].low
        jset #8, no, next
        ld args[0].high
        jeq #1, yes, no
        yes: add #1
        ret a
        no: ret #9";
    call(holds, 1 << 32, 2);
    call(holds, 1 << 32 | 8, 9);
    call(holds, 2 << 32, 9);
}

#[test]
fn both_halves_may_be_compared_in_either_order() {
    for (first, second) in [("low", "high"), ("high", "low")] {
        let (one, two) = if first == "low" { (0x22, 0x11) } else { (0x11, 0x22) };
        let text = format!(
            "ld args[0].{first}\n jeq #{one}, next, no\n ld args[0].{second}\n jeq #{two}, yes, no\n \
             yes: ret #1\n no: ret #2"
        );
        call(&text, 0x11_0000_0022, 1);
        call(&text, 0x22_0000_0011, 2);
        call(&text, 0x11_0000_0023, 2);
        call(&text, 0x10_0000_0022, 2);
    }
    let bits = "ld args[0].high\n jset #0xf0, no, next\n ld args[0].low\n jset #1, no, yes\n \
                yes: ret #1\n no: ret #2";
    for (argument, expected) in [(0, 1), (1, 2), (0xf0, 1), (1 << 32, 1), (0x10 << 32, 2)] {
        call(bits, argument, expected);
    }
}

/// The load of X is fused with the test after it, but a jump may lead to the test alone.
#[test]
fn jumps_into_fused_operations_are_correct() {
    let header = "ldb [0]
        jeq #1, here, next
        ldxb 4*([1]&0xf)
        here: ldb [x + 2]
        jeq #5, yes, no
        yes: ret #1
        no: ret #2";
    packet(header, &[1, 1, 5, 0, 0, 0, 6], 1);
    packet(header, &[1, 1, 6, 0, 0, 0, 5], 2);
    packet(header, &[2, 1, 5, 0, 0, 0, 6], 2);
    packet(header, &[2, 1, 6, 0, 0, 0, 5], 1);
    let swap = "ldb [0]
        add #1
        st M[5]
        ldx #2
        ldb [1]
        jeq #1, here, next
        mul #2
        tax
        ld M[5]
        here: jeq x, yes, no
        yes: ret #1
        no: ret #2";
    packet(swap, &[5, 3], 1);
    packet(swap, &[5, 1], 2);
    packet(swap, &[9, 3], 2);
}

/// Fused comparisons of adjacent loads must not change the result: neither in packets that end between them, nor
/// if the second comparison contradicts the first.
#[test]
fn probes_agree_with_single_loads() {
    let header = "ldb [5]
        jeq #6, first, next
        jeq #17, first, no
        first: ldh [2]
        jset #0x1fff, no, next
        ldh [6]
        jeq #7, yes, no
        yes: ret #1
        no: ret #2";
    for (protocol, fragment, port, expected) in [
        (6, 0x20, 7, 1),
        (17, 0, 7, 1),
        (17, 0, 8, 2),
        (5, 0, 7, 2),
        (6, 1, 7, 2),
        (17, 0x1f, 7, 2),
    ] {
        let bytes = [1, 2, fragment & 0xf0, fragment & 0xf, 3, protocol, 0, port, 9];
        let fails = protocol == 5 || fragment & 0xf != 0;
        for length in 0..=bytes.len() {
            let expected = match length {
                0..6 => 0,
                6..8 if !fails => 0,
                _ => expected,
            };
            packet(header, &bytes[..length], expected);
        }
    }
    let contrary = "ldh [2]
        jeq #6, same, no
        same: jeq #7, yes, no
        yes: ret #1
        no: ret #2";
    packet(contrary, &[0, 0, 0, 6], 2);
    packet(contrary, &[0, 0, 0, 7], 2);
    // The second bytes decide only if the first ones do not; both cases may hold.
    let either = "ldb [4]
        jset #1, next, low
        ldb [5]
        jeq #9, yes, no
        low: ldb [6]
        jeq #9, no, yes
        yes: ret #1
        no: ret #2";
    for (first, second, third, expected) in
        [(1, 9, 9, 1), (0, 9, 9, 2), (0, 9, 8, 1), (1, 8, 9, 2), (1, 8, 8, 2)]
    {
        packet(either, &[0, 0, 0, 0, first, second, third], expected);
    }
}

/// From 2^31 on, offsets are relative to headers, for packets of any length.
#[test]
fn offsets_above_two_gigabytes_are_not_in_the_packet() {
    // Zero pages, most of which are never accessed.
    let bytes = vec![0; (1 << 31) + 64];
    for (load, kept) in [("ldb", 0), ("ldh", 0), ("ld", 0)] {
        packet(
            &format!("ld #len\n sub #32\n tax\n {load} [x + 0]\n jeq #0, +0, +0\n ret #1"),
            &bytes,
            kept,
        );
        let test = "jeq #0, yes, no\n yes: ret #1\n no: ret #2";
        packet(&format!("ld #len\n sub #32\n tax\n {load} [x + 0]\n {test}"), &bytes, kept);
        packet(&format!("ld #len\n sub #96\n tax\n {load} [x + 0]\n {test}"), &bytes, 1);
    }
    packet("ld #len\n ret a", &bytes, (1 << 31) + 64);
    packet("ldb [0x7fffffff]\n jeq #0, +0, +1\n ret #1\n ret #2", &bytes, 1);
    packet("ldh [0x7fffffff]\n jeq #0, +0, +1\n ret #1\n ret #2", &bytes, 1);
}
