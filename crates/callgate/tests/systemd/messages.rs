//! The exact text of messages about directives.

use callgate::{Arch, Verdict};
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::systemd::UnitText;
use callgate_testing::reader::expect_messages;

use crate::systemd::support::{
    messages, messages_of, messages_with, options, read, verdict, version,
};

/// Directives, and the last message about them.
const DIRECTIVES: &str = r#"
SystemCallFilter=@sytem-service
    1:18: unknown group "@sytem-service" in systemd 258; systemd ignores it; did you mean @system-service?
SystemCallFilter=swap
    1:18: unknown syscall "swap"; systemd ignores it; did you mean @swap?
SystemCallFilter=frobnicate_it
    1:18: unknown syscall "frobnicate_it"; systemd ignores it; check the name
SystemCallFilter=@nothing-like-it
    1:18: unknown group "@nothing-like-it" in systemd 258; systemd ignores it; `systemd-analyze syscall-filter` lists the groups
SystemCallFilter=read ~mount
    1:23: "~mount" is not a syscall: ~ negates a whole line and stands at its beginning; write SystemCallFilter=~mount on a line of its own
SystemCallFilter=mount:EPERM
    1:18: "mount:EPERM" has an errno, but this line does not begin with ~; systemd ignores the word; write SystemCallFilter=~mount:EPERM on a line of its own
SystemCallFilter=~mount:EPREM
    1:19: invalid errno "EPREM" in "mount:EPREM"; systemd ignores the word; expected a name such as EPERM, or a number up to 4095, or kill
SystemCallFilter=~:EPERM
    1:19: missing syscall in ":EPERM"; systemd ignores the word; write a syscall or a group before the colon
SystemCallFilter=~mount mount
    1:25: "mount" is repeated; remove the word
"SystemCallFilter=read\nSystemCallFilter=~mount"
    2:19: "mount" has no effect: it denies what the list does not allow anyway; remove the word, or put it after the line that adds its syscalls
"SystemCallFilter=~ptrace\nSystemCallFilter=ptrace"
    2:18: this line does not begin a list of its own: it removes syscalls from the list of line 1, which begins with ~; write an empty SystemCallFilter= before it to begin a new list
SystemCallFilter=~osf_utsname
    1:19: "osf_utsname" has no effect: no supported architecture has this syscall; remove it
SystemCallLog=mount:EPERM
    1:15: unknown syscall "mount:EPERM"; systemd ignores it; check the name
SystemCallErrorNumber=0
    1:23: invalid value of SystemCallErrorNumber: "0"; systemd ignores the line; 0 would report success; write an errno, or kill
SystemCallErrorNumber=EFOO
    1:23: invalid value of SystemCallErrorNumber: "EFOO"; systemd ignores the line; expected a name such as EPERM, or a number up to 4095, or kill
SystemCallArchitectures=aarch64
    1:25: unknown architecture "aarch64"; systemd ignores the word; did you mean arm64?
SystemCallArchitectures=native 'x86
    1:32: the quote is not closed; systemd ignores the rest of the line; words are separated by spaces
RestrictAddressFamilies=AF_INT
    1:25: unknown address family "AF_INT"; systemd ignores the word; did you mean AF_INET?
RestrictAddressFamilies=~AF_UNIX none
    1:34: unknown address family "none"; systemd ignores the word; write a name such as AF_INET, or none alone
RestrictNamespaces=user nte
    1:25: unknown namespace "nte"; systemd ignores the line; did you mean net?
RestrictRealtime=
    1:18: invalid boolean value of RestrictRealtime: ""; systemd ignores the line; write yes or no
"RestrictRealtime=yes\nRestrictRealtime=no"
    2:1: this line replaces the value of RestrictRealtime in line 1; remove one of the lines
Personality=x32
    1:13: invalid personality for systemd on x86_64: "x32"; systemd ignores the line; write the name of the native architecture, or of its 32-bit one
ProtectHostname=maybe
    1:17: invalid value of ProtectHostname: "maybe"; systemd ignores the line; write yes, no or private; after yes and private, a host name of at most 64 letters, digits, - and . may follow a colon
SystemcallFilter=read
    1:1: unknown key "SystemcallFilter"; systemd ignores the line; did you mean SystemCallFilter?
RestrictRealTime=yes
    1:1: unknown key "RestrictRealTime"; systemd ignores the line; did you mean RestrictRealtime?
RestrictSUDSGID=yes
    1:1: unknown key "RestrictSUDSGID"; systemd ignores the line; did you mean RestrictSUIDSGID?
ExecStart=@-+/bin/x x
    1:13: the command of ExecStart runs without filters, because its path has the prefix +; remove the + to apply the filters to it
"#;

/// A message for each line of directives.
#[test]
fn what_systemd_ignores_is_a_warning() {
    // Only the last message; some directives need an earlier line that has one, too.
    expect_messages(DIRECTIVES, |directives| messages(directives).pop().unwrap_or_default());
}

#[test]
fn other_keys_are_ignored_in_silence() {
    let keys = "ExecStart=/bin/x\nExecStartPre=-/bin/y\nProtectProc=invisible\nProtectHome=yes\nX-SystemCallFilters=x\n\
                ProtectSystem=strict\nRestrictFileSystems=ext4\nPrivateTmp=yes\nNoNewPrivileges=yes";
    assert_eq!(messages(keys), Vec::<String>::new());
}

#[test]
fn what_systemd_does_not_load_is_an_error() {
    assert_eq!(
        messages("DynamicUser=perhaps"),
        [
            "error: 1:13: invalid boolean value of DynamicUser: \"perhaps\"; systemd does not load such a unit; write yes or no"
        ]
    );
    assert_eq!(
        messages("[Service"),
        [
            "error: 1:1: invalid section header \"[Service\"; systemd does not read such a file; write a header such as \
          [Service]"
        ]
    );
    assert_eq!(
        messages("SystemCallFilter=read\0"),
        [
            "error: 1:22: the text contains a NUL byte; systemd reads it as the end of a line; remove it"
        ]
    );
}

#[test]
fn unknown_names_are_errors_if_reading_is_strict() {
    let mut strict = options();
    strict.strict = true;
    let found = messages_with("SystemCallFilter=raed @swpa ~read\nRestrictRealtime=x", &strict);
    let errors: Vec<bool> = found.iter().map(|message| message.starts_with("error: ")).collect();
    assert_eq!(errors, [true, true, true, false], "{found:?}");
}

/// Otherwise, a unit with one of these directives alone would seem to have a mistake.
#[test]
fn directives_that_install_no_filter_say_why() {
    let on = |systemd: u16, minor| {
        let mut options = version(systemd);
        options.kernel = KernelVersion { major: 6, minor };
        options
    };
    let messages = |directives: &str| messages_with(directives, &on(258, 18));
    assert_eq!(
        messages("MemoryDenyWriteExecute=yes"),
        [
            "1:1: MemoryDenyWriteExecute installs no filter: systemd 258 on Linux 6.18 denies such memory with prctl(PR_SET_MDWE) instead; Linux 6.2 and systemd 253 show the filter of older systems"
        ]
    );
    for older in [on(253, 18), on(258, 2)] {
        assert!(messages_with("MemoryDenyWriteExecute=yes", &older).is_empty());
    }
    assert!(messages("MemoryDenyWriteExecute=yes\nLockPersonality=yes").is_empty());
    let mut arm = options();
    arm.native = Arch::Riscv64;
    assert_eq!(
        messages_with("ProtectKernelTunables=yes", &arm),
        [
            "1:1: ProtectKernelTunables installs no filter: systemd on riscv64 has no rules for it; see the table in docs/reference/languages/systemd.md"
        ]
    );
}

#[test]
fn text_may_have_several_directives_in_a_line() {
    let unit = read("RestrictRealtime=yes LockPersonality=yes SystemCallFilter=~mount swapon");
    let directives: Vec<_> = unit.filters.iter().map(|filter| filter.directive.name()).collect();
    assert_eq!(directives.iter().filter(|name| **name == "LockPersonality").count(), 3);
    assert_eq!(verdict(&unit, "swapon", &[]), Verdict::KILL_PROCESS);
    assert_eq!(
        messages("LockPersonality=yes RestrictRealtime=yse"),
        [
            "1:38: invalid boolean value of RestrictRealtime: \"yse\"; systemd ignores the line; write yes or no"
        ]
    );
    let unit = UnitText::unit("[Service]\nRestrictRealtime=yes LockPersonality=yes");
    assert!(
        messages_of(&[unit], &options())[0].contains("invalid boolean value of RestrictRealtime")
    );
}

#[test]
fn host_names_are_checked() {
    for valid in ["yes:a", "private:a-b.c", "yes:%H-x_y"] {
        assert!(
            messages(&format!("ProtectHostname={valid}")).iter().all(|m| !m.contains("invalid"))
        );
    }
    for invalid in ["yes:", "yes:a..b", "private:-a", "yes:a_b", "no:a"] {
        assert!(
            messages(&format!("ProtectHostname={invalid}"))[0].contains("invalid value"),
            "{invalid}"
        );
    }
}
