//! Units with drop-ins.

use callgate::Verdict;
use callgate_formats::systemd::{self, ExecSection, UnitText};

use crate::systemd::support::{EPERM, assert_verdicts, messages_of, options, shown};

#[test]
fn drop_ins_change_the_unit_in_order() {
    let texts = [
        "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/x\nSystemCallFilter=@system-service\nRestrictRealtime=yes\n",
        "[Service]\nSystemCallFilter=~@chown\nRestrictRealtime=no\n",
        "[Service]\nSystemCallErrorNumber=EPERM\nSystemCallFilter=lchown\n",
    ]
    .map(UnitText::unit);
    let unit = systemd::read(&texts, &options()).unwrap();
    assert_eq!(shown(&unit.warnings), Vec::<String>::new());
    assert_verdicts(
        &unit,
        &[("read", Verdict::ALLOW), ("chown", EPERM), ("lchown", Verdict::ALLOW)],
    );
    assert_eq!(unit.filters.len(), 3, "RestrictRealtime is off");
    let reversed = systemd::read(&[texts[0], texts[2], texts[1]], &options()).unwrap();
    assert_verdicts(&reversed, &[("lchown", EPERM)]);
}

#[test]
fn messages_name_the_file() {
    let texts = ["[Service]\nSystemCallFilter=raed\n", "\n[Service]\nRestrictRealtime=maybe\n"]
        .map(UnitText::unit);
    assert_eq!(
        messages_of(&texts, &options()),
        [
            "2:18: unknown syscall \"raed\"; systemd ignores it; did you mean read?",
            "1:3:18: invalid boolean value of RestrictRealtime: \"maybe\"; systemd ignores the line; write yes or no"
        ]
    );
    let errors = systemd::read(&[texts[0], UnitText::unit("[Service")], &options()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "warning: file 1:2:18: unknown syscall \"raed\"; systemd ignores it\n  help: did you mean read?\n\
         file 2:1:1: invalid section header \"[Service\"\n  help: systemd does not read such a file; write a header such as \
         [Service]"
    );
}

#[test]
fn the_section_is_that_of_the_unit() {
    let text = "[Service]\nProtectClock=yes\n[Socket]\nProtectKernelLogs=yes\n";
    let unit = systemd::read(&[UnitText::unit(text)], &options()).unwrap();
    assert_eq!(unit.filters[0].directive.name(), "ProtectClock");
    assert_eq!(unit.filters.len(), 3);
    assert_eq!(
        shown(&unit.warnings),
        [
            "3:1: the section [Socket] is ignored in a unit with [Service]; a unit has one section that describes its \
             processes",
            "4:1: ProtectKernelLogs has no effect in the section [Socket]; move it to the section [Service]",
        ]
    );
    let mut options = options();
    options.section = Some(ExecSection::Socket);
    let unit = systemd::read(&[UnitText::unit(text)], &options).unwrap();
    assert_eq!(unit.filters[0].directive.name(), "ProtectKernelLogs");
}
