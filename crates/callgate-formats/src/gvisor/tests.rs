//! What lists mean, and the messages about those that are not read.

use callgate_bpf::text::Definition;
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
    assert!(on(Arch::X86_64, None, two).unwrap_err().contains("2 rule lists: a, b"));
    let a = on(Arch::X86_64, Some("a"), two).unwrap();
    let [unknown, change] = a.warnings.as_slice() else { panic!("{:?}", a.warnings) };
    assert!(unknown.message.contains("another action") && change.message.contains("a.Set"));
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
        ("unix.SYS_READ: seccomp.Or{},", "a rule list is empty"),
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
    assert!(on(Arch::X86_64, None, "package p").unwrap_err().contains("no gVisor rule list"));
}

#[test]
fn names_have_the_values_that_the_caller_gives() {
    let text = list(
        "unix.SYS_READ: seccomp.PerArg{seccomp.EqualTo(fd), seccomp.EqualTo(linux.NOTHING | 1)},",
    );
    let with = |definitions: &[&str]| {
        let definitions = definitions.iter().map(|one| Definition::new(one).unwrap()).collect();
        read(&text, &ReadOptions { definitions, ..ReadOptions::new(Arch::X86_64) })
    };
    let message = |definitions: &[&str]| {
        let errors = with(definitions).unwrap_err();
        let first = errors.iter().next().unwrap();
        (first.message.clone(), first.help.to_string())
    };
    let (computed, help) = message(&[]);
    assert!(computed.contains("`fd` is computed"), "{computed}");
    assert!(help.contains("--define fd=NUMBER"), "{help}");
    let (unknown, help) = message(&["fd=3"]);
    assert!(unknown.contains("`NOTHING` is not a constant"), "{unknown}");
    assert!(help.contains("--define NOTHING=NUMBER"), "{help}");
    let (wrong, _) = message(&["fd=three"]);
    assert!(wrong.contains("the value given to `fd` is not an integer of Go: three"), "{wrong}");
    let profile = with(&["fd=3", "NOTHING=0x10"]).unwrap();
    let verdict = |args: [u64; 2]| {
        let args = [args[0], args[1], 0, 0, 0, 0];
        let data = SeccompData { arch: Arch::X86_64.token(), args, ..SeccompData::default() };
        profile.policy.evaluate(&data)
    };
    assert_eq!(verdict([3, 0x11]), Verdict::ALLOW);
    assert_eq!(verdict([3, 0x10]), Verdict::KILL_PROCESS);
    // A name that continues is another value.
    let text = list("unix.SYS_READ: seccomp.PerArg{seccomp.EqualTo(fd.number)},");
    let definitions = vec![Definition::new("fd=3").unwrap()];
    let options = ReadOptions { definitions, ..ReadOptions::new(Arch::X86_64) };
    assert!(read(&text, &options).is_err());
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
    assert_eq!(warned.warnings.len(), 1, "the action is known");
}

#[test]
fn the_action_of_a_rule_set_is_looked_for_in_all_of_it() {
    let rules =
        "seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{\n1: seccomp.MatchAll{},\n})";
    let set = |before: &str, after: &str| {
        let text = format!("var s = []seccomp.RuleSet{{{{{before}Rules: {rules}{after}}}}}");
        on(Arch::X86_64, None, &text)
    };
    assert!(set("Action: seccomp.Allow, ", "").is_ok());
    assert!(set("", ", Action: Allow,").is_ok());
    assert!(set("Vsyscall: false, ", ", Action: seccomp.Allow").is_ok());
    for (before, after, message) in [
        ("Action: seccomp.Errno(unix.EPERM), ", "", "not seccomp.Allow"),
        ("Action: seccomp.Trap, ", ", Vsyscall: true", "not seccomp.Allow"),
        ("", ", Vsyscall: true, Action: seccomp.Allow,", "`Vsyscall` of this rule set"),
        ("Other: f(a, b), Action: seccomp.Allow, ", "", "`Other` of this rule set"),
        ("", "", "does not have one action"),
        ("Action: seccomp.Allow, ", ", Action: seccomp.Trap", "does not have one action"),
        ("Action: seccomp.Allow.Other, ", "", "not seccomp.Allow"),
        ("Action: seccomp.Allow | x, ", "", "not seccomp.Allow"),
    ] {
        let error = set(before, after).unwrap_err();
        assert!(error.contains(message), "{before} {after}: {error}");
    }
    let positional = format!("var s = []seccomp.RuleSet{{{{{rules}, seccomp.Trap}}}}");
    let error = on(Arch::X86_64, None, &positional).unwrap_err();
    assert!(error.contains("without names of fields"), "{error}");
}

#[test]
fn lists_that_deny_are_refused() {
    let rules =
        "seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{\n1: seccomp.MatchAll{},\n})";
    for (text, message) in [
        (format!("var DenyNewExecMappings = {rules}"), "list of what is denied"),
        (format!("var denied = {rules}\nvar denyMore = 1"), ""),
        (format!("func f() {{ allowed.Remove({rules}) }}"), "removed from another one"),
        (format!("func f() {{ return a.Copy().Remove(x, {rules}) }}"), "removed from another one"),
    ] {
        match on(Arch::X86_64, None, &text) {
            Ok(profile) => {
                assert!(message.is_empty(), "{text}");
                let [only] = profile.warnings.as_slice() else { panic!("{:?}", profile.warnings) };
                assert!(only.message.contains("another action"), "{}", only.message);
            }
            Err(error) => assert!(!message.is_empty() && error.contains(message), "{error}"),
        }
    }
}

#[test]
fn lists_that_are_filled_or_changed_elsewhere_are_refused() {
    let rules = list("unix.SYS_READ: seccomp.MatchAll{},");
    for (change, message) in [
        ("func init() { rules[unix.SYS_WRITE] = seccomp.MatchAll{} }", "assignment to an element"),
        ("func init() { delete(rules, unix.SYS_READ) }", "`delete`"),
        ("func init() { change(&rules) }", "what has its address"),
    ] {
        let error = on(Arch::X86_64, None, &format!("{rules}\n{change}")).unwrap_err();
        assert!(error.contains(message), "{change}: {error}");
    }
    let read = format!("{rules}\nfunc f() {{ x := rules[unix.SYS_READ]\nother[1] = x }}");
    assert!(on(Arch::X86_64, None, &read).is_ok());
    for empty in ["var a = seccomp.NewSyscallRules()", "var a = seccomp.SyscallRules{}"] {
        let error = on(Arch::X86_64, None, empty).unwrap_err();
        assert!(error.contains("filled elsewhere"), "{error}");
    }
}

#[test]
fn constants_are_those_of_go() {
    let value = |text: &str| {
        let members = format!("unix.SYS_READ: seccomp.PerArg{{seccomp.EqualTo({text})}},");
        on(Arch::X86_64, None, &list(&members))
    };
    for (text, number) in [
        ("1<<64 - 1", u64::MAX),
        ("(1<<70) >> 68", 4),
        ("2 - 3 + 2", 1),
        ("-1 & 0xff", 0xff),
        ("^uint64(0) >> 60", 15),
        ("uintptr(0xffff_ffff) &^ 0xf", 0xffff_fff0),
        ("0x_1f", 31),
        ("0_17", 15),
        ("0B1_0", 2),
        ("linux.O_LARGEFILE", 0x8000),
        ("unix.O_CLOEXEC | unix.O_RDWR", 0x8_0002),
    ] {
        let members = format!("unix.SYS_READ: seccomp.PerArg{{seccomp.EqualTo({text})}},");
        assert!(allows(&members, 0, &[number]), "{text}");
        assert!(!allows(&members, 0, &[number ^ 1]), "{text}");
    }
    for (text, message) in [
        ("^0", "without a type"),
        ("^unix.PROT_READ", "without a type"),
        ("-1", "does not fit"),
        ("unix.AT_FDCWD", "does not fit"),
        ("1 << 64", "does not fit"),
        ("1 << 200", "overflows"),
        ("uintptr(1) - 2", "does not fit"),
        ("uintptr(1) << 64 >> 64", "does not fit"),
        ("int(1) << 63", "overflows"),
        ("uintptr(-1)", "does not fit"),
        ("^int(0)", "does not fit"),
        ("int(1) + uintptr(1)", "different types"),
        ("unix.O_LARGEFILE", "another value in Go"),
        ("syscall.O_LARGEFILE", "another value in Go"),
        ("linux.AF_MAX", "another value in Go"),
        ("0777_", "not an integer"),
        ("0x1__0", "not an integer"),
        ("089", "not an integer"),
        ("0x", "not an integer"),
    ] {
        let error = value(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn only_architectures_of_gvisor_are_read() {
    let error = on(Arch::Arm, None, &list("1: seccomp.MatchAll{},")).unwrap_err();
    assert!(error.contains("gVisor does not run on arm"), "{error}");
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
    let many = on(Arch::X86_64, None, &"SyscallRules{".repeat(100_000)).unwrap_err();
    assert!(many.contains("100000 rule lists: none with a name"), "{many}");
    let named: String = (0..50_000).map(|n| format!("var a{n} = SyscallRules{{}}\n")).collect();
    let named = on(Arch::X86_64, None, &named).unwrap_err();
    assert!(named.contains("a9 and 49990 more") && named.len() < 300, "{named}");
    let indexes = format!("{}{}", list("1: seccomp.MatchAll{},"), "rules[".repeat(100_000));
    assert!(on(Arch::X86_64, None, &indexes).unwrap_err().contains("assignment to an element"));
    let long: String = (0..5000).map(|n| format!("{n}: seccomp.MatchAll{{}},\n")).collect();
    assert!(on(Arch::X86_64, None, &list(&long)).unwrap_err().contains("more than 4096 rules"));
}
