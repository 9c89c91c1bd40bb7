//! Warnings: what has no effect, or another one than it seems.

use callgate_testing::reader::expect_messages;

use crate::minijail::support::{read, syscall, warnings};

#[test]
fn valid_policies_have_no_warnings() {
    for text in
        ["read: 1", "read: arg0 == 1\nread: return 1", "@default trap\n{read, write}: arg0 in 3"]
    {
        assert_eq!(warnings(text), "", "{text}");
    }
}

/// The compiler drops the filters of a syscall whose last action is `allow`.
#[test]
fn conditions_before_allow_have_no_effect() {
    let text = "read: {arg0 == 1; kill, allow}\nwrite: arg0 == 1; trap\nwrite: 1";
    let policy = read(text);
    assert_eq!(syscall(&policy, "read", &[1]), "ALLOW");
    assert_eq!(syscall(&policy, "write", &[1]), "ALLOW");
    assert_eq!(
        warnings(text),
        "1:8: the conditions of `read` have no effect: minijail's compiler ignores them, because the action at \
         1:25 allows the syscall (remove them, or give another action where no condition holds)\n\
         2:8: the conditions of `write` have no effect: minijail's compiler ignores them, because the action at \
         3:8 allows the syscall (remove them, or give another action where no condition holds)"
    );
}

/// Policies, and the warnings about them.
const POLICIES: &str = r#"
"read: arg0 == 1; return 1\nwrite: arg0 == 1; return 1"
    1:18: this applies if the conditions hold; minijail's parser in C returns the errno if they do not hold (choose the semantics: `c` of minijail0 -S, or `python` of compile_seccomp_policy.py)
" # a comment \\nread: 1"
    1:14: the next line is a statement although this comment ends with `\`; minijail's parser in C takes it as a part of the comment (choose the semantics: `c` of minijail0 -S, or `python` of compile_seccomp_policy.py)
""
    1:1: the policy has no syscalls: every syscall gets KILL_THREAD (add a statement such as `read: 1`)
"@default trap\n@default kill\nread: 1"
    1:1: this @default has no effect: a later one replaces it (remove it)
read: return 4096
    1:14: errno 4096 is more than 4095, so the kernel returns 4095 (use a number up to 4095)
read: return -1
    1:14: errno 18446744073709551615 has more than 16 bits; minijail keeps 65535 (use a number up to 4095)
read[arhc=arm]: 1
    1:6: the key `arhc` has no effect (the only key with an effect is `arch`)
"write: 1\nread[arch=x86-64]: 1"
    2:11: unknown architecture `x86-64` (minijail's names are x86_64, x86, arm64, arm, riscv64, loong64)
"write: 1\nread: 1 \"
    2:1: this statement has no effect: its last line ends with `\` (remove the `\` at the end of the file)
"#;

#[test]
fn each_warning_has_a_position_and_help() {
    expect_messages(POLICIES, warnings);
    let constant = |condition: &str| warnings(&format!("read: arg0 {condition}"));
    for always in [">= 0", "<= -1", "in -1"] {
        assert!(constant(always).contains("this comparison holds for every value"), "{always}");
    }
    for never in ["< 0", "> -1", "& 0"] {
        assert!(constant(never).contains("this comparison never holds"), "{never}");
    }
}
