//! Changes that allow a denied syscall, in each language: they are found and proved.

use callgate::change::{
    Allowed, Candidates, Language, Unverified, Verified, apply, candidates, verify,
};
use callgate::diagram::Store;
use callgate::formats::statements::Statements;
use callgate::formats::{firecracker, kafel, lxc, minijail, oci};
use callgate::policy::{Condition, Policy, Rule, Section, SyscallSet};
use callgate::syscalls::KernelVersion;
use callgate::why::why;
use callgate::{Action, Arch, SeccompData, Verdict, compile};

const ARCH: Arch = Arch::X86_64;

type Read = fn(&str) -> Option<(Policy, Statements)>;

fn of_profile(text: &str) -> Option<(Policy, Statements)> {
    let kernel = KernelVersion { major: 6, minor: 12 };
    let mut options = oci::ReadOptions::new(ARCH, kernel);
    (options.statements, options.enosys_above) = (true, Some(oci::EnosysAbove::Off));
    let profile = oci::read(text, &options).ok()?;
    Some((profile.policy, profile.statements?))
}

fn of_kafel(text: &str) -> Option<(Policy, Statements)> {
    let options = kafel::ReadOptions::for_arches(vec![ARCH]);
    let profile = kafel::read(text, &kafel::ReadOptions { statements: true, ..options }).ok()?;
    Some((profile.policy, profile.statements?))
}

fn of_minijail(text: &str) -> Option<(Policy, Statements)> {
    let options = minijail::ReadOptions { statements: true, ..minijail::ReadOptions::new(ARCH) };
    let profile = minijail::read(text, &options).ok()?.profile;
    Some((profile.policy, profile.statements?))
}

fn of_firecracker(text: &str) -> Option<(Policy, Statements)> {
    let options =
        firecracker::ReadOptions { statements: true, ..firecracker::ReadOptions::new(ARCH) };
    let profile = firecracker::read(text, &options).ok()?;
    Some((profile.policy, profile.statements?))
}

fn of_lxc(text: &str) -> Option<(Policy, Statements)> {
    let options = lxc::ReadOptions { native: ARCH, strict: false, statements: true };
    let profile = lxc::read(text, &options).ok()?;
    Some((profile.policy, profile.statements?))
}

/// The text after the first candidate that is proved.
fn changed(language: Language, read: Read, text: &str, wanted: &Allowed) -> Option<String> {
    let (policy, statements) = read(text).expect("the text is valid");
    let nr = wanted.arch.number(&wanted.name)?;
    let mut data = SeccompData { nr, arch: wanted.arch.token(), ..SeccompData::default() };
    wanted.args.iter().for_each(|(index, value)| data.args[usize::from(*index)] = *value);
    let found = why(&policy, &statements, &data, Some(&wanted.name));
    let input =
        Candidates { language, text, file: None, statements: &statements, why: &found, wanted };
    candidates(&input).into_iter().find_map(|candidate| {
        let changed = apply(text, &candidate.edits)?;
        let (after, _) = read(&changed)?;
        let wanted = match candidate.all_arguments {
            true => wanted.with_all_arguments(),
            false => wanted.clone(),
        };
        proved(&policy, &after, &[wanted]).ok().map(|_| changed)
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

const TEXTS: &[(&str, Language, Read, &str)] = &[
    ("json", Language::Profile, of_profile, JSON),
    (
        "compact json",
        Language::Profile,
        of_profile,
        r#"{"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}],"defaultAction":"SCMP_ACT_KILL"}"#,
    ),
    (
        "no allowed syscalls",
        Language::Profile,
        of_profile,
        r#"{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[]}"#,
    ),
    ("no list", Language::Profile, of_profile, r#"{ "defaultAction": "SCMP_ACT_KILL" }"#),
    (
        "first format",
        Language::Profile,
        of_profile,
        r#"{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[
            {"name": "read", "action": "SCMP_ACT_ALLOW", "args": []}]}"#,
    ),
    (
        "denylist",
        Language::Profile,
        of_profile,
        r#"{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
            {"names": ["mount", "reboot"], "action": "SCMP_ACT_ERRNO"},
            {"names": ["acct"], "action": "SCMP_ACT_ERRNO"}]}"#,
    ),
    (
        "yaml",
        Language::Profile,
        of_profile,
        "defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n- action: SCMP_ACT_ALLOW\n  names:\n  - read # x\n  - 'write'\n\
         - names: [ reboot ]\n  action: SCMP_ACT_KILL\n",
    ),
    (
        "yaml with one name",
        Language::Profile,
        of_profile,
        "syscalls:\n  - names:\n      - read\n    action: SCMP_ACT_ALLOW\ndefaultAction: SCMP_ACT_ERRNO\n",
    ),
    ("yaml without a list", Language::Profile, of_profile, "# x\ndefaultAction: SCMP_ACT_ERRNO\n"),
    (
        "kafel",
        Language::Kafel,
        of_kafel,
        "// x\nPOLICY p {\n  ALLOW { read, write { fd == 1 } },\n  KILL { reboot },\n  ERRNO(1) { acct, swapon }\n}\n\
         USE p DEFAULT KILL\n",
    ),
    ("kafel without rules", Language::Kafel, of_kafel, "DEFAULT ERRNO(1)"),
    ("kafel denylist", Language::Kafel, of_kafel, "KILL { mount, reboot } DEFAULT ALLOW"),
    (
        "minijail",
        Language::Minijail,
        of_minijail,
        "# x\nread: 1\nwrite: arg0 == 1\nptrace: return EPERM\n@default kill-process",
    ),
    (
        "minijail denylist",
        Language::Minijail,
        of_minijail,
        "@denylist\nmount: return 1\nreboot: return EPERM\n",
    ),
    (
        "firecracker",
        Language::Firecracker,
        of_firecracker,
        r#"{"vmm": {"default_action": "trap", "filter_action": "allow", "filter": [
            {"syscall": "read"},
            {"syscall": "write", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 1}]},
            {"syscall": "write", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 2}]}]}}"#,
    ),
    ("lxc", Language::Lxc, of_lxc, "2\nallowlist errno 1\nread\nwrite\n[x86]\nclose\n"),
    ("lxc denylist", Language::Lxc, of_lxc, "2\ndenylist\n[all]\nmount errno 1\nreboot errno 1\n"),
    ("lxc 1", Language::Lxc, of_lxc, "1\nallowlist\n0\n1\n"),
];

/// Every denied syscall of every text can be allowed.
#[test]
fn each_denied_syscall_can_be_allowed() {
    for (what, language, read, text) in TEXTS {
        let (policy, _) = read(text).unwrap_or_else(|| panic!("{what} is valid"));
        let mut count = 0;
        for (nr, name) in ARCH.syscalls() {
            let data = SeccompData { nr, arch: ARCH.token(), ..SeccompData::default() };
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
            let found = changed(*language, *read, text, &wanted);
            // Kafel knows some syscalls by other names.
            assert!(found.is_some() || *what == "kafel", "{what}: {name}");
        }
        assert!(count > 1, "{what}");
    }
}

/// With arguments, only these are allowed, where the language has conditions.
#[test]
fn arguments_limit_the_change() {
    let wanted = Allowed { arch: ARCH, name: "fcntl".to_owned(), args: vec![(0, 3), (1, 1024)] };
    for (what, language, read, text) in TEXTS {
        let (policy, _) = read(text).unwrap();
        let data = |args: [u64; 2]| {
            let mut data = SeccompData { nr: 72, arch: ARCH.token(), ..SeccompData::default() };
            data.args[..2].copy_from_slice(&args);
            data
        };
        if policy.evaluate(&data([3, 1024])).action() == Action::Allow {
            continue;
        }
        let text = changed(*language, *read, text, &wanted).unwrap_or_else(|| panic!("{what}"));
        let (after, _) = read(&text).unwrap();
        let is_allowed = |args| after.evaluate(&data(args)).action() == Action::Allow;
        assert!(is_allowed([3, 1024]), "{what}: {text}");
        assert_eq!(is_allowed([3, 1025]), *what == "lxc 1", "{what}: {text}");
        assert_eq!(is_allowed([4, 1024]), *what == "lxc 1", "{what}: {text}");
    }
}

/// The proof refuses changes that allow less or more.
#[test]
fn only_the_wanted_change_is_proved() {
    let profile = |rules: &str| {
        let text = format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{rules}]}}"#);
        of_profile(&text).unwrap().0
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
                     "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]}"#;
    let narrow = format!("{}, {narrow}", allow(r#""read", "close""#));
    assert!(matches!(check(&narrow), Err(Unverified::Denied(_))));
    let one = Allowed { args: vec![(0, 1)], ..wanted[0].clone() };
    assert!(proved(&before, &profile(&narrow), std::slice::from_ref(&one)).is_ok());
    // All arguments are more than one.
    let all = profile(&allow(r#""read", "close", "write""#));
    assert!(matches!(proved(&before, &all, &[one]), Err(Unverified::Other(_))));
    // Another verdict of a denied syscall is said.
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
