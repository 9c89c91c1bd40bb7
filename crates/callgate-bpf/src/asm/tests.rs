//! The assembler: syntax and error messages.

use super::*;
use callgate_core::{Endian, Insn, Op};

/// The one instruction of a text.
#[track_caller]
fn one(text: &str) -> Insn {
    match assemble(text).as_deref() {
        Ok([insn]) => *insn,
        other => panic!("{text}: {other:?}"),
    }
}

/// The errors of a text, each as `line:column: message`.
fn errors(text: &str) -> Vec<String> {
    match assemble(text) {
        Ok(insns) => panic!("{text}: {insns:?}"),
        Err(error) => error.diagnostics().iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_byte_order_is_the_given_one_unless_the_text_sets_another() {
    let assemble = |text, endian| {
        let tokens = crate::lexer::tokens(text).unwrap();
        let options = crate::text::TextOptions::new(endian);
        let (insns, endian) = assemble_tokens(&tokens, &options).unwrap();
        (insns[0].k, endian)
    };
    assert_eq!(assemble("ld args[0].low\n ret ALLOW", Endian::Big), (20, Endian::Big));
    assert_eq!(assemble(".endian little\n ld args[0].low", Endian::Big), (16, Endian::Little));
}

#[test]
fn every_form_of_bpf_asm_is_read() {
    for (text, op, k) in [
        ("ldb [x + 3]", Op::LdByteInd, 3),
        ("ldb [%x + 3]", Op::LdByteInd, 3),
        ("ldb [3]", Op::LdByteAbs, 3),
        ("ldb #proto", Op::LdByteAbs, 0xffff_f000),
        ("ldh [x + -2]", Op::LdHalfInd, 0xffff_fffe),
        ("ldh [12]", Op::LdHalfAbs, 12),
        ("ldh cpu", Op::LdHalfAbs, 0xffff_f024),
        ("ldi #7", Op::LdImm, 7),
        ("ldi 7", Op::LdImm, 7),
        ("ld #7", Op::LdImm, 7),
        ("ld #len", Op::LdLen, 0),
        ("ld len", Op::LdLen, 0),
        ("ld vlan_pr", Op::LdWordAbs, 0xffff_f030),
        ("ld #vlan_avail", Op::LdWordAbs, 0xffff_f030),
        ("ld #rand", Op::LdWordAbs, 0xffff_f038),
        ("ld M[15]", Op::LdMem, 15),
        ("ld [x+4]", Op::LdWordInd, 4),
        ("ld [-4096]", Op::LdWordAbs, 0xffff_f000),
        ("ldxi 3", Op::LdxImm, 3),
        ("ldx #3", Op::LdxImm, 3),
        ("ldx #len", Op::LdxLen, 0),
        ("ldx M[2]", Op::LdxMem, 2),
        ("ldx 4*([14]&0xf)", Op::LdxMsh, 14),
        ("ldxb 4 * ( [ 14 ] & 15 )", Op::LdxMsh, 14),
        ("st M[3]", Op::St, 3),
        ("stx M[3]", Op::Stx, 3),
        ("ADD #1", Op::AddK, 1),
        ("add X", Op::AddX, 0),
        ("add %x", Op::AddX, 0),
        ("mod #0x10", Op::ModK, 16),
        ("and #-1", Op::AndK, u32::MAX),
        ("or #0b11", Op::OrK, 3),
        ("xor #017", Op::XorK, 15),
        ("lsh #'a'", Op::LshK, 97),
        ("neg", Op::Neg, 0),
        ("tax", Op::Tax, 0),
        ("txa", Op::Txa, 0),
        ("ret a", Op::RetA, 0),
        ("ret %a", Op::RetA, 0),
        ("ret #-1", Op::RetK, u32::MAX),
        ("ja next", Op::Ja, 0),
        ("jmp +3", Op::Ja, 3),
    ] {
        assert_eq!(one(text), Insn::new(op, k), "{text}");
    }
}

/// The assembler reads instructions as error messages show them.
#[test]
fn short_forms_are_read() {
    for &op in Op::ALL {
        let k = if op.uses_k() { 0xffff_f123 } else { 0 };
        let insn = if op.is_branch() { Insn::branch(op, k, 0, 9) } else { Insn::new(op, k) };
        assert_eq!(one(&insn.to_string()), insn, "{insn}");
    }
}

#[test]
fn words_actions_and_tokens_have_names() {
    for (text, op, k) in [
        ("ld nr", Op::LdWordAbs, 0),
        ("ld [arch]", Op::LdWordAbs, 4),
        ("ld args[0].low", Op::LdWordAbs, 16),
        ("ld args[0].high", Op::LdWordAbs, 20),
        (".endian big ld args[0].high", Op::LdWordAbs, 16),
        ("ld instruction_pointer.high", Op::LdWordAbs, 12),
        ("ret ALLOW", Op::RetK, 0x7fff_0000),
        ("ret SECCOMP_RET_KILL", Op::RetK, 0),
        ("ret KILL_PROCESS", Op::RetK, 0x8000_0000),
        ("ret ERRNO(EPERM)", Op::RetK, 0x0005_0001),
        ("ret errno(4095)", Op::RetK, 0x0005_0fff),
        ("ret TRACE(7)", Op::RetK, 0x7ff0_0007),
        ("ret ALLOW(1)", Op::RetK, 0x7fff_0001),
        ("ret UNKNOWN(0x12345678)", Op::RetK, 0x1234_5678),
        ("ld #AUDIT_ARCH_X86_64", Op::LdImm, 0xc000_003e),
    ] {
        assert_eq!(one(text), Insn::new(op, k), "{text}");
    }
}

#[test]
fn jumps_go_to_labels() {
    let insns = assemble(
        "start: jeq #1, on, off\n\
         on: jne #2, off\n\
         jlt x, off, next\n\
         jle #3, next, off\n\
         jset %x, off\n\
         ja off ; far\n\
         ret a\n\
         off:\n\
         Off: ret #0",
    )
    .unwrap();
    assert_eq!(
        insns,
        [
            Insn::branch(Op::JeqK, 1, 0, 6),
            Insn::branch(Op::JeqK, 2, 0, 5),
            Insn::branch(Op::JgeX, 0, 0, 4),
            Insn::branch(Op::JgtK, 3, 3, 0),
            Insn::branch(Op::JsetX, 0, 2, 0),
            Insn::new(Op::Ja, 1),
            Insn::new(Op::RetA, 0),
            Insn::new(Op::RetK, 0),
        ]
    );
}

#[test]
fn listings_may_be_numbered_and_commented() {
    let insns = assemble(
        "# a filter\n\n  0  ld nr /* the\n number */\n 1 jeq #59, L2, next // execve\nL2: 2 ret #1; end",
    );
    // A number before the instruction of a label is not a line number.
    assert!(insns.is_err());
    let insns = assemble("# a filter\n\n  0  ld nr\n 1 jeq #59, L2 // x\nL2: ret #1; end").unwrap();
    assert_eq!(insns.len(), 3);
}

#[test]
fn ignored_fields_can_be_written() {
    assert_eq!(one(".insn 0x16, 1, 2, 0x3"), Insn { op: Op::RetA, jt: 1, jf: 2, k: 3 });
    assert_eq!(errors(".insn 0x26, 0, 0, 0"), ["1:7: 0x26 is not an opcode of classic BPF"]);
    assert_eq!(
        errors(".insn 6, 256, 0, 0"),
        ["1:10: 256 is too large for a jump distance; the limit is 255"]
    );
}

#[test]
fn errors_have_positions() {
    for (text, message) in [
        ("", "the text contains no instructions"),
        ("; nothing", "the text contains no instructions"),
        ("foo", "1:1: `foo` is not an instruction"),
        (
            "ld",
            "1:3: expected an operand of `ld`: [k], [x + k], #len, #k, M[n], a word such as args[0].low at the end of the line",
        ),
        (
            "ld (4)",
            "1:4: expected an operand of `ld`: [k], [x + k], #len, #k, M[n], a word such as args[0].low, found `(`",
        ),
        ("ld [4", "1:6: expected `]` at the end of the line"),
        ("ld [x 4]", "1:7: expected `+` and an offset, found `4`"),
        ("ldx [4]", "1:5: expected an operand of `ldx`: #len, #k, M[n], 4*([k]&0xf), found `[`"),
        ("st len", "1:4: expected an operand of `st`: M[n], found `len`"),
        ("ld args[6].low", "1:9: 6 is too large for the number of an argument; the limit is 5"),
        ("ld args[0]", "1:4: `args[0]` is not a word of seccomp_data"),
        ("ld foo", "1:4: `foo` is not a word of seccomp_data"),
        ("add 1", "1:5: expected an operand of `add`: #k, x, found `1`"),
        (
            "add #4294967296",
            "1:6: `4294967296` does not fit into 32 bits; the limits are -2147483648 and 4294967295",
        ),
        ("add #08", "1:6: `08` is not a number (0x: hexadecimal, 0b: binary, a leading 0: octal)"),
        ("ret x", "1:5: `x` is not an action"),
        ("ret (", "1:5: expected an operand of `ret`: #k, a, an action such as ALLOW, found `(`"),
        ("(x) tax", "1:1: expected an instruction or a label, found `(`"),
        ("ret PERMIT", "1:5: `PERMIT` is not an action"),
        (
            "ret ERRNO(ENOTHING)",
            "1:11: expected an errno such as EPERM, or a number, found `ENOTHING`",
        ),
        (
            "ret ERRNO(65536)",
            "1:11: 65536 is too large for the data of an action; the limit is 65535",
        ),
        ("ret UNKNOWN", "1:12: expected `(` and the value at the end of the line"),
        ("jeq ?, L", "1:5: expected `#` and a constant, or `x`, found `?`"),
        ("jeq #1 L", "1:8: expected `,`, found `L`"),
        ("jeq #1, ?", "1:9: expected a label, `next` or `+` and a number, found `?`"),
        ("jeq #foo, next", "1:6: `foo` is not a constant of the kernel"),
        ("ldx 3*([0]&0xf)", "1:5: the kernel only computes 4*([k]&0xf), not 3*([k]&0xf)"),
        (".endian middle", "1:9: expected `little` or `big`, found `middle`"),
        ("x: ret a", "1:1: `x` is reserved and cannot be a label"),
        ("ret a\nend:", "2:1: label `end` is not followed by an instruction"),
        ("ja no\nret a", "1:4: label `no` is not defined"),
        (
            "L1: ret a\nja L1\nret a",
            "2:4: instruction 1 cannot jump to label `L1` at instruction 0",
        ),
        ("L1: ja L1\nret a", "1:8: instruction 0 cannot jump to label `L1` at instruction 0"),
        ("L1: ret a\nL1: ret a", "2:1: label `L1` is already defined at instruction 0"),
        (
            "jeq #1, L1, +256\nL1: ret a",
            "1:13: the branch to `+256` skips 256 instructions; the limit is 255",
        ),
        ("ld [4] $", "1:8: expected an instruction or a label, found `$`"),
    ] {
        assert_eq!(errors(text), [message], "{text}");
    }
}

#[test]
fn a_message_ends_with_its_advice() {
    for (text, message) in [
        ("ja no\nret a", "1:4: label `no` is not defined; write `LABEL:` before an instruction"),
        ("ld [4", "1:6: expected `]` at the end of the line"),
    ] {
        assert_eq!(assemble(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn branches_skip_at_most_255_instructions() {
    let far = |gap: usize| format!("jeq #1, end\n{}end: ret a", "tax\n".repeat(gap));
    assert_eq!(assemble(&far(255)).unwrap()[0].jt, 255);
    assert_eq!(
        errors(&far(256)),
        ["1:9: the branch to `end` skips 256 instructions; the limit is 255"]
    );
    // Only the first of many branches over the same code are reported.
    let many = format!("{}{}end: ret a", "jeq #1, end\n".repeat(9), "tax\n".repeat(256));
    let all = errors(&many);
    assert_eq!(all.len(), 6, "{all:?}");
    assert!(all[4].starts_with("5:9: the branch to `end` skips 260 instructions"), "{all:?}");
    assert_eq!(all[5], "6:9: 4 more branches from here on skip more than 255 instructions");
    // A broken line counts as an instruction.
    let broken = format!("jeq #1, end\n{}foo\nend: ret a", "tax\n".repeat(254));
    assert_eq!(errors(&broken), ["256:1: `foo` is not an instruction"]);
    let unconditional = format!("ja end\n{}end: ret a", "tax\n".repeat(4000));
    assert_eq!(assemble(&unconditional).unwrap()[0].k, 4000);
}

#[test]
fn length_is_limited_and_all_errors_are_collected() {
    assert_eq!(assemble(&"ret a\n".repeat(65_536)).unwrap().len(), 65_536);
    assert_eq!(
        errors(&"ret a\n".repeat(65_540)),
        [
            "65537:1: the program has 65540 instructions; at most 65536 can be read, and the kernel accepts at most \
          4096"
        ]
    );
    let many = assemble(&"foo\n".repeat(8)).unwrap_err();
    assert_eq!(many.diagnostics().len(), 8);
    let text = many.to_string();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.ends_with("and 3 more errors"), "{text}");
}

#[test]
fn the_number_of_errors_is_limited() {
    let error = assemble(&"jump away\n".repeat(4_000)).unwrap_err();
    assert_eq!((error.diagnostics().len(), error.left_out()), (20, 3_980));
    assert!(error.to_string().ends_with("\nand 3995 more errors"), "{error}");
    let last = |lines| {
        let error = assemble(&"jump away\n".repeat(lines)).unwrap_err();
        error.into_diagnostics().last().map(ToString::to_string)
    };
    let is_not_an_instruction = |line| Some(format!("{line}:1: `jump` is not an instruction"));
    assert_eq!(last(20), is_not_an_instruction(20));
    assert_eq!(last(21).as_deref(), Some("1 more error is left out"));
    assert_eq!(last(22).as_deref(), Some("2 more errors are left out"));
}
