//! Statements: policies, uses, actions, definitions, comments.

use callgate::{Arch, Verdict};

use crate::kafel::support::{lines, on, read, syscall};

#[test]
fn actions_are_verdicts() {
    let profile = read(
        "ALLOW { read } LOG { write } KILL { open } KILL_THREAD { close } DENY { stat }
         KILL_PROCESS { fstat } USER_NOTIF { lstat } ERRNO(13) { poll } TRAP(0x10) { lseek }
         TRACE(010) { mmap } ERRNO(EPERM) { mprotect } DEFAULT ERRNO(0xfff)",
    );
    for (name, verdict) in [
        ("read", Verdict::ALLOW),
        ("write", Verdict::LOG),
        ("open", Verdict::KILL_THREAD),
        ("close", Verdict::KILL_THREAD),
        // Kafel's `stat` is the kernel's function, which x86_64 lacks, so the table's name counts.
        ("stat", Verdict::KILL_THREAD),
        ("fstat", Verdict::KILL_PROCESS),
        ("lstat", Verdict::user_notif(0)),
        ("poll", Verdict::errno(13)),
        ("lseek", Verdict::trap(16)),
        ("mmap", Verdict::trace(8)),
        ("mprotect", Verdict::errno(1)),
        ("munmap", Verdict::errno(0xfff)),
    ] {
        assert_eq!(syscall(&profile, name, &[]), verdict.to_string(), "{name}");
    }
    assert_eq!(on(&profile, Arch::Aarch64, 0, &[]), "KILL_THREAD");
    assert_eq!(
        on(&profile, Arch::X86_64, 0x4000_0000, &[]),
        "ERRNO(4095)",
        "x32 numbers match no rule"
    );
}

#[test]
fn the_first_matching_rule_decides() {
    let profile = read(
        "POLICY a { ALLOW { read { fd == 0 && count == 0 } }, ERRNO(1) { read { count == 0 } } }
         POLICY b { LOG { read, write } }
         USE a USE b DEFAULT KILL",
    );
    assert_eq!(syscall(&profile, "read", &[0, 0, 0]), "ALLOW");
    assert_eq!(syscall(&profile, "read", &[5, 0, 0]), "ERRNO(EPERM)");
    assert_eq!(syscall(&profile, "read", &[5, 0, 1]), "LOG");
    assert_eq!(syscall(&profile, "write", &[]), "LOG");
    assert_eq!(syscall(&profile, "close", &[]), "KILL_THREAD");
}

/// The rules of a used policy stand at the place of the first `USE`.
#[test]
fn policies_are_used_where_they_are_named() {
    let profile = read(
        "POLICY inner { ERRNO(2) { read } } POLICY outer { ALLOW { write }, USE inner, LOG { read, close } }
         ERRNO(3) { write } USE outer, USE inner DEFAULT ALLOW",
    );
    assert_eq!(syscall(&profile, "write", &[]), "ERRNO(ESRCH)");
    assert_eq!(syscall(&profile, "read", &[]), "ERRNO(ENOENT)");
    assert_eq!(syscall(&profile, "close", &[]), "LOG");
    // The list of older versions of Kafel.
    let list =
        read("POLICY a { ALLOW { read } } POLICY b { ALLOW { write } } USE a, b DEFAULT KILL");
    assert_eq!(syscall(&list, "write", &[]), "ALLOW");
    assert_eq!(lines(&list.warnings), "");
}

#[test]
fn numbers_and_names_are_defined() {
    let profile = read(
        "#define ONE 1\n# define MASK 0b110\n#define MINUS -1\n#define mysyscall 500\n#define CREATE O_CREAT\n
         ALLOW { write { fd == ONE }, mysyscall, SYSCALL[MINUS], openat { flags & CREATE == 0 } }
         ERRNO(ONE) { read { fd & MASK == 6 } } DEFAULT KILL",
    );
    assert_eq!(syscall(&profile, "write", &[1]), "ALLOW");
    assert_eq!(syscall(&profile, "write", &[2]), "KILL_THREAD");
    assert_eq!(on(&profile, Arch::X86_64, 500, &[]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86_64, u32::MAX, &[]), "ALLOW");
    assert_eq!(syscall(&profile, "read", &[7]), "ERRNO(EPERM)");
    assert_eq!(syscall(&profile, "openat", &[0, 0, 0o101]), "KILL_THREAD");
    assert_eq!(syscall(&profile, "openat", &[0, 0, 1]), "ALLOW");
}

#[test]
fn comments_and_line_breaks_separate_tokens() {
    let profile = read(
        "\u{feff}// a comment { \r\n/* another\n * one ***/ALLOW{read/**/,write{fd==1}}/* \u{e9} */DEFAULT/**/KILL//",
    );
    assert_eq!(syscall(&profile, "read", &[]), "ALLOW");
    assert_eq!(syscall(&profile, "write", &[1]), "ALLOW");
}

#[test]
fn a_policy_may_be_empty() {
    let profile = read("POLICY a {} POLICY b { ALLOW {} } USE a, USE b DEFAULT LOG");
    assert_eq!(syscall(&profile, "read", &[]), "LOG");
    assert_eq!(syscall(&read(""), "read", &[]), "KILL_THREAD");
}
