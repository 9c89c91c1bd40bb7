//! The exact messages about profiles that LXC or libseccomp refuse.

use callgate::Arch;
use callgate_formats::lxc::{self, ReadOptions};

use callgate_testing::reader::expect_messages;

use crate::lxc::support::{errors, lines};

/// A profile, and the errors about it.
const MESSAGES: &str = r#"
""
    1:1: expected the version, 1 or 2, in the first line, but found `` (write 2 in the first line)
x
    1:1: expected the version, 1 or 2, in the first line, but found `x` (write 2 in the first line)
"3\ndenylist\n"
    1:1: expected the version, 1 or 2, in the first line, but found `3` (write 2 in the first line)
2
    1:2: missing policy after the version (write allowlist or denylist in the second line)
"2\n# comment\ndenylist"
    2:1: expected allowlist or denylist, but found `# comment` (the line after the version is the policy; LXC has no comments before it)
"2\ndenlist\n"
    2:1: expected allowlist or denylist, but found `denlist` (did you mean `denylist`?)
"2\ndenylist \nread"
    2:10: a blank at the end of the line (LXC expects an action after it, and refuses the profile; remove it)
"2\ndenylist log\n"
    2:10: `log` is not an LXC action (the actions are kill, errno N, allow, trap and notify)
"2\ndenylist errno\n"
    2:10: missing number after `errno` (LXC takes numbers from 0 to 4094, such as errno 1)
"2\ndenylist debug\n"
    2:10: LXC refuses the word `debug` in this line (remove it)
"2\nallowlist errno 4095\nread"
    2:11: the errno is 4095; libseccomp's limit is 4094, so the container would not start (use an errno that exists)
"1\ndenylist\n3"
    2:1: version 1 needs the policy `allowlist`, but found `denylist` (write allowlist, or use version 2)
"1\nwhitelist\n3"
    2:1: version 1 needs the policy `allowlist`, but found `whitelist` (LXC 4.0.4 and later refuse whitelist in version 1; write allowlist)
"1\nallowlist\nread"
    3:1: expected the number of a syscall, but found `read` (version 1 of LXC's profiles has one number per line, without comments; for names, use version 2)
"1\nallowlist\n\n3"
    3:1: an empty line (version 1 of LXC's profiles has one number per line, without comments; for names, use version 2)
"1\nallowlist\n-1"
    3:1: -1 is not the number of a syscall (LXC passes it to libseccomp, which rejects -1 and has its own numbers below; remove it)
"2\ndenylist\nread erno 1"
    3:6: `erno` is not an LXC action (did you mean `errno`?)
"2\ndenylist\nread errno x"
    3:6: missing number after `errno` (LXC takes numbers from 0 to 4094, such as errno 1)
"2\ndenylist\nread errno 4095"
    3:1: the errno is 4095; libseccomp's limit is 4094, so the container would not start (use an errno that exists)
"2\ndenylist\nread log"
    3:6: `log` is not an LXC action (the actions are kill, errno N, allow, trap and notify)
"2\ndenylist\nread [0,1,==]"
    3:6: missing action before the arguments (write one of kill, errno N, allow, trap and notify before them)
"2\ndenylist\n read"
    3:1: a blank before the name of a syscall (LXC takes what follows for an action, and refuses the profile; remove the blank)
"2\ndenylist\n[amd64]\nread"
    3:1: LXC refuses the section `[amd64]` (the sections are [all], [x86], [x86_64], [arm64], …)
"2\ndenylist\n[x86-64]"
    3:1: LXC refuses the section `[x86-64]` (write [x86_64] alone in the line)
"2\ndenylist\n[all]\r\nread"
    3:1: LXC refuses the section `[all]\r` (write [all] alone in the line)
"2\ndenylist\n[all] # x"
    3:1: LXC refuses the section `[all] # x` (the sections are [all], [x86], [x86_64], [arm64], …)
"2\ndenylist\nread allow"
    3:1: the rule for `read` has the action of syscalls without a rule, ALLOW (libseccomp rejects it, so the container would not start; remove it)
"2\nallowlist errno 13\nreject_force_umount\n"
    3:1: the rule for `umount2` has the action of syscalls without a rule, ERRNO(EACCES) (libseccomp rejects it, so the container would not start; remove it)
"2\ndenylist\nread kill [6,1,==]"
    3:11: argument 6 does not exist (arguments are 0 to 5)
"2\ndenylist\nread kill [0,1]"
    3:11: `[0,1]` is not an LXC comparison (the form is [INDEX,VALUE,OP] or [INDEX,VALUE,OP,MASK], such as [0,0x10000000,&=,0x10000000]; LXC also reads a [ in a comment)
"2\ndenylist\nread kill [0,x,==]"
    3:11: `x` is not a 64-bit number (write decimal, 0x… or 0… without blanks after it)
"2\ndenylist\nread kill [0,-1,==]"
    3:11: `-1` is not a 64-bit number (write decimal, 0x… or 0… without blanks after it)
"2\ndenylist\nread kill [0,1,=]"
    3:11: `=` is not an LXC operator (the operators are ==, !=, <, <=, >, >= and &=, without blanks around them)
"2\ndenylist\nread kill [0,1,== ]"
    3:11: `== ` is not an LXC operator (the operators are ==, !=, <, <=, >, >= and &=, without blanks around them)
"2\ndenylist\nread kill [0,1,&=,x]"
    3:11: the mask `x` is not a 64-bit number (write decimal, 0x… or 0… without blanks around it)
"2\ndenylist\nread kill [0,1,==] # x"
    3:19: ` # x` after the arguments (LXC refuses anything after the last ], even blanks and comments; remove it)
"2\ndenylist\nread kill [0,1,==][0,2,==]"
    3:19: a second comparison of argument 0 (libseccomp rejects it, so the container would not start; write two rules if one comparison is enough)
"2\ndenylist\nread kill # see [1]"
    3:17: `[1]` is not an LXC comparison (the form is [INDEX,VALUE,OP] or [INDEX,VALUE,OP,MASK], such as [0,0x10000000,&=,0x10000000]; LXC also reads a [ in a comment)
"2\ndenylist\nread kill [0,18446744073709551616,==]"
    3:11: `18446744073709551616` is not a 64-bit number (write decimal, 0x… or 0… without blanks after it)
"2\ndenylist\nread errno 1 [0,1,==]\nread errno 2 [0,1,==]"
    4:1: `read` gets ERRNO(ENOENT) here, but ERRNO(EPERM) under the same condition at 3:1 (libseccomp rejects such rules, so the container would not start; remove one of the two)
"2\ndenylist\nread errno 1\0"
    3:13: a zero byte (LXC's profiles are text; remove it)
"#;

#[test]
fn every_error_has_a_place_and_help() {
    expect_messages(MESSAGES, errors);
}

#[test]
fn unknown_names_are_errors_if_asked_for() {
    let options = ReadOptions { strict: true, ..ReadOptions::new(Arch::X86_64) };
    let messages = lxc::read("2\ndenylist\nraed\n", &options).unwrap_err();
    assert_eq!(
        lines(&messages),
        "3:1: no architecture has a syscall `raed` (did you mean `read`?)"
    );
}
