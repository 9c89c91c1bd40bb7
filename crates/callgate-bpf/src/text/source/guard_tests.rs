//! Conditionals around the array of a project, and in it: decided where the text or the architecture does, or asked for.

use super::macro_tests::{insn, read_for};
use crate::text::{Definition, TextOptions, parse_program};
use callgate_core::{Arch, Endian, RawInsn};

/// The program, its warnings or its errors, with definitions: `NAME`, `NAME=VALUE`, `!NAME`.
fn with(text: &str, definitions: &[&str]) -> Result<(Vec<RawInsn>, Vec<String>), Vec<String>> {
    let definitions = definitions.iter().map(|one| match one.strip_prefix('!') {
        Some(name) => Definition::undefined(name).unwrap(),
        None => Definition::new(one).unwrap(),
    });
    let options = TextOptions::new(Endian::Little)
        .with_usual_arch(Arch::X86_64)
        .with_definitions(definitions.collect());
    match parse_program(text, &options) {
        Ok(read) => Ok((read.insns, read.warnings.iter().map(ToString::to_string).collect())),
        Err(error) => Err(error.diagnostics().iter().map(ToString::to_string).collect()),
    }
}

fn errors(text: &str, definitions: &[&str]) -> Vec<String> {
    with(text, definitions).expect_err(text)
}

fn strict(text: &str) -> Vec<String> {
    let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64).with_strict(true);
    let error = parse_program(text, &options).unwrap_err();
    error.diagnostics().iter().map(ToString::to_string).collect()
}

const ARRAY: &str = "static struct sock_filter f[] = { { 6, 0, 0, 1 } };";

#[test]
fn rows_of_syscalls_that_the_architecture_lacks_are_left_out() {
    let text = "
#include <asm/unistd.h>
#include <linux/filter.h>
#define ALLOW(_nr) BPF_JUMP(BPF_JMP+BPF_JEQ+BPF_K, (_nr), 0, 1), BPF_STMT(BPF_RET+BPF_K, SECCOMP_RET_ALLOW)
static const struct sock_filter f[] = {
#ifdef __NR_stat
	ALLOW(__NR_stat),
#endif
#if defined(__NR_mmap2)
	ALLOW(__NR_mmap2),
#endif
	ALLOW(__NR_read),
	BPF_STMT(BPF_RET+BPF_K, SECCOMP_RET_KILL),
};";
    let compared = |arch| -> Vec<u32> {
        let insns = read_for(arch, text).unwrap();
        insns.iter().filter(|insn| insn.code == 0x15).map(|insn| insn.k).collect()
    };
    assert_eq!(compared(Arch::X86_64), [4, 0]);
    assert_eq!(compared(Arch::X86), [106, 192, 3]);
    assert_eq!(compared(Arch::Aarch64), [63]);
}

#[test]
fn the_only_program_is_read_with_a_warning() {
    for (text, warning) in [
        (
            format!("#ifdef HAVE_SECCOMP\n{ARRAY}\n#endif"),
            "1:8: `HAVE_SECCOMP` is taken as defined: otherwise this text has no program",
        ),
        (
            format!("#if defined(HAVE_SECCOMP)\n{ARRAY}\n#else\nint none;\n#endif"),
            "1:13: `HAVE_SECCOMP` is taken as defined: otherwise this text has no program",
        ),
        (
            format!("#ifndef NO_SANDBOX\n{ARRAY}\n#endif"),
            "1:9: `NO_SANDBOX` is taken as not defined: otherwise this text has no program",
        ),
        (
            format!("#if LEVEL > 1\n{ARRAY}\n#endif"),
            "1:5: this condition is taken to hold: otherwise this text has no program",
        ),
        (
            format!("#ifdef NO_SANDBOX\nint none;\n#else\n{ARRAY}\n#endif"),
            "1:8: `NO_SANDBOX` is taken as not defined: otherwise this text has no program",
        ),
    ] {
        let expected = Ok((vec![insn(6, 0, 0, 1)], vec![warning.to_owned()]));
        assert_eq!(with(&text, &[]), expected, "{text}");
        assert!(strict(&text)[0].contains("which lines apply"), "{text}");
    }
    // A given definition is no assumption, and without the macro there is no program.
    let text = format!("#ifdef HAVE_SECCOMP\n{ARRAY}\n#endif");
    assert_eq!(with(&text, &["HAVE_SECCOMP"]), Ok((vec![insn(6, 0, 0, 1)], vec![])));
    assert_eq!(errors(&text, &["!HAVE_SECCOMP"]), ["the text contains no instructions"]);
    // A guard of the system is decided.
    let text = format!("#if defined(__linux__)\n{ARRAY}\n#endif");
    assert_eq!(with(&text, &[]), Ok((vec![insn(6, 0, 0, 1)], vec![])));
}

#[test]
fn another_filter_in_the_other_part_is_asked_for() {
    for other in [
        "static struct sock_filter f[] = { { 6, 0, 0, 2 } };",
        "int install(void) { return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 0); }",
        "static struct sock_filter f[] = { UNKNOWN(read) };",
    ] {
        let text = format!("#ifdef HAVE_SECCOMP\n{ARRAY}\n#else\n{other}\n#endif");
        let found = errors(&text, &[]);
        assert_eq!(
            found,
            ["1:8: `HAVE_SECCOMP` is not defined in this text, and decides which lines apply"],
            "{other}"
        );
    }
}

#[test]
fn names_for_debugging_are_taken_as_not_defined() {
    let text = "
#ifdef SANDBOX_DEBUG
#define FAIL SECCOMP_RET_TRAP
#else
#define FAIL SECCOMP_RET_KILL
#endif
static struct sock_filter f[] = {
#if defined(ASAN)
	{ 0x20, 0, 0, 0 },
#endif
#ifndef DEBUG
	{ 0x15, 0, 0, SECCOMP_AUDIT_ARCH },
#endif
	{ 6, 0, 0, FAIL },
};
";
    let (insns, warnings) = with(text, &[]).unwrap();
    assert_eq!(insns, [insn(0x15, 0, 0, 0xc000_003e), insn(6, 0, 0, 0)]);
    let assumed = |place, name| {
        format!("{place}: `{name}` is taken as not defined, as in programs that are not debugged")
    };
    assert_eq!(
        warnings,
        [assumed("2:8", "SANDBOX_DEBUG"), assumed("8:13", "ASAN"), assumed("11:9", "DEBUG")]
    );
    assert_eq!(strict(text).len(), 3);
    let (insns, warnings) = with(text, &["SANDBOX_DEBUG", "!ASAN", "DEBUG"]).unwrap();
    assert_eq!((insns, warnings), (vec![insn(6, 0, 0, 0x3_0000)], vec![]));
}

#[test]
fn all_questions_that_matter_are_asked_at_once() {
    let text = "
#include <asm/unistd.h>
#ifdef WITH_TRACE
#define FAIL SECCOMP_RET_TRAP
#else
#define FAIL SECCOMP_RET_KILL
#endif
#ifdef WITH_LOCALE
#include <locale.h>
#endif
static struct sock_filter f[] = {
	{ 0x15, 0, 1, OWN_ARCH },
#ifdef WITH_CLONE
	{ 0x15, 0, 0, __NR_clone },
#endif
#ifdef WITH_NOTHING
#endif
	{ 6, 0, 0, FAIL },
};
#ifdef WITH_TRACE
static void debug(void) { }
#endif
";
    let question = |place, name| {
        format!("{place}: `{name}` is not defined in this text, and decides which lines apply")
    };
    let debug = question("3:8", "WITH_TRACE");
    let clone = question("13:8", "WITH_CLONE");
    let arch = "12:16: the value of `OWN_ARCH` is not known".to_owned();
    assert_eq!(errors(text, &[]), [debug.clone(), arch, clone.clone()]);
    assert_eq!(errors(text, &["OWN_ARCH=7"]), [debug.clone(), clone]);
    assert_eq!(errors(text, &["OWN_ARCH=7", "!WITH_CLONE"]), [debug]);
    let read = with(text, &["OWN_ARCH=7", "!WITH_CLONE", "WITH_TRACE"]);
    assert_eq!(read, Ok((vec![insn(0x15, 0, 1, 7), insn(6, 0, 0, 0x3_0000)], vec![])));
}

#[test]
fn an_answer_holds_for_the_rest_of_the_text() {
    // With two answers, there would be four programs.
    let text = "
#ifdef A
#define K 1
#else
#define K 2
#endif
#if !defined(A)
#define L 1
#else
#define L 2
#endif
struct sock_filter f[] = { { 6, 0, 0, K + L } };";
    assert_eq!(with(text, &[]), Ok((vec![insn(6, 0, 0, 3)], vec![])));
    // A header that is not read may define it, and so may the text.
    for between in ["#include \"own.h\"", "#define A", "#undef A"] {
        let text = text.replace("#if !defined", &format!("{between}\n#if !defined"));
        assert!(with(&text, &[]).is_err(), "{text}");
    }
    // What is not defined is 0; what is defined may have any value.
    let text = "
#ifdef A
#define K 1
#else
#define K 2
#endif
#if A
#define L 1
#else
#define L 1
#endif
#if A == 0
struct sock_filter f[] = { { 6, 0, 0, L } };
#else
struct sock_filter f[] = { { 6, 0, 0, L } };
#endif";
    assert_eq!(with(text, &[]), Ok((vec![insn(6, 0, 0, 1)], vec![])));
}

#[test]
fn conditionals_around_includes_do_not_matter() {
    let headers: String = (0..40)
        .map(|n| format!("#ifdef HAVE_H{n}\n#include <own{n}.h>\n#else\n#endif\n"))
        .collect();
    let text = format!("{headers}{ARRAY}");
    assert_eq!(with(&text, &[]).unwrap().0, [insn(6, 0, 0, 1)]);
    // Those that define known names do.
    let text = "#ifdef HAVE_ERRNO_H\n#include <errno.h>\n#endif
#ifdef EPERM\nstruct sock_filter f[] = { { 6, 0, 0, 1 } };\n#else\nstruct sock_filter f[] = { { 6, 0, 0, 2 } };\n#endif";
    assert!(with(text, &[]).is_err());
}

#[test]
fn too_many_combinations_are_asked_for() {
    let guards: String =
        (0..12).map(|n| format!("#ifdef G{n}\nint g{n};\n#else\nint h{n};\n#endif\n")).collect();
    let found = errors(&format!("{guards}{ARRAY}"), &[]);
    assert_eq!(found.len(), 12, "{found:?}");
    assert!(found[11].contains("`G11`"), "{found:?}");
    // Two that matter only together.
    let text = format!(
        "#define ONE\n#ifdef A\n#undef ONE\n#endif\n#ifdef B\n#define TWO\n#endif\n#if defined(ONE) || defined(TWO)\n{ARRAY}\n#else\n{}\n#endif",
        ARRAY.replace('1', "2")
    );
    assert_eq!(errors(&text, &[]).len(), 2, "{:?}", errors(&text, &[]));
}
