//! Rows among the code of C, Rust and Go.

use crate::asm::AsmError;
use crate::text::{TextOptions, source};
use callgate_core::{Endian, RawInsn};

fn read(text: &str) -> Result<Vec<RawInsn>, AsmError> {
    let options = TextOptions::new(Endian::Little);
    source::rows(text, &options).map(|rows| rows.insns)
}

const ALLOW: RawInsn = RawInsn { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 };

fn errors(text: &str) -> Vec<String> {
    match read(text) {
        Ok(insns) => panic!("{text}: {insns:?}"),
        Err(error) => error.diagnostics().iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn code_around_the_rows_is_ignored() {
    for text in [
        "{ BPF_RET | BPF_K, 0, 0, 0x7fff0000 }",
        "var f = []unix.SockFilter{\n\tunix.SockFilter{Code: 6, K: 0x7fff0000},\n}",
        "let p = Prog { rows: 1, more: 5 + g(2) }; [libc::sock_filter { code: 6, k: 0x7fff0000 }]",
        "static F: [S; 1] = { libc::sock_filter { code: 6, k: 0x7fff0000 } };",
        "f[] = { { 6, 0, 0, 0x7fff0000 } };\nint main() {\n int a; if (x) {",
        "struct s p = { .len = 1, .more = { 2, { 3 } }, .filter = f };\n{ 6, 0, 0, 0x7fff0000 }",
    ] {
        assert_eq!(read(text), Ok(vec![ALLOW]), "{text}");
    }
}

#[test]
fn fields_are_sums_and_unions_of_numbers_and_constants() {
    for (text, code, k) in [
        ("BPF_STMT(BPF_RET + BPF_A, 5)", 0x16, 5),
        ("BPF_STMT((BPF_RET) | BPF_A, ((5)))", 0x16, 5),
        ("{ 6, 0, 0, 6 | 5 }", 6, 7),
        ("{ 6, 0, 0, 6 + 5 }", 6, 11),
        ("{ 6, 0, 0, (2 + (3)) }", 6, 5),
        ("{ 0x1006, 0, 0, 0xffffffff }", 0x1006, u32::MAX),
        ("{ .k = EPERM, .code = 6 }", 6, 1),
    ] {
        assert_eq!(read(text), Ok(vec![RawInsn { code, jt: 0, jf: 0, k }]), "{text}");
    }
}

/// `struct seccomp_data` in `include/uapi/linux/seccomp.h`.
#[test]
fn offsets_are_those_of_the_structure() {
    for (field, offset) in [
        ("nr", 0),
        ("arch", 4),
        ("instruction_pointer", 8),
        ("args", 16),
        ("args[0]", 16),
        ("args[1]", 24),
        ("args[5]", 56),
    ] {
        let text = format!("BPF_STMT(BPF_LD, offsetof(struct seccomp_data, {field}))");
        assert_eq!(read(&text).map(|rows| rows[0].k), Ok(offset), "{field}");
    }
    for (field, message) in [
        ("pid", "1:48: expected nr, arch, instruction_pointer or args, found `pid`"),
        ("args[6]", "1:53: expected the number of an argument, 0 to 5, found `6`"),
        ("nr[0]", "1:50: expected `)`, found `[`"),
    ] {
        let text = format!("BPF_STMT(BPF_LD, offsetof(struct seccomp_data, {field}))");
        assert_eq!(errors(&text), [message]);
    }
}

#[test]
fn errors_show_what_was_expected() {
    for (text, message) in [
        ("f = { x = BPF };", "1:9: expected an instruction, found `=`"),
        ("f = { { 6, 0, 0, 0 },", "1:22: expected `}` before the end of the text"),
        ("f = { .len = {", "1:15: expected `}` before the end of the text"),
        ("{ (6, 0, 0, 0 }", "1:5: expected `)`, found `,`"),
        ("{ 6, 0, 0, k },", "1:12: the value of `k` is not known"),
        ("{ .code 6 },", "1:3: expected a number or a name, found `.`"),
    ] {
        assert_eq!(errors(text), [message], "{text}");
    }
}

#[test]
fn after_an_error_the_next_row_is_read() {
    let text = "BPF_STMT(a, 0),\nBPF_STMT(b, 0),\nBPF_JUMP(c, 0, 0, 0),\n{ 6, d, 0, 0 }";
    let errors = errors(text);
    assert_eq!(errors.len(), 4, "{errors:?}");
    for (error, position) in errors.iter().zip(["1:10: ", "2:10: ", "3:10: ", "4:6: "]) {
        assert!(error.starts_with(position), "{error}");
    }
}

/// The functions that set variables are in `tests/sessions/variables.test` of the command.
#[test]
fn an_array_that_the_program_changes_is_refused() {
    let array = "struct sock_filter f[] = { { 6, 0, 0, 0x7fff0000 } };";
    for code in [
        "f[0].k = fd;",
        "p->f[g[0]].jt = 1;",
        "struct sock_filter copy[1]; memcpy(copy, f, sizeof(f)); copy[0].k = fd;",
        "p = &f; q = p; q[0].k = fd;",
        "void set(struct sock_filter *to) { to[0].k = fd; }",
        "(*get())[0].k = fd;",
    ] {
        let found = errors(&format!("{array}\n{code}"));
        assert!(found[0].contains("an instruction is changed when the program runs"), "{found:?}");
    }
    for text in [
        "s[] = { { 6, 0, 0, 0x7fff0000 } };\ns[0].k = fd;",
        "let s = [F { code: 6, k: 0x7fff0000 }];\nlet mut to = s;\nto[0].k = fd;",
        "s := []bpf.RawInstruction{{Op: 6, K: 0x7fff0000}}\nto := s\nto[0].K = fd",
    ] {
        let found = errors(text);
        assert!(found[0].contains("an instruction is changed when the program runs"), "{found:?}");
    }
}

#[test]
fn other_arrays_may_have_fields_of_the_same_names() {
    for code in [
        "void f(struct opts *o, int i) { o[i].k = 5; }",
        "void f(struct opts *o, struct sock_filter *to) { o[0].k = 5; }",
        "struct opts o[2] = { { 1 } }; o[0].code = 5;",
        "if (f[0].k == 5) o[1].k = f[0].k;",
    ] {
        let text =
            format!("{code}\nstruct sock_filter f[] = {{ {{ 6, 0, 0, 0x7fff0000 }} }};\n{code}");
        assert_eq!(read(&text), Ok(vec![ALLOW]), "{code}");
    }
}
