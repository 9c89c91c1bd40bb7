//! Random profiles as trees: valid ones, some with a member that is repeated or has an unusual value.

use callgate_bpf::random::Rng;

use super::driver::Owner;
use super::tree::Value;

const NAMES: &[&str] = &[
    "read",
    "write",
    "openat",
    "ptrace",
    "mount",
    "socket",
    "clone",
    "personality",
    "kcmp",
    "keyctl",
    "bpf",
    "fork",
    "open",
    "close",
    "kill",
    "pipe",
    "dup",
    "nosuchcall",
];
const ACTIONS: &[&str] = &[
    "SCMP_ACT_ALLOW",
    "SCMP_ACT_ALLOW",
    "SCMP_ACT_ERRNO",
    "SCMP_ACT_KILL_PROCESS",
    "SCMP_ACT_LOG",
    "SCMP_ACT_TRACE",
];
const OPERATORS: &[&str] =
    &["SCMP_CMP_EQ", "SCMP_CMP_NE", "SCMP_CMP_MASKED_EQ", "SCMP_CMP_GE", "SCMP_CMP_LT"];
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "8",
    "17",
    "64",
    "255",
    "4096",
    "131072",
    "2114060288",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
];

/// Values that a reader may take for something else.
const ODD: &[&str] = &[
    "yes",
    "no",
    "on",
    "Off",
    "y",
    "n",
    "true",
    "True",
    "null",
    "~",
    "",
    "010",
    "0o10",
    "0x10",
    "0X10",
    "0b11",
    "1_000",
    "1:30",
    "1e3",
    "1.0",
    "1.",
    ".5",
    "-0",
    "+7",
    "-1",
    ".inf",
    ".nan",
    "18446744073709551616",
    "2024-01-01",
    "<<",
    "=",
    "a: b",
    "a #b",
    "#a",
    "- a",
    "-",
    "?",
    "? a",
    "[",
    "a, b",
    "*a",
    "&a",
    "!a",
    "!!str a",
    "%a",
    "@a",
    "`a",
    "'",
    "\"",
    "a\nb",
    "a\n",
    "\n",
    " a",
    "a ",
    "a\tb",
    "ä",
    "\u{a0}",
    "a:b",
    "a:",
    ":a",
    "::",
    "{a}",
    "---",
    "...",
    "|",
    ">",
    "\\",
    "a\u{2028}b",
    "\u{85}",
    "\u{feff}",
    "\u{fffe}",
    "\u{7f}",
    "\u{1f600}",
    "1e999",
    "08",
    "0x1_0",
    "12:30:45",
    "NO",
];

/// A random profile of this owner.
pub(super) fn document(rng: &mut Rng, owner: Owner) -> Value {
    let mut profile = match owner {
        Owner::Config => {
            let profile = profile(rng, Owner::Runc);
            let linux = Value::map(vec![("seccomp", profile)]);
            Value::map(vec![("ociVersion", Value::text("1.0.2")), ("linux", linux)])
        }
        Owner::Resource => {
            let mut members = vec![
                ("apiVersion", Value::text("security-profiles-operator.x-k8s.io/v1beta1")),
                ("kind", Value::text("SeccompProfile")),
                ("metadata", Value::map(vec![("name", Value::text("web"))])),
                ("spec", profile(rng, owner)),
            ];
            if one_in(rng, 4) {
                rng.shuffle(&mut members);
            }
            Value::map(members)
        }
        _ => profile(rng, owner),
    };
    if one_in(rng, 4) {
        disturb(rng, &mut profile);
    }
    profile
}

fn one_in(rng: &mut Rng, number: usize) -> bool {
    rng.below(number) == 0
}

fn one<'t>(rng: &mut Rng, from: &[&'t str]) -> &'t str {
    rng.pick(from).unwrap_or_default()
}

fn profile(rng: &mut Rng, owner: Owner) -> Value {
    let default = one(rng, &["SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_LOG"]);
    let oddity = one(rng, ODD);
    let mut members = vec![("defaultAction", Value::text(default))];
    if default == "SCMP_ACT_ERRNO" && owner != Owner::Resource && one_in(rng, 3) {
        members.push(("defaultErrnoRet", Value::Number(one(rng, &["1", "38", "13"]).to_owned())));
    }
    if one_in(rng, 3) {
        members.push(("architectures", Value::texts(&["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"])));
    } else if matches!(owner, Owner::Docker | Owner::Podman) && one_in(rng, 3) {
        let row = Value::map(vec![
            ("architecture", Value::text("SCMP_ARCH_X86_64")),
            ("subArchitectures", Value::texts(&["SCMP_ARCH_X86", "SCMP_ARCH_X32"])),
        ]);
        members.push(("archMap", Value::List(vec![row])));
    }
    if one_in(rng, 6) {
        members.push(("flags", Value::texts(&["SECCOMP_FILTER_FLAG_LOG"])));
    }
    if one_in(rng, 8) {
        members.push(("x-comment", Value::text(oddity)));
    }
    let entries = (0..=rng.below(3)).map(|_| entry(rng, owner, default)).collect();
    members.push(("syscalls", Value::List(entries)));
    if one_in(rng, 4) {
        rng.shuffle(&mut members);
    }
    Value::map(members)
}

fn entry(rng: &mut Rng, owner: Owner, default: &str) -> Value {
    let action = one(rng, ACTIONS);
    let names: Vec<&str> = (0..=rng.below(3)).map(|_| one(rng, NAMES)).collect();
    let mut members = vec![("names", Value::texts(&names)), ("action", Value::text(action))];
    if action == "SCMP_ACT_ERRNO" && (default == "SCMP_ACT_ERRNO" || one_in(rng, 2)) {
        members.push(("errnoRet", Value::Number(one(rng, &["2", "13", "38", "1"]).to_owned())));
    }
    if one_in(rng, 2) {
        let count = 1 + rng.below(2);
        members
            .push(("args", Value::List((0..count).map(|index| condition(rng, index)).collect())));
    }
    if matches!(owner, Owner::Docker | Owner::Podman) {
        if one_in(rng, 4) {
            let caps = Value::texts(&[one(rng, &["CAP_SYS_ADMIN", "CAP_CHOWN"])]);
            let mut gate = vec![("caps", caps)];
            if owner == Owner::Docker && one_in(rng, 2) {
                gate.push((
                    "minKernel",
                    Value::text(one(rng, &["4.8", "5.10", "7.0", "4.300", ""])),
                ));
            }
            members.push((one(rng, &["includes", "excludes"]), Value::map(gate)));
        }
        if one_in(rng, 6) {
            members.push(("comment", Value::text(one(rng, ODD))));
        }
    }
    if one_in(rng, 4) {
        rng.shuffle(&mut members);
    }
    Value::map(members)
}

fn condition(rng: &mut Rng, index: usize) -> Value {
    let op = one(rng, OPERATORS);
    let mut members = vec![
        ("index", Value::Number(index.to_string())),
        ("value", Value::Number(one(rng, VALUES).to_owned())),
        ("op", Value::text(op)),
    ];
    if op == "SCMP_CMP_MASKED_EQ" {
        members.push(("valueTwo", Value::Number(one(rng, VALUES).to_owned())));
    }
    if one_in(rng, 4) {
        rng.shuffle(&mut members);
    }
    Value::map(members)
}

/// Changes one value or key of a tree: repeats a member, changes the case of a key, or writes another value.
fn disturb(rng: &mut Rng, document: &mut Value) {
    let mut count = 0;
    document.each(&mut |_| count += 1);
    let (chosen, mut at) = (rng.below(count), 0);
    document.each(&mut |value| {
        if at == chosen {
            disturb_value(rng, value);
        }
        at += 1;
    });
}

fn disturb_value(rng: &mut Rng, value: &mut Value) {
    let odd = |rng: &mut Rng| match rng.below(9) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::List(Vec::new()),
        3 => Value::Map(Vec::new()),
        4 => Value::Number(one(rng, VALUES).to_owned()),
        5 => Value::Number(
            one(rng, &["1.0", "1e3", "-0", "-1", "0.5e1", "18446744073709551616", "1E0"])
                .to_owned(),
        ),
        _ => Value::text(one(rng, ODD)),
    };
    match value {
        Value::Map(members) if !members.is_empty() => {
            let at = rng.below(members.len());
            let mut copy = members[at].clone();
            match rng.below(5) {
                0 => members[at].0 = folded(rng, &copy.0),
                1 => {
                    copy.0 = folded(rng, &copy.0);
                    members.insert(rng.below(members.len() + 1), copy);
                }
                2 => {
                    if let Value::List(items) = &mut copy.1 {
                        items.reverse();
                        items.truncate(1);
                    } else {
                        copy.1 = odd(rng);
                    }
                    members.insert(rng.below(members.len() + 1), copy);
                }
                3 => members[at].1 = odd(rng),
                _ => {
                    members.remove(at);
                }
            }
        }
        Value::List(items) => {
            let new = odd(rng);
            items.insert(rng.below(items.len() + 1), new);
        }
        other => *other = odd(rng),
    }
}

/// A key that Go's decoder may take for this one.
pub(super) fn folded(rng: &mut Rng, key: &str) -> String {
    match rng.below(5) {
        0 => key.to_uppercase(),
        1 => key.to_lowercase(),
        2 => key.replacen('s', "\u{17f}", 1),
        3 => key.replacen(['k', 'K'], "\u{212a}", 1),
        _ => key.chars().rev().collect::<String>().to_uppercase().chars().rev().collect(),
    }
}
