//! Random recordings in every format: recorded syscalls are allowed, and the text has the meaning of the policy according
//! to readers that were written for these tests.

use callgate_bpf::SyscallTable;
use proptest::prelude::*;

use super::kafel::read_kafel;
use super::systemd::{is_denied_by_directives, systemd_names};
use super::*;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::{SeccompData, Verdict};
use callgate_formats::oci;

/// Syscalls with limitable arguments, which are chosen more often than others.
const LIMITABLE: &[&str] = &[
    "chmod",
    "clone",
    "fcntl",
    "futex",
    "ioctl",
    "mmap",
    "mprotect",
    "openat",
    "personality",
    "prctl",
    "ptrace",
    "sched_setscheduler",
    "setns",
    "socket",
    "unshare",
];

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

/// A typical value of an argument.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..8,
        2 => 0_u64..0x100,
        1 => Just(0x7e02_0000),
        1 => Just(0xffff_ffff_ffff_ff9c),
        1 => any::<u64>(),
    ]
}

type Observed = Vec<(SyscallId, [u64; 6], u64)>;

/// Syscalls on some of the architectures, each with a number of repetitions.
fn observed(arches: Vec<Arch>) -> impl Strategy<Value = Observed> {
    let syscall = (0..arches.len(), any::<bool>(), 0_usize..500, any::<[bool; 1]>());
    let one = (syscall, [value(), value(), value(), value(), value(), value()], 1_u64..9);
    proptest::collection::vec(one, 1..60).prop_map(move |syscalls| {
        let id = |(arch, limited, index, [unknown]): (usize, bool, usize, [bool; 1])| {
            let arch = arches[arch];
            let names: Vec<(u32, &str)> = arch.syscalls().collect();
            let name = LIMITABLE[index % LIMITABLE.len()];
            match arch.number(name) {
                Some(nr) if limited => SyscallId::new(arch, nr),
                _ if unknown && index < 9 => SyscallId::new(arch, names[0].0 + 3000 + index as u32),
                _ => SyscallId::new(arch, names[index % names.len()].0),
            }
        };
        syscalls.into_iter().map(|(syscall, args, times)| (id(syscall), args, times)).collect()
    })
}

fn options() -> impl Strategy<Value = GenerateOptions> {
    const ARGUMENTS: &[LimitedArgs] = &[LimitedArgs::Off, LimitedArgs::Stable, LimitedArgs::All];
    const DENY: &[DenyAction] =
        &[DenyAction::Enosys, DenyAction::Eperm, DenyAction::Kill, DenyAction::Log];
    (
        any::<bool>(),
        proptest::sample::select(ARGUMENTS),
        proptest::sample::select(DENY),
        proptest::sample::select(Runtime::ALL),
    )
        .prop_map(|(complete, arguments, deny, runtime)| GenerateOptions {
            arches: Vec::new(),
            complete,
            arguments,
            deny,
            runtime,
            systemd: NEWEST_SYSTEMD,
            resource: "generated-profile".to_owned(),
            namespaces: AllowedNamespaces::Recorded { and: 0 },
            runtime_calls: complete,
            partial: false,
        })
}

fn recording_of(observed: &[(SyscallId, [u64; 6], u64)]) -> Recording {
    let mut recording = Recording::default();
    for (syscall, args, times) in observed {
        (0..*times).for_each(|_| recording.observe(*syscall, args));
    }
    recording
}

/// The syscall as a filter sees it.
fn data((syscall, args, _): &(SyscallId, [u64; 6], u64)) -> SeccompData {
    let wide = syscall.arch.has_wide_registers();
    let args = args.map(|arg| if wide { arg } else { arg & 0xffff_ffff });
    SeccompData { arch: syscall.arch.token(), nr: syscall.nr, args, ..SeccompData::default() }
}

/// Syscalls similar to an observed one: another value of one argument, or another number. On 32-bit ABIs the high halves
/// remain zero.
fn neighbours(near: &SeccompData) -> Vec<SeccompData> {
    let wide = Arch::of_syscall(near.arch, near.nr).is_some_and(Arch::is_64bit);
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

/// The directives of a draft that limit arguments.
fn directives(draft: &Draft) -> Vec<String> {
    let text = draft.write(to("systemd")).unwrap().text;
    let lines = text.lines().filter(|line| line.contains('=') && !line.starts_with("SystemCall"));
    lines.filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Syscalls with their first arguments.
type Syscalls<'c> = &'c [(&'c str, &'c [u64])];

#[test]
fn directives_depend_on_recorded_values() {
    let of = |syscalls: Syscalls<'_>| {
        let draft =
            generate(&[recorded(1, syscalls)], &GenerateOptions { complete: false, ..bare() })
                .unwrap();
        directives(&draft)
    };
    let cases: &[(Syscalls<'_>, &[&str])] = &[
        (
            &[("socket", &[1]), ("socket", &[10]), ("socket", &[2])],
            &["RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6"],
        ),
        // A family without a name, an invalid one, and no socket.
        (&[("socket", &[1]), ("socket", &[200])], &[]),
        (&[("socket", &[1 << 32 | 1])], &[]),
        (&[("read", &[1])], &[]),
        (&[("clone", &[0x0120_0011])], &["RestrictNamespaces=yes"]),
        (&[("clone", &[0x0120_0011]), ("unshare", &[0x4000_0000])], &["RestrictNamespaces=net"]),
        (
            &[("setns", &[3, 0x4000_0000]), ("unshare", &[0x0800_0000])],
            &["RestrictNamespaces=ipc net"],
        ),
        // Any namespace; flags in memory, so libraries use clone.
        (&[("setns", &[3, 0]), ("unshare", &[0x4000_0000])], &[]),
        (&[("clone", &[0x11]), ("clone3", &[0x7fff_0000, 88])], &["RestrictNamespaces=yes"]),
        (&[("clone3", &[0x7fff_0000, 88])], &["RestrictNamespaces=yes"]),
        (&[("mmap", &[0, 1, 3]), ("mprotect", &[0, 1, 1])], &["MemoryDenyWriteExecute=yes"]),
        (&[("mmap", &[0, 1, 5])], &["MemoryDenyWriteExecute=yes"]),
        (&[("mmap", &[0, 1, 7])], &[]),
        (&[("mmap", &[0, 1, 3]), ("mprotect", &[0, 1, 5])], &[]),
        (&[("mmap", &[0, 1, 3]), ("pkey_mprotect", &[0, 1, 4])], &[]),
        (&[("mmap", &[0, 1, 3]), ("shmat", &[0, 0, 0o100_000])], &[]),
        (&[("mmap", &[0, 1, 3]), ("personality", &[0x40_0000])], &[]),
        (&[("sched_setscheduler", &[0, 3])], &["RestrictRealtime=yes"]),
        (&[("sched_setscheduler", &[0, 1])], &[]),
        (&[("sched_setscheduler", &[0, 0x4000_0000])], &[]),
        (&[("sched_setscheduler", &[0, 0]), ("sched_setattr", &[0])], &[]),
        (&[("personality", &[0])], &["LockPersonality=yes"]),
        // The directive denies reading the personality.
        (&[("personality", &[0xffff_ffff])], &[]),
        (&[("chmod", &[0, 0o644])], &["RestrictSUIDSGID=yes"]),
        (&[("chmod", &[0, 0o4755])], &[]),
        // The mode is used only with O_CREAT.
        (&[("open", &[0, 0o2, 0xffff])], &["RestrictSUIDSGID=yes"]),
        (&[("open", &[0, 0o102, 0xffff])], &[]),
        (&[("chmod", &[0, 0o644]), ("openat2", &[0])], &[]),
    ];
    for (syscalls, expected) in cases {
        assert_eq!(of(syscalls), *expected, "{syscalls:x?}");
    }
}

#[test]
fn unknown_values_prevent_directives() {
    let mut recording =
        recorded(1, &[("socket", &[1]), ("chmod", &[0, 0o644]), ("mmap", &[0, 1, 3])]);
    for name in ["socket", "fchmodat", "mprotect"] {
        recording.count(syscall(name), 1);
    }
    let draft = generate(std::slice::from_ref(&recording), &bare()).unwrap();
    assert_eq!(directives(&draft), [""; 0]);
    // So do DenyAction::Log, and profiles without limits.
    let good = recorded(1, &[("socket", &[1])]);
    for options in [
        GenerateOptions { deny: DenyAction::Log, ..bare() },
        GenerateOptions { arguments: LimitedArgs::Off, ..bare() },
    ] {
        assert_eq!(directives(&generate(std::slice::from_ref(&good), &options).unwrap()), [""; 0]);
    }
    let s390x = SyscallId::new(Arch::S390x, Arch::S390x.number("chmod").unwrap());
    let mut foreign = Recording::default();
    foreign.observe(s390x, &[0, 0o644, 0, 0, 0, 0]);
    assert_eq!(directives(&generate(&[foreign], &bare()).unwrap()), [""; 0]);
}

#[test]
fn syscalls_that_a_version_of_systemd_does_not_know_are_omitted() {
    let recordings = [recorded(2, &[("uretprobe", &[]), ("read", &[])])];
    let of = |systemd| {
        let draft = generate(&recordings, &GenerateOptions { systemd, ..bare() }).unwrap();
        let remarks = remarks(&recordings, &draft, to("systemd").annotated().unwrap());
        let text: String = remarks.into_iter().map(|remark| remark.message).collect();
        (draft.write(to("systemd")).unwrap(), text)
    };
    let (old, remarks) = of(252);
    assert!(!systemd_names(&old.text).contains("uretprobe"));
    assert!(old.text.contains("systemd 252 does not know these syscalls"), "{}", old.text);
    assert!(remarks.contains("does not know uretprobe, which was recorded 2 times: it is denied"));
    let data =
        SeccompData { arch: X86_64.token(), nr: syscall("uretprobe").nr, ..SeccompData::default() };
    assert_eq!(old.policy.evaluate(&data), Verdict::errno(38));
    let (new, remarks) = of(NEWEST_SYSTEMD);
    assert!(systemd_names(&new.text).contains("uretprobe") && !remarks.contains("uretprobe"));
    assert_eq!(new.policy.evaluate(&data), Verdict::ALLOW);
}

proptest! {
    #![proptest_config(callgate_testing::random::cases(80))]

    #[test]
    fn every_format_allows_recorded_syscalls_and_has_the_meaning_of_its_policy(
        (arches, observed) in arches().prop_flat_map(|arches| (Just(arches.clone()), observed(arches))),
        options in options(),
        cut in 0_usize..60,
    ) {
        let (first, second) = observed.split_at(cut.min(observed.len()));
        let recordings = [recording_of(first), recording_of(second)];
        let draft = generate(&recordings, &options).unwrap();
        for format in [to("oci"), to("k8s"), to("systemd"), to("kafel")] {
            if format == to("kafel") && draft.arches().len() > 1 {
                continue;
            }
            let written = match draft.write(format) {
                // It has neither all architectures nor large values.
                Err(error) if format.name() == "k8s" => {
                    prop_assert!(error.to_string().contains("cannot express"), "{}", error);
                    continue;
                }
                written => written.unwrap(),
            };
            for observed in &observed {
                let is_granted = |name| draft.can_name(format.annotated().unwrap(), name) && !draft.refuses(name);
                let named = observed.0.name().map(is_granted);
                if named.unwrap_or(format.annotated().unwrap().has_numbers) {
                    prop_assert_eq!(written.policy.evaluate(&data(observed)), Verdict::ALLOW);
                }
            }
            let syscalls = observed.iter().map(data).flat_map(|near| neighbours(&near));
            match format.name() {
                "oci" => {
                    // As a runtime reads it.
                    let native = draft.arches()[0];
                    let mut reading = oci::ReadOptions::new(native, KernelVersion { major: 6, minor: 18 });
                    reading.arches = arches.clone();
                    let profile = oci::read(&written.text, &reading).unwrap();
                    let spoken = observed.iter().filter(|observed| {
                        observed.0.name().is_some_and(|name| !draft.refuses(name))
                    });
                    for observed in spoken {
                        let verdict = profile.policy.evaluate(&data(observed));
                        prop_assert_eq!(verdict, Verdict::ALLOW);
                    }
                }
                // The command reads it back; the reader of YAML is not part of this crate.
                "k8s" => {
                    prop_assert!(written.text.starts_with("apiVersion: security-profiles-operator.x-k8s.io/"));
                }
                "kafel" => {
                    let kafel = read_kafel(&written.text);
                    let arch = draft.arches()[0];
                    let own = |data: &SeccompData| Arch::of_syscall(data.arch, data.nr) == Some(arch);
                    for data in syscalls.filter(own) {
                        prop_assert_eq!(kafel.verdict(&data), written.policy.evaluate(&data));
                    }
                }
                _ => {
                    let names = systemd_names(&written.text);
                    let added = |name: &str| {
                        options.deny != DenyAction::Log && crate::generate::runtime::is_added_by_systemd(name)
                    };
                    for grant in draft.grants() {
                        let granted = names.contains(grant.name) || added(grant.name);
                        prop_assert!(granted || !draft.can_name(format.annotated().unwrap(), grant.name), "{}", grant.name);
                    }
                    let also: Vec<&str> = draft.listed_for_directives(format.annotated().unwrap()).collect();
                    let granted = |name: &&str| {
                        also.contains(name) || draft.grants().any(|grant| grant.name == *name)
                    };
                    prop_assert!(also.iter().all(|name| names.contains(name)));
                    let own = |data: &SeccompData| {
                        let arch = Arch::of_syscall(data.arch, data.nr);
                        arch.is_some_and(|arch| draft.arches().contains(&arch))
                    };
                    if options.deny != DenyAction::Log {
                        for data in syscalls.filter(own) {
                            let name = Arch::of_syscall(data.arch, data.nr).unwrap().syscall_name(data.nr);
                            // They are also granted by the syscalls that they multiplex.
                            if matches!(name, Some("socketcall" | "ipc")) {
                                continue;
                            }
                            // systemd itself adds some syscalls, which are granted only for that runtime.
                            let listed = name.is_some_and(|name| names.contains(name)
                                || draft.grants().any(|grant| grant.name == name) && draft.can_name(format.annotated().unwrap(), name));
                            let permits = listed && !is_denied_by_directives(&written.text, &data);
                            prop_assert_eq!(
                                permits, written.policy.evaluate(&data) == Verdict::ALLOW, "{:x?}", data
                            );
                        }
                    }
                    prop_assert!(names.iter().all(granted));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(callgate_testing::random::cases(80))]

    /// Merging recordings before, in any grouping, and through a file, does not change the profile.
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
            let reading = crate::read::ReadOptions {
                arch: arches[0], strict: true, partial: false,
            };
            crate::read::read(&all.to_json(), &reading).unwrap().recording
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
            prop_assert_eq!(other.write(to("oci")).unwrap().text, draft.write(to("oci")).unwrap().text);
        }
    }
}
