//! Random recordings in every form: what was recorded is allowed, by the rules themselves, and the text
//! means what the rules mean, for readers that were written for this test.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::data::SeccompData;
use crate::frontend::oci;
use crate::syscalls::KernelVersion;

/// Calls of which arguments are limited come up more often than others.
const LIMITED: &[&str] =
    &["clone", "fcntl", "futex", "ioctl", "mmap", "mprotect", "prctl", "ptrace", "socket"];

fn arches() -> impl Strategy<Value = Vec<Arch>> {
    prop_oneof![
        3 => Just(vec![Arch::X86_64]),
        1 => Just(vec![Arch::X86_64, Arch::X86]),
        1 => Just(vec![Arch::X32, Arch::X86_64]),
        1 => Just(vec![Arch::Aarch64, Arch::Arm]),
        1 => Just(vec![Arch::S390x]),
        1 => Just(vec![Arch::Mips64]),
    ]
}

/// A value like those that arguments have.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..8,
        2 => 0_u64..0x100,
        1 => Just(0x7e02_0000),
        1 => Just(0xffff_ffff_ffff_ff9c),
        1 => any::<u64>(),
    ]
}

type Observed = Vec<(CallId, [u64; 6], u64)>;

/// Calls on some of the architectures, each with a count of repetitions.
fn observed(arches: Vec<Arch>) -> impl Strategy<Value = Observed> {
    let call = (0..arches.len(), any::<bool>(), 0_usize..500, any::<[bool; 1]>());
    let one = (call, [value(), value(), value(), value(), value(), value()], 1_u64..9);
    proptest::collection::vec(one, 1..60).prop_map(move |calls| {
        let id = |(arch, limited, index, [unknown]): (usize, bool, usize, [bool; 1])| {
            let arch = arches[arch];
            let names: Vec<(u32, &str)> = arch.calls().collect();
            let name = LIMITED[index % LIMITED.len()];
            match arch.number(name) {
                Some(nr) if limited => CallId::new(arch, nr),
                _ if unknown && index < 9 => CallId::new(arch, names[0].0 + 3000 + index as u32),
                _ => CallId::new(arch, names[index % names.len()].0),
            }
        };
        calls.into_iter().map(|(call, args, times)| (id(call), args, times)).collect()
    })
}

fn options() -> impl Strategy<Value = Options> {
    const ARGUMENTS: &[Arguments] = &[Arguments::Off, Arguments::Stable, Arguments::All];
    const DENY: &[Deny] = &[Deny::Enosys, Deny::Eperm, Deny::Kill, Deny::Log];
    (
        any::<bool>(),
        proptest::sample::select(ARGUMENTS),
        proptest::sample::select(DENY),
        proptest::sample::select(Runtime::ALL),
    )
        .prop_map(|(complete, arguments, deny, runtime)| Options {
            arches: Vec::new(),
            complete,
            arguments,
            deny,
            runtime,
            partial: false,
        })
}

fn recording_of(observed: &[(CallId, [u64; 6], u64)]) -> Recording {
    let mut recording = Recording::default();
    for (call, args, times) in observed {
        (0..*times).for_each(|_| recording.observe(*call, args));
    }
    recording
}

/// The call as a filter sees it.
fn data((call, args, _): &(CallId, [u64; 6], u64)) -> SeccompData {
    let wide = call.arch.has_wide_registers();
    let args = args.map(|arg| if wide { arg } else { arg & 0xffff_ffff });
    SeccompData { arch: call.arch.token(), nr: call.nr, args, ..SeccompData::default() }
}

/// Calls near an observed one: other values in one argument, another number. On a 32-bit interface the
/// high halves stay zero.
fn neighbours(near: &SeccompData) -> Vec<SeccompData> {
    let wide = Arch::of_call(near.arch, near.nr).is_some_and(Arch::is_64bit);
    let mut all = vec![SeccompData { nr: near.nr ^ 1, ..*near }];
    for (arg, bit) in (0..6).flat_map(|arg| [0, 1, 2, 4, 17, 29, 32].map(|bit| (arg, bit))) {
        if bit == 32 && !wide {
            continue;
        }
        let mut other = *near;
        other.args[arg] ^= 1 << bit;
        all.push(other);
    }
    all
}

/// Tests of arguments, each with a mask and a value, in alternatives.
type Alternatives = Vec<Vec<(usize, u64, u64)>>;

/// A Kafel policy: the rule of each number.
struct Kafel {
    rules: HashMap<u32, (Verdict, Alternatives)>,
    default: Verdict,
}

fn kafel_verdict(text: &str) -> Verdict {
    match text.trim() {
        "ALLOW" => Verdict::ALLOW,
        "LOG" => Verdict::LOG,
        "KILL_PROCESS" => Verdict::KILL_PROCESS,
        errno => {
            let number = errno.strip_prefix("ERRNO(").and_then(|rest| rest.strip_suffix(')'));
            Verdict::errno(number.unwrap().parse().unwrap())
        }
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Reads the part of Kafel that is written here.
fn read_kafel(text: &str) -> Kafel {
    let code: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for line in code.iter().filter(|line| line.starts_with("#define")) {
        let [_, name, number] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(numbers.insert(name, number.parse().unwrap()), None);
    }
    let body = code.iter().filter(|line| !line.starts_with('#')).copied().collect::<String>();
    let (rules, default) = body.split_once("}USE generated DEFAULT ").unwrap();
    let rules = rules.strip_prefix("POLICY generated {").unwrap();
    let mut all = HashMap::new();
    // Blocks end where a brace closes that no condition opened.
    let (mut depth, mut start) = (0, 0);
    for (at, c) in rules.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == '}' && depth == 0 {
            let block = rules[start..at].trim_start_matches(',');
            let (verdict, list) = block.split_once('{').unwrap();
            for (nr, when) in read_list(list, &numbers) {
                assert!(all.insert(nr, (kafel_verdict(verdict), when)).is_none(), "{nr} twice");
            }
            start = at + 1;
        }
    }
    Kafel { rules: all, default: kafel_verdict(default) }
}

/// `name, SYSCALL[3], name(arg0, arg1) { … }`.
fn read_list(list: &str, numbers: &HashMap<&str, u32>) -> Vec<(u32, Alternatives)> {
    let mut rules = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        let end = rest.find([',', '(']).unwrap_or(rest.len());
        let word = rest[..end].trim();
        let nr = match word.strip_prefix("SYSCALL[") {
            Some(number) => number.strip_suffix(']').unwrap().parse().unwrap(),
            None => *numbers.get(word).unwrap_or_else(|| panic!("{word} is not defined")),
        };
        if !rest[end..].starts_with('(') {
            rules.push((nr, vec![Vec::new()]));
            rest = rest[end..].trim_start_matches(',').trim();
            continue;
        }
        let (_, after) = rest.split_once('{').unwrap();
        let (condition, after) = after.split_once('}').unwrap();
        let test = |test: &str| {
            let (left, value) = test.split_once(" == ").unwrap();
            let left = left.trim().trim_start_matches('(').trim_end_matches(')');
            let (arg, mask) = match left.split_once(" & ") {
                Some((arg, mask)) => (arg, hex(mask)),
                None => (left, u64::MAX),
            };
            (arg.strip_prefix("arg").unwrap().parse().unwrap(), mask, hex(value))
        };
        let when = condition.split("||").map(|all| all.split("&&").map(test).collect()).collect();
        rules.push((nr, when));
        rest = after.trim_start_matches(',').trim();
    }
    rules
}

impl Kafel {
    fn verdict(&self, data: &SeccompData) -> Verdict {
        let holds = |all: &Vec<(usize, u64, u64)>| {
            all.iter().all(|(arg, mask, value)| data.args[*arg] & mask == *value)
        };
        match self.rules.get(&data.nr) {
            Some((verdict, when)) if when.iter().any(holds) => *verdict,
            _ => self.default,
        }
    }
}

/// The names in lists of systemd, what it adds by itself among them.
fn systemd_names(text: &str) -> HashSet<&str> {
    let lists = text.lines().filter_map(|line| {
        line.strip_prefix("SystemCallFilter=").or(line.strip_prefix("SystemCallLog=~"))
    });
    lists.flat_map(|list| list.split(' ')).collect()
}

proptest! {
    #[test]
    fn every_form_allows_what_was_recorded_and_says_what_it_means(
        (arches, observed) in arches().prop_flat_map(|arches| (Just(arches.clone()), observed(arches))),
        options in options(),
        cut in 0_usize..60,
    ) {
        let (first, second) = observed.split_at(cut.min(observed.len()));
        let recordings = [recording_of(first), recording_of(second)];
        let draft = generate(&recordings, &options).unwrap();
        for form in [Form::Oci, Form::Systemd, Form::Kafel] {
            if form == Form::Kafel && draft.arches().len() > 1 {
                continue;
            }
            let written = draft.write(form).unwrap();
            for observed in &observed {
                if observed.0.name().is_some() || form.says_numbers() {
                    prop_assert_eq!(written.policy.evaluate(&data(observed)), Verdict::ALLOW);
                }
            }
            let calls = observed.iter().map(data).flat_map(|near| neighbours(&near));
            match form {
                Form::Oci => {
                    // As a runtime reads it, without options.
                    let native = draft.arches()[0];
                    let mut reading = oci::Options::new(native, KernelVersion { major: 6, minor: 18 });
                    reading.arches = arches.clone();
                    let profile = oci::read(&written.text, &reading).unwrap();
                    let spoken = observed.iter().filter(|observed| observed.0.name().is_some());
                    for observed in spoken {
                        let verdict = profile.policy.evaluate(&data(observed));
                        prop_assert_eq!(verdict, Verdict::ALLOW);
                    }
                }
                Form::Kafel => {
                    let kafel = read_kafel(&written.text);
                    let arch = draft.arches()[0];
                    let own = |data: &SeccompData| Arch::of_call(data.arch, data.nr) == Some(arch);
                    for data in calls.filter(own) {
                        prop_assert_eq!(kafel.verdict(&data), written.policy.evaluate(&data));
                    }
                }
                Form::Systemd => {
                    let names = systemd_names(&written.text);
                    for grant in draft.grants() {
                        let added = options.deny != Deny::Log
                            && super::super::runtime::is_added_by_systemd(grant.name);
                        prop_assert!(names.contains(grant.name) || added, "{}", grant.name);
                    }
                    let also: Vec<&str> = draft.granted_by(form).collect();
                    let granted = |name: &&str| {
                        also.contains(name) || draft.grants().any(|grant| grant.name == *name)
                    };
                    prop_assert!(also.iter().all(|name| names.contains(name)));
                    prop_assert!(names.iter().all(granted));
                }
            }
        }
    }
}

proptest! {
    /// What was merged before, in whatever grouping, through a file, makes the same profile.
    #[test]
    fn merged_recordings_make_the_same_profile(
        (arches, parts) in arches().prop_flat_map(|arches| {
            (Just(arches.clone()), proptest::collection::vec(observed(arches), 1..4))
        }),
        options in options(),
    ) {
        let recordings: Vec<Recording> = parts.iter().map(|part| recording_of(part)).collect();
        let merge = |parts: &[Recording]| {
            let mut all = Recording::default();
            parts.iter().for_each(|part| all.merge(part.clone()));
            let reading = crate::frontend::recording::Options {
                arch: arches[0], strict: true, partial: false,
            };
            crate::frontend::recording::read(&all.to_json(), &reading).unwrap().recording
        };
        let (first, others) = recordings.split_first().unwrap();
        let all = merge(&recordings);
        let mut tail = others.to_vec();
        if !tail.is_empty() {
            tail = vec![merge(&tail)];
        }
        tail.push(first.clone());
        let draft = generate(&recordings, &options).unwrap();
        for other in [vec![all], tail] {
            let other = generate(&other, &options).unwrap();
            prop_assert_eq!(&other, &draft);
            prop_assert_eq!(other.write(Form::Oci).unwrap().text, draft.write(Form::Oci).unwrap().text);
        }
    }
}
