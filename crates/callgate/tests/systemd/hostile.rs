//! Inputs that are made to be expensive or to confuse.

use std::time::Instant;

use callgate_formats::systemd::{self, UnitText};

use crate::systemd::support::{messages_of, options};

/// The largest number of messages about a text in any form.
fn count(text: &str) -> usize {
    let mut longest = 0;
    for form in [UnitText::unit, UnitText::directives, UnitText::filter] {
        longest = longest.max(messages_of(&[form(text)], &options()).len());
    }
    longest
}

#[test]
fn long_texts_have_a_limited_number_of_messages() {
    let repeated = |part: &str| part.repeat((1 << 17) / part.len());
    for part in [
        "\n",
        "\r\n",
        "[",
        "[Service]\n",
        "=",
        "=\n",
        "a=b\n",
        "\\\n",
        "# x\n",
        "\\",
        "SystemCallFilter=x\n",
        "SystemCallFilter=~read\n",
        "SystemCallFilter=\n",
        "SystemCallFilter=read\nSystemCallFilter=~read\n",
        "SystemCallFilter=@default\n",
        "RestrictAddressFamilies=AF_INTE ~\n",
        "RestrictNamespaces=usr\n",
        "SystemCalFilter=x\n",
        "ü",
        "'",
        "~",
        "~ ",
        "@ ",
        "~read:1 ",
        "~a\\\n",
        "x:",
        "SystemCallErrorNumber=99999\n",
        "SystemCallArchitectures=\"x86\" arm65\n",
        "[Service]\n[Socket]\n",
        "Personality=x\nDynamicUser=x\n",
    ] {
        assert!(count(&repeated(part)) <= 1003, "{part:?}");
    }
}

#[test]
fn a_line_has_at_most_a_mebibyte() {
    let long = format!("SystemCallFilter={}", "read ".repeat(1 << 18));
    assert_eq!(
        messages_of(&[UnitText::directives(&long)], &options()),
        [
            "error: 1:1: the line and its continuations have 1310737 bytes, the limit is 1048576; systemd does not read such a \
          file; use several lines"
        ]
    );
    let joined = "\\\n".repeat(1 << 20) + "x";
    assert!(
        messages_of(&[UnitText::directives(&joined)], &options())[0].contains("have 1048577 bytes")
    );
}

/// Every word begins a value, and every value is a piece of its own of one long line.
#[test]
fn time_grows_with_the_number_of_continued_values() {
    let time = |count: usize| {
        let text = "~a\\\n".repeat(count);
        let read = || {
            let start = Instant::now();
            let unit = systemd::read(&[UnitText::filter(&text)], &options()).unwrap();
            assert!(!unit.warnings.is_empty());
            start.elapsed()
        };
        (0..3).map(|_| read()).min().unwrap()
    };
    // Sixteen times the text would take 256 times as long if each value looked at all pieces.
    let (short, long) = (time(4_000), time(64_000));
    assert!(long < short * 64, "{short:?}, {long:?}");
}

#[test]
fn groups_expand_to_a_limited_number_of_syscalls() {
    let many = "SystemCallFilter=@known\nSystemCallFilter=\n".repeat(5000);
    let errors = systemd::read(&[UnitText::directives(&many)], &options()).unwrap_err();
    let message = &errors[0].diagnostic;
    assert_eq!(
        message.message,
        "the words expand to more than 2000000 syscalls, the limit, from here on"
    );
    assert_eq!(errors.len(), 1);
}

#[test]
fn many_files_are_read() {
    let texts = vec![UnitText::unit("[Service]\nSystemCallFilter=~raed mount\n"); 1000];
    let unit = systemd::read(&texts, &options()).unwrap();
    assert_eq!(unit.filters.len(), 3);
    assert_eq!(unit.warnings.last().unwrap().file, 999);
}
