//! Operators and values.

use crate::minijail::support::{read, syscall};

/// The values of the first argument for which a condition on it holds.
fn holds(condition: &str, given: &[u64]) -> Vec<u64> {
    let policy = read(&format!("read: arg0 {condition}"));
    let is_allowed = |value: &&u64| syscall(&policy, "read", &[**value]) == "ALLOW";
    given.iter().filter(is_allowed).copied().collect()
}

const HIGH: u64 = 1 << 32;

#[test]
fn operators_compare_64_bits_without_sign() {
    let given = [0, 4, 5, 6, HIGH, HIGH + 5, u64::MAX];
    for (condition, expected) in [
        ("== 5", &[5][..]),
        ("!= 5", &[0, 4, 6, HIGH, HIGH + 5, u64::MAX]),
        ("< 5", &[0, 4]),
        ("<= 5", &[0, 4, 5]),
        ("> 5", &[6, HIGH, HIGH + 5, u64::MAX]),
        (">= 5", &[5, 6, HIGH, HIGH + 5, u64::MAX]),
        ("& 1", &[5, HIGH + 5, u64::MAX]),
        ("& 0x100000002", &[6, HIGH, HIGH + 5, u64::MAX]),
        ("in 5", &[0, 4, 5]),
        ("in ~1", &[0, 4, 6, HIGH]),
        ("in 0", &[0]),
    ] {
        assert_eq!(holds(condition, &given), expected, "{condition}");
    }
}

#[test]
fn values_are_numbers_and_constants() {
    for (value, expected) in [
        ("10", 10),
        ("010", 8),
        ("0x1F", 31),
        ("0X1f", 31),
        ("089", 89),
        ("-1", u64::MAX),
        ("-0x10", 16_u64.wrapping_neg()),
        ("-9223372036854775808", 1 << 63),
        ("18446744073709551615", u64::MAX),
        ("O_CREAT", 0o100),
        ("EPERM", 1),
        ("MAP_ANON", 0x20),
        ("O_RSYNC", 0o4_010_000),
        ("S_IEXEC", 0o100),
        ("1|2|8", 11),
        ("PROT_READ|PROT_WRITE", 3),
        ("~0", u64::MAX),
        ("~(1|2)", !3),
        ("~1|1", u64::MAX),
        ("((4))|(~(~8))", 12),
    ] {
        assert_eq!(holds(&format!("== {value}"), &[expected, 7]), [expected], "{value}");
    }
}

#[test]
fn comments_and_lines_that_go_on_are_part_of_no_value() {
    let policy = read(
        "# first\n\nread: \\\n  arg0 == 1 || \\\r\n arg0 == 2 # a \\\n|| arg0 == 3\r\n\twrite : 1# x",
    );
    for (arg, expected) in [(1, "ALLOW"), (2, "ALLOW"), (3, "ALLOW"), (4, "KILL_THREAD")] {
        assert_eq!(syscall(&policy, "read", &[arg]), expected);
    }
    assert_eq!(syscall(&policy, "write", &[]), "ALLOW");
}
