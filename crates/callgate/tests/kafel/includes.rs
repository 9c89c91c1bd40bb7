//! `#include`: files come from a function; messages name the file.

use callgate::Arch;
use callgate_formats::Profile;
use callgate_formats::kafel::{self, Included, ReadOptions};

use crate::kafel::support::{errors, lines, syscall};

/// Reads a policy with these files.
fn read(text: &str, files: &[(&str, &str)]) -> Result<Profile, String> {
    read_as(text, files, &ReadOptions::new(Arch::X86_64))
}

fn read_as(text: &str, files: &[(&str, &str)], options: &ReadOptions) -> Result<Profile, String> {
    let mut includes = |name: &str, from: Option<&str>| {
        let file = files.iter().find(|(known, _)| *known == name);
        let from = from.unwrap_or("the policy").to_owned();
        file.map(|(name, text)| Included {
            name: (*name).to_owned(),
            identity: name.trim_start_matches("./").to_owned(),
            text: (*text).to_owned(),
            is_private: false,
        })
        .ok_or(format!("{from} names no file"))
    };
    kafel::read_with_includes(text, options, &mut includes).map_err(|messages| lines(&messages))
}

#[test]
fn included_files_stand_at_the_place_of_the_directive() {
    let files = [
        ("a", "#define ONE 1\n#include \"b\"; POLICY a { USE b }"),
        ("b", "POLICY b { ALLOW { write { fd == ONE } } }"),
        ("rules", "read, close"),
    ];
    let text = "#include \"a\"\nALLOW {\n#include \"rules\"\n} USE a DEFAULT KILL";
    let profile = read(text, &files).unwrap();
    for name in ["read", "close"] {
        assert_eq!(syscall(&profile, name, &[]), "ALLOW");
    }
    assert_eq!(syscall(&profile, "write", &[1]), "ALLOW");
    assert_eq!(syscall(&profile, "write", &[2]), "KILL_THREAD");
    let both = read(
        "#include \"a\" \"c\"\nUSE a DEFAULT KILL",
        &[files[0], files[1], ("c", "// only a comment")],
    );
    assert!(both.is_ok());
}

#[test]
fn messages_name_the_file_and_the_directive() {
    let files = [("a", "\n#include \"b\"\n"), ("b", "ALLOW {\n  raed }")];
    assert_eq!(
        read("// first line\n #include \"a\"\nDEFAULT KILL", &files).unwrap_err(),
        "2:11: in b:2:3: unknown syscall `raed` (did you mean `read`?)"
    );
    let warning =
        read("#include \"c\"\nDEFAULT KILL", &[("c", "POLICY p {}\nALLOW { read }")]).unwrap();
    assert_eq!(
        lines(&warning.warnings),
        "1:10: in c:1:8: policy `p` is not used (add USE with its name, or remove it)"
    );
}

/// Neither errors nor warnings have words of a file that is not a part of the policy, also not at other places.
#[test]
fn messages_do_not_quote_a_private_file() {
    let read = |text: &str, private: &str| {
        let mut includes = |name: &str, _: Option<&str>| {
            let (text, is_private) = match name {
                "private" => (private.to_owned(), true),
                _ => ("ALLOW { raed }".to_owned(), false),
            };
            Ok(Included { name: name.to_owned(), identity: name.to_owned(), text, is_private })
        };
        kafel::read_with_includes(text, &ReadOptions::new(Arch::X86_64), &mut includes)
    };
    for (private, is_suggestion) in [
        ("hunter2=hunter2", false),
        ("POLICY p { ALLOW { hunter2 } }", false),
        ("POLICY hunter2 {}", true),
    ] {
        let name = if is_suggestion { "hunter" } else { "p" };
        let text = format!("#include \"private\"\nUSE {name} DEFAULT KILL");
        let messages = lines(&read(&text, private).unwrap_err());
        assert!(!messages.contains("hunter2"), "{messages}");
        assert!(is_suggestion || messages.contains("1:10: in private:1:"), "{messages}");
    }
    let text = "#include \"private\"\nALLOW { read } DEFAULT KILL";
    let unused = read(text, "POLICY hunter2 {}").unwrap();
    assert_eq!(
        lines(&unused.warnings),
        "1:10: in private:1:8: there is a warning about this; it is not shown, because the file is not in the tree of the \
         source ()"
    );
    let other = lines(&read("#include \"other\"", "").unwrap_err());
    assert!(other.contains("unknown syscall `raed`"), "{other}");
}

#[test]
fn missing_and_circular_files_are_errors() {
    assert_eq!(
        read("#include \"x\"", &[]).unwrap_err().lines().next().unwrap(),
        "1:10: cannot include \"x\": the policy names no file ()"
    );
    assert!(errors("#include \"x\"").contains("files cannot be included here"));
    let circle = [("a", "#include \"b\""), ("b", "\n #include \"a\"")];
    assert_eq!(
        read("#include \"a\"\nDEFAULT KILL", &circle).unwrap_err().lines().next().unwrap(),
        "1:10: in b:2:11: \"a\" includes itself; it is included first at 1:10 (remove one of the two directives)"
    );
    let known = ReadOptions { identity: Some("a".to_owned()), ..ReadOptions::new(Arch::X86_64) };
    assert_eq!(
        read_as("\n#include \"b\"", &circle, &known).unwrap_err().lines().next().unwrap(),
        "2:10: in b:2:11: \"a\" includes itself; it is the policy itself (remove this directive)"
    );
    let spelled = [("a", "#include \"./a\""), ("./a", "#include \"a\"")];
    assert_eq!(
        read("#include \"a\"\nDEFAULT KILL", &spelled).unwrap_err().lines().next().unwrap(),
        "1:10: in a:1:10: \"./a\" includes itself; it is included first at 1:10 (remove one of the two directives)"
    );
}

#[test]
fn directives_have_a_form() {
    for (text, expected) in [
        ("#include a", "1:10: expected a file name in quotes after `#include`, but found 'a'"),
        ("#include \"a", "1:10: the file name has no closing quote"),
        ("#include \"\"", "1:10: the name of the included file is empty"),
    ] {
        assert!(read(text, &[]).unwrap_err().starts_with(expected), "{text}");
    }
}

#[test]
fn the_depth_the_number_and_the_size_of_inclusions_are_limited() {
    let deep: Vec<(String, String)> =
        (0..20).map(|n| (format!("f{n}"), format!("#include \"f{}\"", n + 1))).collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(name, text)| (&**name, &**text)).collect();
    let message = read("#include \"f0\"", &deep).unwrap_err();
    assert!(message.contains("inclusions are nested more than 16 deep"), "{message}");
    // Each file includes the next one ten times.
    let many: Vec<(String, String)> = (0..10)
        .map(|n| (format!("f{n}"), format!("#include \"f{}\"\n", n + 1).repeat(10)))
        .chain([("f10".to_owned(), String::new())])
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (&**name, &**text)).collect();
    let message = read("#include \"f0\"", &many).unwrap_err();
    assert!(message.contains("more than 1000 files are included"), "{message}");
    let big = " ".repeat(6 << 20);
    let message = read("#include \"big\" \"big\"", &[("big", &big)]).unwrap_err();
    assert!(message.contains("the maximum is 10485760"), "{message}");
}
