//! `args`: widths, operators, and how conditions and entries combine.

use crate::firecracker::support::{filter, lines, syscall};

const HIGH: u64 = 1 << 32;

/// The values of the second argument of `ioctl` for which a condition holds, and its warnings.
fn holds(width: &str, op: &str, value: u64, given: &[u64]) -> (Vec<u64>, String) {
    let profile = filter(&format!(
        r#"{{"syscall": "ioctl", "args": [{{"index": 1, "type": "{width}", "op": {op}, "val": {value}}}]}}"#
    ));
    let is_allowed = |value: &&u64| syscall(&profile, "ioctl", &[0, **value]) == "ALLOW";
    (given.iter().filter(is_allowed).copied().collect(), lines(&profile.warnings))
}

#[test]
fn a_qword_compares_64_bits_and_a_dword_the_low_32() {
    let given = [0, 4, 5, 6, HIGH + 4, HIGH + 5, HIGH + 6, u64::MAX];
    for (op, wide, narrow) in [
        (r#""eq""#, &[5][..], &[5, HIGH + 5][..]),
        (
            r#""ne""#,
            &[0, 4, 6, HIGH + 4, HIGH + 5, HIGH + 6, u64::MAX],
            &[0, 4, 6, HIGH + 4, HIGH + 6, u64::MAX],
        ),
        (r#""lt""#, &[0, 4], &[0, 4, HIGH + 4]),
        (r#""le""#, &[0, 4, 5], &[0, 4, 5, HIGH + 4, HIGH + 5]),
        (r#""gt""#, &[6, HIGH + 4, HIGH + 5, HIGH + 6, u64::MAX], &[6, HIGH + 6, u64::MAX]),
        (
            r#""ge""#,
            &[5, 6, HIGH + 4, HIGH + 5, HIGH + 6, u64::MAX],
            &[5, 6, HIGH + 5, HIGH + 6, u64::MAX],
        ),
    ] {
        assert_eq!(holds("qword", op, 5, &given), (wide.to_vec(), String::new()), "{op}");
        assert_eq!(holds("dword", op, 5, &given), (narrow.to_vec(), String::new()), "{op}");
    }
}

#[test]
fn values_are_cut_to_the_width_with_a_warning() {
    let (held, warnings) = holds("dword", r#""eq""#, HIGH + 5, &[5, HIGH + 5, 6]);
    assert_eq!(held, [5, HIGH + 5]);
    assert_eq!(
        warnings,
        "1:152: `val` 0x100000005 has more than the 32 bits of a dword; seccompiler compares with 0x5 \
         (use \"type\": \"qword\" to compare 64 bits)"
    );
}

#[test]
fn masks_select_bits_of_both_sides() {
    let given = [1, 2, 3, 5, 7, HIGH + 1];
    let mask = |mask: u64| format!(r#"{{"masked_eq": {mask}}}"#);
    assert_eq!(holds("qword", &mask(3), 1, &given), (vec![1, 5, HIGH + 1], String::new()));
    assert_eq!(holds("qword", &mask(HIGH + 3), 1, &given), (vec![1, 5], String::new()));
    let (held, warnings) = holds("qword", &mask(3), 5, &given);
    assert_eq!(held, [1, 5, HIGH + 1]);
    assert_eq!(
        warnings,
        "1:164: `val` 0x5 has bits outside the mask; seccompiler compares with 0x1 (the comparison would \
         never hold with them)"
    );
    // The mask of a dword loses its high half, too.
    let (held, warnings) = holds("dword", &mask(HIGH + 3), HIGH + 1, &given);
    assert_eq!(held, [1, 5, HIGH + 1]);
    assert!(warnings.contains("more than the 32 bits of a dword"), "{warnings}");
}

#[test]
fn conditions_that_cannot_vary_are_warnings() {
    let given = [0, 1, u64::MAX];
    for (width, op, value, always) in [
        ("qword", r#""lt""#, 0, false),
        ("qword", r#""ge""#, 0, true),
        ("qword", r#""gt""#, u64::MAX, false),
        ("dword", r#""gt""#, u64::from(u32::MAX), false),
        ("dword", r#""le""#, u64::from(u32::MAX), true),
        ("dword", r#"{"masked_eq": 0}"#, 0, true),
    ] {
        let (held, warnings) = holds(width, op, value, &given);
        assert_eq!(held.len(), if always { 3 } else { 0 }, "{op} {value}");
        let verb = if always { "holds for every value" } else { "never holds" };
        assert!(warnings.contains(&format!("this condition {verb}")), "{warnings}");
    }
}

#[test]
fn all_conditions_of_one_entry_must_hold() {
    let profile = filter(
        r#"{"syscall": "fcntl", "args": [
            {"index": 1, "type": "dword", "op": "eq", "val": 2, "comment": "F_SETFD"},
            {"index": 2, "type": "dword", "op": "ge", "val": 1},
            {"index": 2, "type": "dword", "op": "ne", "val": 3}]},
           {"syscall": "fcntl", "args": [{"index": 1, "type": "dword", "op": "eq", "val": 1}]}"#,
    );
    assert!(profile.warnings.is_empty());
    for (args, expected) in [
        ([0, 2, 1], "ALLOW"),
        ([0, 2, 3], "TRAP"),
        ([0, 2, 0], "TRAP"),
        ([0, 3, 1], "TRAP"),
        ([0, 1, 9], "ALLOW"),
    ] {
        assert_eq!(syscall(&profile, "fcntl", &args), expected, "{args:?}");
    }
}

/// seccompiler builds its chain of rules from entries with `args` only.
#[test]
fn an_entry_without_args_beside_one_with_args_has_no_effect() {
    let condition =
        r#"{"syscall": "read", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 3}]}"#;
    for (entries, place, first) in [
        (format!(r#"{{"syscall": "read"}},{condition}"#), "1:85", "1:105"),
        (format!(r#"{condition},{{"syscall": "read", "args": null}}"#), "1:168", "1:85"),
    ] {
        let profile = filter(&entries);
        assert_eq!(syscall(&profile, "read", &[3]), "ALLOW");
        assert_eq!(syscall(&profile, "read", &[4]), "TRAP");
        assert_eq!(
            lines(&profile.warnings),
            format!(
                "{place}: this entry of `read` has no effect: seccompiler ignores it because of entries with \
                 `args`, the first at {first} (remove it to keep the conditions, or remove the others to \
                 match every call)"
            )
        );
    }
}
