//! `@denylist`.

use callgate::{Arch, Verdict};
use callgate_testing::reader::numbered;

use crate::minijail::support::{errors, read, read_with, syscall, warnings};

#[test]
fn a_denylist_allows_what_it_does_not_name() {
    let policy = read("read: return 5\n@denylist\nwrite: arg0 == 1; return ENOSYS");
    assert_eq!(syscall(&policy, "read", &[]), "ERRNO(EIO)");
    assert_eq!(syscall(&policy, "write", &[1]), "ERRNO(ENOSYS)");
    assert_eq!(syscall(&policy, "write", &[2]), "ALLOW");
    assert_eq!(syscall(&policy, "close", &[]), "ALLOW");
    let data = numbered(Arch::X86, 3, &[]);
    assert_eq!(policy.evaluate(&data), Verdict::errno(1));
}

#[test]
fn every_action_of_a_denylist_is_return() {
    assert_eq!(
        errors("@denylist\nread: kill\nwrite: arg0 == 1; log"),
        "2:7: expected `return` and an errno, but found `kill` (a policy with @denylist has no other actions)\n\
         3:19: expected `return` and an errno, but found `log` (a policy with @denylist has no other actions)"
    );
    // A condition without an action allows.
    assert_eq!(syscall(&read("@denylist\nread: arg0 == 1"), "read", &[2]), "ALLOW");
}

#[test]
fn the_default_of_a_denylist_is_for_the_syscalls_that_it_names() {
    let text = "@denylist\n@default kill\nread: arg0 == 1; return 2";
    let policy = read(text);
    assert_eq!(syscall(&policy, "read", &[1]), "ERRNO(ENOENT)");
    assert_eq!(syscall(&policy, "read", &[2]), "ERRNO(EPERM)");
    assert_eq!(syscall(&policy, "write", &[]), "ALLOW");
    let warning = "2:1: with @denylist, @default has no effect on syscalls without a statement (it is the action \
                   for the others if no condition holds; remove it to allow them)";
    assert!(warnings(text).starts_with(warning), "{}", warnings(text));
}

#[test]
fn all_files_are_denylists_or_none_is() {
    let text = "@denylist\n@include ./a\n";
    assert_eq!(
        read_with(text, &[("./a", "read: return 1")]).unwrap_err(),
        "2:10: in ./a:1:1: this file has no @denylist, but the policy that includes it has (add @denylist to it)"
    );
    assert!(read_with(text, &[("./a", "@denylist\nread: return 1")]).is_ok());
    assert_eq!(
        read_with("@include ./a", &[("./a", "@denylist\nread: return 1")]).unwrap_err(),
        "1:10: in ./a:1:1: this file is a denylist, but the policy that includes it is not (add @denylist to \
         the policy, or remove it here)"
    );
}
