//! Macros, conditionals, parameters, and the instructions of `golang.org/x/net/bpf`.

use crate::asm::AsmError;
use crate::text::{TextOptions, source};
use callgate_core::{Arch, Endian, RawInsn};

fn read_for(arch: Arch, text: &str) -> Result<Vec<RawInsn>, AsmError> {
    let options = TextOptions::new(arch.endian()).with_usual_arch(arch);
    source::rows(text, &options).map(|rows| rows.insns)
}

fn read(text: &str) -> Result<Vec<RawInsn>, AsmError> {
    read_for(Arch::X86_64, text)
}

fn errors(text: &str) -> Vec<String> {
    match read(text) {
        Ok(insns) => panic!("{text}: {insns:?}"),
        Err(error) => error.diagnostics().iter().map(ToString::to_string).collect(),
    }
}

const fn insn(code: u16, jt: u8, jf: u8, k: u32) -> RawInsn {
    RawInsn { code, jt, jf, k }
}

const ALLOW: RawInsn = insn(6, 0, 0, 0x7fff_0000);

/// The value of an expression.
fn value(arch: Arch, text: &str) -> Result<u32, String> {
    match read_for(arch, &format!("{{ 6, 0, 0, {text} }}")) {
        Ok(insns) => Ok(insns[0].k),
        Err(error) => Err(error.diagnostics()[0].to_string()),
    }
}

#[test]
fn macros_of_the_text_and_known_ones_are_expanded() {
    let filter = "
#include <linux/filter.h>
#define DENY(name, error) \\
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \\
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA))
#define NOTHING
static const struct sock_filter filter[] = {
    EXAMINE_SYSCALL, NOTHING
    DENY(ptrace, EPERM), /* a comment */
    ALLOW_SYSCALL(read),
    KILL_PROCESS
};";
    let expected = [
        insn(0x20, 0, 0, 0),
        insn(0x15, 0, 1, 101),
        insn(6, 0, 0, 0x5_0001),
        insn(0x15, 0, 1, 0),
        ALLOW,
        insn(6, 0, 0, 0),
    ];
    assert_eq!(read(&filter.replace("\\\\", "\\")).as_deref(), Ok(&expected[..]));
}

#[test]
fn arguments_are_expanded_and_definitions_replace_known_macros() {
    for (text, k) in [
        ("#define A(x) B(x, 2)\n#define B(x, y) x + y\n{ 6, 0, 0, A(A(1)) }", 5),
        ("#define SECCOMP_RET_ALLOW 7\n{ 6, 0, 0, SECCOMP_RET_ALLOW }", 7),
        ("#define A A + 1\n#define k 4\n#undef k\n#define k 5\n{ 6, 0, 0, k }", 5),
        ("#define F(...) { 6, 0, 0, __VA_ARGS__ }\nF(3)", 3),
        ("#define ID(x) x\n#define N(x) __NR_##x\n{ 6, 0, 0, ID(N(write)) }", 1),
        ("#define syscall_nr 8\n{ 6, 0, 0, syscall_nr }", 8),
        ("#define ZERO() 0\n{ 6, ZERO(), ZERO ( ), 9 }", 9),
    ] {
        assert_eq!(read(text).map(|insns| insns[0].k), Ok(k), "{text}");
    }
}

#[test]
fn conditionals_are_those_of_the_architecture() {
    let text = "
#include <sys/syscall.h>
#if defined(__i386__) && !defined(__x86_64__)
#define NR AUDIT_ARCH_I386
#elif defined(__x86_64__)
# define NR AUDIT_ARCH_X86_64
#else
# define NR 0
#endif
struct sock_filter f[] = {
#ifdef __NR_sigreturn
    { 6, 0, 0, NR },
#else
    { 6, 0, 1, NR },
#endif
#if 0
    { 6, 0, 2, NR },
# if 1
    { 6, 0, 3, NR },
# endif
#endif
#if __BYTE_ORDER == __LITTLE_ENDIAN
    { 6, 4, 0, 0 },
#endif
};";
    let of = |arch| read_for(arch, text).unwrap();
    assert_eq!(of(Arch::X86), [insn(6, 0, 0, 0x4000_0003), insn(6, 4, 0, 0)]);
    assert_eq!(of(Arch::X86_64), [insn(6, 0, 1, 0xc000_003e), insn(6, 4, 0, 0)]);
    assert_eq!(of(Arch::S390x), [insn(6, 0, 0, 0)]);
}

#[test]
fn values_are_expressions_of_constants() {
    for (text, expected) in [
        ("SECCOMP_RET_ERRNO | (EACCES & SECCOMP_RET_DATA)", 0x5_000d),
        ("SECCOMP_RET_TRACE | 1 << 3", 0x7ff0_0008),
        ("~(CLONE_NEWUSER | 1)", 0xefff_fffe),
        ("(unsigned int) -1", u32::MAX),
        ("(5) as u32", 5),
        ("(__u32)(5)", 5),
        ("uint32(unix.SECCOMP_RET_ALLOW)", 0x7fff_0000),
        ("u32::from(libc::AF_UNIX)", 1),
        ("unix.SYS_OPENAT", 257),
        ("libc::SYS_execve as u32", 59),
        ("5 -1", 4),
        ("2 + 3 * 4", 14),
        ("AT_FDCWD", 0xffff_ff9c),
        ("(offsetof(struct seccomp_data, args[1])) + sizeof(__u32)", 28),
        ("offset_of!(libc::seccomp_data, nr)", 0),
        ("__builtin_offsetof(struct seccomp_data, arch)", 4),
        ("EM_X86_64|__AUDIT_ARCH_64BIT|__AUDIT_ARCH_LE", 0xc000_003e),
        ("X32_SYSCALL_BIT - 1", 0x3fff_ffff),
    ] {
        assert_eq!(value(Arch::X86_64, text), Ok(expected), "{text}");
    }
    assert_eq!(value(Arch::Aarch64, "__NR_execve"), Ok(221));
    assert_eq!(value(Arch::Aarch64, "ARCH_NR"), Ok(0xc000_00b7));
    assert_eq!(value(Arch::X86_64, "syscall_arg(1)"), Ok(24));
    assert_eq!(value(Arch::S390x, "syscall_arg(1)"), Ok(28));
    assert_eq!(value(Arch::S390x, "HI_ARG(1)"), Ok(24));
}

#[test]
fn the_architecture_is_the_one_that_the_text_names() {
    let text = "{ 0x15, 0, 1, AUDIT_ARCH_AARCH64 }, { 0x15, 0, 1, __NR_execve }";
    assert_eq!(read(text).unwrap()[1].k, 221);
    let options = TextOptions::new(Endian::Little).with_arch(Arch::X86_64);
    assert_eq!(source::rows(text, &options).unwrap().insns[1].k, 59);
    let options = TextOptions::new(Endian::Little);
    for name in ["__NR_read", "TIOCSTI"] {
        let error = source::rows(&format!("{{ 6, 0, 0, {name} }}"), &options).unwrap_err();
        let message = format!("1:12: the value of `{name}` depends on the architecture");
        assert_eq!(error.diagnostics()[0].to_string(), message);
    }
}

#[test]
fn parameters_have_the_value_of_the_only_call() {
    let function = "int install(int nr, __u32 arch, int error) {
    struct sock_filter filter[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
    };
    struct sock_fprog prog; prog.len = 2; prog.filter = filter; if (prctl(PR_SET_SECCOMP, 2, &prog)) { perror(\"{\"); return 1; }
    return 0;
}";
    let call = "int main() { return install(__NR_write, AUDIT_ARCH_X86_64, EPERM); }";
    let text = format!("int install(int nr, __u32 arch, int error);\n{function}\n{call}");
    let expected = [insn(0x15, 0, 1, 1), insn(6, 0, 0, 0x5_0001)];
    assert_eq!(read(&text).as_deref(), Ok(&expected[..]));
    assert_eq!(
        errors(function),
        [
            "3:45: `nr` is a parameter of `install`, which this text calls 0 times",
            "4:56: `error` is a parameter of `install`, which this text calls 0 times",
        ]
    );
    let twice = format!("{function}\nvoid f() {{ install(1, 2, 3); install(2, 2, 3); }}");
    assert!(errors(&twice)[0].ends_with("which this text calls 2 times"));
    assert_eq!(
        read(&format!("#define nr 1\n#define error EPERM\n{function}")).as_deref(),
        Ok(&expected[..])
    );
}

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
            "1:71: a second array of instructions begins here; the first has 1",
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

/// Each doubles with every definition, or nests as deep as the text is long.
#[test]
fn expansion_is_bounded() {
    let doubling = |last: &str| {
        let lines = (0..40).map(|n| format!("#define M{n} M{0} M{0}\n", n + 1));
        format!("{}#define M40 {last}\n{{ 6, 0, 0, M0 }}", lines.collect::<String>())
    };
    for last in ["", "1 +"] {
        let message = &errors(&doubling(last))[0];
        assert!(message.contains("more than 2000000 tokens"), "{message}");
    }
    let chain: String = (0..1000).map(|n| format!("#define M{n} M{}\n", n + 1)).collect();
    assert!(errors(&format!("{chain}{{ 6, 0, 0, M0 }}"))[0].contains("nested more than 50 times"));
    for (open, close) in
        [("(", ")"), ("~", ""), ("-", ""), ("!", ""), ("1 | ~(", ")"), ("u32::from(", ")")]
    {
        let text = format!("{{ 6, 0, 0, {}1{} }}", open.repeat(100_000), close.repeat(100_000));
        assert!(errors(&text)[0].contains("nested more than 50 times"), "{open}");
    }
    let calls = format!("#define A(x) x\n{{ 6, 0, 0, {}", "A(".repeat(200_000));
    assert!(!errors(&calls).is_empty());
}

/// The value of an expression in a text with definitions.
fn value_after(definitions: &str, text: &str) -> Result<u32, String> {
    match read(&format!("{definitions}\nstruct sock_filter f[] = {{ {{ 6, 0, 0, {text} }} }};")) {
        Ok(insns) => Ok(insns[0].k),
        Err(error) => Err(error.diagnostics()[0].to_string()),
    }
}

/// Each of these took the `#else` branch.
#[test]
fn conditions_compare_the_values_of_macros() {
    for (definition, condition) in [
        ("#define STRICT 1", "#if STRICT"),
        ("#define STRICT (1)", "#if STRICT"),
        ("#define STRICT 0x1", "#if STRICT"),
        ("#define STRICT 1U", "#if STRICT == 1"),
        ("#define STRICT 2", "#if STRICT >= 2"),
        ("#define ONE 1\n#define STRICT ONE", "#if STRICT"),
        ("#define STRICT 2", "#if STRICT == 1\n#define K 3\n#elif STRICT == 2"),
        ("#define HAS(x) defined(__linux__) && x", "#if HAS(1)"),
        ("", "#if -1 > 0u"),
        ("", "#if (2 ? defined __x86_64__ : 3)"),
        ("", "#if 0 && 1/0\n#elif ~0 == -1 && 0x7fffffff + 1 > 0"),
        ("", "#ifdef _WIN32\n#elifndef _WIN32"),
        ("#define X\n#undef X", "#if !defined X && __SIZEOF_POINTER__ == 8"),
    ] {
        let text = format!("{definition}\n{condition}\n#define K 1\n#else\n#define K 2\n#endif");
        assert_eq!(value_after(&text, "K"), Ok(1), "{text}");
    }
}

#[test]
fn integers_have_the_types_of_c() {
    for (text, expected) in [
        ("(unsigned char)0x101", 1),
        ("(signed char)0x80", 0xffff_ff80),
        ("~0 >> 1", 0xffff_ffff),
        ("~0u >> 1", 0x7fff_ffff),
        ("(offsetof(struct seccomp_data, args[0]) - 17) >> 32", 0xffff_ffff),
        ("(offsetof(struct seccomp_data, nr) - 1) / 3", 0x5555_5555),
        ("-1 < 0u", 0),
        ("(short)-1 < (unsigned short)1", 1),
        ("sizeof(long) * 8", 64),
        ("'a' << 1", 194),
        ("1 ? -1 : 0u", 0xffff_ffff),
        ("(1 ? -1 : 0l) / 2", 0),
        ("-7 / 2", 0xffff_fffd),
        ("(_Bool)256", 1),
        ("0x80000000 >> 4", 0x800_0000),
        ("2147483648 >> 4 == 0x8000000", 1),
        ("010 + 0b11", 11),
        ("&((struct seccomp_data *)0)->args[1]", 24),
        ("~(CLONE_NEWUSER | 1) & 0xff", 0xfe),
    ] {
        assert_eq!(value_after("", text), Ok(expected), "{text}");
    }
    assert_eq!(value_after("", "1 / 0"), Err("2:41: this is a division by zero".to_owned()));
    assert_eq!(value_after("", "1 << 32"), Err("2:41: this shifts 32 bits by 32".to_owned()));
    assert!(
        value_after("", "~FUTEX_PRIVATE_FLAG >> 1").unwrap_err().contains("depends on the type")
    );
    let of = |arch, text: &str| {
        read_for(arch, &format!("struct sock_filter f[] = {{ {{ 6, 0, 0, {text} }} }};"))
    };
    assert_eq!(of(Arch::X86, "sizeof(long)").unwrap()[0].k, 4);
    assert_eq!(of(Arch::X86, "(sizeof(int) - 5) >> 31").unwrap()[0].k, 1);
    assert_eq!(of(Arch::Aarch64, "'\\xff'").unwrap()[0].k, 255);
}

#[test]
fn enumerators_and_constants_have_values_and_hide_other_names() {
    let text = "enum { ONE = 1, TWO, FOUR = TWO << 1 }; static const unsigned char LOW = 0x1ff;";
    assert_eq!(value_after(text, "ONE | FOUR | (LOW << 8)"), Ok(0xff05));
    assert_eq!(value_after("enum { EPERM = 7 };", "EPERM"), Ok(7));
    assert_eq!(value_after("typedef unsigned char octet;", "(octet)0x123"), Ok(0x23));
    // The well-known macro of this name is not meant.
    let message = value_after("int syscall_nr = 5;", "syscall_nr").unwrap_err();
    assert!(message.ends_with("`syscall_nr`, which this text declares, is not known"), "{message}");
    for other in [
        "struct seccomp_data { int nr; __u32 arch; __u64 args[6]; __u64 instruction_pointer; };",
        "struct seccomp_data { int nr; __u64 arch; __u64 instruction_pointer; __u64 args[6]; };",
    ] {
        assert!(value_after(other, "offsetof(struct seccomp_data, nr)").is_err(), "{other}");
    }
    let same =
        "struct seccomp_data { int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]; };";
    assert_eq!(value_after(same, "offsetof(struct seccomp_data, args[1])"), Ok(24));
}

#[test]
fn lines_are_joined_before_comments_are_recognised() {
    let array = |rows: &str| format!("struct sock_filter f[] = {{\n{rows}\n{{ 6, 0, 0, 9 }} }};");
    for (rows, expected) in [
        ("// off \\\n{ 6, 0, 0, 1 },", &[9][..]),
        ("// off \\ \n{ 6, 0, 0, 1 },", &[9]),
        ("/\\\n/ off\n{ 6, 0, 0, 1 },", &[1, 9]),
        ("{ 6, 0, 0, 1\\\n2 },", &[12, 9]),
        ("/* // */ { 6, 0, 0, 1 }, // /*", &[1, 9]),
        ("#if 0\nit's /*\n*/ \"off\n#endif\n{ 6, 0, 0, 1 },", &[1, 9]),
        ("<% 6, 0, 0, 1 %>,", &[1, 9]),
    ] {
        let read =
            read(&array(rows)).map(|insns| insns.iter().map(|insn| insn.k).collect::<Vec<_>>());
        assert_eq!(read.as_deref(), Ok(expected), "{rows}");
    }
    assert_eq!(
        errors(&array("{ 6, 0, 0, 1 }, // ??/"))[0],
        "2:20: `??/` at the end of a line joins the next one to it only with some options of compilers"
    );
    assert_eq!(errors(&array("{ 6, 0, 0, 1 }, /* off"))[0], "2:17: this comment has no end");
}

#[test]
fn macros_are_expanded_as_gcc_does() {
    for (definitions, text, expected) in [
        ("#define F(x) x + 1\n#define G(x) F(x) * 2", "G(3)", 5),
        ("#define A B\n#define B A + 1\n#undef A\n#define A 3", "B", 4),
        ("#define CAT(a, b) a##b\n#define X CAT(CAT_, 1)\n#define CAT_1 7", "X", 7),
        (
            "#define E(x, ...) (x + 0, ##__VA_ARGS__)\n#define S(a) a\n#define F(...) S(__VA_ARGS__)",
            "F(E(4))",
            4,
        ),
        ("#define CALL(f, x) f(x)\n#define INC(x) ((x) + 1)", "CALL(INC, INC(2))", 4),
        ("#define N(args...) args", "N(5)", 5),
        ("#define OPEN (\n#define F(x) x", "F OPEN 1)", 1),
        ("#define STR(x) #x\n#define P(s, v) v", "P(STR(a b), 6)", 6),
    ] {
        let value = value_after(definitions, text);
        if text == "F OPEN 1)" {
            // `OPEN` is not a parenthesis when arguments are looked for.
            assert!(value.is_err());
        } else {
            assert_eq!(value, Ok(expected), "{definitions}");
        }
    }
    for (definitions, text) in [
        ("#define F(x) x", "F(1, 2)"),
        ("#define F(x) x ##", "F(1)"),
        ("#define F(x) +##x", "F(1)"),
        ("#define F(x) # 1", "F(1)"),
        ("#define F(x) __VA_OPT__(x)", "F(1)"),
        // gcc joins the value of the header's macro.
        ("#define J(a, b) a##b\n#define F(x) J(0x, x)", "F(EPERM)"),
        ("#define J(a, b) a##b\n#define F(x) J(x, 1)", "F(__LINE__)"),
        ("#pragma push_macro(\"A\")", "1"),
        ("#elseif 1", "1"),
        ("#endif", "1"),
        ("#if 1\n#else\n#else\n#endif", "1"),
        ("#if 1", "1"),
        ("#error no", "1"),
        ("#if 1 +\n#endif", "1"),
    ] {
        assert!(value_after(definitions, text).is_err(), "{definitions}");
    }
}

#[test]
fn what_nothing_defines_is_asked_for() {
    let array = |condition: &str| {
        format!(
            "{condition}\nstruct sock_filter f[] = {{ {{ 6, 0, 0, 1 }} }};\n#else\nstruct sock_filter f[] = {{ {{ 6, 0, 0, 2 }} }};\n#endif"
        )
    };
    let with = |text: &str, definitions: &[&str]| {
        let definitions = definitions.iter().map(|one| match one.strip_prefix('!') {
            Some(name) => crate::text::Definition::undefined(name).unwrap(),
            None => crate::text::Definition::new(one).unwrap(),
        });
        let options = TextOptions::new(Endian::Little).with_arch(Arch::X86_64);
        let options = options.with_definitions(definitions.collect());
        source::rows(text, &options).map(|rows| rows.insns[0].k)
    };
    let text = array("#ifdef HAVE_SECCOMP");
    let error = with(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("1:8: `HAVE_SECCOMP` is not defined in this text"), "{error}");
    assert!(error.contains("define HAVE_SECCOMP"), "{error}");
    assert_eq!(with(&text, &["HAVE_SECCOMP"]), Ok(1));
    assert_eq!(with(&text, &["!HAVE_SECCOMP"]), Ok(2));
    let text = array("#if LEVEL >= 2");
    assert!(with(&text, &[]).is_err());
    assert_eq!(with(&text, &["LEVEL=(1 + 1)"]), Ok(1));
    assert_eq!(with(&text, &["LEVEL=1"]), Ok(2));
    // Known without the name, and names that are known.
    for condition in [
        "#if defined(X) || defined(__linux__)",
        "#if !defined(X) || 1",
        "#include <sys/syscall.h>\n#if defined(__NR_clone3) && !defined(__NR_mmap2)",
        "#ifndef GUARD_H\n#define GUARD_H",
        "#if !defined(GUARD_H)\n#define GUARD_H",
        "#include <linux/seccomp.h>\n#ifdef SECCOMP_RET_ALLOW",
        "#include <linux/seccomp.h>\n#if SECCOMP_RET_ALLOW == 0x7fff0000 && __LITTLE_ENDIAN == __BYTE_ORDER",
    ] {
        assert_eq!(with(&array(condition), &[]), Ok(1), "{condition}");
    }
    for condition in [
        "#ifdef __GNUC_MINOR__",
        "#if __STDC_VERSION__ > 1",
        "#if __has_include(<a.h>)",
        "#ifdef __BIG_ENDIAN",
    ] {
        assert!(with(&array(condition), &[]).is_err(), "{condition}");
    }
    // Both answers have the same program, or only one is compiled.
    for text in [
        "#ifdef HAVE_CONFIG_H\n#include \"config.h\"\n#endif\nstruct sock_filter f[] = { { 6, 0, 0, 1 } };",
        "#ifndef HAVE_SECCOMP\n#error no\n#endif\nstruct sock_filter f[] = { { 6, 0, 0, 1 } };",
        "#ifdef A\n#define K 1\n#else\n#define K 0x1u\n#endif\nstruct sock_filter f[] = { { 6, 0, 0, K } };",
    ] {
        assert_eq!(with(text, &[]), Ok(1), "{text}");
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
