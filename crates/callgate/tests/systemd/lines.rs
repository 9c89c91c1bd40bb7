//! The syntax of unit files.

use callgate_formats::systemd::UnitText;

use crate::systemd::support::{messages, messages_of, options, read};

#[test]
fn blanks_comments_and_continuations_change_nothing() {
    let plain = read("SystemCallFilter=~mount ptrace");
    for text in [
        "  SystemCallFilter = ~mount ptrace  ",
        "SystemCallFilter=~mount \\\n  ptrace",
        "# x\n; y\n\nSystemCallFilter=~mount\\\n# between\nptrace\n",
        "SystemCallFilter=~mount\tptrace\r\n",
        "\u{feff}SystemCallFilter=~mount ptrace",
        "SystemCallFilter=~mount\nSystemCallFilter=~ptrace",
    ] {
        assert_eq!(read(text).filters, plain.filters, "{text:?}");
    }
}

#[test]
fn positions_are_those_in_continuations() {
    assert_eq!(
        messages("SystemCallFilter=~mount \\\n  raed \\\r\n # x\r\n\u{20}ü opne"),
        [
            "2:3: unknown syscall \"raed\"; systemd ignores it; did you mean read?",
            "4:2: unknown syscall \"ü\"; systemd ignores it; check the name",
            "4:4: unknown syscall \"opne\"; systemd ignores it; did you mean open?",
        ]
    );
}

#[test]
fn lines_that_systemd_ignores_are_reported() {
    let of = |text: &str| messages_of(&[UnitText::unit(text)], &options());
    assert_eq!(
        of("SystemCallFilter=read\n[Service]\nRestrictRealtime\n"),
        [
            "1:1: SystemCallFilter is outside of a section; systemd ignores the line; write a header such as [Service] \
             before it",
            "3:1: missing = in \"RestrictRealtime\"; systemd ignores the line; write KEY=VALUE",
        ]
    );
    assert_eq!(
        of("[Unit]\nRestrictRealtime=yes\n"),
        [
            "2:1: RestrictRealtime has no effect in the section [Unit]; move it to the section [Service]"
        ]
    );
    assert_eq!(
        of("[service]\n"),
        ["1:1: unknown section [service]; systemd ignores it; did you mean [Service]?"]
    );
    assert_eq!(of("[Unit]\nDescription\nX=1\n[X-Own]\nnothing\n"), Vec::<String>::new());
    assert_eq!(
        of("[Service]\nWorkingDirectory=/\nnothing\n"),
        ["3:1: missing = in \"nothing\"; systemd ignores the line; write KEY=VALUE"]
    );
}
