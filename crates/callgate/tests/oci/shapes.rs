//! Where in a document the profile is, with each dialect and without one, and the warnings about other parts.

use callgate_formats::oci::{self, Dialect, ReadOptions};

use crate::oci::support::{READERS, entry, lines, options, syscall, text};

/// Allows only `dup`.
fn outer() -> String {
    text(&entry("dup", "ALLOW", ""))
}

/// Allows only `dup2`.
fn inner() -> String {
    text(&entry("dup2", "ALLOW", ""))
}

/// The profile that allows `dup`, with one additional member.
fn outer_with(member: &str) -> String {
    outer().replacen('{', &format!("{{{member}, "), 1)
}

fn of(dialect: Option<Dialect>) -> ReadOptions {
    ReadOptions { dialect, ..options(Dialect::Oci) }
}

fn reads_top_level(dialect: Option<Dialect>) -> bool {
    matches!(dialect, Some(Dialect::Docker | Dialect::Podman))
}

/// The syscall that a text allows, `dup` or `dup2`, or its errors.
fn reading(text: &str, dialect: Option<Dialect>) -> Result<&'static str, String> {
    let profile = oci::read(text, &of(dialect)).map_err(|messages| lines(&messages))?;
    match (syscall(&profile, "dup", &[]).as_str(), syscall(&profile, "dup2", &[]).as_str()) {
        ("ALLOW", "ERRNO(EPERM)") => Ok("dup"),
        ("ERRNO(EPERM)", "ALLOW") => Ok("dup2"),
        other => panic!("{text} {other:?}"),
    }
}

fn warnings(text: &str, dialect: Option<Dialect>) -> String {
    lines(&oci::read(text, &of(dialect)).unwrap().warnings)
}

/// podman 4.3.1 installs the profile at the top level of the first two, and runc 1.1.5 and crun 1.8.1 the one
/// in `linux.seccomp`.
#[test]
fn a_configuration_with_a_top_level_profile_is_read_by_dialect_or_rejected() {
    let section = format!("\"linux\": {{\"seccomp\": {}}}", inner());
    for member in [section.clone(), format!("\"ociVersion\": \"1.2.0\", {section}")] {
        let text = outer_with(&member);
        for dialect in READERS.into_iter().flatten() {
            let expected = if reads_top_level(Some(dialect)) { "dup" } else { "dup2" };
            assert_eq!(reading(&text, Some(dialect)), Ok(expected), "{dialect} {text}");
        }
    }
    assert_eq!(
        reading(&outer_with(&format!("\n{section},\n\"x\": 1")), None).unwrap_err(),
        "Error 3:9: this document is ambiguous: it can be read as `linux.seccomp` of the OCI \
         configuration (2:11) or as the profile at the top level (3:9) (keep one of them, or \
         choose a dialect: Docker and Podman read the top level, runc and crun read \
         `linux.seccomp`)\n"
    );
}

#[test]
fn only_docker_and_podman_read_a_top_level_profile_beside_a_resource() {
    let spec = format!("\"spec\": {}", inner());
    for member in [spec.clone(), format!("\"kind\": \"SeccompProfile\", {spec}")] {
        let text = outer_with(&member);
        for dialect in READERS {
            match reading(&text, dialect) {
                Ok(read) => assert!(reads_top_level(dialect) && read == "dup", "{dialect:?}"),
                Err(messages) => {
                    assert!(!reads_top_level(dialect), "{dialect:?} {messages}");
                    let expected = "as `spec` of the SeccompProfile resource (1:2) or as the profile at the \
                                top level (1:";
                    assert!(messages.contains(expected), "{messages}");
                }
            }
        }
    }
}

#[test]
fn a_configuration_that_is_also_a_resource_is_a_configuration_to_runtimes() {
    let text = format!(
        "{{\"kind\": \"SeccompProfile\", \"spec\": {}, \"linux\": {{\"seccomp\": {}}}}}",
        outer(),
        inner()
    );
    for dialect in [Dialect::Oci, Dialect::Runc, Dialect::Crun] {
        assert_eq!(reading(&text, Some(dialect)), Ok("dup2"));
        let warnings = warnings(&text, Some(dialect));
        assert!(
            warnings.contains("1:28: `spec` is ignored: the profile is read from"),
            "{warnings}"
        );
    }
    assert!(reading(&text, None).unwrap_err().contains("this document is ambiguous"));
    for dialect in [Dialect::Docker, Dialect::Podman] {
        assert!(reading(&text, Some(dialect)).unwrap_err().contains("at the top level"));
    }
}

/// podman 4.3.1 runs such containers without a filter.
#[test]
fn a_profile_that_docker_and_podman_do_not_find_is_an_error() {
    for (at, text) in [
        ("1:33", format!("{{\"ociVersion\": \"1.2\", \"linux\": {{\"seccomp\": {}}}}}", inner())),
        ("1:12", format!("{{\"LINUX\": {{\"\u{17f}eccomp\": {}}}}}", inner())),
        ("1:2", format!("{{\"kind\": \"SeccompProfile\", \"spec\": {}}}", inner())),
        ("1:2", format!("{{\"spec\": {}}}", inner())),
        ("1:1", format!("kind: SeccompProfile\nspec: {}", inner())),
    ] {
        for dialect in [Dialect::Docker, Dialect::Podman] {
            assert_eq!(
                reading(&text, Some(dialect)).unwrap_err(),
                format!(
                    "Error {at}: {dialect} reads a profile at the top level, but there is none: \
                     the container would run without a filter (put the profile into its own \
                     file, or choose the dialect of the program that reads this document, such \
                     as runc or crun)\n"
                )
            );
        }
    }
}

#[test]
fn each_is_read_when_it_is_the_only_one() {
    for dialect in READERS {
        assert_eq!(reading(&outer(), dialect), Ok("dup"), "{dialect:?}");
        for text in [
            format!("{{\"linux\": {{\"seccomp\": {}}}}}", inner()),
            format!("{{\"ociVersion\": \"1\", \"linux\": {{\"seccomp\": {}}}}}", inner()),
            format!("{{\"kind\": \"SeccompProfile\", \"spec\": {}}}", inner()),
            format!("{{\"spec\": {}}}", inner()),
        ] {
            if !reads_top_level(dialect) {
                assert_eq!(reading(&text, dialect), Ok("dup2"), "{dialect:?} {text}");
                assert_eq!(warnings(&text, dialect), "");
            }
        }
    }
}

#[test]
fn a_configuration_without_a_profile_is_an_error_whatever_is_beside_it() {
    let none = "missing `linux.seccomp` in this OCI configuration: the container would run \
                without a filter";
    for linux in ["{}", "{\"seccomp\": null}", "{\"sec\": 1}", "5", "[]", "\"x\""] {
        for dialect in [Dialect::Oci, Dialect::Runc, Dialect::Crun] {
            for text in [
                format!("{{\"linux\": {linux}}}"),
                format!("{{\"ociVersion\": \"1\", \"linux\": {linux}}}"),
                outer_with(&format!("\"linux\": {linux}")),
            ] {
                let messages = reading(&text, Some(dialect)).unwrap_err();
                assert!(messages.contains(none), "{messages}");
            }
        }
        let both = outer_with(&format!("\"linux\": {linux}"));
        assert!(reading(&both, None).unwrap_err().contains("this document is ambiguous"));
    }
    // Null counts as absent.
    for dialect in READERS {
        let text =
            outer_with("\"linux\": null, \"kind\": null, \"spec\": null, \"ociVersion\": null");
        assert_eq!(reading(&text, dialect), Ok("dup"), "{dialect:?}");
    }
    let text = format!("{{\"defaultAction\": null, \"linux\": {{\"seccomp\": {}}}}}", inner());
    assert_eq!(reading(&text, None), Ok("dup2"));
}

#[test]
fn other_resources_and_lists_are_not_profiles() {
    for dialect in READERS {
        let pod = "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"spec\": {\"containers\": [\
                   {\"securityContext\": {\"seccompProfile\": {\"type\": \"RuntimeDefault\"}}}]}}";
        // Only without a dialect, the default profile that it names is read.
        assert_eq!(oci::read(pod, &of(dialect)).is_ok(), dialect.is_none(), "{dialect:?}");
        for list in [format!("[{}]", outer()), format!("[{}, {}]", outer(), inner())] {
            assert!(reading(&list, dialect).unwrap_err().contains("but this is a list"));
        }
        // With a profile at the top level, all programs read that.
        let beside = outer_with("\"kind\": \"Pod\", \"spec\": {}");
        assert_eq!(reading(&beside, dialect), Ok("dup"), "{dialect:?}");
        let expected = "`kind` is ignored: it is a key of Kubernetes resources";
        assert!(warnings(&beside, dialect).contains(expected));
        let items = format!("{{\"kind\": \"List\", \"items\": [{}]}}", outer());
        assert!(reading(&items, dialect).is_err());
    }
    let messages = reading("{\"kind\": 5, \"spec\": {}}", None).unwrap_err();
    assert!(messages.contains("1:10: `kind` is the number 5, but must be \"SeccompProfile\""));
}

#[test]
fn other_parts_beside_a_top_level_profile_are_ignored_with_a_warning() {
    let text = outer_with(&format!(
        "\"kind\": \"SeccompProfile\",\n\"spec\": {0},\n\"linux\": {{\"seccomp\": {0}}},\n\"seccomp\": {0}",
        inner()
    ));
    for dialect in [Dialect::Docker, Dialect::Podman] {
        assert_eq!(
            warnings(&text, Some(dialect)),
            "Warning 1:2: `kind` is ignored: it is a key of Kubernetes resources ()\nWarning \
             2:1: `spec` is ignored: it is a key of Kubernetes resources ()\nWarning 3:1: \
             `linux` is ignored: it is a key of OCI configurations ()\nWarning 4:1: unknown key \
             `seccomp` in a profile; it is ignored (remove it, or check its spelling)\n"
        );
    }
}

#[test]
fn parts_of_a_profile_elsewhere_are_ignored_with_a_warning() {
    let text = format!(
        "{{\"ociVersion\": \"1\",\n\"archMap\": [],\n\"Flags\": [],\n\"seccomp\": {0},\n\
         \"process\": {{\"seccomp\": {0}, \"flags\": 1}},\n\"mounts\": [{{\"\u{17f}yscalls\": []}}],\n\
         \"annotations\": {{\"seccomp\": \"x\"}},\n\"linux\": {{\"seccomp\": {1},\n\"architectures\": []}}}}",
        outer(),
        inner()
    );
    let help = "(remove it, or move it into the profile)";
    let expected: String = [
        ("2:1", "archMap"),
        ("3:1", "Flags"),
        ("4:1", "seccomp"),
        ("5:13", "seccomp"),
        ("6:13", "\\u017fyscalls"),
        ("9:1", "architectures"),
    ]
    .iter()
    .map(|(at, key)| {
        format!(
            "Warning {at}: `{key}` is ignored: the profile is read from `linux.seccomp` (8:22) {help}\n"
        )
    })
    .collect();
    for dialect in [None, Some(Dialect::Oci), Some(Dialect::Runc), Some(Dialect::Crun)] {
        assert_eq!(warnings(&text, dialect), expected, "{dialect:?}");
    }
    // A complete configuration of a runtime gives none of these warnings.
    let text = format!(
        "{{\"ociVersion\": \"1.0.2\", \"process\": {{\"args\": [\"sh\"], \"ioPriority\": {{\"class\": \"x\"}}}}, \
         \"mounts\": [{{\"options\": []}}], \"linux\": {{\"memoryPolicy\": {{\"flags\": []}}, \
         \"seccomp\": {}, \"maskedPaths\": [\"/proc/kcore\"]}}}}",
        inner()
    );
    assert_eq!(warnings(&text, Some(Dialect::Runc)), "");
}

/// crun 1.8.1 reads the annotation and ignores `linux.seccomp` (crun(1)).
#[test]
fn crun_installs_the_program_in_an_annotation_instead_of_the_profile() {
    let text = format!(
        "{{\"annotations\": {{\"run.oci.seccomp_bpf_data\": \"BgAAAAAA/38=\"}}, \
         \"linux\": {{\"seccomp\": {}}}}}",
        inner()
    );
    let twice = text.replacen('{', "{\"annotations\": {}, ", 1);
    for dialect in [None, Some(Dialect::Crun), Some(Dialect::Runc)] {
        assert!(reading(&twice, dialect).unwrap_err().contains("`annotations` is given twice"));
    }
    let expected = "1:18: crun ignores `linux.seccomp` and installs the BPF program in \
                `run.oci.seccomp_bpf_data`";
    for dialect in [None, Some(Dialect::Crun)] {
        assert!(reading(&text, dialect).unwrap_err().starts_with(&format!("Error {expected}")));
    }
    for dialect in [Dialect::Oci, Dialect::Runc] {
        assert_eq!(reading(&text, Some(dialect)), Ok("dup2"));
        assert!(warnings(&text, Some(dialect)).starts_with(&format!("Warning {expected}")));
    }
}

#[test]
fn a_number_that_a_named_errno_overrides_is_ignored_with_a_warning() {
    let differing = "\"errnoRet\": 13, \"errno\": \"EPERM\"";
    let text = text(&entry("dup", "ERRNO", differing));
    assert!(warnings(&text, Some(Dialect::Podman)).contains(
        "Warning 1:109: `errnoRet` is ignored because `errno` is given and differs (remove one \
         of them)\n"
    ));
    let same = text.replace("13", "1");
    assert!(!warnings(&same, Some(Dialect::Podman)).contains("differs"));
}

/// YAML documents are located like JSON documents.
#[test]
fn yaml_has_the_same_shapes() {
    let text = format!("kind: SeccompProfile\nspec: {}\ndefaultAction: SCMP_ACT_ALLOW\n", inner());
    assert!(
        reading(&text, None)
            .unwrap_err()
            .contains("(1:1) or as the profile at the top level (3:1)")
    );
    let text = format!("linux: {{seccomp: {}}}\n", inner());
    assert_eq!(reading(&text, Some(Dialect::Runc)), Ok("dup2"));
}
