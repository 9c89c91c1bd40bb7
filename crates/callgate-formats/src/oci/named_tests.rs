//! Profiles that a text names: those of Kubernetes' workloads, Compose files, command lines and other descriptions of containers.

use std::collections::BTreeMap;

use super::LANGUAGE;
use crate::included::Included;
use crate::languages::{Files, Input, ReadSource, Reading, Text};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::{Arch, SeccompData};

struct Given(BTreeMap<&'static str, String>);

impl Files for Given {
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        self.include_if_present(name, from)?.ok_or_else(|| "it does not exist".to_owned())
    }

    fn include_if_present(
        &mut self,
        name: &str,
        _: Option<&str>,
    ) -> Result<Option<Included>, String> {
        let of = |text: &String| Included {
            name: name.to_owned(),
            identity: name.to_owned(),
            text: text.clone(),
            is_private: name.starts_with("/etc"),
        };
        Ok(self.0.get(name).map(of))
    }

    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        self.include(name, from)
    }
}

/// A profile that permits bpf with a capability, where the reader knows conditions about capabilities.
fn profile(name: &str) -> String {
    format!(
        "{{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [\n\
         {{\"names\": [\"{name}\"], \"action\": \"SCMP_ACT_ALLOW\"}},\n\
         {{\"names\": [\"bpf\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": {{\"caps\": [\"CAP_BPF\"]}}}}]}}"
    )
}

fn read_part(text: &str, part: Option<&str>) -> Result<ReadSource, String> {
    let files = [
        ("a.json", profile("read")),
        ("dir/b.json", profile("write")),
        ("/var/lib/kubelet/seccomp/node.json", profile("close")),
        ("/etc/secret.json", "{\"secret\": 1}".to_owned()),
        ("bad.json", "{\"defaultAction\": \"SCMP_ACT_NONE\",\n \"syscalls\": [{}]}".to_owned()),
    ];
    let texts = [Text::of(text)];
    let input = Input { part, ..Input::of(&texts) };
    let reading = Reading {
        choosing: |name| format!("choose {name}"),
        kernel: Some(KernelVersion { major: 6, minor: 18 }),
        ..Reading::new(Arch::X86_64)
    };
    (LANGUAGE.read)(&input, &reading, &mut Given(files.into())).map_err(|errors| errors.to_string())
}

/// Which of these syscalls a text permits, and its warnings.
fn permitted(text: &str, part: Option<&str>) -> (String, String) {
    let source = read_part(text, part).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let [filter] = source.filters.as_slice() else { panic!("{text}") };
    let is_permitted = |name: &&str| {
        let data = SeccompData {
            nr: Arch::X86_64.number(name).unwrap(),
            arch: Arch::X86_64.token(),
            ..SeccompData::default()
        };
        filter.profile.policy.evaluate(&data).to_string() == "ALLOW"
    };
    let names: Vec<&str> =
        ["read", "write", "close", "bpf", "mount"].into_iter().filter(is_permitted).collect();
    let warnings: Vec<String> =
        source.warnings.iter().map(|one| one.diagnostic.to_string()).collect();
    (names.join(" "), warnings.join("\n"))
}

fn error(text: &str, part: Option<&str>) -> String {
    read_part(text, part).err().unwrap_or_else(|| panic!("{text}"))
}

fn pod(of_pod: &str, containers: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  securityContext: {{{of_pod}}}\n  containers:\n{containers}"
    )
}

const RUNTIME: &str = "seccompProfile: {type: RuntimeDefault}";
const LOCAL: &str = "seccompProfile: {type: Localhost, localhostProfile: profiles/a.json}";

#[test]
fn pods_have_the_profile_that_they_name() {
    let one = "  - {name: c, image: x}\n";
    let (names, warnings) = permitted(&pod(RUNTIME, one), None);
    assert_eq!(names, "read write close");
    assert!(warnings.contains("the container c has the default profile"), "{warnings}");
    assert!(warnings.contains("read as containerd-default@"), "{warnings}");
    // Relative to the text, or the file alone beside it, or on the node; containerd reads no conditions about capabilities.
    assert_eq!(permitted(&pod(LOCAL, one), None).0, "read bpf");
    let node = LOCAL.replace("profiles/a", "node");
    assert_eq!(permitted(&pod(&node, one), None).0, "close bpf");
    // The profile of a container counts rather than that of the pod.
    let two = format!("  - {{name: c, securityContext: {{{LOCAL}}}}}\n  - {{name: d}}\n");
    let found = error(&pod(RUNTIME, &two), None);
    assert!(
        found.contains("one must be chosen: profiles/a.json for the container c at 7:49, the default for the container d at 5:37"),
        "{found}"
    );
    assert!(found.contains("help: choose c"), "{found}");
    assert_eq!(permitted(&pod(RUNTIME, &two), Some("c")).0, "read bpf");
    assert_eq!(permitted(&pod(RUNTIME, &two), Some("d")).0, "read write close");
    assert!(error(&pod(RUNTIME, &two), Some("e")).contains("no container is named `e`"));
    // Capabilities decide about the default profile.
    let capable =
        "  - {name: c, securityContext: {capabilities: {add: [SYS_ADMIN, BPF], drop: [ALL]}}}\n";
    assert_eq!(permitted(&pod(RUNTIME, capable), None).0, "read write close bpf mount");
    let privileged = "  - {name: c, securityContext: {privileged: true}}\n";
    assert!(
        error(&pod(RUNTIME, privileged), None)
            .contains("the container c has no filter: it is privileged")
    );
}

#[test]
fn templates_and_old_annotations_are_read() {
    let template = format!(
        "kind: CronJob\nmetadata: {{name: job}}\nspec:\n jobTemplate:\n  spec:\n   template:\n    spec:\n     securityContext: {{{LOCAL}}}\n     containers: [{{name: c}}]\n"
    );
    assert_eq!(permitted(&template, Some("job")).0, "read bpf");
    let old = "kind: Pod\nmetadata:\n  annotations:\n    seccomp.security.alpha.kubernetes.io/pod: localhost/dir/b.json\nspec: {containers: [{name: c}]}\n";
    let (names, warnings) = permitted(old, None);
    assert_eq!(names, "write bpf");
    assert!(warnings.contains("ignores this annotation since version 1.27"), "{warnings}");
    // A profile in the same text is read, whatever else names one.
    let beside = format!(
        "{}---\n{}",
        pod(RUNTIME, "  - {name: c}\n"),
        "kind: SeccompProfile\nmetadata: {name: a}\nspec: {defaultAction: SCMP_ACT_ERRNO, syscalls: [{names: [mount], action: SCMP_ACT_ALLOW}]}\n"
    );
    assert_eq!(permitted(&beside, None).0, "mount");
    for (text, message) in [
        (
            pod("seccompProfile: {type: Unconfined}", "  - {name: c}\n"),
            "has no filter: its profile is Unconfined",
        ),
        (pod("seccompProfile: {type: Localhost}", "  - {name: c}\n"), "missing `localhostProfile`"),
        (pod("seccompProfile: {type: Other}", "  - {name: c}\n"), "`type` is Other"),
        (
            pod(&LOCAL.replace("profiles/a", "none"), "  - {name: c}\n"),
            "is the file none.json, which is not in the tree of this text",
        ),
        (pod(&LOCAL.replace("profiles/a", "bad"), "  - {name: c}\n"), "in bad.json:1:19: "),
        (pod("", "  - {name: c}\n"), "this Pod names no seccomp profile"),
    ] {
        let found = error(&text, None);
        assert!(found.contains(message), "{text}{found}");
        assert!(found.contains("help: "), "{text}{found}");
    }
}

#[test]
fn services_of_compose_have_the_profile_that_they_name() {
    let compose = |options: &str, more: &str| {
        format!(
            "version: '3'\nservices:\n  web:\n    image: x\n    security_opt: [{options}]\n{more}  db:\n    image: y\n"
        )
    };
    for option in
        ["seccomp:./a.json", "seccomp=a.json", "'seccomp: a.json'", "seccomp=x, seccomp=a.json"]
    {
        let (names, warnings) = permitted(&compose(option, ""), None);
        assert_eq!(names, "read", "{option}");
        assert!(
            warnings.contains("this is the profile of the service web, not of the service db"),
            "{warnings}"
        );
    }
    // Docker's conditions are about the capabilities of the service.
    let capable = "    cap_add: [BPF]\n";
    assert_eq!(permitted(&compose("seccomp:a.json", capable), None).0, "read bpf");
    let text = compose("seccomp:a.json", "");
    assert!(permitted(&text, Some("db")).1.contains("read as docker-default@"));
    let none = compose("no-new-privileges", "");
    assert!(permitted(&none, None).1.contains("the service web has the default profile"));
    let privileged = compose("seccomp:a.json", "    privileged: true\n");
    let (names, warnings) = permitted(&privileged, None);
    assert_eq!(names, "read bpf");
    assert!(warnings.contains("Docker 25 and older ignore its profile"), "{warnings}");
    for (options, message) in [
        ("seccomp:unconfined", "the service web has no filter: its option is seccomp=unconfined"),
        ("seccomp:$DIR/a.json", "a shell completes $DIR/a.json"),
        (
            "seccomp:/etc/secret.json",
            "the file /etc/secret.json, which is not in the tree of this text",
        ),
    ] {
        let found = error(&compose(options, ""), None);
        assert!(found.contains(message) && !found.contains("secret\\\""), "{found}");
    }
    // Other programs have services that are not containers.
    assert!(!error("services:\n  App\\A: {class: B}\n", None).contains("the service"));
    let both = "    cap_add: [BPF]\n  other:\n    security_opt: [seccomp=dir/b.json]\n";
    assert!(error(&compose("seccomp=a.json", both), None).contains(
        "one must be chosen: a.json for the service web at 5:20, dir/b.json for the service other"
    ));
    assert_eq!(permitted(&compose("seccomp=a.json", both), Some("other")).0, "write");
}

#[test]
fn commands_and_other_descriptions_name_profiles() {
    for (text, expected) in [
        ("docker run --rm --security-opt seccomp=a.json nginx\n", "read"),
        (
            "#!/bin/sh\nset -e\nsudo docker run -it \\\n  --security-opt=\"seccomp:$(pwd)/dir/b.json\" \\\n  --cap-add=BPF nginx\n",
            "write bpf",
        ),
        ("$ podman create --security-opt seccomp=$PWD/a.json --cap-add all x", "read bpf"),
        ("docker run --security-opt no-new-privileges --name x y", "read write close"),
        (
            "[Unit]\nDescription=x\n[Container]\nImage=y\nSeccompProfile=a.json\nAddCapability=CAP_BPF\n",
            "read bpf",
        ),
        ("[Container]\nPodmanArgs=--security-opt seccomp=dir/b.json\n", "write"),
        // Podman's default profile permits mount.
        ("[Container]\nImage=y\n", "read write close mount"),
        ("{\"seccomp-profile\": \"a.json\", \"log-driver\": \"x\"}", "read"),
        (
            "// x\n{\n\t\"runArgs\": [\"--cap-add=BPF\", /* y */ \"--security-opt\", \"seccomp=a.json\",],\n}\n",
            "read bpf",
        ),
        (
            "{\"image\": \"x\", \"securityOpt\": [\"seccomp=dir/b.json\"], \"capAdd\": [\"BPF\"]}",
            "write bpf",
        ),
    ] {
        assert_eq!(permitted(text, None).0, expected, "{text}");
    }
    let two = "docker run --name a --security-opt seccomp=a.json x\ndocker run --name b --security-opt seccomp=dir/b.json x\n";
    assert!(
        error(two, None).contains("one must be chosen: a.json for the container a at 1:36"),
        "{}",
        error(two, None)
    );
    assert_eq!(permitted(two, Some("b")).0, "write");
    for (text, message) in [
        ("docker run --security-opt seccomp=unconfined x", "its option is seccomp=unconfined"),
        ("docker run --security-opt seccomp=~/a.json x", "a shell completes ~/a.json"),
        (
            "{\"runArgs\": [\"--security-opt\", \"seccomp=unconfined\"]}",
            "the development container has no filter",
        ),
        (
            "docker run --security-opt seccomp=none.json x",
            "none.json, which is not in the tree of this text",
        ),
    ] {
        assert!(error(text, None).contains(message), "{text}: {}", error(text, None));
    }
}

#[test]
fn damaged_texts_are_read_or_refused() {
    for text in [
        pod(RUNTIME, "  - {name: c, securityContext: {capabilities: {add: [BPF]}}}\n"),
        "services:\n  web:\n    security_opt: [seccomp:a.json]\n    cap_add: [BPF]\n".to_owned(),
        "docker run --security-opt \"seccomp=a.json\" \\\n --name 'x' y # z\n".to_owned(),
        "// x\n{\"runArgs\": [\"--security-opt\", \"seccomp=a.json\",], /* y */}\n".to_owned(),
        "[Container]\nPodmanArgs=--security-opt seccomp=a.json\nAddCapability=a b\n".to_owned(),
    ] {
        for (at, old) in text.char_indices().step_by(7) {
            let (before, after) = (&text[..at], &text[at + old.len_utf8()..]);
            for new in ["", "'", "\"", "$(", "\\\n", "{", "é", "#", "\u{0}"] {
                for damaged in [format!("{before}{new}{after}"), format!("{before}{new}")] {
                    let _ = read_part(&damaged, None);
                    let _ = read_part(&damaged, Some("web"));
                }
            }
        }
    }
}
