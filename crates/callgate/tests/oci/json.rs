//! JSON that programs read differently: a test for each row of the table in `lab/results/documents.md`.
//!
//! The behaviour of runc 1.1.5 (Go 1.19), crun 1.8.1 (yajl 2.1.0), podman 4.3.1 and moby's profiles/seccomp 0.2.3 was
//! measured in containers, with one text for each row.

use callgate_formats::oci::{self, Dialect, ReadOptions};

use crate::oci::support::{READERS, entry, lines, options, syscall, text};

const GO: [Dialect; 3] = [Dialect::Docker, Dialect::Podman, Dialect::Runc];

fn of(dialect: Option<Dialect>) -> ReadOptions {
    ReadOptions { dialect, ..options(Dialect::Oci) }
}

/// The messages of a dialect, which refuses a text.
fn refused(text: &str, dialect: Option<Dialect>) -> String {
    lines(&oci::read(text, &of(dialect)).expect_err(text))
}

/// Asserts that every dialect rejects a text with a message that contains this.
fn rejected(text: &str, expected: &str) {
    for dialect in READERS {
        let messages = refused(text, dialect);
        assert!(messages.contains(expected), "{dialect:?} {text}\n{messages}");
    }
}

/// Asserts that a text allows `dup` in every dialect, without a message.
fn accepted(text: &str) {
    for dialect in READERS {
        let profile =
            oci::read(text, &of(dialect)).unwrap_or_else(|m| panic!("{text} {}", lines(&m)));
        assert_eq!(syscall(&profile, "dup", &[7]), "ALLOW", "{dialect:?} {text}");
        assert_eq!(lines(&profile.warnings), "", "{dialect:?} {text}");
    }
}

/// A profile whose only entry allows `dup` if its first argument has this value.
fn with_value(value: &str) -> String {
    let arg = format!("\"args\": [{{\"index\": 0, \"op\": \"SCMP_CMP_EQ\", \"value\": {value}}}]");
    text(&entry("dup", "ALLOW", &arg))
}

fn profile() -> String {
    text(&entry("dup", "ALLOW", ""))
}

/// Go reads them as the key; crun and Kubernetes do not.
#[test]
fn keys_that_fold_to_a_known_one() {
    for (key, given, spelled) in [
        ("names", "Names", "Names"),
        ("names", "NAMES", "NAMES"),
        ("names", "name\u{17f}", "name\\u017f"),
        ("names", "name\\u017f", "name\\u017f"),
        ("syscalls", "\u{17f}y\u{17f}call\u{17f}", "\\u017fy\\u017fcall\\u017f"),
        ("defaultAction", "defaultaction", "defaultaction"),
    ] {
        let text = profile().replacen(key, given, 1);
        for dialect in GO {
            let profile = oci::read(&text, &of(Some(dialect))).unwrap();
            assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
            let expected =
                format!("`{spelled}` is read as `{key}`: Go's JSON decoder ignores case");
            assert!(lines(&profile.warnings).contains(&expected), "{}", lines(&profile.warnings));
        }
        for dialect in [None, Some(Dialect::Oci)] {
            let messages = refused(&text, dialect);
            let expected = format!(
                "programs in Go (Docker, Podman, runc) read `{spelled}` as `{key}`, but \
                         crun and Kubernetes do not"
            );
            assert!(messages.contains(&expected), "{messages}");
        }
        let messages = lines(
            &oci::read(&text, &of(Some(Dialect::Crun)))
                .map_or_else(|m| m.into_vec(), |p| p.warnings),
        );
        let expected = format!("unknown key `{spelled}` in ");
        assert!(messages.contains(&expected), "{messages}");
        let expected = format!(
            "it is ignored (did you mean `{key}`? Programs in Go (Docker, Podman, runc) read it \
             as `{key}`)"
        );
        assert!(messages.contains(&expected), "{messages}");
    }
}

#[test]
fn the_kelvin_sign_folds_to_k() {
    let gated = "\"includes\": {\"min\u{212a}ernel\": \"99.0\"}";
    let text = text(&format!("{}, {}", entry("dup", "ALLOW", gated), entry("close", "ALLOW", "")));
    let profile = oci::read(&text, &of(Some(Dialect::Docker))).unwrap();
    assert_eq!(syscall(&profile, "dup", &[]), "ERRNO(EPERM)");
    assert!(refused(&text, None).contains("read `min\\u212aernel` as `minKernel`"));
}

/// No program folds these to the key.
#[test]
fn keys_that_only_look_alike() {
    for key in ["name\u{455}", "n\u{e4}mes", "names ", "name\u{df}"] {
        let text = profile().replacen("names", key, 1);
        for dialect in READERS {
            let messages = refused(&text, dialect);
            assert!(messages.contains("missing `names` in an entry of `syscalls`"), "{messages}");
        }
    }
}

/// Go also folds the keys on the path to the profile.
#[test]
fn keys_on_the_path_to_the_profile() {
    for (linux, seccomp) in
        [("LINUX", "seccomp"), ("linux", "\u{17f}eccomp"), ("linux", "\\u017fECCOMP")]
    {
        let text =
            format!("{{\"ociVersion\": \"1\", \"{linux}\": {{\"{seccomp}\": {}}}}}", profile());
        let runc = oci::read(&text, &of(Some(Dialect::Runc))).unwrap();
        assert_eq!(syscall(&runc, "dup", &[]), "ALLOW");
        let crun = refused(&text, Some(Dialect::Crun));
        assert!(crun.contains("missing `linux.seccomp` in this OCI configuration"), "{crun}");
        for dialect in [None, Some(Dialect::Oci)] {
            let messages = refused(&text, dialect);
            assert!(messages.contains("programs in Go (Docker, Podman, runc) read"), "{messages}");
        }
    }
    // A resource is read by Kubernetes' decoder, which does not fold keys.
    let text = format!(
        "{{\"kind\": \"SeccompProfile\", \"spec\": {}}}",
        profile().replacen("names", "Names", 1)
    );
    for dialect in [None, Some(Dialect::Runc), Some(Dialect::Crun), Some(Dialect::Oci)] {
        let messages = refused(&text, dialect);
        assert!(messages.contains("but crun and Kubernetes do not"), "{messages}");
    }
}

/// Go takes the last one, merged into the first; crun takes the first one.
#[test]
fn repeated_keys() {
    let again = |member: &str| profile().replacen('{', &format!("{{{member}, "), 1);
    rejected(&again("\"syscalls\": []"), "`syscalls` is given twice, first at 1:2");
    rejected(&again("\"syscalls\": null"), "`syscalls` is given twice, first at 1:2");
    rejected(&again("\"x\": 1, \"x\": 1"), "`x` is given twice");
    let args = |args: &str| text(&entry("dup", "ALLOW", args));
    rejected(&args("\"args\": [], \"args\": []"), "`args` is given twice");
    rejected(&args("\"args\": [{\"index\": 0, \"index\": 1}]"), "`index` is given twice");
    let section = format!("\"seccomp\": {}", profile());
    let linux = format!("\"linux\": {{{section}}}");
    for text in
        [format!("{{{linux}, {linux}}}"), format!("{{\"linux\": {{{section}, {section}}}}}")]
    {
        for dialect in [None, Some(Dialect::Oci), Some(Dialect::Runc), Some(Dialect::Crun)] {
            let messages = refused(&text, dialect);
            assert!(messages.contains("is given twice, first at 1:"), "{messages}");
        }
    }
}

/// Go reads both as the same key and takes the last; crun ignores one of them.
#[test]
fn repeated_keys_in_different_case() {
    let text = text(&entry("dup", "ALLOW", "\"Names\": [\"dup2\"]"));
    for dialect in GO {
        let messages = refused(&text, Some(dialect));
        assert!(messages.contains("`Names` is given twice, first at 1:51"), "{messages}");
    }
    for dialect in [None, Some(Dialect::Oci)] {
        assert!(refused(&text, dialect).contains("programs in Go (Docker, Podman, runc) read"));
    }
    let crun = oci::read(&text, &of(Some(Dialect::Crun))).unwrap();
    assert_eq!(
        (syscall(&crun, "dup", &[]), syscall(&crun, "dup2", &[])),
        ("ALLOW".into(), "ERRNO(EPERM)".into())
    );
    assert!(lines(&crun.warnings).contains(
        "unknown key `Names` in an entry of `syscalls`; it is \
                                            ignored"
    ));
    // The same on the path to the profile.
    let text = format!("{{\"linux\": {{\"seccomp\": {0}, \"Seccomp\": {0}}}}}", profile());
    let messages = refused(&text, Some(Dialect::Runc));
    assert!(messages.contains("`Seccomp` is given twice, first at 1:12"), "{messages}");
    let crun = oci::read(&text, &of(Some(Dialect::Crun))).unwrap();
    assert!(lines(&crun.warnings).contains("`Seccomp` is ignored: the profile is read from"));
}

#[test]
fn escapes_in_keys() {
    accepted(
        &profile().replace("names", "n\\u0061me\\u0073").replace("syscalls", "\\u0073yscalls"),
    );
}

/// Go keeps its zero value; for crun the key is absent.
#[test]
fn null_counts_as_absent() {
    accepted(&text(&entry("dup", "ALLOW", "\"args\": null, \"errnoRet\": null")));
    rejected(&profile().replace("[\"dup\"]", "null"), "missing `names` in an entry of `syscalls`");
    rejected(
        &profile().replace("\"SCMP_ACT_ALLOW\"", "null"),
        "missing `action` in an entry of \
                                                               `syscalls`",
    );
    rejected(
        &profile().replace("\"SCMP_ACT_ERRNO\"", "null"),
        "missing `defaultAction` in the \
                                                               profile",
    );
}

/// Go: an empty string, an empty struct or a crash. crun: an empty string or an error.
#[test]
fn null_in_a_list() {
    rejected(&profile().replace("\"dup\"", "\"dup\", null"), "must be a string, but is null");
    rejected(
        &text(&format!("null, {}", entry("dup", "ALLOW", ""))),
        "must be an object, but is null",
    );
    rejected(&text(&entry("dup", "ALLOW", "\"args\": [null]")), "must be an object, but is null");
}

/// Both read 0, so a forgotten value would compare with 0.
#[test]
fn numbers_that_are_absent_or_null() {
    rejected(&with_value("null"), "missing `value` in an item of `args`");
    rejected(
        &with_value("1").replace("\"index\": 0, ", ""),
        "missing `index` in an item of `args`",
    );
}

/// Go rejects all; crun converts with `strtoull`: -1 is 2^64-1 and -0 is 0.
#[test]
fn numbers_that_are_not_unsigned_integers() {
    for value in [
        "7.0",
        "0.7e1",
        "7e0",
        "7E+0",
        "-0",
        "-0.0",
        "-1",
        "-18446744073709551609",
        "18446744073709551616",
    ] {
        rejected(
            &with_value(value),
            &format!("`value` is {value}, but must be an integer from 0 to"),
        );
    }
    rejected(&with_value(&"9".repeat(300)), "`value` is 9999");
    // Kubernetes' decoder refuses such a number wherever it is.
    for infinite in [&"9".repeat(100_000), "1e400", "-1E309"] {
        rejected(&with_value(infinite), "the number is too large for a floating-point number");
    }
    rejected(&with_value("\"7\""), "`value` must be an integer, but is the string \"7\"");
    accepted(&with_value("7"));
    for value in ["77.0", "-1"] {
        rejected(
            &text(&entry("dup", "ERRNO", &format!("\"errnoRet\": {value}"))),
            "must be an integer",
        );
    }
    rejected(
        &text(&entry("dup", "ERRNO", "\"errnoRet\": \"77\"")),
        "`errnoRet` must be an integer",
    );
}

#[test]
fn numbers_that_are_not_json() {
    for value in ["07", "+7", "0x7", ".7", "7.", "7e", "-", "NaN", "Infinity", "1_0"] {
        rejected(&with_value(value), "Error 1:");
    }
}

#[test]
fn every_digit_of_a_number_is_kept() {
    for value in [u64::MAX, u64::MAX - 1, (1 << 53) + 1] {
        let text = with_value(&value.to_string());
        let profile = oci::read(&text, &of(Some(Dialect::Runc))).unwrap();
        assert_eq!(syscall(&profile, "dup", &[value]), "ALLOW");
        assert_eq!(syscall(&profile, "dup", &[value - 1]), "ERRNO(EPERM)");
    }
}

/// For crun such a value is absent; for Go it is an error.
#[test]
fn values_of_another_type() {
    rejected(&profile().replace("[\"dup\"]", "\"dup\""), "`names` must be a list");
    rejected(&profile().replace("\"dup\"", "5"), "must be a string, but is the number 5");
    rejected(&text(&entry("dup", "ALLOW", "\"args\": {}")), "`args` must be a list");
}

/// C ends a string there: crun reads the key as `names`, and libseccomp reads the name as `dup`.
#[test]
fn nul_in_strings() {
    let expected = "the string contains the character U+0000";
    rejected(&profile().replace("names", "names\\u0000x"), expected);
    rejected(&profile().replace("\"dup\"", "\"dup\\u0000x\""), expected);
    rejected(&format!("---\n{}", profile().replace("\"dup\"", "\"dup\\0x\"")), expected);
    rejected(&profile().replace("\"dup\"", "\"dup\0x\""), "control character U+0000");
    // crun passes a C string to yajl, which ends at the first such byte of the file.
    rejected(&format!("{}\0{{", profile()), "Error 1:");
}

/// Go: U+FFFD. yajl: a question mark, or bytes that are not UTF-8.
#[test]
fn lone_surrogates() {
    for surrogate in ["\\ud800", "\\udc00", "\\ud800x", "\\ud800\\ud800", "\\udc00\\ud800"] {
        let text = text(&entry("dup", "ALLOW", &format!("\"comment\": \"{surrogate}\"")));
        rejected(&text, "invalid JSON: the escape is half of a surrogate pair");
    }
    accepted(&text(&entry("dup", "ALLOW", "\"comment\": \"\\ud83d\\ude00 \u{1f600}\"")));
}

#[test]
fn control_characters_in_strings() {
    for byte in ["\u{1}", "\t", "\n", "\u{1f}"] {
        let text = text(&entry("dup", "ALLOW", &format!("\"comment\": \"{byte}\"")));
        rejected(&text, "the string contains the control character U+00");
    }
    accepted(&text(&entry("dup", "ALLOW", "\"comment\": \"\\u0001\\t\u{7f}\"")));
}

/// yajl accepts vertical tabs and form feeds, Go none of these.
#[test]
fn white_space_that_json_does_not_have() {
    for space in ["\u{b}", "\u{c}", "\u{85}", "\u{a0}", "\u{2028}", "\u{3000}"] {
        rejected(&profile().replacen(": ", &format!(":{space}"), 1), "is not white space in JSON");
    }
    accepted(&profile().replace(' ', "\r\n\t "));
}

#[test]
fn a_byte_order_mark() {
    rejected(&format!("\u{feff}{}", profile()), "starts with a byte order mark");
}

/// yajl accepts comments.
#[test]
fn comments_and_trailing_commas() {
    rejected(&format!("/* x */ {}", profile()), "comments are not allowed in JSON");
    rejected(&profile().replacen('{', "{// x\n", 1), "comments are not allowed in JSON");
    rejected(&profile().replace("\"]", "\",]"), "trailing comma");
}

/// runc reads the first value and stops there; the others reject the text.
#[test]
fn text_after_the_document() {
    for rest in ["{}", " x", "\n{\"linux\": {}}", " null"] {
        rejected(&format!("{}{rest}", profile()), "there is more text after the document");
    }
}

/// Go: 10,000 levels. yajl: no limit.
#[test]
fn nesting() {
    let nested = |depth: usize| {
        let deep = format!("\"x\": {}{}", "[".repeat(depth), "]".repeat(depth));
        format!("{{\"linux\": {{\"seccomp\": {}}}, {deep}}}", profile())
    };
    assert!(oci::read(&nested(500), &of(Some(Dialect::Runc))).is_ok());
    for depth in [600, 20_000] {
        let messages = refused(&nested(depth), Some(Dialect::Runc));
        assert!(messages.contains("deeper than the limit of 512 levels"), "{messages}");
    }
}

#[test]
fn an_empty_key_is_an_unknown_key() {
    let text = profile().replacen('{', "{\"\": 1, ", 1);
    for dialect in READERS {
        let profile = oci::read(&text, &of(dialect)).unwrap();
        assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
        assert!(lines(&profile.warnings).contains(
            "1:2: unknown key `` in a profile; it is \
                                                   ignored"
        ));
    }
}

/// YAML is read as the JSON with the same tree.
#[test]
fn yaml_is_read_as_its_json() {
    let yaml =
        "defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n- Names: [dup]\n  action: SCMP_ACT_ALLOW\n";
    for dialect in GO {
        let profile = oci::read(yaml, &of(Some(dialect))).unwrap();
        assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
    }
    assert!(refused(yaml, None).contains(
        "3:3: programs in Go \
                                                                      (Docker, Podman, runc) \
                                                                      read `Names` as `names`"
    ));
    let twice = yaml.replace("  action", "  names: [dup2]\n  action");
    let messages = refused(&twice, Some(Dialect::Runc));
    assert!(messages.contains("4:3: `names` is given twice, first at 3:3"), "{messages}");
}

/// Docker refuses the whole profile, Podman too for the comment; runc and crun do not read these keys.
#[test]
fn types_that_only_docker_checks() {
    for comment in ["5", "[]", "{}", "true"] {
        let text = text(&entry("dup", "ALLOW", &format!("\"comment\": {comment}")));
        for dialect in READERS {
            let is_typed = matches!(dialect, Some(Dialect::Docker | Dialect::Podman));
            match oci::read(&text, &of(dialect)) {
                Ok(_) => assert!(!is_typed, "{dialect:?} {comment}"),
                Err(messages) => {
                    let messages = lines(&messages);
                    assert!(
                        is_typed && messages.contains("`comment` must be a string"),
                        "{messages}"
                    );
                }
            }
        }
    }
    for (version, is_valid) in [
        ("4.8", true),
        ("0.1", true),
        ("255.255", true),
        ("4.256", false),
        ("256.1", false),
        ("65540.0", false),
        ("0.0", false),
        ("4.8.1", false),
        ("+4.8", false),
        ("4.", false),
        ("", false),
    ] {
        let gate = format!("\"includes\": {{\"minKernel\": \"{version}\"}}");
        let result = oci::read(&text(&entry("dup", "ALLOW", &gate)), &of(Some(Dialect::Docker)));
        assert_eq!(result.is_ok(), is_valid, "{version}");
    }
}

/// Also where `architectures` decides, and where nothing reads the value.
#[test]
fn types_of_members_that_have_no_effect() {
    let arches = "{\"architectures\": [\"SCMP_ARCH_X86_64\"], \"archMap\": {}, ";
    let text = profile().replacen('{', arches, 1);
    for dialect in [None, Some(Dialect::Docker), Some(Dialect::Podman)] {
        let messages = refused(&text, dialect);
        assert!(messages.contains("`archMap` must be a list, but is an object"), "{messages}");
    }
    let linux = format!("{{\"ociVersion\": 1.0, \"linux\": {{\"seccomp\": {}}}}}", profile());
    for dialect in [None, Some(Dialect::Oci), Some(Dialect::Runc), Some(Dialect::Crun)] {
        let messages = refused(&linux, dialect);
        assert!(
            messages.contains("`ociVersion` must be a string, but is the number 1.0"),
            "{messages}"
        );
    }
}

#[test]
fn kubernetes_has_no_larger_integers() {
    let resource =
        |value: &str| format!("{{\"kind\": \"SeccompProfile\", \"spec\": {}}}", with_value(value));
    for dialect in
        READERS.into_iter().filter(|one| !matches!(one, Some(Dialect::Docker | Dialect::Podman)))
    {
        assert!(oci::read(&resource("9223372036854775807"), &of(dialect)).is_ok());
        let messages =
            lines(&oci::read(&resource("9223372036854775808"), &of(dialect)).unwrap_err());
        let expected =
            "`value` is 9223372036854775808, but must be an integer from 0 to 9223372036854775807";
        assert!(messages.contains(expected), "{messages}");
    }
}
