//! Textual forms: syntax, error messages, and round trips through every dialect.

use proptest::prelude::*;

use super::*;
use crate::disasm::{Dialect, ListingOptions, disassemble, disassemble_socket};
use callgate_core::{Arch, Endian, Insn, Op, Program, RawInsn, SocketProgram};
use callgate_testing::random::{any_program, any_socket_program};

proptest! {
    #[test]
    fn seccomp_filters_round_trip_through_every_dialect(
        program in prop_oneof![any_program(false), any_program(true)],
        big in any::<bool>(),
        name in proptest::option::of("[A-Za-z_][A-Za-z0-9_]{0,8}"),
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let options = ListingOptions { endian, arches: vec![Arch::X86_64], name };
        for &dialect in Dialect::ALL {
            let text = disassemble(&program, dialect, &options);
            let back = parse(&text, Endian::Little);
            prop_assert_eq!(back, Ok(program.to_raw()), "{}:\n{}", dialect, text);
        }
        let bytes = program.to_bytes(endian);
        prop_assert_eq!(Program::from_bytes(&bytes, endian), Ok(program.clone()));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(parse(&hex, endian), Ok(program.to_raw()));
    }

    #[test]
    fn socket_filters_round_trip_through_every_dialect(
        program in prop_oneof![any_socket_program(false), any_socket_program(true)],
    ) {
        for &dialect in Dialect::ALL {
            let text = disassemble_socket(&program, dialect);
            let back = parse(&text, Endian::Little);
            prop_assert_eq!(back, Ok(program.to_raw()), "{}:\n{}", dialect, text);
        }
    }

    #[test]
    fn anything_at_all_is_read_or_refused(text in "\\PC*", bytes in any::<Vec<u8>>()) {
        let _ = parse(&text, Endian::Little);
        let _ = parse(&String::from_utf8_lossy(&bytes), Endian::Big);
        let _ = Program::from_bytes(&bytes, Endian::Little);
        let _ = SocketProgram::from_bytes(&bytes, Endian::Big);
    }

    /// Texts that are almost programs.
    #[test]
    fn mutilated_listings_are_read_or_refused(
        program in any_program(true),
        dialect in proptest::sample::select(Dialect::ALL),
        from in any::<proptest::sample::Index>(),
        length in 0usize..20,
        instead in "[ -~\\n]{0,4}",
    ) {
        let text = disassemble(&program, dialect, &ListingOptions::default());
        let mut chars: Vec<char> = text.chars().collect();
        let from = from.index(chars.len());
        let to = (from + length).min(chars.len());
        chars.splice(from..to, instead.chars());
        let text: String = chars.into_iter().collect();
        if let Err(error) = parse(&text, Endian::Little) {
            prop_assert!(!error.diagnostics().is_empty());
        }
    }
}

const ALLOW: RawInsn = RawInsn { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 };
const LD_ARCH: RawInsn = RawInsn { code: 0x20, jt: 0, jf: 0, k: 4 };
const JEQ: RawInsn = RawInsn { code: 0x15, jt: 0, jf: 1, k: 0xc000_003e };

#[test]
fn every_form_is_recognised() {
    let expected = [LD_ARCH, JEQ, ALLOW, ALLOW];
    for text in [
        "4\n32 0 0 4\n21 0 1 3221225534\n6 0 0 2147418112\n6 0 0 2147418112\n",
        "4,32 0 0 4,21 0 1 3221225534,6 0 0 2147418112,6 0 0 2147418112,\n",
        "  4 \r\n 32  0\t0 4\r\n21 0 1 3221225534\r\n\r\n6 0 0 2147418112\r\n6 0 0 2147418112",
        "{ 0x20, 0, 0, 0x00000004 },\n{ 0x15, 0, 1, 0xc000003e },\n{ 0x6, 0, 0, 0x7fff0000 },\n{ 0x6, 0, 0, 0x7fff0000 }",
        "#include <x.h>\nstatic struct sock_filter f[] = {\n BPF_STMT(BPF_LD+BPF_W+BPF_ABS, offsetof(struct seccomp_data, arch)),\n\
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 1), // x\n\
         { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW },\n\
         BPF_STMT(BPF_RET, (0x7fff0000U)), };\n struct sock_fprog p = { .len = 4, .filter = f };",
        "pub const F: [libc::sock_filter; 4] = [\n sock_filter { code: 0x20, jt: 0, jf: 0, k: 4_u32 },\n\
         sock_filter { code: 0x15, jt: 0, jf: 1, k: 0xc000_003e },\n\
         sock_filter { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }, sock_filter { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }];",
        "var f = []unix.SockFilter{\n\t{Code: 0x20, K: 4},\n\t{0x15, 0, 1, 0xc000003e},\n\t{K: 0x7fff0000, Code: 6},\n\t{6, 0, 0, 0x7fff0000},\n}",
        " line  OP   JT   JF   K\n=================================\n 0000: 0x20 0x00 0x00 0x00000004   ld  $data[4]\n\
         0001: 0x15 0x00 0x01 0xc000003e   jeq 3221225534 true:0002 false:0003\n\
         0002: 0x06 0x00 0x00 0x7fff0000   ret ALLOW\n 0003: 0x06 0x00 0x00 0x7fff0000   ret ALLOW\n",
        "0: BPF_S_ANC_SECCOMP_LD_W 0 0 4\n1: BPF_S_JMP_JEQ_K 0 1 0xc000003e\nBPF_S_RET_K 0 0 0x7fff0000\nBPF_S_RET_K 0 0 0x7fff0000",
        "2000000004000000 150000013e0000c0\n060000000000ff7f060000000000ff7f",
        "\\x20\\x00\\x00\\x00\\x04\\x00\\x00\\x00\"\n \"\\x15\\x00\\x00\\x01\\x3e\\x00\\x00\\xc0\\x06\\x00\\x00\\x00\\x00\\x00\\xff\\x7f\\x06\\x00\\x00\\x00\\x00\\x00\\xff\\x7f",
        "0x20, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x15, 0x00, 0x00, 0x01, 0x3e, 0x00, 0x00, 0xc0,\n\
         0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x7f, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x7f",
        "ld [4]\njeq #0xc000003e, ok, no\nok: ret ALLOW\nno: ret ALLOW ; { not a row }",
    ] {
        assert_eq!(parse(text, Endian::Little).as_deref(), Ok(expected.as_slice()), "{text}");
    }
    assert_eq!(parse("00 20 00 00 00 00 00 04", Endian::Big).as_deref(), Ok([LD_ARCH].as_slice()));
    // The first line could be a count, but no line has four numbers.
    assert_eq!(parse("0600\n0000\n0000\nff7f", Endian::Little).as_deref(), Ok([ALLOW].as_slice()));
}

fn errors(text: &str) -> Vec<String> {
    match parse(text, Endian::Little) {
        Ok(insns) => panic!("{text}: {insns:?}"),
        Err(error) => error.diagnostics().iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn errors_have_positions() {
    for (text, message) in [
        ("", "the text contains no instructions"),
        (" \n\t\n", "the text contains no instructions"),
        ("3\n6 0 0 0\n", "1:1: the count is 3, but the table has 1 instructions"),
        ("1\n6 0 0\n", "2:1: expected the four numbers `code jt jf k`, found 3"),
        ("1\n6 0 0 0 0\n", "2:1: expected the four numbers `code jt jf k`, found 5"),
        ("1\n6 0 256 0\n", "2:5: `256` is too large for jf; the limit is 255"),
        ("1\n65536 0 0 0\n", "2:1: `65536` is too large for the code; the limit is 65535"),
        ("1\n6 0 0 4294967296\n", "2:7: `4294967296` is too large for k; the limit is 4294967295"),
        ("1\n6 0 0x0 0\n", "2:5: expected jf as a decimal number, found `0x0`"),
        ("1,6 0 0 x,", "1:9: expected k as a decimal number, found `x`"),
        ("20000000040000", "the text has 7 bytes: 0 instructions of 8 bytes and 7 more bytes"),
        ("200000000400000", "1:15: half a byte: a byte has two hexadecimal digits"),
        ("2000000004000000\n20g0", "2:3: `g` is not a hexadecimal digit"),
        ("{ 0x20, 0, 0 },", "1:3: an instruction has 4 fields, found 3"),
        ("{ 0x20, 0, 0, 4, 5 },", "1:18: an instruction has 4 fields, found another"),
        (
            "{ 0x20, 0, 256x, 4 },",
            "1:12: `256x`: the digits or the suffix of this number are wrong",
        ),
        (
            "{ 0x20, 0, 0, 18446744073709551616 },",
            "1:15: `18446744073709551616`: this number has more than 64 bits",
        ),
        ("{ 0x20, 0, 0, 4 ", "1:17: expected `}` before the end of the text"),
        ("{ 0x20, 0, 0, },", "1:3: an instruction has 4 fields, found 3"),
        ("f = { BPF_STMT(BPF_LD, nonsense) };", "1:24: the value of `nonsense` is not known"),
        ("BPF_JUMP(BPF_JMP, 1, 2)", "1:23: expected `,`, found `)`"),
        ("{ 6, 0, 0, 0 }, }", "1:17: `}` without a `{` before it"),
        ("0x20, 0x00,0,0x00", "1:12: half a byte: a byte has two hexadecimal digits"),
        ("struct sock_filter f[] = { };", "the text contains no instructions"),
        ("struct sock_filter f[] = { 5 + ? };", "1:32: expected a number or a name, found `?`"),
        (" 0000: 0x20 0x00 0x00", "1:2: expected the four fields code, jt, jf and k, found 3"),
        (" 0001: 0x20 0x00 0x00 0x4", "1:2: expected line 0 of the table, found `0001`"),
        (" 0000: 0x20 0x100 0x00 0x4", "1:13: `0x100` is too large for jt; the limit is 255"),
        (" 0000: 0x20 jt 0x00 0x4", "1:13: expected jt, found `jt`"),
        (
            "BPF_S_NOTHING 0 0 0",
            "1:1: `BPF_S_NOTHING` is not an instruction of Linux 3.10 (`BPF_S_…`)",
        ),
        ("BPF_S_RET_K 0 0 0 0", "1:19: expected the end of the line, found `0`"),
    ] {
        assert_eq!(errors(text), [message], "{text}");
    }
}

#[test]
fn every_error_is_reported() {
    assert_eq!(errors("2\n6 0 0 x\n6 y 0 0\n").len(), 2);
    assert_eq!(errors("{ 6, 0, x, 0 },\n{ 6, 0, 0, 0 },\n{ y, 0, 0, 0 },").len(), 2);
    assert_eq!(errors("0: 0x6 0x999 0x0 0x0\n1: 0x6 0x0 0x999 0x0").len(), 2);
}

#[test]
fn only_tables_may_have_unknown_opcodes() {
    let text = "1\n255 1 2 3";
    let insns = parse(text, Endian::Little).unwrap();
    assert_eq!(insns, [RawInsn { code: 255, jt: 1, jf: 2, k: 3 }]);
    assert_eq!(Program::from_raw(&insns).unwrap_err().violations()[0].rule(), "unknown-code");
    assert_eq!(errors(".insn 255, 1, 2, 3").len(), 1);
}

#[test]
fn ignored_fields_survive_every_dialect() {
    let program = Program::new(vec![
        Insn { op: Op::LdWordAbs, jt: 1, jf: 2, k: 4 },
        Insn { op: Op::Tax, jt: 0, jf: 0, k: 9 },
        Insn { op: Op::JeqX, jt: 1, jf: 0, k: 7 },
        Insn { op: Op::Ja, jt: 200, jf: 0, k: 0 },
        Insn { op: Op::RetA, jt: 0, jf: 3, k: 0xffff_ffff },
    ])
    .unwrap();
    for &dialect in Dialect::ALL {
        let text = disassemble(&program, dialect, &ListingOptions::default());
        assert_eq!(parse(&text, Endian::Little), Ok(program.to_raw()), "{dialect}:\n{text}");
    }
}

/// Every instruction that libpcap has a name for, as it prints it, with k = 7, or 9 for jumps.
const TCPDUMP_D: &[(&str, u16)] = &[
    ("ld       [7]", 0x20),
    ("ldh      [7]", 0x28),
    ("ldb      [7]", 0x30),
    ("ld       [x + 7]", 0x40),
    ("ldh      [x + 7]", 0x48),
    ("ldb      [x + 7]", 0x50),
    ("ld       #pktlen", 0x80),
    ("ld       #0x7", 0x00),
    ("ld       M[7]", 0x60),
    ("ldx      #0x7", 0x01),
    ("ldx      M[7]", 0x61),
    ("ldxb     4*([7]&0xf)", 0xb1),
    ("st       M[7]", 0x02),
    ("stx      M[7]", 0x03),
    ("add      #7", 0x04),
    ("add      x", 0x0c),
    ("sub      #7", 0x14),
    ("sub      x", 0x1c),
    ("mul      #7", 0x24),
    ("mul      x", 0x2c),
    ("div      #7", 0x34),
    ("div      x", 0x3c),
    ("or       #0x7", 0x44),
    ("or       x", 0x4c),
    ("and      #0x7", 0x54),
    ("and      x", 0x5c),
    ("lsh      #7", 0x64),
    ("lsh      x", 0x6c),
    ("rsh      #7", 0x74),
    ("rsh      x", 0x7c),
    ("neg      ", 0x84),
    ("mod      #7", 0x94),
    ("mod      x", 0x9c),
    ("xor      #0x7", 0xa4),
    ("xor      x", 0xac),
    ("ja       9", 0x05),
    ("jeq      #0x7             jt 2\tjf 3", 0x15),
    ("jeq      x                jt 2\tjf 3", 0x1d),
    ("jgt      #0x7             jt 2\tjf 3", 0x25),
    ("jgt      x                jt 2\tjf 3", 0x2d),
    ("jge      #0x7             jt 2\tjf 3", 0x35),
    ("jge      x                jt 2\tjf 3", 0x3d),
    ("jset     #0x7             jt 2\tjf 3", 0x45),
    ("jset     x                jt 2\tjf 3", 0x4d),
    ("ret      #7", 0x06),
    ("ret      ", 0x16),
    ("tax      ", 0x07),
    ("txa      ", 0x87),
];

#[test]
fn every_instruction_of_tcpdump_d_parses() {
    for (text, code) in TCPDUMP_D {
        let op = Op::from_code(*code).unwrap();
        let (jt, jf) = if op.is_branch() { (0, 1) } else { (0, 0) };
        let k = if op.uses_k() { 7 } else { 0 };
        let line = format!("(000) ldh      [12]\n(001) {text}\n");
        let expected =
            [RawInsn { code: 0x28, jt: 0, jf: 0, k: 12 }, RawInsn { code: *code, jt, jf, k }];
        assert_eq!(parse(&line, Endian::Little).as_deref(), Ok(&expected[..]), "{text}");
    }
    // All but the one that is `unimp` there.
    let mut codes: Vec<u16> =
        TCPDUMP_D.iter().map(|(_, code)| *code).chain([Op::LdxLen.code()]).collect();
    let mut all: Vec<u16> = Op::ALL.iter().map(|op| op.code()).collect();
    codes.sort_unstable();
    all.sort_unstable();
    assert_eq!(codes, all);
}

#[test]
fn tcpdump_d_has_line_numbers_as_targets_and_ancillary_words() {
    let text = "\
(000) ld       [vlanp]
(001) jeq      #0x1             jt 3\tjf 2
(002) ja       7
(003) ldb      [-1048576]
(004) and      #0xfffffff0
(005) ldh      [x + -14]
(006) jset     #0x1fff          jt 8\tjf 7
(007) ret      #262144
(008) add      #-2147483648
(009) ret      #-1
";
    let insn = |code, jt, jf, k| RawInsn { code, jt, jf, k };
    let expected = [
        insn(0x20, 0, 0, 0xffff_f030),
        insn(0x15, 1, 0, 1),
        insn(0x05, 0, 0, 4),
        insn(0x30, 0, 0, 0xfff0_0000),
        insn(0x54, 0, 0, 0xffff_fff0),
        insn(0x48, 0, 0, 0xffff_fff2),
        insn(0x45, 1, 0, 0x1fff),
        insn(0x06, 0, 0, 262_144),
        insn(0x04, 0, 0, 0x8000_0000),
        insn(0x06, 0, 0, u32::MAX),
    ];
    assert_eq!(parse(text, Endian::Little).as_deref(), Ok(&expected[..]));
    let words = [
        "proto",
        "type",
        "ifidx",
        "nla",
        "nlan",
        "mark",
        "queue",
        "hatype",
        "rxhash",
        "cpu",
        "xor_x",
        "vlan_tci",
        "vlanp",
        "poff",
        "random",
        "vlan_tpid",
    ];
    for (word, offset) in words.iter().zip((0..).step_by(4)) {
        for (name, code) in [("ld ", 0x20), ("ldh", 0x28), ("ldb", 0x30)] {
            let line = format!("(000) {name}      [{word}]");
            let expected = [insn(code, 0, 0, 0xffff_f000 + offset)];
            assert_eq!(parse(&line, Endian::Little).as_deref(), Ok(&expected[..]), "{line}");
        }
    }
}

#[test]
fn errors_in_tcpdump_d_have_positions() {
    for (text, message) in [
        ("(000) unimp    0x81", "1:7: `unimp` is an instruction that libpcap has no name for"),
        ("(000) jmp      5", "1:7: `jmp` is not an instruction of `tcpdump -d`"),
        ("(000) 5", "1:7: expected an instruction, found `5`"),
        ("(000)", "1:6: expected an instruction at the end of the line"),
        (
            "(000) jeq      #0x1  jt 1",
            "1:26: expected `jf` and the number of a line at the end of the line",
        ),
        ("(000) jeq      #0x1, 1, 2", "1:20: expected `jt` and the number of a line, found `,`"),
        ("(000) jeq      #0x1  jt x jf 2", "1:25: expected the number of a line, found `x`"),
        ("(000) jeq      5  jt 1 jf 2", "1:16: expected `#` and a constant, or `x`, found `5`"),
        ("(000) ja       -1", "1:16: expected the number of a line, found `-1`"),
        ("(000) tax      x", "1:16: expected the end of the line, found `x`"),
        ("(000) ret      #0 ret", "1:19: expected the end of the line, found `ret`"),
        ("(000) ld       [nonsense]", "1:17: `nonsense` is not a word of seccomp_data"),
        ("(000) ld       [cpu x]", "1:17: `cpu` is not a word of seccomp_data"),
        ("(000) ld       x cpu]", "1:16: `x` is not a word of seccomp_data"),
        ("(000) tax\n(001) ja 1\n", "2:10: instruction 1 cannot jump to instruction 1"),
        (
            "(000) tax\n(002) tax\n(003) ret #0\n",
            "2:2: expected line 1 of the listing, found `002`",
        ),
        (
            "(000) ja 300\n(001) jeq #0x1 jt 2 jf 300\n(002) ret #0",
            "2:24: the branch to `300` skips 298 instructions; the limit is 255",
        ),
    ] {
        assert_eq!(errors(text), [message], "{text}");
    }
}
