//! Changes that allow a denied syscall, in each language: they are found and proved.

use callgate::{Action, Arch, Verdict, compile};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::SyscallSet;
use callgate_core::diagram::Store;
use callgate_core::policy::{Cmp, Condition, Policy, Rule, Section, Test};
use callgate_formats::change::{
    Allowed, Candidates, Unverified, Verified, apply, candidates, verify,
};
use callgate_formats::languages::{Input, NoFiles, Reading, Text};
use callgate_formats::oci::EnosysAbove;
use callgate_formats::statements::Statements;
use callgate_formats::why::why;
use callgate_testing::languages::to;
use callgate_testing::reader::{call, numbered};

const ARCH: Arch = Arch::X86_64;

/// The policy of a text, and what its statements are.
fn read(language: &str, text: &str) -> Option<(Policy, Statements)> {
    let reading = Reading {
        kernel: Some(KernelVersion { major: 6, minor: 12 }),
        enosys_above: Some(EnosysAbove::Off),
        statements: true,
        ..Reading::new(ARCH)
    };
    let texts = [Text::of(text)];
    let read = (to(language).language().read)(&Input::of(&texts), &reading, &mut NoFiles).ok()?;
    let profile = read.filters.into_iter().next()?.profile;
    Some((profile.policy, profile.statements?))
}

/// The text after the first candidate that is proved.
fn changed(language: &str, text: &str, wanted: &Allowed) -> Option<String> {
    let (policy, statements) = read(language, text).expect("the text is valid");
    let nr = wanted.arch.number(&wanted.name)?;
    let mut data = numbered(wanted.arch, nr, &[]);
    wanted.args.iter().for_each(|(index, value)| data.args[usize::from(*index)] = *value);
    let found = why(&policy, &statements, &data, Some(&wanted.name));
    let input = Candidates {
        language: to(language),
        role: "",
        text,
        file: None,
        statements: &statements,
        why: &found,
        wanted,
    };
    candidates(&input).into_iter().find_map(|candidate| {
        let changed = apply(text, &candidate.edits)?;
        let (after, _) = read(language, &changed)?;
        proved(&policy, &after, &[candidate.allowed]).ok().map(|_| changed)
    })
}

fn proved(before: &Policy, after: &Policy, wanted: &[Allowed]) -> Result<Verified, Unverified> {
    let mut store = Store::default();
    let before = compile::diagram(&mut store, before).unwrap();
    let after = compile::diagram(&mut store, after).unwrap();
    verify(&mut store, before, after, wanted)
}

const JSON: &str = r#"{
  "defaultAction": "SCMP_ACT_ERRNO",
  "syscalls": [
    {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["reboot", "acct"], "action": "SCMP_ACT_KILL"},
    {"names": ["swapon"], "action": "SCMP_ACT_KILL"},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW",
     "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]}
  ]
}"#;

const TEXTS: &[(&str, &str, &str)] = &[
    ("json", "oci", JSON),
    (
        "compact json",
        "oci",
        r#"{"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}],"defaultAction":"SCMP_ACT_KILL"}"#,
    ),
    ("no allowed syscalls", "oci", r#"{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[]}"#),
    ("no list", "oci", r#"{ "defaultAction": "SCMP_ACT_KILL" }"#),
    (
        "first format",
        "oci",
        r#"{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[
            {"name": "read", "action": "SCMP_ACT_ALLOW", "args": []}]}"#,
    ),
    (
        "denylist",
        "oci",
        r#"{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
            {"names": ["mount", "reboot"], "action": "SCMP_ACT_ERRNO"},
            {"names": ["acct"], "action": "SCMP_ACT_ERRNO"}]}"#,
    ),
    (
        "denied by several entries",
        "oci",
        r#"{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
            {"names": ["reboot"], "action": "SCMP_ACT_ERRNO"},
            {"names": ["acct", "mount"], "action": "SCMP_ACT_ERRNO",
             "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]},
            {"names": ["mount"], "action": "SCMP_ACT_ERRNO",
             "args": [{"index": 1, "value": 0, "op": "SCMP_CMP_EQ"}]},
            {"names": ["mount"], "action": "SCMP_ACT_ERRNO",
             "args": [{"index": 2, "value": 0, "op": "SCMP_CMP_EQ"}]}]}"#,
    ),
    (
        "yaml",
        "oci",
        "defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n- action: SCMP_ACT_ALLOW\n  names:\n  - read # x\n  - 'write'\n\
         - names: [ reboot ]\n  action: SCMP_ACT_KILL\n",
    ),
    (
        "yaml with one name",
        "oci",
        "syscalls:\n  - names:\n      - read\n    action: SCMP_ACT_ALLOW\ndefaultAction: SCMP_ACT_ERRNO\n",
    ),
    ("yaml without a list", "oci", "# x\ndefaultAction: SCMP_ACT_ERRNO\n"),
    (
        "kafel",
        "kafel",
        "// x\nPOLICY p {\n  ALLOW { read, write { fd == 1 } },\n  KILL { reboot },\n  ERRNO(1) { acct, swapon }\n}\n\
         USE p DEFAULT KILL\n",
    ),
    ("kafel without rules", "kafel", "DEFAULT ERRNO(1)"),
    ("kafel denylist", "kafel", "KILL { mount, reboot } DEFAULT ALLOW"),
    (
        "minijail",
        "minijail",
        "# x\nread: 1\nwrite: arg0 == 1\nptrace: return EPERM\n@default kill-process",
    ),
    ("minijail denylist", "minijail", "@denylist\nmount: return 1\nreboot: return EPERM\n"),
    (
        "firecracker",
        "firecracker",
        r#"{"vmm": {"default_action": "trap", "filter_action": "allow", "filter": [
            {"syscall": "read"},
            {"syscall": "write", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 1}]},
            {"syscall": "write", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 2}]}]}}"#,
    ),
    (
        "firecracker denylist",
        "firecracker",
        r#"{"vmm": {"default_action": "allow", "filter_action": "trap", "filter": [
            {"syscall": "reboot"},
            {"syscall": "mount", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 0}]},
            {"syscall": "mount", "args": [{"index": 1, "type": "dword", "op": "eq", "val": 0}]}]}}"#,
    ),
    ("lxc", "lxc", "2\nallowlist errno 1\nread\nwrite\n[x86]\nclose\n"),
    ("lxc denylist", "lxc", "2\ndenylist\n[all]\nmount errno 1\nreboot errno 1\n"),
    ("lxc 1", "lxc", "1\nallowlist\n0\n1\n"),
];

/// Every denied syscall of every text can be allowed.
#[test]
fn each_denied_syscall_can_be_allowed() {
    for (what, language, text) in TEXTS {
        let (policy, _) = read(language, text).unwrap_or_else(|| panic!("{what} is valid"));
        let mut count = 0;
        for (nr, name) in ARCH.syscalls() {
            let data = numbered(ARCH, nr, &[]);
            if policy.evaluate(&data).action() == Action::Allow {
                continue;
            }
            // All of them are alike, except those that the texts name.
            let is_named = text.contains(name);
            if !is_named && nr % 16 != 5 {
                continue;
            }
            count += 1;
            let wanted = Allowed::all(ARCH, name);
            let found = changed(language, text, &wanted);
            // Kafel does not know the newest syscalls.
            let is_known = *language != "kafel"
                || read("kafel", &format!("ALLOW {{ {name} }} DEFAULT KILL")).is_some();
            assert_eq!(found.is_some(), is_known, "{what}: {name}");
        }
        assert!(count > 1, "{what}");
    }
}

/// With arguments, only these are allowed, where the language has conditions. The kernel reads 32 bits of them.
#[test]
fn arguments_limit_the_change() {
    const UPPER: u64 = 1 << 32;
    const AT_FDCWD: u64 = -100_i64 as u64;
    for (name, values) in [("fcntl", [3, 1024]), ("openat", [AT_FDCWD, 0])] {
        // Of openat, the path is between them.
        let indices = if name == "fcntl" { [0, 1] } else { [0, 2] };
        let args: Vec<(u8, u64)> = indices.into_iter().zip(values).collect();
        let wanted = Allowed::with_args(ARCH, name, args);
        let data = |values: [u64; 2]| {
            let mut data = call(ARCH, name, &[]);
            for (index, value) in indices.into_iter().zip(values) {
                data.args[usize::from(index)] = value;
            }
            data
        };
        for (what, language, text) in TEXTS {
            let (policy, _) = read(language, text).unwrap();
            if policy.evaluate(&data(values)).action() == Action::Allow {
                continue;
            }
            let text = changed(language, text, &wanted).unwrap_or_else(|| panic!("{what}"));
            let (after, _) = read(language, &text).unwrap();
            let is_allowed = |values| after.evaluate(&data(values)).action() == Action::Allow;
            let [first, second] = values;
            for upper in [0, UPPER, u64::from(u32::MAX) << 32] {
                let first = first & u64::from(u32::MAX) | upper;
                assert!(is_allowed([first, second ^ upper]), "{what}: {text}");
            }
            assert_eq!(is_allowed([first, second + 1]), *what == "lxc 1", "{what}: {text}");
            assert_eq!(is_allowed([first + 1, second]), *what == "lxc 1", "{what}: {text}");
        }
    }
}

/// Registers of a 32-bit ABI have no upper half, which `AT_FDCWD` could fill.
#[test]
fn arguments_of_narrow_abis_have_32_bits() {
    let args = vec![(0, -100_i64 as u64)];
    let wanted = Allowed::with_args(Arch::X86, "openat", args);
    assert_eq!(wanted.condition().as_deref(), Some("dfd == AT_FDCWD"));
    let rule = |value| {
        let field = callgate_core::policy::Field::arg(0).unwrap();
        let mask = field.full_mask();
        Rule {
            syscalls: SyscallSet::one(Arch::X86.number("openat").unwrap()),
            when: Condition::test(Test { field, mask, cmp: Cmp::Eq, value }),
            verdict: Verdict::ALLOW,
        }
    };
    let policy = |rules| {
        let section = Section::new(Arch::X86, rules, Verdict::errno(1));
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    };
    let check =
        |value| proved(&policy(vec![]), &policy(vec![rule(value)]), std::slice::from_ref(&wanted));
    assert!(check(0xffff_ff9c).is_ok());
    assert!(matches!(check(-100_i64 as u64), Err(Unverified::Denied(_))));
}

#[test]
fn conditions_have_the_names_of_constants() {
    let condition = |name, args| Allowed::with_args(ARCH, name, args).condition();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(condition("openat", vec![(0, 0xffff_ff9c)]), some("dfd == AT_FDCWD"));
    assert_eq!(condition("ioctl", vec![(1, 0x5412)]), some("cmd == TIOCSTI"));
    assert_eq!(condition("fcntl", vec![(0, 3), (2, 0)]), some("fd == 3 and arg == 0"));
    assert_eq!(condition("fcntl", vec![]), None);
}

/// Texts after a change: comments, blanks and separators stay where they belong.
#[test]
fn changed_texts() {
    for (language, name, before, after) in [
        (
            "oci",
            "mount",
            "defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n- action: SCMP_ACT_ALLOW\n  names:\n  - read\n  - write # x, y\n",
            "defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n- action: SCMP_ACT_ALLOW\n  names:\n  - read\n  - write # x, y\n  - mount\n",
        ),
        (
            "oci",
            "mount",
            "defaultAction: SCMP_ACT_ALLOW\nsyscalls:\n- action: SCMP_ACT_ERRNO\n  names:\n  - acct # x\n  - mount # y\n",
            "defaultAction: SCMP_ACT_ALLOW\nsyscalls:\n- action: SCMP_ACT_ERRNO\n  names:\n  - acct # x\n",
        ),
        (
            "kafel",
            "reboot",
            "POLICY p {\n  ALLOW { read },\n  KILL { reboot },\n  ERRNO(1) { acct }\n}\nUSE p DEFAULT ALLOW\n",
            "POLICY p {\n  ALLOW { read },\n  ERRNO(1) { acct }\n}\nUSE p DEFAULT ALLOW\n",
        ),
        (
            "kafel",
            "reboot",
            "POLICY p {\n  ALLOW { read },\n  KILL { reboot }\n}\nUSE p DEFAULT ERRNO(1)\n",
            "POLICY p {\n  ALLOW { read, reboot }\n}\nUSE p DEFAULT ERRNO(1)\n",
        ),
    ] {
        let changed = changed(language, before, &Allowed::all(ARCH, name));
        assert_eq!(changed.as_deref(), Some(after));
    }
}

/// The proof refuses changes that allow less or more.
#[test]
fn only_the_wanted_change_is_proved() {
    let profile = |rules: &str| {
        let text = format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{rules}]}}"#);
        read("oci", &text).unwrap().0
    };
    let allow = |names: &str| format!(r#"{{"names": [{names}], "action": "SCMP_ACT_ALLOW"}}"#);
    let before = profile(&allow(r#""read", "close""#));
    let wanted = [Allowed::all(ARCH, "write")];
    let check = |rules: &str| proved(&before, &profile(rules), &wanted);

    let exact = check(&allow(r#""read", "close", "write""#)).unwrap();
    assert_eq!(exact.side_effect, None);
    assert!(matches!(check(&allow(r#""read", "close""#)), Err(Unverified::Denied(_))));
    let others = [
        allow(r#""read", "close", "write", "mount""#),
        // `close` is denied in addition.
        allow(r#""read", "write""#),
    ];
    for other in others {
        assert!(matches!(check(&other), Err(Unverified::Other(_))), "{other}");
    }
    let narrow = r#"{"names": ["write"], "action": "SCMP_ACT_ALLOW",
                     "args": [{"index": 0, "value": 4294967295, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}]}"#;
    let narrow = format!("{}, {narrow}", allow(r#""read", "close""#));
    assert!(matches!(check(&narrow), Err(Unverified::Denied(_))));
    let one = Allowed { args: vec![(0, 1)], ..wanted[0].clone() };
    assert!(proved(&before, &profile(&narrow), std::slice::from_ref(&one)).is_ok());
    // The kernel ignores the upper half of the descriptor.
    let exact = narrow.replace("MASKED_EQ", "EQ").replace("4294967295, \"valueTwo\": 1", "1");
    let exact = proved(&before, &profile(&exact), std::slice::from_ref(&one));
    assert!(matches!(exact, Err(Unverified::Denied(_))));
    // All arguments are more than one.
    let all = profile(&allow(r#""read", "close", "write""#));
    assert!(matches!(proved(&before, &all, &[one]), Err(Unverified::Other(_))));
    // Another verdict of a denied syscall is reported.
    let trap = format!(
        r#"{}, {{"names": ["mount"], "action": "SCMP_ACT_TRAP"}}"#,
        allow(r#""read", "close", "write""#)
    );
    let effect = check(&trap).unwrap().side_effect.unwrap();
    assert_eq!(effect.data.nr, 165);
}

/// On another architecture, where the syscall may be allowed in addition, it must not be denied.
#[test]
fn no_architecture_loses_the_syscall() {
    let policy = |allowed: &[Arch]| {
        let section = |arch: Arch| {
            let nr = arch.number("write").filter(|_| allowed.contains(&arch));
            let rule = nr.map(|nr| Rule {
                syscalls: SyscallSet::one(nr),
                when: Condition::always(),
                verdict: Verdict::ALLOW,
            });
            Section::new(arch, rule.into_iter().collect(), Verdict::errno(1))
        };
        let sections = vec![section(ARCH), section(Arch::X86)];
        Policy::new(sections, Verdict::KILL_PROCESS).unwrap()
    };
    let before = policy(&[Arch::X86]);
    let wanted = [Allowed::all(ARCH, "write")];
    assert!(proved(&before, &policy(&[ARCH, Arch::X86]), &wanted).is_ok());
    assert!(matches!(proved(&before, &policy(&[ARCH]), &wanted), Err(Unverified::Other(_))));
    // It may gain it.
    assert!(proved(&policy(&[]), &policy(&[ARCH, Arch::X86]), &wanted).is_ok());
}

/// A filter cannot see the arguments behind a multiplexer, so what a change allows there is told apart.
#[test]
fn calls_through_a_multiplexer_are_named() {
    let text = r#"{"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
        "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}%]}"#;
    let with = |more: &str| read("oci", &text.replace('%', more)).unwrap().0;
    let some = r#", {"names": ["socket"], "action": "SCMP_ACT_ALLOW",
        "args": [{"index": 0, "value": 4294967295, "valueTwo": 16, "op": "SCMP_CMP_MASKED_EQ"}]}"#;
    let wanted = Allowed::with_args(ARCH, "socket", vec![(0, 16)]);
    let verified = proved(&with(""), &with(some), &[wanted]).unwrap();
    let other = verified.multiplexed.unwrap().data;
    let socketcall = Arch::X86.number("socketcall").unwrap();
    assert_eq!((other.arch, other.nr, other.args[0]), (Arch::X86.token(), socketcall, 1));
    // All arguments are wanted here, so this is nothing more.
    let all = r#", {"names": ["socket"], "action": "SCMP_ACT_ALLOW"}"#;
    let wanted = Allowed::with_args(ARCH, "socket", Vec::new());
    let verified = proved(&with(""), &with(all), &[wanted]).unwrap();
    assert_eq!(verified.multiplexed, None);
}
