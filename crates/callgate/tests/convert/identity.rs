//! Identity conversions: a text in the language in which it is written means the same, and nothing is lost.

use callgate::convert::{ConvertOptions, Original, convert, convert_diagram};
use callgate::{Arch, Description};
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_formats::languages::LanguageId;
use callgate_formats::oci::EnosysAbove;
use callgate_formats::{container_default, oci};
use callgate_testing::languages::to;
use callgate_testing::languages::{self, KERNEL};
use callgate_testing::random::{named_policies, samples};

use super::support::closest_options;

/// The dialect of the containers' languages, and the rule of runc where its readers add it.
fn dialect(target: LanguageId) -> Option<(oci::Dialect, EnosysAbove)> {
    match target.name() {
        "oci" => Some((oci::Dialect::Oci, EnosysAbove::Off)),
        "docker" => Some((oci::Dialect::Docker, EnosysAbove::On)),
        "podman" => Some((oci::Dialect::Podman, EnosysAbove::Off)),
        // The runtime of most clusters is runc.
        "k8s" => Some((oci::Dialect::Oci, EnosysAbove::On)),
        _ => None,
    }
}

/// What a text means to its readers, and for which architectures.
fn read(
    store: &mut Store,
    target: LanguageId,
    text: &str,
    arches: &[Arch],
) -> (Original, Vec<Arch>) {
    let Some((dialect, enosys_above)) = dialect(target) else {
        let read = languages::read(target.name(), text, arches);
        let read = read.unwrap_or_else(|why| panic!("{target}: {why}\n{text}"));
        return (read.diagram(store).unwrap().into(), arches.to_vec());
    };
    let mut options = oci::ReadOptions::new(arches[0], KERNEL);
    (options.dialect, options.enosys_above) = (Some(dialect), Some(enosys_above));
    let profile = oci::read(text, &options);
    let profile = profile.unwrap_or_else(|why| panic!("{target}: {why}\n{text}"));
    let source = Description::profile(&profile).to_convert(store).unwrap();
    (source, profile.policy.arches().collect())
}

/// Converts a text to its own language; the result must mean the same to its readers.
fn survives(target: LanguageId, text: &str, arches: &[Arch], name: &str) {
    let mut store = Store::default();
    let mut options = ConvertOptions::new(target);
    let source;
    (source, options.arches) = read(&mut store, target, text, arches);
    let converted = convert_diagram(&mut store, source, &options);
    let converted = converted.unwrap_or_else(|why| panic!("{name} {target}: {why}\n{text}"));
    assert_eq!(converted.losses, [], "{name} {target}\n{text}");
    let (written, _) = read(&mut store, target, &converted.text, &options.arches);
    assert_eq!(written, source, "{name} {target}\n{text}\n{}", converted.text);
    // No runtime does anything otherwise.
    let has_note = converted.notes.iter().any(|note| !note.why.starts_with("numbers from 2^53"));
    assert!(!has_note, "{name} {target} {:?}\n{text}", converted.notes);
}

/// What every language says of a filter, with the architectures for which it is read.
fn written(
    filter: Description<'_>,
    target: LanguageId,
    arches: &[Arch],
) -> Option<(String, Vec<Arch>)> {
    let mut options = closest_options(target);
    options.arches = arches.to_vec();
    // Some filters have no policy in some languages.
    let converted = convert(filter, &options).ok()?;
    Some((converted.text, converted.arches))
}

#[test]
fn the_container_default_survives_in_every_language() {
    for arches in [
        vec![Arch::X86_64, Arch::X86, Arch::X32],
        vec![Arch::X86_64],
        vec![Arch::Aarch64, Arch::Arm],
        vec![Arch::S390x, Arch::S390],
    ] {
        let options =
            oci::ReadOptions { arches: arches.clone(), ..oci::ReadOptions::new(arches[0], KERNEL) };
        let profile = container_default(&options).unwrap();
        for target in LanguageId::written() {
            let filter = Description::profile(&profile);
            let Some((text, arches)) = written(filter, target, &arches) else { continue };
            survives(target, &text, &arches, "container-default");
        }
    }
}

#[test]
fn random_policies_survive_in_every_language() {
    let policies: Vec<Policy> = samples(&named_policies(5), 7, 30);
    let mut count = 0;
    for policy in &policies {
        for target in LanguageId::written() {
            let written = written(Description::policy(policy), target, &[]);
            let Some((text, arches)) = written else { continue };
            survives(target, &text, &arches, "random");
            count += 1;
        }
    }
    assert!(count > 120, "{count}");
}

/// Directives of units that limit arguments, one by one and together.
#[test]
fn restrictions_of_units_survive() {
    let lines = [
        "RestrictNamespaces=yes",
        "RestrictNamespaces=net user",
        "RestrictNamespaces=~cgroup",
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "RestrictAddressFamilies=~AF_PACKET AF_NETLINK",
        "RestrictAddressFamilies=none",
        "RestrictSUIDSGID=yes",
        "RestrictRealtime=yes",
        "LockPersonality=yes",
    ];
    let all = [lines[0], lines[3], lines[6], lines[7], lines[8]].join("\n");
    for line in lines.into_iter().chain([&*all]) {
        for list in [
            "",
            "SystemCallFilter=@system-service\n",
            "SystemCallFilter=read open socket clone personality sched_setscheduler\n",
            "SystemCallFilter=~@mount\n",
        ] {
            for native in ["", "SystemCallArchitectures=native\n"] {
                let text = format!("[Service]\n{native}{list}{line}\n");
                survives(to("systemd"), &text, &[Arch::X86_64], "unit");
            }
        }
    }
}

/// Texts as people write them; the writers choose other words for some.
#[test]
fn texts_of_people_survive() {
    let entry =
        |rest: &str| format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{rest}]}}"#);
    let allow = |names: &str, args: &str| {
        format!(r#"{{"names": [{names}], "action": "SCMP_ACT_ALLOW"{args}}}"#)
    };
    let socket = |value: &str| {
        allow(
            r#""socket""#,
            &format!(r#", "args": [{{"index": 0, "op": "SCMP_CMP_EQ", "value": {value}}}]"#),
        )
    };
    let plain = allow(r#""read", "write", "exit_group""#, "");
    let listed = (100..105).map(|value| socket(&value.to_string())).collect::<Vec<_>>().join(", ");
    let profiles = [
        entry(&plain),
        entry(""),
        entry(&format!("{plain}, {listed}")),
        entry(&format!("{plain}, {}", socket("18446744073709551615"))),
        // A name with the default action is the bound of runc's rule.
        entry(&format!(r#"{plain}, {{"names": ["openat2"], "action": "SCMP_ACT_ERRNO"}}"#)),
        entry(&format!(r#"{plain}, {{"names": ["ptrace"], "action": "SCMP_ACT_KILL_PROCESS"}}"#)),
        r#"{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mount"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]}"#.to_owned(),
        r#"{"defaultAction": "SCMP_ACT_KILL", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_LOG"}]}"#.to_owned(),
    ];
    for profile in &profiles {
        for target in [to("oci"), to("docker"), to("podman")] {
            // Without an entry, there is no filter.
            if !profile.contains("\"syscalls\": []") {
                survives(target, profile, &[Arch::X86_64], "profile");
            }
        }
    }
    let resource = |spec: &str| {
        format!(
            "apiVersion: security-profiles-operator.x-k8s.io/v1\nkind: SeccompProfile\nmetadata:\n  name: x\nspec:\n{spec}"
        )
    };
    for spec in [
        "  defaultAction: SCMP_ACT_ERRNO\n  syscalls:\n  - action: SCMP_ACT_ALLOW\n    names: [read, write]\n",
        "  defaultAction: SCMP_ACT_LOG\n  architectures: [SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_X32]\n  syscalls:\n  \
         - action: SCMP_ACT_ALLOW\n    names: [read, write]\n",
        "  defaultAction: SCMP_ACT_ERRNO\n  syscalls:\n  - action: SCMP_ACT_ALLOW\n    names: [socket]\n    args:\n    \
         - {index: 0, op: SCMP_CMP_EQ, value: 100}\n  - action: SCMP_ACT_ALLOW\n    names: [socket]\n    args:\n    \
         - {index: 0, op: SCMP_CMP_GE, value: 9223372036854775807}\n",
    ] {
        survives(to("k8s"), &resource(spec), &[Arch::X86_64], "resource");
    }
    for (target, text) in [
        (
            to("systemd"),
            "[Service]\nSystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM\n",
        ),
        (
            to("systemd"),
            "[Service]\nSystemCallFilter=~@mount ptrace\nSystemCallArchitectures=native\n",
        ),
        (
            to("kafel"),
            "POLICY p { ALLOW { read, ioctl(fd, cmd) { (cmd & 0xff) == 3 || cmd > 10 } } } USE p DEFAULT KILL",
        ),
        (
            to("minijail"),
            "read: 1\nioctl: arg1 == 1 || arg1 & 6; return EINVAL\nmmap: arg2 in ~PROT_EXEC\n",
        ),
        (
            to("firecracker"),
            r#"{"main": {"mismatch_action": "trap", "match_action": "allow", "filter": [{"syscall": "read"},
                {"syscall": "ioctl", "args": [{"index": 1, "type": "dword", "op": {"masked_eq": 240}, "val": 16}]}]}}"#,
        ),
        (
            to("lxc"),
            "2\ndenylist\n[all]\nkexec_load errno 1\nopen_by_handle_at errno 1\ninit_module errno 1\n",
        ),
        (to("lxc"), "1\nallowlist\n0\n1\n60\n"),
        (to("snap"), "read\nwrite\nsocket AF_UNIX\nchown - u:root g:root\n~mount\n"),
        (to("snap"), "@complain\nread\n"),
    ] {
        survives(target, text, &[Arch::X86_64], "text");
    }
}
