//! Invalid policies: the exact messages and positions.

use callgate_testing::reader::expect_messages;

use crate::kafel::support::errors;

/// Policies, and the first error about each.
const POLICIES: &str = r##"
POLICY p { ALOW { read } }
    1:12: expected an action such as ALLOW, or USE, POLICY or DEFAULT, but found `ALOW` (did you mean `ALLOW`?)
NOTIFY { read } DEFAULT ALLOW
    1:1: expected an action such as ALLOW, or USE, POLICY or DEFAULT, but found `NOTIFY` (the actions are ALLOW, LOG, ERRNO(n), KILL_PROCESS, KILL_THREAD, TRAP(n), TRACE(n) and USER_NOTIF)
POLICY p { ALLOW { read }
    1:26: expected `,` or `}`, but found the end of the text ()
POLICY p { ALLOW { read } KILL { write } }
    1:27: missing `,` before `KILL` (statements of a policy are separated by commas)
ALLOW { read write }
    1:14: missing `,` before `write` (syscalls are separated by commas)
ALLOW { read, }
    1:13: `,` before `}` (remove it)
POLICY p { ALLOW { read }, }
    1:26: `,` before `}` (remove it)
ALLOW { raed }
    1:9: unknown syscall `raed` (did you mean `read`?)
ALLOW { osf_sigprocmask }
    1:9: x86_64 has no syscall `osf_sigprocmask` (it exists only on other architectures or in old kernels; give a number: SYSCALL[n])
USE p DEFAULT KILL
    1:5: policy `p` is not defined before this place (define it before it is used)
POLICY stdio {} USE stdoi DEFAULT KILL
    1:21: policy `stdoi` is not defined before this place (did you mean `stdio`?)
POLICY p { USE p }
    1:16: policy `p` is not defined before this place (define it before it is used)
"POLICY p {}\nPOLICY p {}"
    2:8: policy `p` is already defined at 1:8 (use another name)
"DEFAULT KILL\nDEFAULT KILL"
    2:1: the default action is already given at 1:1 (remove one of the two)
"#define A 1\n#define A 2"
    2:1: `A` has another value at 1:9 (use another name)
#define ALLOW 1
    1:9: expected the defined name, but found the keyword `ALLOW` (use another name)
#defin A 1
    1:2: expected `define` or `include` after `#`, but found `defin` (did you mean `define`?)
#define A O_CREATE
    1:11: `O_CREATE` is not a number (did you mean `O_CREAT`?)
DEFAULT ERRNO
    1:14: expected `(`, but found the end of the text ()
DEFAULT ERRNO(65536)
    1:15: the number 65536 is more than 65535 (an action takes a number from 0 to 65535)
DEFAULT ERRNO(-1)
    1:15: the number -1 is negative (an action takes a number from 0 to 65535)
DEFAULT ERRNO(EPREM)
    1:15: `EPREM` is not a number (give a number, the name of an error such as EPERM, or a defined name)
DEFAULT TRAP(EPERM)
    1:14: `EPERM` is not a number (give a number or a defined name)
ALLOW { SYSCALL[0x100000000] }
    1:17: 0x100000000 is not the number of a syscall, which has 32 bits (Kafel drops the upper bits)
ALLOW { write(a, a) }
    1:18: two arguments have the name `a` (use another name)
ALLOW { write(a, b, c, d, e, f, g) }
    1:33: more than 6 arguments (a syscall has at most 6 arguments)
ALLOW { read ON x86_46 }
    1:17: unknown architecture `x86_46` (did you mean `x86_64`?)
ALLOW { read ON { x86_64, amd64 } }
    1:27: the architecture `amd64` is given twice (remove one)
ALLOW { write { cuont == 1 } }
    1:17: `cuont` is neither an argument of write nor a constant (did you mean `count`?)
ALLOW { write { qqqqqqqq == 1 } }
    1:17: `qqqqqqqq` is neither an argument of write nor a constant (the arguments of write are fd, buf, count)
ALLOW { write(a) { fd == 1 } }
    1:20: `fd` is neither an argument of write nor a constant (the arguments of write are a)
ALLOW { SYSCALL[1] { fd == 1 } }
    1:22: `fd` is neither an argument of SYSCALL[1] nor a constant (name its arguments: SYSCALL[1](a, b, c))
ALLOW { write { fd } }
    1:17: this is a number, not a condition (compare it, for example with `!= 0`)
ALLOW { write { fd & 1 } }
    1:20: this is a number, not a condition (compare it, for example with `!= 0`)
ALLOW { write { fd = 1 } }
    1:20: unexpected character '=' (write `==` to compare)
ALLOW { write { fd + 1 == 2 } }
    1:20: unexpected character '+' (only `~$name` and `$name + number` are possible)
ALLOW { fork { a == 1 } }
    1:16: `a` is neither an argument of fork nor a constant (fork has no arguments: write it without a condition)
# include "a"
    1:1: Kafel knows `#include` only without a blank between `#` and `include` (write #include "FILE")
ALLOW { write { fd == } }
    1:23: missing operand at the end of the expression (add a name, a number or a condition)
ALLOW { write { == 1 } }
    1:17: missing operand before `==` (add a name, a number or a condition)
ALLOW { write { fd == 1 2 } }
    1:25: missing operator before this operand (join comparisons with `&&` or `||`)
ALLOW { write { fd < 1 < 2 } }
    1:20: comparisons cannot be chained (write `a < b && b < c`, or use parentheses)
ALLOW { write { fd == 1 & count == 2 } }
    1:20: comparisons cannot be chained (write `a < b && b < c`, or use parentheses)
ALLOW { write { (fd == 1) & (count == 2) } }
    1:27: an operand of `&` is a condition, not a number (did you mean `&&`?)
ALLOW { write { fd && count == 1 } }
    1:20: an operand of `&&` is a number, not a condition (compare it, for example with `!= 0`)
ALLOW { write { !fd } }
    1:17: an operand of `!` is a number, not a condition (compare it, for example with `!= 0`)
ALLOW { write { (fd == 1 } }
    1:17: `(` without `)` (close it)
ALLOW { write { fd == 1) } }
    1:24: `)` without `(` (remove it)
ALLOW { write { fd == 1; } }
    1:24: unexpected character ';' (remove it)
ALLOW { write { fd == 089 } }
    1:23: `089` is not an octal number (a number that starts with 0 is octal; omit the 0 for a decimal number)
ALLOW { write { fd == 0xg } }
    1:23: `0xg` is not a number (use decimal, 0x, 0b or octal digits)
ALLOW { write { fd == 0x10000000000000000 } }
    1:23: 0x10000000000000000 does not fit in 64 bits (use a smaller number)
ALLOW { write { fd == -0 } }
    1:23: `-0` is not a number (only a decimal number other than 0 may be negative)
/* a **/ ALLOW { read }
    1:1: Kafel does not end this comment at its `**/` (end it with ` */`)
ALLOW { read } /* a
    1:16: the comment has no end (end it with */)
é
    1:1: unexpected character 'é' (remove it)
, ALLOW { read }
    1:1: `,` without a statement before it (remove it)
"##;

#[test]
fn every_error_has_a_position_and_help() {
    expect_messages(POLICIES, |text| errors(text).lines().next().unwrap_or_default().to_owned());
}

/// After an error, the reader goes on at the next policy, definition or default.
#[test]
fn all_errors_are_reported() {
    let text =
        "POLICY a { ALOW { read } }\nPOLICY b { KILL ( write } }\n#defin X 1\nDEFAULT ERRNO(x)";
    let positions: Vec<String> =
        errors(text).lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(positions, ["1:12", "2:17", "3:2", "4:15"]);
    let names = "ALLOW { raed, wriet { fd == 1 }, close { xx == 1 } } DEFAULT KILL";
    assert_eq!(errors(names).lines().count(), 3);
}

/// A search for a similar name takes time, and a text that is not a policy has very many unknown names.
#[test]
fn only_the_first_unknown_names_get_a_suggestion() {
    let repeated = |unit: &str| {
        errors(&(0..60).map(|n| unit.replace('%', &n.to_string())).collect::<String>())
    };
    for (text, near) in [
        (repeated("#define A% EPRM\n"), "did you mean `EPERM`?"),
        (repeated("DEFAULT ALOW\n"), "did you mean `ALLOW`?"),
        (repeated("ALLOW { wriet, SYSCALL[%] }\n"), "did you mean `write`?"),
        (repeated("ALLOW { write { cuont == % } }\n"), "did you mean `count`?"),
        (
            errors(&format!("POLICY stdio {{}} {}", "USE stdoi ".repeat(60))),
            "did you mean `stdio`?",
        ),
    ] {
        assert_eq!(text.lines().count(), 60, "{text}");
        assert_eq!(text.lines().filter(|line| line.contains(near)).count(), 50, "{text}");
    }
}

/// Policies that are not used are checked, too, as Kafel does.
#[test]
fn unused_policies_are_checked() {
    assert_eq!(
        errors("POLICY a { ALLOW { raed } } DEFAULT KILL"),
        "1:20: unknown syscall `raed` (did you mean `read`?)"
    );
}
