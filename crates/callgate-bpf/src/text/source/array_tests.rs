//! Elements of arrays, and what C, Rust and Go write in their own way.

use super::macro_tests::{ALLOW, errors, insn, read};
use crate::text::TextOptions;
use callgate_core::Endian;

#[test]
fn instructions_of_go_are_encoded() {
    let text = "
import \"golang.org/x/net/bpf\"
var filter = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 4, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0xc000003e, SkipTrue: 1},
	bpf.RetConstant{Val: 0},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 7, SkipTrue: 2, SkipFalse: 1},
	bpf.JumpIf{bpf.JumpLessThan, 8, 2, 1},
	bpf.JumpIfX{Cond: bpf.JumpBitsSet, SkipTrue: 3, SkipFalse: 4},
	bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff}, bpf.ALUOpX{Op: bpf.ALUOpXor},
	bpf.LoadConstant{Dst: bpf.RegX, Val: 3}, bpf.LoadScratch{Dst: bpf.RegA, N: 2},
	bpf.StoreScratch{Src: bpf.RegX, N: 5}, bpf.LoadExtension{Num: bpf.ExtLen},
	bpf.LoadExtension{Num: bpf.ExtProto}, bpf.LoadIndirect{Off: 1, Size: 2},
	bpf.LoadMemShift{Off: 14}, bpf.NegateA{}, bpf.TAX{}, bpf.TXA{}, bpf.Jump{Skip: 300},
	bpf.RawInstruction{Op: 0x6, K: 0x7fff0000}, bpf.RetA{},
}";
    let expected = [
        insn(0x20, 0, 0, 4),
        insn(0x15, 1, 0, 0xc000_003e),
        insn(6, 0, 0, 0),
        insn(0x15, 1, 2, 7),
        insn(0x35, 1, 2, 8),
        insn(0x4d, 3, 4, 0),
        insn(0x54, 0, 0, 0xff),
        insn(0xac, 0, 0, 0),
        insn(0x01, 0, 0, 3),
        insn(0x60, 0, 0, 2),
        insn(0x03, 0, 0, 5),
        insn(0x80, 0, 0, 0),
        insn(0x20, 0, 0, 0xffff_f000),
        insn(0x48, 0, 0, 1),
        insn(0xb1, 0, 0, 14),
        insn(0x84, 0, 0, 0),
        insn(0x07, 0, 0, 0),
        insn(0x87, 0, 0, 0),
        insn(0x05, 0, 0, 300),
        ALLOW,
        insn(0x16, 0, 0, 0),
    ];
    assert_eq!(read(text).as_deref(), Ok(&expected[..]));
    for (text, message) in [
        ("LoadAbsolute{Off: 4, Size: 3}", "1:18: 3 is not a size of a load: 1, 2 or 4"),
        ("LoadAbsolute{Offset: 4}", "1:18: LoadAbsolute has no field `Offset`"),
        ("RetConstant{1, 2}", "1:20: RetConstant has 1 fields, found another"),
        ("JumpIf{Cond: 9}", "1:12: 9 is not a condition such as JumpEqual"),
        ("JumpIf{SkipTrue: 256}", "1:22: 256 is too large for SkipTrue; the limit is 255"),
        ("LoadConstant{Dst: 2}", "1:18: 2 is not a register, RegA or RegX"),
        ("ALUOpX{Op: 5}", "1:12: 5 is not an operation such as ALUOpAnd"),
    ] {
        assert_eq!(errors(&format!("bpf.{text}"))[..1], [message]);
    }
}

#[test]
fn functions_of_rust_and_go_are_rows() {
    let ret = insn(6, 0, 0, 0);
    for text in [
        "fn bpf_stmt(code: u16, k: u32) -> sock_filter { sock_filter { code, jt: 0, jf: 0, k } }\n\
         let filter = vec![bpf_stmt(BPF_RET | BPF_K, SECCOMP_RET_KILL)];",
        "use libc::{BPF_STMT, BPF_JUMP};\nfn main() {\n let f = [BPF_STMT!((libc::BPF_RET | BPF_K) as u16, 0)]; f[0]; }",
        "func main() {\n\tfilter := []unix.SockFilter{\n\t\tbpfStmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_KILL),\n\t}\n}",
        "let f: &[libc::sock_filter] = &[libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x0000_0000 }];",
        "prog.filter = (struct sock_filter[]){ { 6, 0, 0, 0 } };",
        "f.push_back((struct sock_filter) { 6, 0, 0, 0 });",
    ] {
        assert_eq!(read(text).as_deref(), Ok(&[ret][..]), "{text}");
    }
}

#[test]
fn rust_and_go_have_their_own_operators() {
    let rust = |value: &str| {
        read(&format!("let f = [sock_filter {{ code: 6, jt: 0, jf: 0, k: {value} }}];"))
    };
    let go = |value: &str| read(&format!("f := []unix.SockFilter{{{{Code: 6, K: {value}}}}}"));
    for (value, expected) in [
        ("!1u8 as u32 | 017 << 8", 0x11fe),
        ("0x1ff as u8 as u32", 0xff),
        ("1 | 2 << 1 & 4", 5),
        ("!0", u32::MAX),
    ] {
        assert_eq!(rust(value).unwrap()[0].k, expected, "{value}");
    }
    for (value, expected) in
        [("1 << 2 + 3 | 4 &^ 4", 7), ("^uint32(1)", 0xffff_fffe), ("010 | 1 + 1", 10)]
    {
        assert_eq!(go(value).unwrap()[0].k, expected, "{value}");
    }
    assert!(
        rust("1u8 << 9").is_err() && rust("0x1_0000_0000").is_err() && go("uint8(256)").is_err()
    );
    let text =
        "let f = [ /* a /* b */ sock_filter { code: 6, k: 1 }, */ sock_filter { code: 6, k: 2 }];";
    assert_eq!(read(text).as_deref(), Ok(&[insn(6, 0, 0, 2)][..]));
}

#[test]
fn an_element_that_is_no_instruction_is_an_error() {
    for (text, message) in [
        (
            "struct sock_filter f[] = { { 6, 0, 0, 0 }, ALLOW_ALL, };",
            "1:44: `ALLOW_ALL` is not an instruction, and not defined in this text",
        ),
        (
            "struct sock_filter f[] = { DENY(read), { 6, 0, 0, 0 } };",
            "1:28: `DENY` is not an instruction, and not defined in this text",
        ),
        (
            "let f = [sock_filter { code: 6 }, ALLOW];",
            "1:35: `ALLOW` is not an instruction, and not defined in this text",
        ),
        (
            "struct sock_filter f[] = { { 6, 0, 0, 0 }, ... };",
            "1:44: instructions are left out here (`...`)",
        ),
        (
            "int a[] = { 1 }; struct sock_filter f[] = { { 6, 0, 0, 0 } }, g[] = { { 6, 0, 0, 1 } };",
            "1:71: this text has 2 programs, and which one is meant is not known: `f` (line 1, 1 instruction), `g` (line 1, 1 instruction)",
        ),
        ("{ 6, 0, 0, __NR_raed }", "1:12: `__NR_raed` is not a syscall"),
        (
            "{ 6, 0, 0, __NR_mmap2 }",
            "1:12: `__NR_mmap2` does not exist on x86_64, but on x86, arm, s390, ppc, …",
        ),
        ("{ 6, 0, 0, F(1) }", "1:12: `F` is called here, but not defined in this text"),
        (
            "#if defined(\n{ 6, 0, 0, 1 }\n#endif",
            "1:13: expected a name before the end of the text",
        ),
        (
            "int main() { seccomp_rule_add(c, A, SCMP_SYS(read), 0); }",
            "1:14: this program builds its filter with libseccomp when it runs",
        ),
    ] {
        assert_eq!(errors(text)[..1], [message], "{text}");
    }
}

#[test]
fn arrays_are_whole() {
    for (text, message) in [
        (
            "struct sock_filter f[3] = { { 6, 0, 0, 0 } };",
            "1:22: this array has 3 elements, but 1 instructions",
        ),
        (
            "struct sock_filter __attribute_f[3] = { { 6, 0, 0, 0 } };",
            "1:34: this array has 3 elements, but 1 instructions",
        ),
        (
            "f := [2]unix.SockFilter{{Code: 6}}",
            "1:7: this array has 2 elements, but 1 instructions",
        ),
        (
            "struct sock_filter f[] = { [1] = { 6, 0, 0, 0 } };",
            "1:28: this is element 1, but 0 are before it",
        ),
        (
            "struct sock_filter f[] = {\n#include \"rows.h\"\n{ 6, 0, 0, 0 } };",
            "2:1: a file is included here, which is not read",
        ),
    ] {
        assert_eq!(errors(text)[0], message, "{text}");
    }
    let text = "enum { A, B, N }; struct sock_filter f[N] = { [A] = { 6, 0, 0, 1 }, [B] = BPF_STMT(6, 2) };";
    assert_eq!(read(text).as_deref(), Ok(&[insn(6, 0, 0, 1), insn(6, 0, 0, 2)][..]));
    // Which of these are added depends on the program.
    let text = "p[n++] = (struct sock_filter) { 6, 0, 0, 1 };\nif (x) p[n++] = (struct sock_filter) { 6, 0, 0, 2 };";
    assert!(errors(text)[0].contains("depends on a branch of the program"));
}

/// The last code is that of a return in the encoding of Linux 3.
#[test]
fn source_code_is_not_a_dump_of_linux_3() {
    let rows = "{ 0x3d, 0, 0, 0 }, { 1, 0, 0, 5 }";
    let options = TextOptions::new(Endian::Little);
    let read =
        |text: &str| crate::text::parse_program(text, &options).map(|read| read.is_of_linux3);
    assert_eq!(read(rows), Ok(true));
    assert_eq!(read(&format!("struct sock_filter f[] = {{ {rows} }};")), Ok(false));
    assert_eq!(read(&format!("{rows}, {{ 1, 0, 0, EPERM }}")), Ok(false));
}
