//! Profiles inside of other documents: what engines say about containers, and entries of ConfigMaps.

use std::fmt::Write;

use callgate::Verdict;
use callgate_formats::layout::QuotedString;
use callgate_formats::oci::{self, Dialect, ReadOptions};
use callgate_formats::{CapSet, Profile};
use callgate_testing::hostile::{damage, expect_answers, fill};
use callgate_testing::reader::numbered;

use crate::oci::support::{entry, lines, options, syscall, text, warnings};

/// The options without a dialect and without capabilities that the user gave.
fn usual() -> ReadOptions {
    ReadOptions { dialect: None, assumes_caps: true, ..options(Dialect::Docker) }
}

fn named(text: &str, name: &str) -> Result<Profile, String> {
    let options = ReadOptions { resource: Some(name.to_owned()), ..usual() };
    oci::read(text, &options).map_err(|messages| lines(&messages))
}

fn read(text: &str) -> Result<Profile, String> {
    oci::read(text, &usual()).map_err(|messages| lines(&messages))
}

fn profile() -> String {
    text(
        &[
            entry("read", "ALLOW", ""),
            entry("bpf", "ALLOW", "\"includes\": {\"caps\": [\"CAP_BPF\"]}"),
            entry("chown", "ALLOW", "\"includes\": {\"caps\": [\"CAP_CHOWN\"]}"),
        ]
        .join(", "),
    )
}

/// What Docker says about a container, with this option and these further members of `HostConfig`.
fn container(name: &str, option: &str, more: &str) -> String {
    let option = QuotedString(option);
    format!(
        "{{\"Id\": \"{name}0123456789\", \"Name\": \"/{name}\", \"Config\": {{\"Image\": \"x\"}}, \"HostConfig\": \
         {{\"SecurityOpt\": [\"no-new-privileges\", {option}], \"CapAdd\": null{more}}}}}"
    )
}

/// A ConfigMap with these entries.
fn config_map(name: &str, entries: &[(&str, &str)]) -> String {
    let mut text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  README: text\n"
    );
    for (key, value) in entries {
        let _ = writeln!(text, "  {key}: |\n    {}", value.replace('\n', "\n    "));
    }
    text
}

#[test]
fn a_profile_means_the_same_in_every_document() {
    let alone = oci::read(&profile(), &usual()).unwrap();
    let option = format!("seccomp={}", profile());
    let of_engine = container("web", &option, "");
    let host = of_engine.split_once("\"HostConfig\": ").unwrap().1.strip_suffix('}').unwrap();
    for document in [
        format!("[{of_engine}]"),
        of_engine.clone(),
        host.to_owned(),
        format!("[{}]", QuotedString(&option)),
        QuotedString(&option).to_string(),
        QuotedString(&profile()).to_string(),
        format!("[{}]", QuotedString(&option.replace("seccomp=", "seccomp:"))),
        format!("[\"seccomp=unconfined\", {}]", QuotedString(&option)),
        config_map("a", &[("a.json", &profile())]),
        format!("{}---\nkind: Pod\nspec: {{}}\n", config_map("a", &[("a.json", &profile())])),
        format!(
            "{{\"kind\": \"List\", \"items\": [{{\"kind\": \"ConfigMap\", \"data\": {{\"a\": {}}}}}]}}",
            QuotedString(&profile())
        ),
    ] {
        let found = read(&document).unwrap_or_else(|messages| panic!("{document}: {messages}"));
        assert_eq!(found.policy, alone.policy, "{document}");
        assert_eq!(found.dialect, Some(Dialect::Docker), "{document}");
    }
}

#[test]
fn runtime_specifications_are_read() {
    let plain = text(&entry("read", "ALLOW", ""));
    let alone = oci::read(&plain, &usual()).unwrap();
    let spec = format!("{{\"ociVersion\": \"1.0\", \"linux\": {{\"seccomp\": {plain}}}}}");
    let of_cri = format!(
        "{{\"status\": {{\"id\": \"abcdef\", \"metadata\": {{\"name\": \"web\"}}}}, \"info\": {{\"runtimeSpec\": {spec}}}}}"
    );
    let of_containerd = format!("{{\"ID\": \"abcdef\", \"Image\": \"x\", \"Spec\": {spec}}}");
    for document in [of_cri.clone(), of_containerd.clone(), format!("[{of_containerd}]")] {
        assert_eq!(read(&document).unwrap().policy, alone.policy, "{document}");
        assert_eq!(named(&document, "abcde").unwrap().policy, alone.policy, "{document}");
    }
    assert_eq!(named(&of_cri, "web").unwrap().policy, alone.policy);
    let without = of_cri.replace("\"seccomp\"", "\"other\"");
    assert!(
        read(&without).unwrap_err().contains("missing `linux.seccomp` in this OCI configuration")
    );
}

#[test]
fn the_capabilities_are_those_of_the_container() {
    let option = format!("seccomp={}", profile());
    let verdicts = |more: &str| {
        let found = read(&container("web", &option, more)).unwrap();
        ["bpf", "chown"].map(|name| syscall(&found, name, &[]) == "ALLOW")
    };
    assert_eq!(verdicts(""), [false, true]);
    assert_eq!(verdicts(", \"CapAdd\": [\"bpf\"]").map(|_| ()), [(), ()]);
    for (added, dropped, expected) in [
        ("[\"BPF\"]", "null", [true, true]),
        ("[\"CAP_BPF\"]", "[\"CHOWN\"]", [true, false]),
        ("[\"BPF\"]", "[\"ALL\"]", [true, false]),
        ("[\"ALL\"]", "[\"CHOWN\"]", [true, false]),
        ("[\"all\"]", "null", [true, true]),
        ("null", "[\"CHOWN\"]", [false, false]),
    ] {
        let text = container("web", &option, &format!(", \"CapDrop\": {dropped}"));
        let text = text.replace("\"CapAdd\": null", &format!("\"CapAdd\": {added}"));
        let found = read(&text).unwrap();
        let found = ["bpf", "chown"].map(|name| syscall(&found, name, &[]) == "ALLOW");
        assert_eq!(found, expected, "{added} {dropped}");
    }
    let privileged = read(&container("web", &option, ", \"Privileged\": true")).unwrap();
    assert_eq!(syscall(&privileged, "bpf", &[]), "ALLOW");
    assert_eq!(
        warnings(&privileged),
        ["the container web is privileged: Docker 25 and older ignore its profile"]
    );
    let podman =
        format!("{{\"BoundingCaps\": [\"CAP_BPF\"], {}", &container("web", &option, "")[1..]);
    let podman = read(&podman).unwrap();
    assert_eq!(podman.dialect, Some(Dialect::Podman));
    assert_eq!(["bpf", "chown"].map(|name| syscall(&podman, name, &[])), ["ALLOW", "ERRNO(EPERM)"]);
    // Given ones take precedence.
    let given = ReadOptions { caps: CapSet::none(), assumes_caps: false, ..usual() };
    let given = oci::read(&container("web", &option, ""), &given).unwrap();
    assert_eq!(syscall(&given, "chown", &[]), "ERRNO(EPERM)");
}

#[test]
fn without_an_option_a_container_has_the_default_of_its_engine() {
    for (text, engine) in [
        ("{\"Name\": \"/a\", \"HostConfig\": {\"SecurityOpt\": null}}", "docker-default"),
        (
            "{\"Name\": \"/a\", \"HostConfig\": {\"SecurityOpt\": [\"seccomp=builtin\"]}}",
            "docker-default",
        ),
        (
            "{\"Name\": \"a\", \"OCIRuntime\": \"crun\", \"HostConfig\": {\"SecurityOpt\": []}}",
            "podman-default",
        ),
    ] {
        let options = ReadOptions { statements: true, ..usual() };
        let found = oci::read(text, &options).unwrap();
        let expected = callgate_formats::built_in(engine).unwrap().unwrap();
        let own = ReadOptions {
            dialect: Dialect::from_name(expected.language.name()),
            caps: if engine == "docker-default" { CapSet::docker() } else { CapSet::podman() },
            ..usual()
        };
        assert_eq!(found.policy, oci::read(&expected.text, &own).unwrap().policy, "{text}");
        let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
        let start = "the container a has the default profile, and the text does not say in which version; read as ";
        assert!(warning.message.starts_with(&format!("{start}{}", expected.name)), "{warning}");
        assert!(warning.help.contains(&format!("give {engine}@VERSION")), "{warning}");
        let file = found.statements.unwrap().rules[0].site.file.clone();
        assert_eq!(file, Some(expected.name));
    }
}

#[test]
fn containers_without_a_profile_in_the_text_are_refused() {
    for (text, message) in [
        (
            container("web", "seccomp=unconfined", ""),
            "1:119: the container web has no filter: its option is seccomp=unconfined (all syscalls are allowed)",
        ),
        (
            container("web", "label=x", ", \"Privileged\": true"),
            "1:97: the container web is privileged and names no profile, so it has no filter (all syscalls are allowed)",
        ),
        (
            container("web", "seccomp=/etc/web.json", ""),
            "1:119: the container web has the profile of a file, which is not in this text (give the file: /etc/web.json)",
        ),
        (
            "{\"Name\": \"web\", \"HostConfig\": {\"Dns\": []}}".to_owned(),
            "1:1: this text does not say which seccomp profile the container web has (for a container of nerdctl, give what \
             `nerdctl inspect --mode=native` prints)",
        ),
        (
            "[\"seccomp=unconfined\"]".to_owned(),
            "1:2: the container has no filter: its option is seccomp=unconfined (all syscalls are allowed)",
        ),
        (
            container("web", "seccomp={\"defaultAction\": \"SCMP_ACT_ERNO\"}", ""),
            "1:119: in the profile of the container web:1:19: `defaultAction` is \"SCMP_ACT_ERNO\", which is not an action \
             (did you mean \"SCMP_ACT_ERRNO\"?)",
        ),
        (
            container("web", "seccomp={\"defaultAction\": ", ""),
            "1:119: in the profile of the container web:1:",
        ),
    ] {
        let found = read(&text).unwrap_err();
        assert!(found.starts_with(&format!("Error {message}")), "{text}: {found}");
    }
}

#[test]
fn one_of_several_is_chosen_by_its_name() {
    let allow = |name: &str| text(&entry(name, "ALLOW", ""));
    let several = format!(
        "[{}, {}]",
        container("web", &format!("seccomp={}", allow("read")), ""),
        container("db", &format!("seccomp={}", allow("write")), "")
    );
    let allowed = |text: &str, name: &str| {
        named(text, name).map(|profile| {
            let is_allowed = |nr: &u32| {
                profile.policy.evaluate(&numbered(callgate::Arch::X86_64, *nr, &[]))
                    == Verdict::ALLOW
            };
            [0, 1, 3].into_iter().filter(is_allowed).collect::<Vec<u32>>()
        })
    };
    assert_eq!(allowed(&several, "web"), Ok(vec![0]));
    assert_eq!(allowed(&several, "db01"), Ok(vec![1]));
    assert!(
        allowed(&several, "elsewhere")
            .unwrap_err()
            .contains("no profile is named `elsewhere` (the names are web, db)")
    );
    let error = read(&several).unwrap_err();
    assert!(
        error.contains("the text has 2 profiles; one must be chosen: web, db (choose one with"),
        "{error}"
    );
    let maps = format!(
        "{}---\n{}",
        config_map("a", &[("one", &allow("read")), ("two", &allow("write"))]),
        config_map("b", &[("one", &allow("close"))])
    );
    assert_eq!(allowed(&maps, "two"), Ok(vec![1]));
    assert_eq!(allowed(&maps, "b/one"), Ok(vec![3]));
    assert!(allowed(&maps, "one").unwrap_err().contains(
        "two profiles are named `one`, the first at 6:3 (write the name of the ConfigMap before it: NAME/one)"
    ));
    let twice = format!(
        "{}---\n{}",
        config_map("a", &[("one", &allow("read"))]),
        config_map("b", &[("one", &allow("close"))])
    );
    assert!(read(&twice).unwrap_err().contains("such as \"b/one\""));
    let beside = format!(
        "{}---\nkind: SeccompProfile\nmetadata: {{name: x}}\nspec: {}\n",
        twice,
        allow("write")
    );
    assert_eq!(allowed(&beside, "x"), Ok(vec![1]));
}

#[test]
fn messages_about_config_maps() {
    for (text, message) in [
        (
            config_map("a", &[]),
            "Error 1:1: no entry of this ConfigMap is a seccomp profile: README (a profile has `defaultAction` and `syscalls`)",
        ),
        ("kind: ConfigMap\n".to_owned(), "Error 1:1: this ConfigMap has no entry in `data`"),
        (
            config_map("a", &[("x.json", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}")]),
            "Error 6:3: in x.json:1:1: the profile has no rules: every syscall would get SCMP_ACT_ALLOW",
        ),
        (
            config_map("a", &[("x.yaml", "defaultAction: SCMP_ACT_LOG\n---\na: b\n")]),
            "Error 6:3: x.yaml has several documents",
        ),
        (
            config_map("a", &[("x.yaml", "defaultAction: SCMP_ACT_LOG\n\tb: 1\n")]),
            "Error 6:3: in x.yaml:2:1: this line is indented with a tab",
        ),
    ] {
        let found = read(&text).unwrap_err();
        assert!(found.starts_with(message), "{text}: {found}");
    }
}

#[test]
fn expensive_documents_get_an_answer() {
    let answer = |text: &str| match read(text) {
        Ok(_) => "read".to_owned(),
        Err(messages) => {
            let error = messages.lines().find(|line| line.starts_with("Error "));
            let error = error.and_then(|line| line.split_once(": "));
            error.map_or_else(|| messages.clone(), |(_, rest)| rest.to_owned())
        }
    };
    expect_answers(
        &[
            (
                "containers",
                |size| {
                    format!(
                        "[{}]",
                        fill(size, ",", |i| container(&format!("c{i}"), "seccomp=builtin", ""))
                    )
                },
                "the text has ",
            ),
            (
                "options",
                |size| format!("[\"seccomp={{}}\"{}]", fill(size, "", |i| format!(",\"x={i}\""))),
                "in the profile of the container:1:1: an empty profile means no filter",
            ),
            (
                "capabilities",
                |size| {
                    let caps = fill(size, ",", |i| format!("\"CAP_{i}\""));
                    container("a", "seccomp=unconfined", &format!(", \"CapDrop\": [{caps}]"))
                },
                "the container a has no filter",
            ),
            (
                "entries",
                |size| {
                    let entries = fill(size, ",", |i| format!("\"{i}\": \"defaultAction\""));
                    format!("{{\"kind\": \"ConfigMap\", \"data\": {{{entries}}}}}")
                },
                "the text has ",
            ),
            (
                "lists of lists",
                |size| format!("[{}]", fill(size, ",", |_| "[[\"a\"]]".to_owned())),
                "a profile must be an object, but this is a list",
            ),
            (
                "unknown keys of a profile in a profile",
                |size| {
                    let keys = fill(size, ",", |i| format!("\"k{i}\": 1"));
                    format!("[{}]", QuotedString(&format!("seccomp={{{keys}}}")))
                },
                "in the profile of the container:1:1: missing `defaultAction`",
            ),
        ],
        400_000,
        answer,
    );
    let option = format!("seccomp={}", profile());
    damage(&container("web", &option, ""), &["", "\"", "\\", "{", "]", "=", "\u{e9}"], |text| {
        read(text).is_ok()
    });
    damage(
        &config_map("a", &[("a.json", &profile())]),
        &["", "\"", "\n", "{", "|", "\t"],
        |text| read(text).is_ok(),
    );
}
