//! What configurations mean, and messages about them.

use super::read;
use crate::kafel::{Included, ReadOptions};
use crate::languages::{LanguageId, detect};
use crate::profile::Profile;
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_core::{Arch, SeccompData, Verdict};

fn of(text: &str) -> Result<Profile, Diagnostics> {
    let options = ReadOptions { statements: true, ..ReadOptions::new(Arch::X86_64) };
    read(text, &options, &mut |name, from| match (name, from) {
        ("jail.kafel", None) => Ok(Included {
            name: "jail.kafel".to_owned(),
            identity: "1".to_owned(),
            text: "ALLOW { wriet } DEFAULT KILL\n".to_owned(),
            is_private: false,
        }),
        ("good.kafel", None) => Ok(Included {
            name: "good.kafel".to_owned(),
            identity: "2".to_owned(),
            text: "ALLOW { read } DEFAULT ERRNO(1)".to_owned(),
            is_private: false,
        }),
        _ => Err("no such file".to_owned()),
    })
}

fn verdict(profile: &Profile, nr: u32) -> Verdict {
    let data = SeccompData { nr, arch: Arch::X86_64.token(), ..SeccompData::default() };
    profile.policy.evaluate(&data)
}

fn errors(text: &str) -> String {
    of(text).map_or_else(|errors| errors.to_string(), |_| "no error".to_owned())
}

/// The beginning of a configuration as nsjail's examples have it.
const HEAD: &str = r#"
name: "x" # a comment with a "quote
description: "Two "
             'strings.'
mode: ONCE;
rlimit_as_type: INF, time_limit: 20
uidmap { inside_id: "1000" outside_id: '' count: 1 }
mount < src: "/" dst: "/" nested { a: [1, 2.5e-3, "}" ] } >
mount: { dst: "seccomp_string: \"DEFAULT ALLOW\"" seccomp_string: "DEFAULT ALLOW" }
envar: ["A=\"B\"", "C"]
pass_fd: -1
"#;

#[test]
fn the_lines_are_one_policy() {
    let text = format!(
        "{HEAD}seccomp_string: \"ALLOW {{\"\nseccomp_string: \"  read,\" ' write'\nseccomp_string: \"}}\"\nseccomp_string: \"DEFAULT ERRNO(1)\"\n"
    );
    let profile = of(&text).unwrap();
    assert_eq!(
        [0, 1, 2].map(|nr| verdict(&profile, nr)),
        [Verdict::ALLOW, Verdict::ALLOW, Verdict::errno(1)]
    );
    assert!(profile.flags.is_empty());
    let list = of("seccomp_string: [\"ALLOW { read }\", 'DEFAULT KILL']").unwrap();
    assert_eq!(verdict(&list, 0), Verdict::ALLOW);
    // A line of one value does not continue in that of the next one.
    assert!(errors("seccomp_string: \"DEFAULT KI\"\nseccomp_string: \"LL\"").contains("KI"));
}

#[test]
fn escapes_and_line_breaks_are_read() {
    for policy in [
        r#""ALLOW\t{ re\x61d }\nDEFAULT\040KILL""#,
        r#"'ALLOW { r\u0065ad }' "\n" "DEFAULT KILL""#,
        "\"ALLOW { read }\n// \\\"\nDEFAULT KILL\"",
    ] {
        let profile = of(&format!("seccomp_string: {policy}")).unwrap();
        assert_eq!([0, 1].map(|nr| verdict(&profile, nr)), [Verdict::ALLOW, Verdict::KILL_THREAD]);
    }
}

#[test]
fn a_policy_may_be_a_file() {
    let profile = of("seccomp_policy_file: \"good.kafel\" seccomp_log: true").unwrap();
    assert_eq!([0, 1].map(|nr| verdict(&profile, nr)), [Verdict::ALLOW, Verdict::errno(1)]);
    assert_eq!(profile.flags, FilterFlags::LOG | FilterFlags::TSYNC);
    assert_eq!(
        errors("\nseccomp_policy_file: \"jail.kafel\""),
        "2:22: in jail.kafel:1:9: unknown syscall `wriet`\n  help: did you mean `write`?"
    );
    assert!(errors("seccomp_policy_file: \"none\"").contains("no such file"));
}

#[test]
fn positions_are_those_in_the_configuration() {
    assert_eq!(
        errors(
            "mode: ONCE\nseccomp_string: \"ALLOW {\"\nseccomp_string: \"\\tread, wriet\"\nseccomp_string: \"} DEFAULT KILL\""
        ),
        "3:26: unknown syscall `wriet`\n  help: did you mean `write`?"
    );
    let profile = of("seccomp_string: \"ALLOW {\"\n  seccomp_string: '  read }'").unwrap();
    let rule = &profile.statements.unwrap().rules[0];
    assert_eq!((rule.site.position.line, rule.site.position.column), (2, 22));
}

#[test]
fn what_is_no_filter_is_an_error() {
    for (text, error) in [
        ("mode: ONCE", "1:1: the configuration has no filter, so all syscalls are allowed"),
        (
            "seccomp_policy_file: ''",
            "1:1: the configuration has no filter, so all syscalls are allowed",
        ),
        (
            "seccomp_policy_file: 'a'\nseccomp_string: 'DEFAULT KILL'",
            "1:22: nsjail refuses `seccomp_policy_file` and `seccomp_string` together",
        ),
        (
            "seccomp_policy_file: 'a'\nseccomp_policy_file: 'b'",
            "2:22: `seccomp_policy_file` is given twice",
        ),
        ("seccomp_string: 1", "1:17: `seccomp_string` is a string"),
        ("seccomp_log: maybe", "1:14: `seccomp_log` is true or false"),
        ("seccomp_string \"x\"", "1:1: expected `:` after `seccomp_string`"),
        ("mount { a: 1", "1:7: the message does not end"),
        ("mount { a: 1 >", "1:14: expected `}`, but found '>'"),
        ("name: \"x", "1:7: the string does not end"),
        ("name: \"\\q\"", "1:8: unknown escape in a string"),
        ("}", "1:1: expected the name of a field, but found '}'"),
        ("name:", "1:6: expected a value, but the text ends"),
    ] {
        let found = errors(text);
        assert!(found.starts_with(error), "{text}: {found}");
    }
    let warned = of("seccomp_string: 'DEFAULT KILL'\nseccomp_unotify: true").unwrap();
    assert!(warned.warnings[1].message.contains("another filter"), "{:?}", warned.warnings);
}

#[test]
fn deep_messages_need_no_stack() {
    let depth = 200_000;
    let text = format!(
        "mount {}{}seccomp_string: 'DEFAULT KILL'",
        "{ a ".repeat(depth),
        "}".repeat(depth)
    );
    assert!(of(&text).is_ok());
}

#[test]
fn configurations_are_detected() {
    let name = |extension, text: &str| {
        detect(extension, text.as_bytes()).map(|(id, _)| LanguageId::name(id))
    };
    let text = "name: \"x\"\nseccomp_string: \"ALLOW {\"\n";
    assert_eq!(name(None, text), Some("nsjail"));
    assert_eq!(name(Some("cfg"), "mode: ONCE\nmount <\n"), Some("nsjail"));
    assert_eq!(name(Some("cfg"), "2\ndenylist\n"), Some("lxc"));
    assert_eq!(name(Some("cfg"), "a: b\n"), None);
}
