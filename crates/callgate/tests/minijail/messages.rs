//! Invalid policies: the exact messages and positions.

use callgate::Arch;
use callgate_testing::reader::cases;

use crate::minijail::support::{errors, errors_for};

/// Policies, and the errors about them; ACTIONS stands for the list of actions.
const POLICIES: &str = r#"
raed: 1
    1:1: unknown syscall `raed` (did you mean `read`?)
qqqqqqqqqqq: 1
    1:1: unknown syscall `qqqqqqqqqqq` (use a name as in syscalls(2))
cacheflush: 1
    1:1: x86_64 has no syscall `cacheflush` (restrict it: cacheflush[arch=arm])
osf_sigprocmask: 1
    1:1: x86_64 has no syscall `osf_sigprocmask` (no architecture that minijail supports has it; remove it (x86_64))
basic@android: 1
    1:1: unknown group of syscalls `basic@android` (name the syscalls: minijail's groups are in files that are not part of it)
read
    1:5: expected `:`, but found the end of the statement (a statement is `syscall: filter`)
read 1
    1:6: expected `:`, but found `1` (a statement is `syscall: filter`)
: 1
    1:1: expected the name of a syscall, but found `:` ()
trap: 1
    1:1: expected the name of a syscall, but found `trap` ()
{read write}: 1
    1:7: expected `,` or `}`, but found `write` ()
{}: 1
    1:2: expected the name of a syscall, but found `}` ()
read:
    1:6: expected an action or an argument, but found the end of the statement (ACTIONS)
read: alow
    1:7: expected an action or an argument, but found `alow` (did you mean `allow`?)
read: {}
    1:8: expected an action or an argument, but found `}` (ACTIONS)
read: 2
    1:7: expected an action, but found `2` (write 1 or `allow` to allow every call)
read: 1 1
    1:9: expected the end of the line, but found `1` (write one statement per line)
read: {1
    1:9: expected `,` or `}`, but found the end of the statement ()
read: return
    1:13: expected an errno after `return`, but found the end of the statement ()
read: arg0
    1:11: expected an operator: == != < <= > >= & in, but found the end of the statement ()
read: arg0 = 1
    1:12: expected an operator: == != < <= > >= & in, but found `=` ()
read: arg0 ==
    1:14: expected a number or a constant, but found the end of the statement ()
read: arg0 == 1 ||
    1:19: expected an argument such as `arg0`, but found the end of the statement ()
read: arg0 == 1 && 2
    1:20: expected an argument such as `arg0`, but found `2` ()
read: arg6 == 1
    1:7: `arg6` is not an argument (the arguments are arg0 to arg5; the kernel rejects a filter that reads arg6)
read: arg0 == O_CREATE
    1:15: unknown constant `O_CREATE` (did you mean `O_CREAT`?)
read: arg0 == QQQQQQQQQQ
    1:15: unknown constant `QQQQQQQQQQ` (give a number, or a constant of the kernel's headers)
read: arg0 == ~~1
    1:16: `~` after `~` (minijail rejects this; remove both)
read: arg0 == (1
    1:17: expected `|` or `)`, but found the end of the statement ()
read: arg0 == 18446744073709551616
    1:15: the number 18446744073709551616 is too large (an argument has 64 bits)
read: arg0 == -9223372036854775809
    1:15: the number -9223372036854775809 is too small (a negative argument has 64 bits)
read[arch=arm: 1
    1:14: expected `,`, `;` or `]`, but found `:` ()
read[arch]: 1
    1:10: expected `=`, but found `]` ()
read[1]: 1
    1:6: expected a key such as `arch`, but found `1` ()
read[arch=arm;arch=x86]: 1
    1:15: the key `arch` is given twice (remove one)
@default allow
    1:10: the default action `allow` would let syscalls run (minijail rejects this; write kill, kill-process, kill-thread, trap or user-notify)
@default
    1:9: expected a default action, but found the end of the statement (the default actions are kill, kill-process, kill-thread, trap and user-notify)
@include x
    1:10: expected a path, but found `x` (a path starts with `/` or `./`)
@include ../x
    1:10: the path `../x` starts with neither `/` nor `./` (write ./ before it)
@includes ./x
    1:1: unexpected `@includes` (the directives are @include, @frequency, @default and @denylist)
"@denylist "
    1:1: unexpected `@denylist` (nothing may follow it on its line, not even a blank)
"read: 1 \ "
    1:9: `\` is not at the end of the line (remove what follows it)
read: $
    1:7: unexpected character '$' (remove it; comments start with `#`)
"read: 1\nwrite: 1\n{close, read}: arg0 == 1"
    3:16: `read` already has an action without a condition at 1:7 (remove one of the two; conditions come first)
"#;

#[test]
fn every_error_has_a_position_and_help() {
    let actions = "the actions are 1, allow, kill-process, kill-thread, kill, trap, trace, log, user-notify, and `return` with an errno";
    for (text, expected) in cases(POLICIES) {
        assert_eq!(errors(&text), expected.replace("ACTIONS", actions), "{text}");
    }
}

#[test]
fn all_errors_are_reported() {
    assert_eq!(errors("raed: 1\nread: 2\n$ x\nwrite: 1").lines().count(), 3);
}

#[test]
fn numbers_and_constants_depend_on_the_architecture() {
    assert_eq!(
        errors_for("read: arg0 == 0x100000000", Arch::X86),
        "1:15: the number 0x100000000 is too large (an argument has 32 bits)"
    );
    assert_eq!(
        errors_for("read: 1", Arch::S390x),
        "minijail has no filters for s390x (give one of its architectures: x86_64, x86, aarch64, arm, riscv64, loongarch64)"
    );
}
