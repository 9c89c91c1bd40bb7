//! Texts that a compiler of C reads as another array than they seem to have: each is refused.

use crate::text::{Definition, TextOptions, parse_program};
use callgate_core::{Arch, Endian};

pub(super) fn read(text: &str) -> Result<Vec<u32>, String> {
    let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64);
    match parse_program(text, &options) {
        Ok(program) => Ok(program.insns.iter().map(|insn| insn.k).collect()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn array(rows: &str) -> String {
    format!("#include <linux/filter.h>\nstruct sock_filter f[] = {{\n{rows}\n}};\n")
}

#[test]
fn a_condition_does_not_choose_the_architecture() {
    let text = "BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K, AUDIT_ARCH_AARCH64, 1, 0),
#ifdef __x86_64__
BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ALLOW),
#else
BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_KILL_PROCESS),
#endif";
    assert!(read(&array(text)).unwrap_err().contains("select other instructions"));
    let text =
        "{ 0x15, 1, 0, AUDIT_ARCH_AARCH64 }, { 6, 0, 0, sizeof(long double *) == 8 ? 1 : 2 }";
    assert!(read(&array(text)).is_err());
    let text =
        "{ 0x15, 1, 0, AUDIT_ARCH_ARM }, { 6, 0, 0, sizeof(long) == 8 ? SECCOMP_RET_ALLOW : 0 }";
    assert!(read(&array(text)).unwrap_err().contains("select other instructions"));
    let text = "{ 0x15, 1, 0, AUDIT_ARCH_AARCH64 }, { 0x15, 0, 0, __NR_execve }";
    assert_eq!(read(&array(text)).unwrap()[1], 221);
    let text = "#ifdef __aarch64__\n#define A AUDIT_ARCH_AARCH64\n#else\n#error no\n#endif\n{ 0x15, 1, 0, A },";
    assert_eq!(read(&array(text)), Ok(vec![0xc000_00b7]));
}

#[test]
fn characters_and_literals_that_are_not_read_are_refused() {
    for rows in [
        "#define A\\u00e9 1\n{6,0,0,1},",
        "#define A\u{301} 1\n{6,0,0,1},",
        "#define A\u{663} 1\n{6,0,0,1},",
        "{6,0,0,L'a'},",
        "_Pragma(\"push_macro(\\\"A\\\")\")\n{6,0,0,1},",
        "(BPF_STMT)(6, 0),",
        "{6,0,0,1},\0",
        "// \\\r\r\n{6,0,0,1},",
        "// \r{6,0,0,1},\n{6,0,0,2},",
    ] {
        assert!(read(&array(rows)).is_err(), "{rows}");
    }
    let text =
        format!("Here\u{2019}s it \u{2014} the filter:\n{}", array("{6,0,0,1}, // \u{301}\r"));
    assert_eq!(read(&text), Ok(vec![1]));
}

#[test]
fn c_is_not_taken_for_another_language() {
    let own = "struct sock_filter { unsigned short code; unsigned char jt; unsigned char jf; unsigned int k; }";
    for start in [
        format!("{own} f[] __attribute__((aligned(8))) ="),
        format!("int vec = 0;\nint x(void) {{ return vec != 0; }}\n{own} f[] ="),
    ] {
        let text = format!("{start} {{ {{6,0,0,010}}, {{6,0,0,1 << 1 + 1}} }};");
        assert_eq!(read(&text), Ok(vec![8, 4]), "{text}");
    }
}

#[test]
fn every_spelling_of_a_change_is_found() {
    for code in [
        "f->k = 1;",
        "(*f).k = 1;",
        "(f + 0)->k |= 1;",
        "f[0].k += 1;",
        "f[0].k <<= 1;",
        "f[0].k++;",
        "--f[0].k;",
        "p->code = 1;",
        "0[f].k = 1;",
    ] {
        let found = read(&format!("{}void g(void) {{ {code} }}", array("{6,0,0,1},")));
        assert!(found.unwrap_err().contains("is changed when the program runs"), "{code}");
    }
    for code in ["struct key *p; p->k = 1;", "if (f[0].k == 1 || f->k <= 2) return;"] {
        let found = read(&format!("{}void g(void) {{ {code} }}", array("{6,0,0,1},")));
        assert_eq!(found, Ok(vec![1]), "{code}");
    }
}

#[test]
fn a_definition_is_one_line_without_comments() {
    for value in ["A=/*", "A=1 // b", "A=1 \\ ", "A=1\0"] {
        assert!(Definition::new(value).is_err(), "{value}");
    }
    let options = TextOptions::new(Endian::Little).with_definitions(vec![
        Definition::new("A=R\"(").unwrap(),
        Definition::new("B=1").unwrap(),
    ]);
    let error = parse_program(&array("{6,0,0,1}"), &options).unwrap_err().to_string();
    assert!(error.contains("a given definition is not read"), "{error}");
}

#[test]
fn names_that_are_declared_twice_or_changed_have_no_value() {
    for text in [
        "const int A = 1; void g(void) { int A = 2; {} }",
        "static const int A = 1; void g(void) { A = 2; }",
        "static const int A = 1; void g(void) { *(int *)&A, ++A; }",
        "static const int A = 1; void g(int A) { A++; }",
        "enum { A = 1 }; void g(void) { unsigned B, A = 2; }",
        "enum { A = 1 }; void g(void) { unsigned (A) = 2; }",
    ] {
        let text = format!("{text}\n{}", array("{6,0,0,A}"));
        assert!(
            read(&text).unwrap_err().contains("which this text declares, is not known"),
            "{text}"
        );
    }
    let text =
        "enum { A = 1, B }; static const int C = 3; void g(int x) { g(A); if (C == x) x = C * A; }";
    assert_eq!(read(&format!("{text}\n{}", array("{6,0,0,A+B+C}"))), Ok(vec![6]));
    for attribute in
        ["__attribute__((packed)) seccomp_data", "seccomp_data __attribute__((packed))"]
    {
        let text = format!(
            "struct {attribute} {{ unsigned long args[6]; int nr; unsigned arch; }};\n{}",
            array("{0x20,0,0,__builtin_offsetof(struct seccomp_data, nr)},")
        );
        assert!(read(&text).is_err(), "{text}");
    }
}

#[test]
fn parameters_that_change_have_no_value() {
    let function = |start: &str, value: &str| {
        format!(
            "void install(unsigned a) {{ {start} struct sock_filter f[] = {{ {{6,0,0,{value}}} }}; }}"
        )
    };
    for (start, more) in [
        ("a = 2;", ""),
        ("a |= 2;", ""),
        ("set(&a);", ""),
        ("unsigned a = 2;", ""),
        ("", "void (*p)(unsigned) = install;"),
    ] {
        let text = format!("{} {more} int main(void) {{ install(1); }}", function(start, "a"));
        assert!(read(&text).is_err(), "{text}");
    }
    let text = format!("{} int main(void) {{ install(1); }}", function("if (a == 2) return;", "a"));
    assert_eq!(read(&text), Ok(vec![1]));
    let text = "void install(unsigned SECCOMP_RET_KILL_PROCESS) { struct sock_filter f[] = { {6,0,0,SECCOMP_RET_KILL_PROCESS} }; }
int main(void) { install(0x7fff0000); }";
    assert_eq!(read(text), Ok(vec![0x7fff_0000]));
}

#[test]
fn a_type_is_known_only_if_it_is_defined_plainly_and_once() {
    for start in [
        "typedef unsigned char u32, foo;",
        "typedef unsigned char (u32);",
        "unsigned typedef char u32;",
        "typedef const const const const const const const unsigned char u32;",
        "typedef unsigned u32; void g(void) { typedef unsigned char u32; }",
        "static inline unsigned u32(unsigned x) { return x; }",
    ] {
        let text = format!("{start}\n{}", array("{6,0,0,(u32)-1}"));
        assert!(read(&text).is_err(), "{text}");
    }
    assert!(read(&array("{6,0,0,u32(0)}")).is_err());
    let text = format!("enum {{ u32 = 5, s32 }};\n{}", array("{6,0,0,(u32)-1},{6,0,0,(s32)-6}"));
    assert_eq!(read(&text), Ok(vec![4, 0]));
    assert!(read(&array("{6,0,0,(usize)-1}")).is_err());
    let text = format!(
        "typedef struct {{ uint32_t a; }} s_t;\ntypedef uint32_t u32;\ntypedef int (*fn)(u32);\n{}",
        array("{6,0,0,(u32)-1}")
    );
    assert_eq!(read(&text), Ok(vec![u32::MAX]));
}

#[test]
fn names_of_headers_are_defined_where_the_header_is_included() {
    let rows = |condition: &str| {
        format!(
            "struct sock_filter f[] = {{\n{condition}\n{{6,0,0,1}},\n#else\n{{6,0,0,2}},\n#endif\n}};"
        )
    };
    for (condition, header) in [
        ("#ifdef EPERM", "errno.h"),
        ("#if CLONE_NEWUSER", "linux/sched.h"),
        ("#ifdef __NR_read", "sys/syscall.h"),
        ("#if LONG_MAX > 5", "limits.h"),
        ("#if __WORDSIZE == 64", "stdint.h"),
        ("#ifdef AUDIT_ARCH_X86_64", "linux/audit.h"),
        ("#ifdef SECCOMP_RET_LOG", "linux/seccomp.h"),
    ] {
        let text = format!("#include <linux/filter.h>\n{}", rows(condition));
        assert!(read(&text).unwrap_err().contains("decides which lines apply"), "{text}");
        let late = format!("{text}\n#include <{header}>\n");
        assert!(read(&late).is_err(), "{late}");
        let text = format!("#include <{header}>\n{text}");
        assert_eq!(read(&text), Ok(vec![1]), "{text}");
    }
    // Code that is compiled tells it, too.
    let used = rows("#ifdef EPERM\n{6,0,0,EACCES},");
    let used = format!("#include <linux/filter.h>\nint g(void) {{ return ENOSYS; }}\n{used}");
    assert_eq!(read(&used), Ok(vec![13, 1]));
    let own = rows("#ifdef EPERM").replace("struct", "enum { ENOSYS = 1 }; int x = ENOSYS; struct");
    assert!(read(&own).is_err(), "{own}");
}

#[test]
fn a_header_that_is_not_read_is_named() {
    let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64);
    for (include, named) in [
        ("\"evil.h\"", &["evil.h"][..]),
        ("<own/filters.h>", &["own/filters.h"]),
        ("<stdio.h>\n#include <getopt.h>\n#include <ucontext.h>\n#include <vector>", &[]),
        ("\"linux/seccomp.h\"\n#include \"seccomp.h\"", &[]),
        ("\"error.h\"", &["error.h"]),
        ("\"net/own.h\"\n#include \"rules\"", &["net/own.h", "rules"]),
        ("<errno.h>", &[]),
    ] {
        let text = format!("#include {include}\n{}", array("{6,0,0,1}"));
        let program = parse_program(&text, &options).unwrap();
        let found = program.warnings.iter().map(|one| one.message.clone());
        let expected = named.iter().map(|name| {
            format!(
                "`{name}` is not read: it is assumed that it defines no name that the program uses"
            )
        });
        assert!(found.eq(expected), "{text}");
        let strict = parse_program(&text, &options.clone().with_strict(true));
        assert_eq!(strict.is_ok(), named.is_empty(), "{text}");
    }
}
