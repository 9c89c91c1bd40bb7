//! The exact warnings about what LXC ignores or reads in another way than it looks.

use callgate_testing::reader::expect_messages;

use crate::lxc::support::warnings;

/// Lines after `2`, and the warnings about them.
const WARNINGS: &str = r#"
"2\ndenylist\nraed\nread kill"
    3:1: no architecture has a syscall `raed`; LXC skips it (did you mean `read`?)
"2\ndenylist\nread\twrite\nread kill"
    3:1: no architecture has a syscall `read\twrite`; LXC skips it (names end at a blank; replace tabs with blanks, and remove carriage returns)
"2\ndenylist\n  # x\nread kill"
    3:1: no architecture has a syscall ``; LXC skips it (LXC reads the name from the start of the line; remove the blank)
"2\ndenylist\nread[0,1,==]\nread kill"
    3:1: no architecture has a syscall `read[0,1,==]`; LXC skips it (write a blank and an action before the arguments)
"2\ndenylist\nsocket kill"
    3:1: on x86, LXC adds no rules for syscalls that `socketcall` also reaches, such as `socket`: they get ALLOW (to restrict them there, add a rule for `socketcall`)
"2\ndenylist\n[x86]\nread\n[x32]\nwrite"
    3:1: on this host LXC applies the rules of `[x86]` to all architectures: x86_64, x86, x32 (write [all] if that is meant)
"2\ndenylist\n[arm64]\nread"
    2:1: no rule has an effect: every syscall gets ALLOW (add rules, or sections for this host's architecture)
"2\ndenylist\n"
    2:1: no rule has an effect: every syscall gets ALLOW (add rules, or sections for this host's architecture)
"2\ndenylist\nread kill_process"
    3:6: LXC reads `kill_process` as `kill`, which kills the thread (write kill; LXC has no action that kills the process)
"2\ndenylist\nread killer"
    3:6: LXC reads `killer` as `kill` (write kill)
"2\ndenylist\nread errno 1 2"
    3:13: LXC ignores `2` after the action (remove it, or write # before it)
"2\ndenylist\nread errno 65537"
    3:6: LXC keeps 16 bits of the errno 65537: 1 (use a number from 0 to 4094)
"2\ndenylist notify\nread kill"
    2:10: every syscall without a rule fails with ENOSYS, because LXC opens no listener for this action (use `notify` only in rules)
"2\ndenylists\nread"
    2:1: LXC reads `denylists` as `denylist` (write denylist)
"2\ndenylist\nreject_force_umount errno 5"
    3:1: LXC only compares the first letters of `reject_force_umount`, and ignores the rest of the line (write reject_force_umount alone: the errno is always EACCES)
"2\ndenylist\nread kill [0,1,&=]"
    3:11: a comparison with &= and without a mask always holds (write the mask after the operator)
"2\ndenylist\nread kill [0,3,&=,1]"
    3:11: 0x3 has bits outside of the mask 0x1; libseccomp compares only those inside (the form is [INDEX,VALUE,&=,MASK])
"2\ndenylist\nread kill [0,3,==,1]"
    3:11: LXC ignores the mask, because the operator is == (write &=, or remove the mask)
"2\ndenylist\nread kill [0,3,==4]"
    3:11: LXC ignores `4` after the operator (remove it)
"2\ndenylist\nread errno 1\nread errno 2 [0,1,==]"
    4:1: this rule for `read` has no effect: the rule for `read` at 3:1 gives ERRNO(EPERM) whenever this one matches (remove one of the two)
"1\nallowlist\n3 read"
    3:2: LXC ignores `read` after the number (remove it, or write # before it)
"2\ndenylist\nread kill [0,1,==][1,1,==][2,1,==][3,1,==][4,1,==][5,1,==][0,9,==]"
    3:59: LXC ignores comparisons after the first 6 (remove what follows)
"2\ndenylist\nread errno 1 [0,1,==]\nread errno 2 [0,1,==][1,1,==]"
    4:1: this rule for `read` has no effect: the rule for `read` at 3:1 gives ERRNO(EPERM) whenever this one matches (remove one of the two)
"#;

#[test]
fn nothing_is_ignored_without_a_warning() {
    expect_messages(WARNINGS, warnings);
}

#[test]
fn a_usual_profile_has_no_warnings() {
    let text = "2\ndenylist\nreject_force_umount  # comment this to allow umount -f\n[all]\nkexec_load errno 1\n\
                # a comment\n\ndelete_module errno 1 # why\n";
    assert_eq!(warnings(text), "");
}
