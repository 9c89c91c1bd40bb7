//! The exact messages about lists that bionic's tools refuse.

use callgate::Arch;
use callgate_formats::android::{self, ListKind, ReadOptions};
use callgate_testing::reader::expect_messages;

use crate::android::support::{base, errors, list, options};

/// The second entry of a list, and the errors about it.
const MESSAGES: &str = r#"
write all
    1 2:1: expected parameters in parentheses, but found `write all` (an entry is `name(parameters) architectures`, such as `read(int, void*, size_t) all`)
write)int( all
    1 2:1: expected parameters in parentheses, but found `write)int( all` (an entry is `name(parameters) architectures`, such as `read(int, void*, size_t) all`)
(int) all
    1 2:1: missing name before `(` (write the name of a syscall)
write (int) all
    1 2:1: a blank before `(` (genseccomp.py takes it as part of the name; remove it)
int write(int) all
    1 2:1: a type before the function, unlike in the entries before (remove it, or give lists of one version of Android)
:write(int) all
    1 2:1: a misplaced colon (write `function:syscall`, or only the name if both are the same)
write:(int) all
    1 2:6: a misplaced colon (write `function:syscall`, or only the name if both are the same)
socket:socketcall:(int) x86
    1 2:19: `` is not the number of a sub-call (write `function:socketcall:number`)
socket:socketcall:one(int) x86
    1 2:19: `one` is not the number of a sub-call (write `function:socketcall:number`)
write(int)
    1 2:11: missing architectures after the parameters (write `all`, or a list such as `arm,lp64`)
write(int) x86-64
    1 2:12: `x86-64` is not a bionic architecture (did you mean x86_64?)
write(int) aarch64
    1 2:12: `aarch64` is not a bionic architecture (the architectures are arm, arm64, mips, mips64, riscv64, x86, x86_64, all, lp32, lp64)
write(int) arm, x86
    1 2:16: ` x86` is not a bionic architecture (remove the blank: commas separate architectures)
write(int) arm,all
    1 2:16: `all` is not a bionic architecture (`all` stands alone)
write(int) all # comment
    1 2:12: `all # comment` is not a bionic architecture (a comment has a line of its own)
wirte(int) all
    1 2:1: no architecture has a syscall `wirte` (did you mean write?)
a:__ARM_NR_read(int) arm
    1 2:3: no architecture has a syscall `__ARM_NR_read` (check the spelling against syscalls(2))
open(const char*, int) all
    1 2:1: there is no syscall `open` on arm64 (genseccomp.py refuses it; remove the architecture from this entry)
arch_prctl(int) all
    1 2:1: there is no syscall `arch_prctl` on arm64 and arm (genseccomp.py refuses it; remove the architecture from this entry)
__set_tls:set_tls(void*) arm
    1 2:11: there is no syscall `set_tls` on arm (on arm it is `__ARM_NR_set_tls`)
"write(\0) all"
    1 2:7: a NUL byte (remove it)
"ä write(int) all\n\twirte() all"
    1 2:1: a type before the function, unlike in the entries before (remove it, or give lists of one version of Android)
    1 3:2: no architecture has a syscall `wirte` (did you mean write?)
"#;

#[test]
fn messages_say_what_is_wrong_and_what_to_do() {
    expect_messages(MESSAGES, |entry| errors(&[base(&format!("read(int) all\n{entry}"))]));
}

#[test]
fn types_stand_before_all_functions_or_none() {
    assert_eq!(
        errors(&[base("int read(int) all\nwrite(int) all")]),
        "1 2:1: missing type before the function, as in the entries before (until Android 15, an entry is \
         `type name(parameters) architectures`)"
    );
    assert_eq!(
        errors(&[base("int read(int) all"), list(ListKind::Allow, "write(int) all")]),
        "2 1:1: missing type before the function, as in the entries before (until Android 15, an entry is \
         `type name(parameters) architectures`)"
    );
}

#[test]
fn blocked_syscalls_must_be_in_the_base() {
    let of =
        |block: &str| errors(&[base("read() all\nclose() lp64"), list(ListKind::Block, block)]);
    assert_eq!(
        of("mount() all"),
        "2 1:1: `mount` is blocked on arm64 and arm, but SYSCALLS.TXT does not have it (genseccomp.py refuses it; \
         remove the entry, or the architecture from it)"
    );
    assert_eq!(
        of("close() all"),
        "2 1:1: `close` is blocked on arm, but SYSCALLS.TXT does not have it (genseccomp.py refuses it; remove the \
         entry, or the architecture from it)"
    );
    assert_eq!(
        of("muont() x86"),
        "2 1:1: no architecture has a syscall `muont` (did you mean mount?)"
    );
}

/// A syscall that an architecture lacks does not matter if it is blocked there.
#[test]
fn blocked_syscalls_may_be_missing() {
    let lists = [base("read() all\nopen() all"), list(ListKind::Block, "open() arm64")];
    assert!(android::read(&lists, &options()).is_ok());
}

#[test]
fn each_architecture_needs_a_syscall_without_priority() {
    assert_eq!(
        errors(&[base("read() arm")]),
        "1 1:1: no syscall without priority is allowed on arm64 (genseccomp.py fails without one; add an entry for \
         this architecture)"
    );
    assert_eq!(
        errors(&[base("read() all"), list(ListKind::Priority, "read")]).lines().count(),
        2,
        "one error for each architecture"
    );
}

#[test]
fn byte_order_marks_are_refused() {
    let help = "bionic's tools take it as part of the first line; remove it";
    let mark = "\u{feff}read() all";
    assert_eq!(errors(&[base(mark)]), format!("1 1:1: a byte order mark ({help})"));
    let lists = [base("read() all"), list(ListKind::Priority, "\u{feff}read")];
    assert_eq!(errors(&lists), format!("2 1:1: a byte order mark ({help})"));
}

#[test]
fn bionic_has_no_filters_for_other_architectures() {
    let errors = android::read(&[base("read() all")], &ReadOptions::new(Arch::S390x)).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "file 1:1:1: bionic has no filters for s390x\n  help: give one of its architectures: x86_64, aarch64 or \
         riscv64, for old lists mipsel64"
    );
}
