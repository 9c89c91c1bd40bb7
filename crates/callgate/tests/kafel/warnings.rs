//! Valid policies that may not mean what was intended.

use crate::support::warnings;

#[test]
fn a_policy_without_mistakes_has_no_warnings() {
    assert_eq!(
        warnings(
            "#define STDOUT 1\nPOLICY p { ALLOW { write { fd == STDOUT }, read } } USE p DEFAULT ERRNO(1)"
        ),
        ""
    );
}

#[test]
fn what_has_no_effect_is_reported() {
    for (text, expected) in [
        (
            "ALLOW { read }\nKILL { read } DEFAULT KILL",
            "2:8: `read` has no effect here: the rule at 1:9 decides every call (remove one of the two rules)",
        ),
        (
            "ALLOW { read, read { fd == 1 } } DEFAULT KILL",
            "1:15: `read` has no effect here: the rule at 1:9 decides every call (remove one of the two rules)",
        ),
        (
            "POLICY p { ALLOW { read } } ALLOW { write } DEFAULT KILL",
            "1:8: policy `p` is not used (add USE with its name, or remove it)",
        ),
        (
            "POLICY p { ALLOW { read } } USE p, USE p DEFAULT KILL",
            "1:40: this policy is already used at 1:33, so it has no effect here (remove it)",
        ),
        (
            "DEFAULT KILL",
            "1:1: the policy has no rules at the top level: every syscall gets the default action (add USE with the name of a policy)",
        ),
        (
            "ALLOW { read }",
            "1:1: no DEFAULT: Kafel kills the thread for every syscall that no rule matches (write DEFAULT KILL if that is meant)",
        ),
        (
            "ERRNO(4096) { read } DEFAULT KILL",
            "1:7: error number 4096 is more than 4095, so the kernel returns 4095 (use a number up to 4095)",
        ),
    ] {
        assert_eq!(warnings(text), expected, "{text}");
    }
}

#[test]
fn suspicious_comparisons_are_reported() {
    for (condition, expected) in [
        (
            "count & 3 == 4",
            "1:27: this comparison is always false (a bit outside the mask cannot be equal)",
        ),
        ("count < 0", "1:23: this comparison is always false (check the number)"),
        ("count >= 0", "1:23: this comparison is always true (check the number)"),
        ("fd <= 0xffffffff", "1:20: this comparison is always true (check the number)"),
        (
            "fd == -1",
            "1:20: 0xffffffffffffffff has more than the 32 bits of the argument, so that Kafel compares all 64 bits \
             of the register (write 0xffffffff: the kernel ignores the high half)",
        ),
    ] {
        assert_eq!(
            warnings(&format!("ALLOW {{ write {{ {condition} }} }} DEFAULT KILL")),
            expected,
            "{condition}"
        );
    }
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
    assert_eq!(warnings("#define write 1\nALLOW { write } DEFAULT KILL"), "");
}
