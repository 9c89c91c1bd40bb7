//! `@frequency`: counts of syscalls.

use callgate_testing::reader::expect_messages;

use crate::minijail::support::{lines, read_with};

#[test]
fn counts_of_all_files_are_added() {
    let files = [
        ("./a", "read: 10\nwrite: 0x20 # x\n\nread: 5\nopen[arch=arm]: 3\n"),
        ("./b", "write: 1\nclose: 0"),
    ];
    let policy = read_with("@frequency ./a\nread: 1\n@frequency ./b", &files).unwrap();
    let counts: Vec<(&str, u64)> =
        policy.frequencies.iter().map(|one| (one.name, one.count)).collect();
    assert_eq!(counts, [("close", 0), ("read", 15), ("write", 33)]);
    assert!(policy.profile.warnings.is_empty());
}

/// Files, and the errors about them.
const FILES: &str = r"
read
    2:12: in ./a:1:5: expected `:`, but found the end of the statement (a line is `syscall: count`)
read: x
    2:12: in ./a:1:7: expected a count, but found `x` ()
read: -1
    2:12: in ./a:1:7: `-1` is not a count (write a number from 0 to 18446744073709551615 without zeros before it)
read: 010
    2:12: in ./a:1:7: `010` is not a count (write a number from 0 to 18446744073709551615 without zeros before it)
raed: 1
    2:12: in ./a:1:1: unknown syscall `raed` (did you mean `read`?)
";

#[test]
fn mistakes_in_counts_have_messages() {
    let of =
        |text: &str| read_with("read: 1\n@frequency ./a", &[("./a", text)]).map(|one| one.profile);
    expect_messages(FILES, |text| of(text).unwrap_err());
    assert_eq!(
        lines(&of("read: 1 2").unwrap().warnings),
        "2:12: in ./a:1:9: `2` after the count has no effect (remove it)"
    );
}
