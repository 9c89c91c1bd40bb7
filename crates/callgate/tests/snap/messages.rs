//! The exact messages about profiles that snap-seccomp refuses.

use callgate::Arch;
use callgate_formats::snap::{self, ReadOptions};

use callgate_testing::reader::expect_messages;

use crate::snap::support::{errors, lines};

/// A profile, and the errors about it.
const MESSAGES: &str = r#"
"@unrestricted\nread"
    1:1: `@unrestricted`: snap-confine installs no filter for this profile (remove this line to see what the rules mean)
" @unrestricted"
    1:1: `@unrestricted`: snap-confine installs no filter for this profile (remove this line to see what the rules mean)
"read\n \nwrite"
    2:1: a line of blanks (snap-seccomp fails at it; remove the blanks)
read 1 2 3 4 5 6 7
    1:18: 7 arguments for `read`; the maximum is 6 (remove what follows; comments have a line of their own)
read AF_UNIKS
    1:6: `AF_UNIKS` is neither a number nor a snap-seccomp constant (did you mean `AF_UNIX`?)
read x
    1:6: `x` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
read -1
    1:6: `-1` has a sign (snap-seccomp takes it only for chown, setuid and others with user or group IDs)
read +1
    1:6: `+1` has a sign (snap-seccomp takes it only for chown, setuid and others with user or group IDs)
read 4294967296
    1:6: `4294967296` is too large (the maximum is 4294967295)
read 0x10
    1:6: `0x10` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
read 1|2|3
    1:6: `2|3` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
read |
    1:6: missing number or constant in `|` (write it directly after the operator)
read =1
    1:6: `=1` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
chown - -2147483649
    1:9: `-2147483649` is out of range (numbers with a sign are from -2147483648 to 2147483647)
chown - >5
    1:9: `chown` only takes equality, not `>5` (snap-seccomp refuses other comparisons for syscalls that take -1)
setuid |1
    1:8: `setuid` only takes equality, not `|1` (snap-seccomp refuses other comparisons for syscalls that take -1)
setuid !0
    1:8: `setuid` only takes equality, not `!0` (snap-seccomp refuses other comparisons for syscalls that take -1)
setuid u:daemon
    1:8: the number of the user `daemon` is unknown (write the number instead: it depends on the host)
setgid g:video
    1:8: the number of the group `video` is unknown (write the number instead: it depends on the host)
setuid u:Root
    1:8: `Root` is not the name of a user (names have lower-case letters, digits, -, . and _, and do not begin with -, . or _)
setuid u:
    1:8: `` is not the name of a user (names have lower-case letters, digits, -, . and _, and do not begin with -, . or _)
read >= 5
    1:6: missing number or constant in `>=` (write it directly after the operator)
read 1_000
    1:6: `1_000` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
read !!1
    1:6: `!1` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
"write\nread\0"
    2:5: a NUL byte (remove it)
read  # comment
    1:7: `#` is neither a number nor a snap-seccomp constant (arguments are -, numbers below 2^32 and snap-seccomp constants)
"#;

#[test]
fn every_error_has_a_place_and_help() {
    expect_messages(MESSAGES, errors);
}

#[test]
fn unknown_names_are_errors_if_asked_for() {
    let options = ReadOptions { strict: true, ..ReadOptions::new(Arch::X86_64) };
    let messages = snap::read("raed\n", &options, &mut |_, _| None).unwrap_err();
    assert_eq!(
        lines(&messages),
        "1:1: no architecture has a syscall `raed` (did you mean `read`?)"
    );
}
