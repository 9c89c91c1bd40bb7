//! What profiles mean, and messages about them.

use std::collections::BTreeMap;

use super::LANGUAGE;
use super::table::{GROUPS, SECONDARY, commands, members, numbers};
use crate::included::Included;
use crate::languages::{Files, Input, LanguageId, ReadFilter, Reading, Text, detect};
use callgate_bpf::SyscallTable;
use callgate_core::{Arch, SeccompData, Verdict, X32_SYSCALL_BIT};

/// Files by their names.
struct Given(BTreeMap<&'static str, &'static str>);

impl Files for Given {
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        self.include_if_present(name, from)?.ok_or_else(|| "no such file".to_owned())
    }

    fn include_if_present(
        &mut self,
        name: &str,
        _: Option<&str>,
    ) -> Result<Option<Included>, String> {
        let file = |text: &&str| Included {
            name: name.to_owned(),
            identity: name.to_owned(),
            text: (*text).to_owned(),
            is_private: false,
        };
        Ok(self.0.get(name).map(file))
    }

    fn base(&mut self, _: &str, _: Option<&str>) -> Result<Included, String> {
        Err("no base profiles".to_owned())
    }
}

/// The filters of a profile, and the warnings about it; or the errors.
fn read_with(
    text: &str,
    files: &[(&'static str, &'static str)],
    strict: bool,
) -> Result<(Vec<ReadFilter>, String), String> {
    let reading = Reading { strict, statements: true, ..Reading::new(Arch::X86_64) };
    let texts = [Text::of(text)];
    let input = Input { identity: Some("self"), ..Input::of(&texts) };
    let read = (LANGUAGE.read)(&input, &reading, &mut Given(files.iter().copied().collect()))
        .map_err(|errors| {
            errors.iter().map(|one| line(&one.diagnostic)).collect::<Vec<_>>().join("\n")
        })?;
    assert_eq!(read.filters.is_empty(), read.missing.is_some());
    let warnings: Vec<String> = read.warnings.iter().map(|one| line(&one.diagnostic)).collect();
    Ok((read.filters, warnings.join("\n")))
}

fn line(message: &callgate_bpf::diagnostic::Diagnostic) -> String {
    format!("{message} ({})", message.help)
}

fn filters(text: &str) -> Vec<ReadFilter> {
    read_with(text, &[], false).unwrap().0
}

fn warnings(text: &str) -> String {
    read_with(text, &[], false).unwrap().1
}

fn errors(text: &str) -> String {
    read_with(text, &[], false).err().unwrap_or_else(|| "no error".to_owned())
}

/// The names of the filters, the oldest first.
fn names(text: &str) -> String {
    let names: Vec<String> = filters(text).into_iter().map(|filter| filter.suffix).collect();
    names.join("")
}

/// The verdict of all filters for a syscall, as the kernel combines them.
fn verdict_of(filters: &[ReadFilter], arch: Arch, name: &str, args: &[u64]) -> String {
    let nr = arch.number(name).unwrap_or_else(|| panic!("{arch} has no {name}"));
    number_of(filters, arch, nr, args)
}

fn number_of(filters: &[ReadFilter], arch: Arch, nr: u32, args: &[u64]) -> String {
    let mut data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
    data.args[..args.len()].copy_from_slice(args);
    let verdicts = filters.iter().rev().map(|filter| filter.profile.policy.evaluate(&data));
    Verdict::of_stack(verdicts).to_string()
}

/// The verdicts of a profile for syscalls of x86-64.
fn verdicts(text: &str, syscalls: &[&str]) -> Vec<String> {
    let filters = filters(text);
    syscalls.iter().map(|name| verdict_of(&filters, Arch::X86_64, name, &[])).collect()
}

const EPERM: &str = "ERRNO(EPERM)";

#[test]
fn the_default_list_comes_with_one_for_i386() {
    let text = "# a profile\nquiet\ninclude globals.local\nnoblacklist ${HOME}/.x # why\n  caps.drop   all\nseccomp\n";
    assert_eq!(names(text), " (seccomp) (seccomp.32)");
    let found = filters(text);
    for (arch, name, verdict) in [
        (Arch::X86_64, "mount", EPERM),
        (Arch::X86_64, "ptrace", EPERM),
        (Arch::X86_64, "personality", EPERM),
        (Arch::X86_64, "kcmp", "ALLOW"),
        (Arch::X86_64, "read", "ALLOW"),
        (Arch::X86_64, "execve", "ALLOW"),
        (Arch::X86, "mount", EPERM),
        (Arch::X86, "personality", "ALLOW"),
        (Arch::X86, "read", "ALLOW"),
    ] {
        assert_eq!(verdict_of(&found, arch, name, &[]), verdict, "{arch} {name}");
    }
    assert_eq!(number_of(&found, Arch::X86_64, X32_SYSCALL_BIT, &[]), EPERM);
    assert_eq!(number_of(&found, Arch::X86_64, u32::MAX, &[]), EPERM);
}

#[test]
fn entries_have_exceptions_and_errnos() {
    let text = "seccomp !chroot,uname:ENOSYS,getuid:kill,mount:enosys,$39,$102:EINVAL,@clock";
    assert_eq!(
        verdicts(text, &["chroot", "uname", "getuid", "mount", "umount2", "getpid", "adjtimex"]),
        ["ALLOW", "ERRNO(ENOSYS)", "KILL_THREAD", "ERRNO(ENOSYS)", EPERM, EPERM, EPERM]
    );
    // getuid is 102, too: the first one counts.
    assert_eq!(warnings(text), "");
    let text = "seccomp.drop @clock,mount,!mount\nseccomp-error-action kill";
    assert_eq!(verdicts(text, &["adjtimex", "mount", "ptrace"]), ["KILL_THREAD", "ALLOW", "ALLOW"]);
    assert_eq!(names(text), "");
}

#[test]
fn a_list_of_what_is_allowed_has_what_firejail_needs() {
    let text = "seccomp.keep read,write:EIO,!getpid,@swap\nseccomp-error-action log";
    assert_eq!(
        verdicts(text, &["read", "write", "getpid", "swapon", "execve", "prctl", "exit"]),
        ["ALLOW", "ERRNO(EIO)", "LOG", "ALLOW", "ALLOW", "ALLOW", "LOG"]
    );
    let found = filters(text);
    assert_eq!(verdict_of(&found, Arch::X86, "mount", &[]), "ALLOW");
    assert_eq!(found[0].profile.policy.sections().len(), 1);
}

#[test]
fn what_firejail_needs_is_denied_by_the_program_itself() {
    let text = "seccomp.drop execve,mount";
    assert_eq!(names(text), " (seccomp.drop) (post-exec)");
    let found = filters(text);
    assert_eq!(verdict_of(&found[..1], Arch::X86_64, "execve", &[]), "ALLOW");
    assert_eq!(verdict_of(&found, Arch::X86_64, "execve", &[]), EPERM);
    assert_eq!(verdict_of(&found, Arch::X86_64, "mount", &[]), EPERM);
    assert!(warnings(text).starts_with("1:14: a library that firejail preloads denies this"));
    assert!(errors("seccomp execve:EPERM").starts_with("1:9: firejail cannot start a program"));
    assert!(errors("seccomp.keep read,!prctl").starts_with("1:19: firejail cannot start"));
    assert_eq!(names("seccomp !execve"), " (seccomp) (seccomp.32)");
}

#[test]
fn other_architectures_are_blocked() {
    let text = "seccomp.block-secondary";
    assert_eq!(names(text), " (seccomp) (seccomp.block-secondary)");
    let found = filters(text);
    assert_eq!(verdict_of(&found, Arch::X86, "read", &[]), EPERM);
    for (domain, verdict) in [(0, "ALLOW"), (0xffff_ffff, "ALLOW"), (1 << 32, EPERM), (8, EPERM)] {
        let block = &found[1..];
        assert_eq!(verdict_of(block, Arch::X86_64, "personality", &[domain]), verdict, "{domain}");
    }
    for (list, verdict) in [("seccomp", "KILL_THREAD"), ("seccomp.drop mount", EPERM)] {
        let found = filters(&format!("{list}\n{text}\nseccomp-error-action kill"));
        assert_eq!(verdict_of(&found[1..], Arch::X86, "read", &[]), verdict, "{list}");
    }
    assert_eq!(
        names("seccomp.drop mount\nseccomp.32.drop mount\nseccomp.block-secondary"),
        " (seccomp.32.drop) (seccomp.block-secondary) (seccomp.drop) (seccomp.block-secondary)"
    );
}

#[test]
fn i386_may_have_a_list_of_its_own() {
    let found = filters("seccomp.drop mount\nseccomp.32.drop @swap,umount");
    for (arch, name, verdict) in [
        (Arch::X86, "umount", EPERM),
        (Arch::X86, "swapon", EPERM),
        (Arch::X86, "mount", "ALLOW"),
        (Arch::X86_64, "swapon", "ALLOW"),
        (Arch::X86_64, "mount", EPERM),
    ] {
        assert_eq!(verdict_of(&found, arch, name, &[]), verdict, "{arch} {name}");
    }
    for text in ["seccomp.32 mount", "seccomp.32.keep read", "seccomp.32.drop mount", "seccomp.32"]
    {
        assert!(errors(text).starts_with("1:"), "{text}");
    }
}

#[test]
fn protocols_are_socket_families() {
    let text = "protocol unix,inet\nprotocol inet6,-inet";
    let found = filters(text);
    for (arch, family, verdict) in [
        (Arch::X86_64, 1, "ALLOW"),
        (Arch::X86_64, 10, "ALLOW"),
        (Arch::X86_64, 2, "ERRNO(EOPNOTSUPP)"),
        (Arch::X86_64, 1 << 32 | 1, "ALLOW"),
        (Arch::X86, 1, "ALLOW"),
        (Arch::X86, 16, "ERRNO(EOPNOTSUPP)"),
    ] {
        assert_eq!(verdict_of(&found, arch, "socket", &[family]), verdict, "{arch} {family}");
    }
    assert_eq!(verdict_of(&found, Arch::X86, "socketcall", &[2]), "ALLOW");
    assert!(errors("protocol unix,inte").contains("did you mean `inet`"));
    assert!(errors("protocol unix\nprotocol -unix").contains("without any"));
    assert_eq!(names("protocol unix,=inet\nprotocol +inet"), "");
}

#[test]
fn memory_is_writable_or_executable() {
    let text = "memory-deny-write-execute\nseccomp-error-action EACCES";
    let found = filters(text);
    for (arch, name, value, verdict) in [
        (Arch::X86_64, "mmap", 6, "ERRNO(EACCES)"),
        (Arch::X86_64, "mmap", 4, "ALLOW"),
        (Arch::X86_64, "mprotect", 5, "ERRNO(EACCES)"),
        (Arch::X86_64, "mprotect", 3, "ALLOW"),
        (Arch::X86_64, "shmat", 0o100_000, "ERRNO(EACCES)"),
        (Arch::X86_64, "memfd_create", 0, "ERRNO(EACCES)"),
        (Arch::X86, "mmap", 0, "ERRNO(EACCES)"),
        (Arch::X86, "mmap2", 7, "ERRNO(EACCES)"),
        (Arch::X86, "pkey_mprotect", 4, "ERRNO(EACCES)"),
        (Arch::X86, "mprotect", 1, "ALLOW"),
    ] {
        let args = [0, 0, value];
        assert_eq!(verdict_of(&found, arch, name, &args), verdict, "{arch} {name} {value}");
    }
}

#[test]
fn namespaces_are_flags_of_three_syscalls() {
    let found = filters("restrict-namespaces user,time\nrestrict-namespaces net,-user");
    for (arch, name, args, verdict) in [
        (Arch::X86_64, "clone", [0x4000_0000, 0], EPERM),
        (Arch::X86_64, "clone", [0x1000_0080, 0], "ALLOW"),
        (Arch::X86_64, "clone3", [0, 0], "ERRNO(ENOSYS)"),
        (Arch::X86_64, "unshare", [0x80, 0], EPERM),
        (Arch::X86_64, "setns", [3, 0], EPERM),
        (Arch::X86_64, "setns", [3, 0x4000_0000], EPERM),
        (Arch::X86_64, "setns", [3, 0x1000_0000], "ALLOW"),
        (Arch::X86, "unshare", [0x4000_0000, 0], EPERM),
        (Arch::X86, "clone3", [0, 0], "ERRNO(ENOSYS)"),
    ] {
        assert_eq!(verdict_of(&found, arch, name, &args), verdict, "{arch} {name} {args:?}");
    }
    let all = filters("restrict-namespaces\nseccomp-error-action kill");
    for arch in [Arch::X86, Arch::X86_64] {
        assert_eq!(verdict_of(&all, arch, "unshare", &[0x4000_0000]), "KILL_THREAD", "{arch}");
    }
    assert_eq!(names("restrict-namespaces"), " (restrict-namespaces.32) (restrict-namespaces)");
}

#[test]
fn the_last_program_is_installed_first() {
    let text = "seccomp\nprotocol unix\nmemory-deny-write-execute\nrestrict-namespaces net";
    assert_eq!(
        names(text),
        " (restrict-namespaces.32) (restrict-namespaces) (memory-deny-write-execute.32) \
         (memory-deny-write-execute) (seccomp) (seccomp.32) (protocol)"
    );
}

#[test]
fn lines_are_ignored_and_included() {
    let files = [
        ("common.profile", "ignore protocol\nseccomp !chroot\nprotocol unix\ninclude more.inc\n"),
        (
            "/etc/firejail/more.inc",
            "memory-deny-write-execute\ninclude missing.local\nseccomp.drop mount",
        ),
    ];
    let text = "ignore memory-deny-write-execute\nignore seccomp.drop\ninclude common.profile\n";
    let (found, warnings) = read_with(text, &files, false).unwrap();
    assert_eq!(warnings, "");
    assert_eq!(verdict_of(&found, Arch::X86_64, "chroot", &[]), "ALLOW");
    assert_eq!(found.len(), 2);
    // A line is ignored as a whole word, and only after it.
    assert_eq!(names("ignore seccomp\nseccomp.drop mount\nseccomp a b"), "");
    assert_eq!(filters("seccomp\nignore seccomp").len(), 2);
    assert_eq!(filters("ignore include none.inc\ninclude none.inc\nprotocol unix").len(), 1);
    let site = |filter: &ReadFilter, verdict| {
        let rules = &filter.profile.statements.as_ref().unwrap().rules;
        let rule = rules.iter().find(|rule| rule.verdict == verdict).unwrap();
        (rule.site.file.clone(), rule.site.position.line, rule.site.position.column)
    };
    assert_eq!(site(&found[0], Verdict::ALLOW), (Some("common.profile".to_owned()), 2, 9));
    let error =
        read_with("include common.profile", &[("common.profile", "\nseccomp @none")], false);
    assert_eq!(
        error.err().unwrap().lines().next(),
        Some(
            "1:9: in common.profile:2:9: firejail has no group of syscalls `@none` (name the syscalls of the group)"
        )
    );
    assert_eq!(
        errors("include disable-all.inc"),
        "1:9: cannot include \"disable-all.inc\": it is neither beside the profile nor in /etc/firejail (put the \
         file beside the source)"
    );
    assert!(errors("include ${HOME}/x.inc").contains("depends on the user"));
    assert!(read_with("include ${CFG}/more.inc", &files, false).is_ok());
}

#[test]
fn files_that_firejail_installs_without_filters_need_not_be_there() {
    let text = "include globals.local\ninclude disable-common.inc\nseccomp !chroot\n\
                include ${CFG}/whitelist-common.inc\ninclude disable-common.inc\n";
    let (found, warnings) = read_with(text, &[], false).unwrap();
    assert_eq!(verdict_of(&found, Arch::X86_64, "chroot", &[]), "ALLOW");
    assert_eq!(verdict_of(&found, Arch::X86_64, "mount", &[]), "ERRNO(EPERM)");
    assert_eq!(warnings.lines().count(), 1, "{warnings}");
    assert!(
        warnings.contains("2:9: \"disable-common.inc\" and 1 other file were not found"),
        "{warnings}"
    );
    assert!(read_with(text, &[], true).err().unwrap().contains("cannot include"));
    // One that is there is read, also where the source tree has it, and other names are not known.
    for place in
        ["disable-common.inc", "/etc/firejail/disable-common.inc", "../inc/disable-common.inc"]
    {
        let files = [(place, "seccomp.drop chroot")];
        let (found, _) = read_with("include disable-common.inc\n", &files, false).unwrap();
        assert_eq!(verdict_of(&found, Arch::X86_64, "chroot", &[]), "ERRNO(EPERM)", "{place}");
    }
    assert!(errors("include disable-common.profile").contains("cannot include"));
}

#[test]
fn loops_and_long_texts_are_refused() {
    let a_loop = [("a.inc", "include b.inc"), ("b.inc", "include a.inc")];
    let error = read_with("include a.inc", &a_loop, false).err().unwrap();
    assert!(error.contains("includes itself"), "{error}");
    assert!(errors(&format!("seccomp {}", "a".repeat(9000))).contains("reads at most 8190"));
    assert!(errors("seccomp a\0b").contains("zero byte"));
    assert!(errors(&"ignore a\n".repeat(33)).contains("more than 32 lines"));
    assert!(errors(&" ".repeat(11 << 20)).contains("the maximum is"));
    let deny = (0..300).map(|nr| format!("${nr}")).collect::<Vec<_>>().join(",");
    assert!(errors(&format!("seccomp.drop {deny}")).contains("jumps over 298 instructions"));
    let list = "@system-service,".repeat(500);
    let _ = read_with(&format!("seccomp.keep {list}"), &[], false);
    // Many lines of everything.
    let text =
        format!("{}seccomp\n", "noblacklist x\n?A:?B:?C: private\nunknown y\n".repeat(20_000));
    assert!(read_with(&text, &[], false).is_ok());
}

#[test]
fn what_firejail_ignores_or_refuses_has_a_message() {
    for (text, message) in [
        (
            "seccomp raed",
            "1:9: firejail ignores `raed`, because x86_64 has no such syscall (did you mean `read`?)",
        ),
        (
            "seccomp process_mrelease",
            "1:9: firejail ignores `process_mrelease`, because it does not know this syscall (newer versions of firejail may know it; remove it)",
        ),
        (
            "seccomp !@mount",
            "1:9: firejail ignores `!@mount`: a group is no exception (name each syscall of the group)",
        ),
        (
            "seccomp !read",
            "1:9: firejail reads `!read` as `read`, because an exception is a negative number, and this one is 0 (remove it)",
        ),
        (
            "seccomp !mount:EPERM",
            "1:9: `!mount:EPERM` has no effect: an exception has no action (remove the action)",
        ),
        (
            "seccomp mount:EFOO",
            "1:9: firejail ignores `mount:EFOO`, because `EFOO` is neither an errno nor `kill` (write the name of an errno)",
        ),
        (
            "seccomp.drop mount,$460",
            "1:20: firejail ignores `$460`: it has no name for this number, and denies by name (give it an errno, such as `:EPERM`)",
        ),
        (
            "seccomp a,mount\nseccomp mount",
            "1:9: this list has no effect: a later one replaces it (join the two lists)",
        ),
        (
            "seccomp.keep read\nseccomp mount",
            "2:9: this list has no effect, because there is a list of seccomp.keep (remove one of the two)",
        ),
        (
            "secomp.drop mount\nseccomp",
            "1:1: the command `secomp.drop` is not known here; if firejail does not know it either, it refuses the profile (did you mean `seccomp.drop`?)",
        ),
    ] {
        assert_eq!(warnings(text), message, "{text}");
    }
    for (text, message) in [
        (
            "seccomp mount umount2",
            "1:14: a list of syscalls has no ' ' (separate the entries with commas, without blanks)",
        ),
        (
            "seccomp.drop ,",
            "1:14: the list of syscalls is empty, and firejail refuses it (name a syscall or a group)",
        ),
        (
            "seccomp.drop",
            "1:1: firejail refuses `seccomp.drop` without a value (write it behind the command)",
        ),
        (
            "seccomp.dorp mount",
            "1:1: firejail has no command `seccomp.dorp` (did you mean `seccomp.drop`?)",
        ),
        (
            "memory-deny-write-execute yes",
            "1:1: `memory-deny-write-execute` has no value, so firejail refuses `yes` (remove the value)",
        ),
        ("seccomp :EPERM", "1:9: `:EPERM` names no syscall (write a name before the colon)"),
        (
            "seccomp $x",
            "1:9: `$x` is not the number of a syscall (write a number up to 0x3fffffff in C's notation)",
        ),
        (
            "seccomp $0x40000000",
            "1:9: `$0x40000000` is not the number of a syscall (write a number up to 0x3fffffff in C's notation)",
        ),
        (
            "seccomp-error-action die",
            "1:22: `die` is not a Firejail action (write kill, log, or the name of an errno such as EPERM)",
        ),
        (
            "?HAS_X11: seccomp",
            "1:11: whether this line counts depends on HAS_X11, which is known only when firejail starts (remove the condition, or the line)",
        ),
        (
            "?HAS_NET : ignore protocol",
            "1:12: whether this line counts depends on HAS_NET, which is known only when firejail starts (remove the condition, or the line)",
        ),
        (
            "?HAS_X11 seccomp",
            "1:1: `?HAS_X11 seccomp` has no colon behind its condition (write `?CONDITION: line`)",
        ),
        (
            "restrict-namespaces user,ne",
            "1:26: firejail knows no namespace `ne` (did you mean `net`?)",
        ),
        (
            "allow-debuggers\nseccomp",
            "1:1: allow-debuggers is not read with the default list: another prebuilt filter for i386 belongs to it (remove it, or write seccomp.drop with a list)",
        ),
    ] {
        assert_eq!(errors(text), message, "{text}");
    }
    assert!(read_with("seccomp raed", &[], true).is_err());
    assert_eq!(errors("caps.drop all\nallow-debuggers"), "no error");
    assert!(filters("caps.drop all\n?HAS_NOSOUND: ignore noexec /tmp").is_empty());
    let reading = Reading::new(Arch::Aarch64);
    let texts = [Text::of("seccomp")];
    let other = (LANGUAGE.read)(&Input::of(&texts), &reading, &mut Given(BTreeMap::new()));
    assert!(other.unwrap_err().to_string().contains("not for aarch64"));
}

#[test]
fn the_tables_name_syscalls_and_commands_once() {
    for (group, names) in GROUPS {
        let known = members(group).unwrap();
        assert!(!known.is_empty(), "{group}");
        for name in known {
            assert!(Arch::X86_64.number(name).is_some(), "{group}: {name}");
        }
        let mut sorted: Vec<&str> = names.split_whitespace().collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.split_whitespace().count(), "{group}");
    }
    let secondary = numbers(SECONDARY.split_ascii_whitespace(), Arch::X86);
    assert_eq!(secondary.len(), SECONDARY.split_ascii_whitespace().count());
    let all: Vec<&str> = commands().collect();
    for command in &all {
        assert_eq!(all.iter().filter(|other| *other == command).count(), 1, "{command}");
    }
}

#[test]
fn profiles_are_detected() {
    let name = |extension, text: &str| {
        detect(extension, text.as_bytes()).map(|(id, _)| LanguageId::name(id))
    };
    assert_eq!(name(None, "caps.drop all\nseccomp.drop @clock\n"), Some("firejail"));
    assert_eq!(name(Some("profile"), "# x\ninclude x.local\nseccomp\n"), Some("firejail"));
    assert_eq!(name(Some("inc"), "blacklist /boot\n"), Some("firejail"));
    assert_eq!(name(Some("profile"), "export PATH\n"), None);
    assert_eq!(name(None, "seccomp\n"), None);
}
