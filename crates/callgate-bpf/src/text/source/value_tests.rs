//! Values: expressions with the types of C, constants, enumerators and parameters.

use super::macro_tests::{errors, insn, read, read_for, value_after};
use crate::text::{TextOptions, source};
use callgate_core::{Arch, Endian};

/// The value of an expression.
fn value(arch: Arch, text: &str) -> Result<u32, String> {
    match read_for(arch, &format!("{{ 6, 0, 0, {text} }}")) {
        Ok(insns) => Ok(insns[0].k),
        Err(error) => Err(error.diagnostics()[0].to_string()),
    }
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
            "3:45: `nr` is a parameter of `install`, which this text does not call",
            "4:56: `error` is a parameter of `install`, which this text does not call",
        ]
    );
    let twice = format!("{function}\nvoid f() {{ install(1, 2, 3); install(2, 2, 3); }}");
    assert!(errors(&twice)[0].ends_with("which this text calls 2 times"));
    assert_eq!(
        read(&format!("#define nr 1\n#define error EPERM\n{function}")).as_deref(),
        Ok(&expected[..])
    );
}
