//! Valid policies that may not mean what was intended.

use callgate::Arch;
use callgate_testing::reader::{cases, expect_messages};

use crate::kafel::support::{lines, on, read_for, warnings};

#[test]
fn a_policy_without_mistakes_has_no_warnings() {
    assert_eq!(
        warnings(
            "#define STDOUT 1\nPOLICY p { ALLOW { write { fd == STDOUT }, read } } USE p DEFAULT ERRNO(1)"
        ),
        ""
    );
}

/// Policies, and the warnings about them.
const POLICIES: &str = r#"
"ALLOW { read }\nKILL { read } DEFAULT KILL"
    2:8: `read` has no effect here: the rule at 1:9 decides every call (remove one of the two rules)
ALLOW { read, read { fd == 1 } } DEFAULT KILL
    1:15: `read` has no effect here: the rule at 1:9 decides every call (remove one of the two rules)
POLICY p { ALLOW { read } } ALLOW { write } DEFAULT KILL
    1:8: policy `p` is not used (add USE with its name, or remove it)
POLICY p { ALLOW { read } } USE p, USE p DEFAULT KILL
    1:40: this policy is already used at 1:33, so it has no effect here (remove it)
DEFAULT KILL
    1:1: the policy has no rules at the top level: every syscall gets the default action (add USE with the name of a policy)
ALLOW { read }
    1:1: no DEFAULT: Kafel kills the thread for every syscall that no rule matches (write DEFAULT KILL if that is meant)
ERRNO(4096) { read } DEFAULT KILL
    1:7: error number 4096 is more than 4095, so the kernel returns 4095 (use a number up to 4095)
"#;

#[test]
fn what_has_no_effect_is_reported() {
    expect_messages(POLICIES, warnings);
}

/// They have the arch token of x86_64.
#[test]
fn deny_lists_without_x32_are_reported() {
    let text = "KILL { ptrace } DEFAULT ALLOW";
    assert_eq!(
        warnings(text),
        "1:17: programs can evade these rules with syscalls of x32 (numbers from 0x40000000), which get DEFAULT ALLOW \
         (read the policy for both (--arch x86_64 --arch x32; arches in the libraries), or list what is allowed)"
    );
    for arches in [&[Arch::X86_64, Arch::X32][..], &[Arch::Aarch64]] {
        assert_eq!(lines(&read_for(text, arches).warnings), "");
    }
    assert_eq!(warnings("LOG { ptrace } DEFAULT ALLOW"), "");
    assert_eq!(warnings("ALLOW { read } DEFAULT KILL"), "");
}

/// Conditions on `write`, and the warnings about them.
const CONDITIONS: &str = r"
count & 3 == 4
    1:27: this comparison is always false (a bit outside the mask cannot be equal)
count < 0
    1:23: this comparison is always false (check the number)
count >= 0
    1:23: this comparison is always true (check the number)
fd <= 0xffffffff
    1:20: this comparison is always true (check the number)
fd == -1
    1:20: 0xffffffffffffffff has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register (write 0xffffffff: the kernel ignores the high half)
fd < 0x100000000
    1:20: 0x100000000 has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register (use numbers with at most 32 bits: the kernel ignores the high half)
fd > -5
    1:20: 0xfffffffffffffffb has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register (comparisons are unsigned; write 0xfffffffb if that is meant: the kernel ignores the high half)
fd & 0x1ffffffff == 1
    1:34: 0x1ffffffff has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register (use numbers with at most 32 bits: the kernel ignores the high half)
fd & -4 == 8
    1:25: 0xfffffffffffffffc has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register (write 0xfffffffc: the kernel ignores the high half)
count & -4 == 8
";

#[test]
fn suspicious_comparisons_are_reported() {
    expect_messages(CONDITIONS, |condition| {
        warnings(&format!("ALLOW {{ write {{ {condition} }} }} DEFAULT KILL"))
    });
}

/// Conditions that x86, whose registers have 32 bits, decides always or never, and the warnings about them.
const HALF_CONDITIONS: &str = r"
fd == -1
    1:20: 0xffffffffffffffff has more than the 32 bits of registers on x86, so that this comparison is always false (write 0xffffffff: registers have no high half)
count != AT_FDCWD
    1:23: 0xffffffffffffff9c has more than the 32 bits of registers on x86, so that this comparison is always true (write 0xffffff9c: registers have no high half)
count <= 0x1ffffffff
    1:23: 0x1ffffffff has more than the 32 bits of registers on x86, so that this comparison is always true (use numbers with at most 32 bits: registers have no high half)
count & -4 == 8
";

/// Registers of x86 have 32 bits, and Kafel compares 64, so that a negative number is never equal.
#[test]
fn numbers_that_no_register_holds_are_reported() {
    for (condition, expected) in cases(HALF_CONDITIONS) {
        let text = format!("ALLOW {{ write {{ {condition} }} }} DEFAULT KILL");
        let profile = read_for(&text, &[Arch::X86]);
        assert_eq!(lines(&profile.warnings), expected, "{condition}");
        let holds = on(&profile, Arch::X86, 4, &[0xffff_ffff, 0, 0xffff_ff9c]) == "ALLOW";
        assert_eq!(holds, expected.contains("always true"), "{condition}");
    }
}

/// Filters of syscalls, and the warnings about them.
const FILTERS: &str = r"
futex_wait { flags == 1 }
    1:22: `flags` is argument 3 of futex_wait, counted from 0; Kafel takes argument 2 (name the arguments, so that both do the same: futex_wait(a, b, c))
mseal { flags == 1 }
    1:17: `flags` of mseal has 64 bits; Kafel compares 32 (name the arguments, so that both do the same: mseal(a, b, c))
mseal(start, len, flags) { flags == 1 }
";

#[test]
fn arguments_that_differ_in_the_tables_of_kafel_are_reported() {
    expect_messages(FILTERS, |filter| warnings(&format!("ALLOW {{ {filter} }} DEFAULT KILL")));
    let x86 = read_for("ALLOW { mseal { flags == 1 } } DEFAULT KILL", &[Arch::X86]);
    assert_eq!(lines(&x86.warnings), "", "registers have 32 bits");
}

#[test]
fn defined_names_that_hide_others_are_reported() {
    assert_eq!(
        warnings("#define fd 1\nALLOW { write { fd == 1 } } DEFAULT KILL"),
        "2:17: `fd` is the defined number 1, not the argument (use another name in the #define)"
    );
    assert_eq!(
        warnings("#define write 0\nALLOW { write } DEFAULT KILL"),
        "2:9: on x86_64, `write` is syscall 1, but it is defined as 0 (use another name in the #define)"
    );
    let of_constant = |value: &str| {
        warnings(&format!(
            "#define AF_UNIX {value}\nALLOW {{ socket {{ family == AF_UNIX }} }} DEFAULT KILL"
        ))
    };
    let expected = |value: u64| {
        format!(
            "2:28: `AF_UNIX` is the defined number {value}, not the kernel's constant 0x1 (use another name in the #define)"
        )
    };
    assert_eq!(of_constant("2"), expected(2));
    assert_eq!(of_constant("AF_INET6"), expected(10));
    assert_eq!(of_constant("1"), "");
    assert_eq!(
        warnings("#define AT_FDCWD 0xffffff9c\nALLOW { openat { dfd == AT_FDCWD } } DEFAULT KILL"),
        ""
    );
    assert_eq!(warnings("#define write 1\nALLOW { write } DEFAULT KILL"), "");
}
