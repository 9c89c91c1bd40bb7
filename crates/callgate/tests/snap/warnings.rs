//! The exact warnings about what snap-seccomp ignores, and about rules that do not mean what they say.

use callgate_testing::reader::expect_messages;

use crate::snap::support::warnings;

/// A profile, and the warnings about it.
const WARNINGS: &str = r##"
"raed\nread"
    1:1: no architecture has a syscall `raed`; snap-seccomp skips it (did you mean `read`?)
"@complan\nread"
    1:1: no architecture has a syscall `@complan`; snap-seccomp skips it (did you mean `@complain`?)
"~\nread"
    1:1: no architecture has a syscall ``; snap-seccomp skips it (check the spelling against syscalls(2))
"nosuchcall x y\nread"
    1:1: no architecture has a syscall `nosuchcall`; snap-seccomp skips it (check the spelling against syscalls(2))
""
    1:1: no rule has an effect: every syscall gets ERRNO(EPERM) (add the names of syscalls)
"# nothing\n"
    1:1: no rule has an effect: every syscall gets ERRNO(EPERM) (add the names of syscalls)
"socket AF_UNIX\nread"
    1:1: on x86, programs can also reach `socket` through `socketcall`, where a filter cannot see its arguments; this rule does not check them there (if the condition matters on x86, deny `socketcall`; C libraries there may use only that)
"~socket AF_UNIX\nread"
    1:1: on x86, programs can also reach `socket` through `socketcall`, where a filter cannot see its arguments; this rule does not check them there (if the condition matters on x86, deny `socketcall`; C libraries there may use only that)
"##;

#[test]
fn nothing_is_ignored_without_a_warning() {
    expect_messages(WARNINGS, warnings);
}

#[test]
fn a_usual_profile_has_no_warnings() {
    assert_eq!(
        warnings("# why\nread\n\n@complain\nchown - u:root g:root\n~mount\nioctl - !TIOCSTI\n"),
        ""
    );
}
