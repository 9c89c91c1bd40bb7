//! `@include`: files come from a function; messages name the file.

use crate::minijail::support::{errors, lines, read_with, syscall};

#[test]
fn included_statements_stand_at_the_place_of_the_directive() {
    let files = [
        ("./a", "read: arg0 == 1; log\n@include ./b\nread: arg0 == 3; trap"),
        ("./b", "read: arg0 <= 2; return 2"),
    ];
    let policy = read_with("@include ./a\nread: 1", &files).unwrap().profile.policy;
    // The last action allows the syscall, so the conditions have no effect.
    assert_eq!(syscall(&policy, "read", &[1]), "ALLOW");
    let policy = read_with("@include ./a\nread: kill", &files).unwrap().profile.policy;
    for (arg, expected) in [(1, "LOG"), (2, "ERRNO(ENOENT)"), (3, "TRAP"), (4, "KILL_THREAD")] {
        assert_eq!(syscall(&policy, "read", &[arg]), expected);
    }
}

#[test]
fn messages_name_the_file_and_the_directive() {
    let files =
        [("./a", "\n@include ./b\n"), ("./b", "read: 1\n raed: 1"), ("./c", "read: arg0 < 0")];
    assert_eq!(
        read_with("# first line\n @include ./a", &files).unwrap_err(),
        "2:11: in ./b:2:2: unknown syscall `raed` (did you mean `read`?)"
    );
    assert_eq!(
        lines(&read_with("@include ./c", &files).unwrap().profile.warnings),
        "1:10: in ./c:1:7: this comparison never holds (check the operator and the value; comparisons are unsigned)"
    );
    assert_eq!(
        read_with("@include ./c\nread: 1\n@include ./b", &files)
            .unwrap_err()
            .lines()
            .next()
            .unwrap(),
        "1:10: in ./c:1:7: this comparison never holds (check the operator and the value; comparisons are unsigned)"
    );
}

#[test]
fn missing_and_circular_files_are_errors() {
    assert_eq!(
        read_with("@include ./x", &[]).unwrap_err(),
        "1:10: cannot include \"./x\": the policy names no file ()"
    );
    assert!(errors("@include /x").contains("files cannot be included here"));
    let circle = [("./a", "@include ./b"), ("./b", "\n @include ./a")];
    assert_eq!(
        read_with("@include ./a", &circle).unwrap_err(),
        "1:10: in ./b:2:11: \"./a\" includes itself; it is included first at 1:10 (remove one of the two directives)"
    );
}

/// minijail limits the depth to ten, of which it counts two for the policy itself.
#[test]
fn the_depth_the_number_and_the_size_of_inclusions_are_limited() {
    let chain = |depth: usize| {
        let files: Vec<(String, String)> = (1..=depth)
            .map(|n| {
                let next = if n < depth { format!("@include ./f{}", n + 1) } else { String::new() };
                (format!("./f{n}"), next)
            })
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (&**name, &**text)).collect();
        read_with("@include ./f1", &files)
    };
    assert!(chain(8).is_ok());
    assert!(chain(9).unwrap_err().contains("inclusions are nested more than 8 deep"));
    let many = "@include ./a\n".repeat(1001);
    let message = read_with(&many, &[("./a", "")]).unwrap_err();
    assert!(message.contains("more than 1000 files are included"), "{message}");
    let big = " ".repeat(6 << 20);
    let message = read_with("@include ./big\n@include ./big", &[("./big", &big)]).unwrap_err();
    assert!(message.contains("the maximum is 10485760"), "{message}");
}
