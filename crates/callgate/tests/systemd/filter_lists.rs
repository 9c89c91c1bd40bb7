//! `SystemCallFilter=`, `SystemCallErrorNumber=` and `SystemCallLog=`.

use callgate::{Arch, Verdict};
use callgate_formats::systemd::{self, UnitText};
use callgate_testing::reader::numbered;

use crate::systemd::support::{
    ENOSYS, EPERM, assert_verdicts, call, messages_with, options, read, read_with, verdict, version,
};

const ALLOW: Verdict = Verdict::ALLOW;
const KILL: Verdict = Verdict::KILL_PROCESS;

#[test]
fn an_allow_list_contains_the_default_group() {
    let unit = read("SystemCallFilter=mount");
    assert_verdicts(
        &unit,
        &[
            ("mount", ALLOW),
            ("getpid", ALLOW),
            ("execve", ALLOW),
            ("umount2", KILL),
            ("read", KILL),
        ],
    );
    let unknown = numbered(Arch::X86_64, 900, &[]);
    assert_eq!(unit.evaluate(&unknown), ENOSYS, "systemd does not know the number");
}

#[test]
fn the_first_value_decides_what_the_list_means() {
    let allowed =
        read("SystemCallFilter=@basic-io\nSystemCallFilter=~lseek\nSystemCallFilter=mount");
    assert_verdicts(
        &allowed,
        &[("read", ALLOW), ("lseek", KILL), ("mount", ALLOW), ("ptrace", KILL)],
    );
    let denied = read_with(
        "SystemCallFilter=~@basic-io\nSystemCallFilter=lseek\nSystemCallFilter=~mount",
        &options(),
    );
    assert_verdicts(
        &denied,
        &[("read", KILL), ("lseek", ALLOW), ("mount", KILL), ("ptrace", ALLOW)],
    );
}

#[test]
fn an_empty_value_begins_a_new_list() {
    let unit = read("SystemCallFilter=mount\nSystemCallFilter=\nSystemCallFilter=~ptrace");
    assert_verdicts(&unit, &[("mount", ALLOW), ("ptrace", KILL), ("read", ALLOW)]);
    assert!(read("SystemCallFilter=mount\nSystemCallFilter=").filters.is_empty());
}

#[test]
fn the_error_number_replaces_the_end_of_the_process() {
    for (value, expected) in
        [("EPERM", EPERM), ("1", EPERM), ("0x26", ENOSYS), ("kill", KILL), ("", KILL)]
    {
        let unit = read(&format!("SystemCallFilter=mount\nSystemCallErrorNumber={value}"));
        assert_eq!(verdict(&unit, "ptrace", &[]), expected, "{value}");
        let unit = read(&format!("SystemCallErrorNumber={value}\nSystemCallFilter=~ptrace"));
        assert_verdicts(&unit, &[("ptrace", expected), ("mount", ALLOW)]);
    }
}

#[test]
fn a_denied_syscall_can_have_an_errno_of_its_own() {
    let unit = read("SystemCallFilter=~ptrace:EBADF @swap:kill mount\nSystemCallErrorNumber=EPERM");
    assert_verdicts(
        &unit,
        &[("ptrace", Verdict::errno(9)), ("swapon", KILL), ("mount", EPERM), ("read", ALLOW)],
    );
    let unit = read(
        "SystemCallFilter=@system-service\nSystemCallFilter=~@chown:EACCES ptrace:0 sync:kill",
    );
    assert_verdicts(
        &unit,
        &[
            ("chown", Verdict::errno(13)),
            ("ptrace", Verdict::errno(0)),
            ("sync", KILL),
            ("mount", KILL),
            ("read", ALLOW),
        ],
    );
}

#[test]
fn a_later_value_replaces_the_errno() {
    let unit = read(
        "SystemCallFilter=@system-service\nSystemCallFilter=~chown:EACCES\nSystemCallFilter=chown",
    );
    assert_eq!(verdict(&unit, "chown", &[]), ALLOW);
    let unit = read(
        "SystemCallFilter=@system-service\nSystemCallFilter=~chown:EACCES\nSystemCallFilter=~chown",
    );
    assert_eq!(verdict(&unit, "chown", &[]), KILL);
}

#[test]
fn groups_contain_groups() {
    let unit = read("SystemCallFilter=@system-service");
    assert_verdicts(
        &unit,
        &[("io_setup", ALLOW), ("setuid", ALLOW), ("kexec_load", KILL), ("mount", KILL)],
    );
    let unit = read("SystemCallFilter=~@privileged");
    assert_verdicts(&unit, &[("chown", KILL), ("init_module", KILL), ("read", ALLOW)]);
}

#[test]
fn a_call_through_socketcall_is_denied_unless_it_is_listed() {
    // x86_64 has no socketcall, so it is not among the known syscalls and gets ENOSYS like an unknown one, but not the
    // calls through it that are listed.
    let unit = read("SystemCallFilter=@network-io\nSystemCallFilter=~socketcall");
    let socketcall = |number| unit.evaluate(&call(Arch::X86, "socketcall", &[number]));
    assert_eq!((socketcall(1), socketcall(2)), (ALLOW, ALLOW));
    assert_eq!(socketcall(99), ENOSYS);
    let unit = read("SystemCallFilter=~bind");
    assert_eq!(unit.evaluate(&call(Arch::X86, "socketcall", &[2])), KILL);
    assert_eq!(unit.evaluate(&call(Arch::X86, "socketcall", &[1])), ALLOW);
    assert_eq!(unit.evaluate(&call(Arch::X86, "bind", &[])), KILL);
}

#[test]
fn known_syscalls_are_those_that_the_native_architecture_has() {
    let unit = read("SystemCallFilter=@system-service");
    let on_x86 = |name| unit.evaluate(&call(Arch::X86, name, &[]));
    assert_eq!(on_x86("mount"), KILL);
    assert_eq!(on_x86("vm86"), ENOSYS, "x86_64 has no vm86");
    assert_eq!(on_x86("waitpid"), ALLOW);
    // The kernel's headers no longer have it, so systemd knows it only as a member of @obsolete.
    assert_eq!(verdict(&unit, "uselib", &[]), ENOSYS);
    assert_eq!(verdict(&read("SystemCallFilter=@system-service uselib"), "uselib", &[]), ALLOW);
}

#[test]
fn logged_syscalls_are_allowed() {
    let unit = read("SystemCallLog=@mount ptrace");
    assert_verdicts(
        &unit,
        &[("mount", Verdict::LOG), ("ptrace", Verdict::LOG), ("read", ALLOW), ("getpid", ALLOW)],
    );
    let unit = read("SystemCallLog=~@default read");
    assert_verdicts(&unit, &[("mount", Verdict::LOG), ("read", ALLOW), ("getpid", ALLOW)]);
    let unknown = numbered(Arch::X86_64, 900, &[]);
    assert_eq!(unit.evaluate(&unknown), Verdict::LOG);
    let unit = read("SystemCallLog=mount\nSystemCallFilter=~mount\nSystemCallErrorNumber=EPERM");
    assert_eq!(verdict(&unit, "mount", &[]), EPERM);
}

#[test]
fn empty_lists_install_nothing_unless_they_allow() {
    for directives in [
        "SystemCallFilter=~",
        "SystemCallLog=~",
        "SystemCallFilter=~\nSystemCallFilter=~ptrace\nSystemCallFilter=\n",
    ] {
        assert!(read(directives).filters.is_empty(), "{directives}");
    }
    let unit = read_with("SystemCallFilter=~ptrace\nSystemCallFilter=ptrace", &options());
    assert!(unit.filters.is_empty());
    // All its words are unknown: only the default group is left.
    let unit = read_with("SystemCallFilter=no_such_syscall", &options());
    assert_verdicts(&unit, &[("getpid", ALLOW), ("read", KILL)]);
}

#[test]
fn write_is_permitted_from_256_on() {
    for number in [255, 256] {
        let unit = read_with("SystemCallFilter=mount", &version(number));
        assert_eq!(verdict(&unit, "write", &[]), if number < 256 { KILL } else { ALLOW });
    }
    let unit = read_with("SystemCallFilter=~write ptrace", &options());
    assert_verdicts(&unit, &[("write", ALLOW), ("ptrace", KILL)]);
    assert!(read_with("SystemCallFilter=~write", &options()).filters.is_empty());
    assert_eq!(verdict(&read_with("SystemCallFilter=~write", &version(252)), "write", &[]), KILL);
    let refused = "SystemCallFilter=@system-service\nSystemCallFilter=~write:EPERM";
    assert_eq!(
        messages_with(refused, &options()),
        [
            "error: 2:19: systemd 258 does not start this unit: it has to allow write, which has an errno in the list; \
          remove write from this line"
        ]
    );
}

#[test]
fn rules_with_the_default_action_are_refused() {
    let directives = "SystemCallFilter=@system-service\nSystemCallFilter=~chown:ENOSYS";
    assert_eq!(
        messages_with(directives, &options()),
        [
            "error: 2:19: systemd 258 does not start this unit: libseccomp rejects a rule for chown with the action of \
          syscalls without rules, ERRNO(ENOSYS); choose another errno"
        ]
    );
    assert_eq!(verdict(&read_with(directives, &version(254)), "chown", &[]), ENOSYS);
    let killed = "SystemCallFilter=@system-service\nSystemCallFilter=~chown:kill";
    assert_eq!(messages_with(killed, &version(254)).len(), 1);
    assert_eq!(verdict(&read_with(killed, &version(255)), "chown", &[]), KILL);
    let limit =
        messages_with("SystemCallFilter=~chown:4095 mount\nSystemCallErrorNumber=4095", &options());
    assert_eq!(limit.len(), 2, "{limit:?}");
    assert!(
        limit.iter().all(|message| message.contains("the errno 4095; its limit is 4094")),
        "{limit:?}"
    );
}

#[test]
fn text_on_the_command_line_has_values() {
    let texts = [UnitText::filter("@system-service ~@chown @swap\nmount")];
    let unit = systemd::read(&texts, &options()).unwrap();
    assert_verdicts(&unit, &[("read", ALLOW), ("chown", KILL), ("mount", ALLOW), ("swapon", KILL)]);
    let unit = systemd::read(&[UnitText::filter("~@swap mount:EPERM")], &options()).unwrap();
    assert_verdicts(&unit, &[("read", ALLOW), ("swapon", KILL), ("mount", EPERM)]);
}

#[test]
fn syscalls_that_libseccomp_lacks_are_ignored() {
    let mut options = options();
    options.libseccomp_lacks = vec!["uretprobe".to_owned(), "mseal".to_owned()];
    let unit = read_with("SystemCallFilter=@system-service", &options);
    assert_verdicts(&unit, &[("uretprobe", ENOSYS), ("mseal", ENOSYS), ("read", ALLOW)]);
    assert_verdicts(
        &read("SystemCallFilter=@system-service"),
        &[("uretprobe", ALLOW), ("mseal", ALLOW)],
    );
}
