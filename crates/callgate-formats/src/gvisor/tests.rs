//! What lists mean, and the messages about those that are not read.

use callgate_core::{Arch, SeccompData, Verdict};

use super::{ReadOptions, read};
use crate::profile::Profile;

fn on(arch: Arch, name: Option<&str>, text: &str) -> Result<Profile, String> {
    let options = ReadOptions { name: name.map(str::to_owned), ..ReadOptions::new(arch) };
    read(text, &options)
        .map_err(|errors| errors.iter().next().map_or_else(String::new, ToString::to_string))
}

/// A list with these members.
fn list(members: &str) -> String {
    format!(
        "package p\n\nvar rules = seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{{\n{members}\n}})\n"
    )
}

/// Whether a list allows a call of x86-64.
fn allows(members: &str, nr: u32, args: &[u64]) -> bool {
    let profile = on(Arch::X86_64, None, &list(members)).unwrap();
    let mut data = SeccompData { nr, arch: Arch::X86_64.token(), ..SeccompData::default() };
    for (slot, arg) in data.args.iter_mut().zip(args) {
        *slot = *arg;
    }
    let verdict = profile.policy.evaluate(&data);
    assert!(verdict == Verdict::ALLOW || verdict == Verdict::KILL_PROCESS);
    verdict == Verdict::ALLOW
}

#[test]
fn matchers_compare_64_bits() {
    let high = 1 << 32;
    for (matcher, yes, no) in [
        ("EqualTo(5)", vec![5], vec![4, 5 + high]),
        ("NotEqual(5)", vec![4, 5 + high], vec![5]),
        ("GreaterThan(5)", vec![6, high], vec![5, 0]),
        ("GreaterThanOrEqual(5)", vec![5, high], vec![4]),
        ("LessThan(5)", vec![4, 0], vec![5, high]),
        ("LessThanOrEqual(5)", vec![5], vec![6, high]),
        ("NonNegativeFD{}", vec![0, 0x7fff_ffff], vec![0x8000_0000, high, u64::MAX]),
        ("AnyValue{}", vec![0, u64::MAX], vec![]),
        ("MaskedEqual(0xf0, 0x10)", vec![0x10, 0x1f, high | 0x10], vec![0x20, 0]),
        ("MaskedEqual(1, 2)", vec![], vec![0, 1, 2, 3]),
        ("BitsAllowlist(unix.PROT_READ | unix.PROT_WRITE)", vec![0, 1, 2, 3], vec![4, 7, high]),
        ("EqualTo(uintptr(1<<4 | 0x_1) &^ 1)", vec![16], vec![17]),
        ("EqualTo(^uintptr(0))", vec![u64::MAX], vec![0xffff_ffff]),
        ("EqualTo(0o17 + 017)", vec![30], vec![17]),
    ] {
        let members = format!("unix.SYS_READ: seccomp.PerArg{{seccomp.{matcher}}},");
        for value in yes {
            assert!(allows(&members, 0, &[value]), "{matcher} {value:#x}");
        }
        for value in no {
            assert!(!allows(&members, 0, &[value]), "{matcher} {value:#x}");
        }
    }
}

#[test]
fn rules_nest() {
    let members = "
        unix.SYS_FUTEX: seccomp.Or{ // one of them
            seccomp.PerArg{seccomp.AnyValue{}, seccomp.EqualTo(linux.FUTEX_WAIT)},
            seccomp.And{
                seccomp.PerArg{seccomp.AnyValue{}, seccomp.GreaterThan(3)},
                seccomp.PerArg{nil, seccomp.LessThan(6), /* any */ seccomp.AnyValue{}},
            },
        },
        unix.SYS_GETPID: seccomp.MatchAll{},
        3: seccomp.MatchAll{},";
    for (op, expected) in [(0, true), (1, false), (4, true), (5, true), (6, false)] {
        assert_eq!(allows(members, 202, &[9, op]), expected, "{op}");
    }
    let pointer =
        "unix.SYS_READ: seccomp.PerArg{nil, nil, nil, nil, nil, nil, seccomp.EqualTo(0)},";
    assert!(allows(pointer, 0, &[1]));
    assert!(allows(members, 39, &[]) && allows(members, 3, &[1]) && !allows(members, 0, &[]));
}

#[test]
fn older_and_other_forms_are_lists() {
    let older = "var r = seccomp.SyscallRules{\n syscall.SYS_CLOSE: {},\n syscall.SYS_DUP3: []seccomp.Rule{\n\
                 {seccomp.AnyValue{}, seccomp.AnyValue{}, seccomp.EqualTo(syscall.O_CLOEXEC)},\n },\n}";
    let profile = on(Arch::X86_64, None, older).unwrap();
    let data = |nr, flags| SeccompData {
        nr,
        arch: Arch::X86_64.token(),
        args: [0, 0, flags, 0, 0, 0],
        ..SeccompData::default()
    };
    assert_eq!(profile.policy.evaluate(&data(3, 0)), Verdict::ALLOW);
    assert_eq!(profile.policy.evaluate(&data(292, 0o2_000_000)), Verdict::ALLOW);
    assert_eq!(profile.policy.evaluate(&data(292, 0)), Verdict::KILL_PROCESS);
    let added = "func f() seccomp.SyscallRules {\n return seccomp.NewSyscallRules().Add(\n unix.SYS_READ,\n \
                 seccomp.MatchAll{},\n ).Add(unix.SYS_WRITE, seccomp.PerArg{seccomp.EqualTo(1)})\n}";
    let profile = on(Arch::Aarch64, None, added).unwrap();
    let arm = |nr, fd| SeccompData {
        arch: Arch::Aarch64.token(),
        args: [fd, 0, 0, 0, 0, 0],
        ..data(nr, 0)
    };
    assert_eq!(profile.policy.evaluate(&arm(63, 7)), Verdict::ALLOW);
    assert_eq!(profile.policy.evaluate(&arm(64, 1)), Verdict::ALLOW);
    assert_eq!(profile.policy.evaluate(&arm(64, 2)), Verdict::KILL_PROCESS);
}

#[test]
fn one_of_several_lists_is_chosen_by_name() {
    let two = "var a = seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{unix.SYS_READ: seccomp.MatchAll{}})\n\
               func b(fd int) seccomp.SyscallRules {\n return seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{\n\
               unix.SYS_WRITE: seccomp.PerArg{seccomp.EqualTo(fd)},\n })\n}\n\
               func init() { a.Set(unix.SYS_CLONE, seccomp.MatchAll{}) }";
    assert!(on(Arch::X86_64, None, two).unwrap_err().contains("2 lists of rules: a, b"));
    let a = on(Arch::X86_64, Some("a"), two).unwrap();
    assert_eq!(a.warnings.len(), 1, "{:?}", a.warnings);
    assert!(a.warnings[0].message.contains("a.Set"));
    let computed = on(Arch::X86_64, Some("b"), two).unwrap_err();
    assert!(computed.contains("4:") && computed.contains("`fd` is computed"), "{computed}");
    assert!(on(Arch::X86_64, Some("c"), two).unwrap_err().contains("there are a, b"));
}

#[test]
fn what_is_not_literal_is_refused_at_its_line() {
    for (members, message) in [
        ("unix.SYS_READ: rule(),", "`rule` is not a rule"),
        (
            "unix.SYS_READ: seccomp.PerArg{seccomp.EqualTo(uintptr(os.Getpid()))},",
            "`os` is computed",
        ),
        ("unix.SYS_READ: seccomp.PerArg{check{}},", "`check` is not a matcher"),
        ("unix.SYS_READ: seccomp.Or{},", "a list of rules is empty"),
        ("unix.SYS_READ: seccomp.MatchAll{},\nunix.SYS_READ: seccomp.MatchAll{},", "twice"),
        ("unix.SYS_NOTHING: seccomp.MatchAll{},", "x86_64 has no syscall `nothing`"),
        ("sysno: seccomp.MatchAll{},", "`sysno` is computed"),
        (
            "unix.SYS_READ: seccomp.PerArg{seccomp.EqualTo(linux.NOTHING)},",
            "`NOTHING` is not a constant",
        ),
        ("unix.SYS_READ: seccomp.PerArg{nil, nil, nil, nil, nil, nil, nil, nil},", "at most 7"),
        ("unix.SYS_READ: seccomp.MatchAll{", "expected"),
        ("unix.SYS_READ: seccomp.PerArg{seccomp.EqualTo(\"x\")},", "is computed"),
        ("/* open", "a comment does not end"),
    ] {
        let error = on(Arch::X86_64, None, &list(members)).unwrap_err();
        assert!(error.contains(message), "{members}: {error}");
    }
    let merged = "var a = seccomp.NewSyscallRules().Merge(b)";
    assert!(on(Arch::X86_64, None, merged).unwrap_err().contains("`Merge` changes the list"));
    let call = "var a = seccomp.MakeSyscallRules(rules)";
    assert!(on(Arch::X86_64, None, call).unwrap_err().contains("not a literal map"));
    assert!(on(Arch::X86_64, None, "package p").unwrap_err().contains("no list of rules"));
}

#[test]
fn only_lists_that_allow_are_read() {
    let set = |action: &str| {
        format!(
            "func f() {{ r := seccomp.RuleSet{{ Rules: seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{{\n\
                 unix.SYS_READ: seccomp.MatchAll{{}},\n }}),\n Action: {action},\n}} }}"
        )
    };
    assert!(on(Arch::X86_64, None, &set("seccomp.Allow")).is_ok());
    let error = on(Arch::X86_64, None, &set("seccomp.UserNotify")).unwrap_err();
    assert!(error.contains("4:") && error.contains("not seccomp.Allow"), "{error}");
    let program = format!(
        "{} var o = seccomp.ProgramOptions{{DefaultAction: seccomp.Trap}}",
        set("seccomp.Allow")
    );
    let warned = on(Arch::X86_64, None, &program).unwrap();
    assert!(warned.warnings[0].message.contains("default action of the program"));
}

/// Deep nesting costs neither the stack nor time.
#[test]
fn hostile_texts_are_refused() {
    let deep = |open: &str| list(&format!("unix.SYS_READ: {}", open.repeat(100_000)));
    for text in
        [deep("seccomp.Or{"), deep("seccomp.And{"), list(&format!("{}1", "(".repeat(100_000)))]
    {
        assert!(on(Arch::X86_64, None, &text).unwrap_err().contains("deeper than 16"));
    }
    let minus = list(&format!(
        "unix.SYS_READ: seccomp.PerArg{{seccomp.EqualTo({}1)}}",
        "^-".repeat(50_000)
    ));
    assert!(on(Arch::X86_64, None, &minus).unwrap_err().contains("deeper than 16"));
    let _ = on(Arch::X86_64, None, &"SyscallRules{".repeat(100_000));
}
