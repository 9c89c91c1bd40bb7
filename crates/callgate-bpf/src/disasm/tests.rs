//! Expected listings in each dialect.

use super::*;
use callgate_core::{Arch, Endian, Insn, Op, Program, SocketProgram, Verdict};

/// Allows everything but execve on x86_64, and openat with a flag.
fn example() -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, 0xc000_003e, 0, 6),
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 59, 5, 0),
        Insn::branch(Op::JeqK, 257, 0, 2),
        Insn::new(Op::LdWordAbs, 32),
        Insn::branch(Op::JsetK, 0x40, 2, 0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ])
    .unwrap()
}

fn text(dialect: Dialect) -> String {
    disassemble(&example(), dialect, &ListingOptions::default())
}

#[test]
fn annotated() {
    assert_eq!(
        text(Dialect::Annotated),
        "\
; 10 instructions
.endian little
     0   ld   arch
     1   jeq  #0xc000003e, next, L8     ; x86_64, false: KILL_PROCESS
     2   ld   nr
     3   jeq  #59, L9, next             ; execve, true: ERRNO(EPERM)
     4   jeq  #257, next, L7            ; openat, false: ALLOW
     5   ld   args[2].low               ; openat(flags)
     6   jset #0x40, L9, next           ; O_CREAT, true: ERRNO(EPERM), false: ALLOW
    L7:  ret  ALLOW
    L8:  ret  KILL_PROCESS
    L9:  ret  ERRNO(EPERM)
"
    );
}

#[test]
fn bpf_asm() {
    assert_eq!(
        text(Dialect::BpfAsm),
        "\
l0:\tld [4]\t; arch
l1:\tjeq #0xc000003e, l2, l8\t; x86_64, false: KILL_PROCESS
l2:\tld [0]\t; nr
l3:\tjeq #0x3b, l9, l4\t; execve, true: ERRNO(EPERM)
l4:\tjeq #0x101, l5, l7\t; openat, false: ALLOW
l5:\tld [32]\t; args[2].low: openat(flags)
l6:\tjset #0x40, l9, l7\t; O_CREAT, true: ERRNO(EPERM), false: ALLOW
l7:\tret #0x7fff0000\t; ALLOW
l8:\tret #0x80000000\t; KILL_PROCESS
l9:\tret #0x50001\t; ERRNO(EPERM)
"
    );
}

#[test]
fn libseccomp() {
    assert_eq!(
        text(Dialect::Libseccomp),
        "\
\x20line  OP   JT   JF   K
=================================
 0000: 0x20 0x00 0x00 0x00000004   ld  $data[4]
 0001: 0x15 0x00 0x06 0xc000003e   jeq 3221225534 true:0002 false:0008
 0002: 0x20 0x00 0x00 0x00000000   ld  $data[0]
 0003: 0x15 0x05 0x00 0x0000003b   jeq 59   true:0009 false:0004
 0004: 0x15 0x00 0x02 0x00000101   jeq 257  true:0005 false:0007
 0005: 0x20 0x00 0x00 0x00000020   ld  $data[32]
 0006: 0x45 0x02 0x00 0x00000040   jset 64   true:0009 false:0007
 0007: 0x06 0x00 0x00 0x7fff0000   ret ALLOW
 0008: 0x06 0x00 0x00 0x80000000   ret KILL_PROCESS
 0009: 0x06 0x00 0x00 0x00050001   ret ERRNO(1)
"
    );
}

/// As libseccomp's `tools/scmp_bpf_disasm.c` prints them.
#[test]
fn libseccomp_shows_the_operand_of_every_instruction() {
    for (op, k, shown) in [
        (Op::LdHalfInd, 14, "ldh $data[X + 14]"),
        (Op::LdImm, 16, "ld  16"),
        (Op::LdMem, 3, "ld  $temp[3]"),
        (Op::LdLen, 0, "ld  len($data)"),
        (Op::LdxMsh, 14, "ldx 4 * $data[14] & 0x0f"),
        (Op::AddK, 16, "add 16"),
        (Op::AddX, 0, "add 0"),
        (Op::OrK, 16, "or  0x00000010"),
        (Op::AndK, 16, "and 0x00000010"),
        (Op::XorK, 16, "xor 16"),
        (Op::Neg, 0, "neg 0"),
        (Op::Ja, 0, "jmp 0002"),
        (Op::JgtX, 0, "jgt 0    true:0002 false:0002"),
        (Op::Tax, 0, "tax "),
        (Op::Txa, 0, "txa "),
        (Op::RetA, 0, "ret $acc"),
    ] {
        let store = Insn::new(Op::St, 3);
        let insns = vec![store, Insn::new(op, k), Insn::new(Op::RetA, 0)];
        let program = SocketProgram::new(insns).unwrap();
        let text = disassemble_socket(&program, Dialect::Libseccomp);
        let (_, after) = text.lines().nth(3).unwrap().split_once("   ").unwrap();
        assert_eq!(after, shown, "{op:?}");
    }
}

#[test]
fn legacy() {
    let text = text(Dialect::Legacy);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "    0: BPF_S_ANC_SECCOMP_LD_W     0   0 0x00000004  ; arch");
    assert_eq!(
        lines[2],
        "    1: BPF_S_JMP_JEQ_K            0   6 0xc000003e  ; x86_64, false: KILL_PROCESS"
    );
    assert_eq!(lines[10], "    9: BPF_S_RET_K                0   0 0x00050001  ; ERRNO(EPERM)");
}

#[test]
fn source_code() {
    let c = text(Dialect::C);
    assert!(
        c.starts_with(
            "#include <linux/filter.h>\n\n/* clang-format off */\n/* 10 instructions */\n"
        ),
        "{c}"
    );
    assert!(
        c.contains("\t/*    0 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0x4), /* arch */\n"),
        "{c}"
    );
    assert!(c.contains("BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc000003e, 0, 6), /* x86_64"), "{c}");
    assert!(c.ends_with("\t.len = 10,\n\t.filter = filter,\n};\n/* clang-format on */\n"), "{c}");
    let rust = text(Dialect::Rust);
    assert!(rust.contains("pub const FILTER: [libc::sock_filter; 10] = [\n"), "{rust}");
    assert!(
        rust.contains(
            "    libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x50001 },    // 9: ERRNO(EPERM)\n"
        ),
        "{rust}"
    );
    let go = text(Dialect::Go);
    assert!(go.contains("\t{Code: 0x20, Jt: 0, Jf: 0, K: 0x0},        // 2: nr\n"), "{go}");
}

#[test]
fn opcodes_have_the_kernels_names() {
    for (op, name) in [
        (Op::LdByteInd, "BPF_STMT(BPF_LD | BPF_B | BPF_IND, "),
        (Op::LdLen, "BPF_STMT(BPF_LD | BPF_W | BPF_LEN, "),
        (Op::LdImm, "BPF_STMT(BPF_LD | BPF_IMM, "),
        (Op::LdxImm, "BPF_STMT(BPF_LDX | BPF_IMM, "),
        (Op::LdxMsh, "BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, "),
        (Op::St, "BPF_STMT(BPF_ST, "),
        (Op::AndX, "BPF_STMT(BPF_ALU | BPF_AND | BPF_X, "),
        (Op::ModK, "BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, "),
        (Op::Neg, "BPF_STMT(BPF_ALU | BPF_NEG, "),
        (Op::Ja, "BPF_STMT(BPF_JMP | BPF_JA, "),
        (Op::JgeX, "BPF_JUMP(BPF_JMP | BPF_JGE | BPF_X, "),
        (Op::RetA, "BPF_STMT(BPF_RET | BPF_A, "),
        (Op::Txa, "BPF_STMT(BPF_MISC | BPF_TXA, "),
    ] {
        let k = u32::from(op == Op::ModK);
        let insns = vec![Insn::new(op, if op == Op::Ja { 0 } else { k }), Insn::new(Op::RetA, 0)];
        let text = disassemble_socket(&SocketProgram::new(insns).unwrap(), Dialect::C);
        assert!(text.contains(name), "{op:?}: {text}");
    }
}

/// The comment of a line, from 0.
fn comment(insns: &[Insn], line: usize, options: &ListingOptions) -> String {
    let program = Program::new(insns.to_vec()).unwrap();
    let text = disassemble(&program, Dialect::BpfAsm, options);
    let line = text.lines().nth(line).unwrap().to_owned();
    line.split_once("\t; ").map_or_else(String::new, |(_, comment)| comment.to_owned())
}

#[test]
fn the_length_of_the_input_is_known() {
    for op in [Op::LdLen, Op::LdxLen] {
        let insns = [Insn::new(op, 0), Insn::new(Op::RetA, 0)];
        assert_eq!(comment(&insns, 0, &ListingOptions::default()), "64");
    }
}

#[test]
fn syscall_numbers_are_decimal_and_other_large_constants_hexadecimal() {
    let (nr, arch) = (Insn::new(Op::LdWordAbs, 0), Insn::new(Op::LdWordAbs, 4));
    for (load, k, shown) in [
        (arch, 9, "#9"),
        (arch, 10, "#0xa"),
        (nr, 10, "#10"),
        (nr, 0x0fff_ffff, "#268435455"),
        (nr, 0x1000_0000, "#0x10000000"),
    ] {
        let insns = vec![load, Insn::branch(Op::JeqK, k, 0, 0), Insn::new(Op::RetA, 0)];
        let program = Program::new(insns).unwrap();
        let text = disassemble(&program, Dialect::Annotated, &ListingOptions::default());
        assert!(text.contains(&format!("jeq  {shown}, next, next\n")), "{text}");
    }
}

#[test]
fn syscall_names_follow_the_arch_that_the_path_established() {
    let nr = Insn::new(Op::LdWordAbs, 0);
    let ret = Insn::new(Op::RetA, 0);
    let jeq = |k, jt, jf| Insn::branch(Op::JeqK, k, jt, jf);
    let none = ListingOptions::default();
    let arm = ListingOptions { arches: vec![Arch::Aarch64], ..ListingOptions::default() };
    // No arch is known.
    assert_eq!(comment(&[nr, jeq(59, 0, 0), ret], 1, &none), "");
    // The arch is not tested: the one in the options.
    assert_eq!(comment(&[nr, jeq(221, 0, 0), ret], 1, &arm), "execve");
    // x86_64 or i386, and neither.
    let arch = Insn::new(Op::LdWordAbs, 4);
    let both = [
        arch,
        jeq(0xc000_003e, 0, 3),
        nr,
        jeq(59, 0, 0),
        ret,
        jeq(0x4000_0003, 0, 3),
        nr,
        jeq(11, 0, 0),
        ret,
        nr,
        jeq(221, 0, 0),
        ret,
    ];
    assert_eq!(comment(&both, 3, &arm), "execve (x86_64)");
    assert_eq!(comment(&both, 3, &none), "execve", "the first arch needs no mention");
    assert_eq!(comment(&both, 7, &arm), "execve (x86)");
    assert_eq!(comment(&both, 10, &arm), "", "not arm's, but not known whose");
    // Paths of two architectures meet: no name.
    let meet = [arch, jeq(0xc000_003e, 1, 0), jeq(0x4000_0003, 0, 2), nr, jeq(59, 0, 0), ret];
    assert_eq!(comment(&meet, 4, &none), "");
    // x32 numbers have the token of x86_64.
    let x32 = [arch, jeq(0xc000_003e, 0, 1), nr, jeq(0x4000_0000, 0, 0), ret];
    assert_eq!(comment(&x32, 3, &none), "");
    let x32 = [arch, jeq(0xc000_003e, 0, 2), nr, jeq(0x4000_0000, 0, 0), ret];
    assert_eq!(comment(&x32, 3, &none), "read (x32)");
    let bit = [arch, jeq(0xc000_003e, 0, 2), nr, Insn::branch(Op::JgeK, 0x4000_0000, 0, 0), ret];
    assert_eq!(comment(&bit, 3, &none), "any x32 syscall");
}

#[test]
fn halves_follow_the_byte_order() {
    let insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::RetA, 0)];
    let program = Program::new(insns).unwrap();
    for (endian, word) in [(Endian::Little, "args[0].low"), (Endian::Big, "args[0].high")] {
        let options = ListingOptions { endian, ..ListingOptions::default() };
        let text = disassemble(&program, Dialect::Annotated, &options);
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn unreachable_code_is_marked() {
    let ret = Insn::new(Op::RetA, 0);
    assert_eq!(comment(&[ret, ret], 1, &ListingOptions::default()), "unreachable");
}

#[test]
fn socket_filters_have_no_syscall_names() {
    let program = SocketProgram::new(vec![
        Insn::new(Op::LdHalfAbs, 12),
        Insn::branch(Op::JeqK, 0x800, 0, 4),
        Insn::new(Op::LdxMsh, 14),
        Insn::new(Op::LdHalfInd, 16),
        Insn::new(Op::LdWordAbs, 0xffff_f014),
        Insn::new(Op::RetK, 0x40000),
        Insn::new(Op::RetK, 0),
    ])
    .unwrap();
    assert_eq!(
        disassemble_socket(&program, Dialect::Annotated),
        "\
; 7 instructions
     0   ldh  [12]
     1   jeq  #0x800, next, L6
     2   ldxb 4*([14]&0xf)
     3   ldh  [x + 16]
     4   ld   #mark
     5   ret  #0x40000
    L6:  ret  #0
"
    );
    let legacy = disassemble_socket(&program, Dialect::Legacy);
    let bpf_asm = disassemble_socket(&program, Dialect::BpfAsm);
    assert!(bpf_asm.contains("ldh [12]\n") && bpf_asm.contains("ld #mark\t; mark\n"), "{bpf_asm}");
    let xor = vec![Insn::new(Op::LdWordAbs, 0xffff_f028), Insn::new(Op::RetA, 0)];
    let c = disassemble_socket(&SocketProgram::new(xor).unwrap(), Dialect::C);
    assert!(c.contains("BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffff028), /* a ^ x */\n"), "{c}");
    assert!(legacy.contains("BPF_S_ANC_MARK") && legacy.contains("BPF_S_LDX_B_MSH"), "{legacy}");
}

#[test]
fn dialects_have_names() {
    for &dialect in Dialect::ALL {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
        assert_eq!(dialect.to_string(), dialect.name());
    }
    let error = "intel".parse::<Dialect>().unwrap_err().to_string();
    assert!(error.contains("`intel`") && error.contains("libseccomp"), "{error}");
}
