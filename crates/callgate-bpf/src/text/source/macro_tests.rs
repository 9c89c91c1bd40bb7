//! Macros and conditionals of C.

use crate::asm::AsmError;
use crate::text::{TextOptions, source};
use callgate_core::{Arch, Endian, RawInsn};

pub(super) fn read_for(arch: Arch, text: &str) -> Result<Vec<RawInsn>, AsmError> {
    let options = TextOptions::new(arch.endian()).with_usual_arch(arch);
    source::rows(text, &options).map(|rows| rows.insns)
}

pub(super) fn read(text: &str) -> Result<Vec<RawInsn>, AsmError> {
    read_for(Arch::X86_64, text)
}

pub(super) fn errors(text: &str) -> Vec<String> {
    match read(text) {
        Ok(insns) => panic!("{text}: {insns:?}"),
        Err(error) => error.diagnostics().iter().map(ToString::to_string).collect(),
    }
}

pub(super) const fn insn(code: u16, jt: u8, jf: u8, k: u32) -> RawInsn {
    RawInsn { code, jt, jf, k }
}

pub(super) const ALLOW: RawInsn = insn(6, 0, 0, 0x7fff_0000);

/// The value of an expression in a text with definitions.
pub(super) fn value_after(definitions: &str, text: &str) -> Result<u32, String> {
    match read(&format!("{definitions}\nstruct sock_filter f[] = {{ {{ 6, 0, 0, {text} }} }};")) {
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
