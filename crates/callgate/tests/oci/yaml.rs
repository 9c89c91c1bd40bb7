//! Profiles in YAML: they mean the same as in JSON, and ambiguous YAML is rejected.

use callgate_formats::CONTAINER_DEFAULT;
use callgate_formats::oci::{self, Dialect};
use callgate_testing::reader::expect_messages;

use crate::oci::support::{args, entry, lines, messages, options, syscall, text, warnings};

/// A resource of the Security Profiles Operator.
const RESOURCE: &str = "\
# A comment, and a document start marker.
---
apiVersion: security-profiles-operator.x-k8s.io/v1beta1
kind: SeccompProfile
metadata:
  name: example
  annotations:
    description: \"what it is for\"
spec:
  defaultAction: SCMP_ACT_ERRNO
  architectures:
  - SCMP_ARCH_X86_64
  flags: [SECCOMP_FILTER_FLAG_LOG]
  listenerPath: /run/listener.sock
  listenerMetadata: '5'
  syscalls:
  - action: SCMP_ACT_ALLOW
    names:
    - read
    - \"write\"
  - names: [personality]
    action: SCMP_ACT_ALLOW
    args:
    - {index: 0, value: 0x20000, op: SCMP_CMP_EQ}
  - names:
      - socket
    action: SCMP_ACT_NOTIFY
    args:
      - index: 1
        op: SCMP_CMP_MASKED_EQ
        value: 0o17
        valueTwo: 2
";

/// Asserts that a text is rejected with this message and help.
fn rejected(text: &str, expected: &str) {
    let beginning: String = text.chars().take(1000).collect();
    assert_eq!(messages(text, Dialect::Runc), expected, "{beginning}");
}

/// A profile in YAML with one entry, which starts on line 3.
fn with_entry(entry: &str) -> String {
    format!("defaultAction: SCMP_ACT_ERRNO\nsyscalls:\n{entry}")
}

#[test]
fn yaml_means_what_json_means() {
    let spec = text(
        &[
            entry("read write", "ALLOW", ""),
            entry("personality", "ALLOW", &args(&["0 EQ 0x20000"])),
            entry("socket", "NOTIFY", &args(&["1 MASKED_EQ 15 2"])),
        ]
        .join(", "),
    )
    .replacen(
        '{',
        "{\"architectures\": [\"SCMP_ARCH_X86_64\"], \"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"], \
         \"listenerPath\": \"/run/listener.sock\", \"listenerMetadata\": \"5\", ",
        1,
    );
    let json = format!("{{\"kind\": \"SeccompProfile\", \"spec\": {spec}}}");
    for dialect in [Dialect::Oci, Dialect::Runc, Dialect::Crun] {
        let options = options(dialect);
        let profile = oci::read(RESOURCE, &options).unwrap();
        assert_eq!(profile, oci::read(&json, &options).unwrap(), "{dialect}");
        assert_eq!(warnings(&profile), [""; 0]);
    }
    let profile = oci::read(RESOURCE, &options(Dialect::Runc)).unwrap();
    assert_eq!(syscall(&profile, "write", &[]), "ALLOW");
    assert_eq!(syscall(&profile, "personality", &[0x20000]), "ALLOW");
    assert_eq!(syscall(&profile, "personality", &[20000]), "ERRNO(EPERM)");
    assert_eq!(syscall(&profile, "socket", &[0, 0x12]), "USER_NOTIF");
}

#[test]
fn json_in_a_yaml_document_means_what_it_means_alone() {
    let options = options(Dialect::Docker);
    let yaml = format!("---\n{CONTAINER_DEFAULT}");
    let alone = oci::read(CONTAINER_DEFAULT, &options).unwrap();
    assert_eq!(oci::read(&yaml, &options).unwrap().policy, alone.policy);
}

#[test]
fn the_dialect_is_detected_as_in_json() {
    let mut options = options(Dialect::Runc);
    options.dialect = None;
    let entry = "- names: [dup]\n  action: SCMP_ACT_ALLOW\n  includes: {arches: [amd64]}\n";
    assert_eq!(oci::read(&with_entry(entry), &options).unwrap().dialect, Some(Dialect::Docker));
    let entry = "- names: [dup]\n  action: SCMP_ACT_ERRNO\n  errno: ENOSYS\n";
    let profile = oci::read(&with_entry(entry), &options).unwrap();
    assert_eq!(
        (profile.dialect, syscall(&profile, "dup", &[]).as_str()),
        (Some(Dialect::Podman), "ERRNO(ENOSYS)")
    );
}

/// Texts, and the messages about them.
const TEXTS: &str = r##"
"spec:\n\tdefaultAction: SCMP_ACT_ERRNO\n"
    2:1: this line is indented with a tab (use spaces: YAML does not allow tabs there)
"# nothing\n"
    the text has no content; expected a YAML mapping (give a seccomp profile or a SeccompProfile resource)
"- defaultAction\n"
    1:1: a profile must be an object, but this is a list (give a seccomp profile, an OCI config.json or a SeccompProfile resource)
"apiVersion: v1\nkind: ConfigMap\ndata: {}\n"
    1:1: this ConfigMap has no entry in `data` (a profile has `defaultAction` and `syscalls`)
{"apiVersion": "v1", "kind": "List", "items": []}
    1:30: `kind` is "List", but must be "SeccompProfile" (give a SeccompProfile resource, or a profile in its own file)
"kind: CronJob\nspec: {schedule: x}\n"
    1:7: this CronJob names no seccomp profile, so the kubelet's default decides (with seccompDefault, the kubelet takes that of the runtime, containerd-default or crio-default; without it, no filter is installed)
"##;

/// The only entry of a profile, which starts on line 3, and the messages about it.
const ENTRIES: &str = r#"
"- names: [read, write\n"
    3:10: the list that starts here is not closed (the text is truncated; check that the file is complete)
"- names: ["é", "wri"
    3:16: the string that starts here is not closed (the text is truncated; check that the file is complete)
"- names:\n  - read\n  act"
    5:3: this line is neither `key: value` nor `- item` (write a colon and a space after the key, or complete the file)
"- &base\n  names: [read]\n  action: SCMP_ACT_ALLOW\n- *base\n"
    3:3: YAML anchors are not supported (remove `&name`, and replace each `*name` by the value)
"- *base\n"
    3:3: YAML aliases are not supported (replace `*name` by the value)
"- names: [read]\n  action: SCMP_ACT_ALLOW\n  names: [write]\n"
    5:3: `names` is given twice, first at 3:3 (remove one: parsers disagree on which of the two counts)
"- action:\n  - SCMP_ACT_ALLOW\n  names: [dup]\n"
    4:3: `action` must be a string, but is a list ()
"- action: SCMP_ACT_ALLOW\n  names: [5]\n"
    4:11: each item of `names` must be a string, but is the number 5 ()
"#;

/// The value of a condition, and the messages about it.
const VALUES: &str = r#"
1.5
    7:12: `value` is 1.5, but must be an integer from 0 to 18446744073709551615 ()
1e3
    7:12: `value` is 1e3, but must be an integer from 0 to 18446744073709551615 ()
0x10000000000000000
    7:12: `value` is 0x10000000000000000, but must be an integer from 0 to 18446744073709551615 ()
'5'
    7:12: `value` must be an integer, but is the string "5" ()
1_000
    7:12: `value` must be an integer, but is `1_000`, which is a number for some YAML readers, but a string for others (put it in quotes, or write the number in decimal)
true
    7:12: `value` must be an integer, but is the boolean true ()
[5]
    7:12: `value` must be an integer, but is a list ()
-1
    7:12: `value` is -1, but must be an integer from 0 to 18446744073709551615 (arguments are unsigned; write 18446744073709551615 for -1)
"#;

#[test]
fn every_error_has_a_position_and_help() {
    expect_messages(TEXTS, |text| messages(text, Dialect::Runc));
    expect_messages(ENTRIES, |entry| messages(&with_entry(entry), Dialect::Runc));
}

#[test]
fn texts_that_are_not_yaml() {
    rejected(
        &format!("spec: {}", "[".repeat(1_000_000)),
        "1:262: nesting is deeper than the limit of 255 levels (profiles nest at most ten levels \
         deep; check that this is the right file)",
    );
    rejected(
        &format!("spec:\n{}", "- ".repeat(1_000_000)),
        "2:509: nesting is deeper than the limit of 255 levels (profiles nest at most ten levels \
         deep; check that this is the right file)",
    );
}

#[test]
fn ambiguous_yaml_is_rejected() {
    rejected(
        &format!("{RESOURCE}---\n{RESOURCE}"),
        "36:1: the text has 2 profiles; one must be chosen: example, example (the names are equal, so \
         put each profile into its own file)",
    );
    rejected(
        &RESOURCE.replace("0x20000", "0400000"),
        "24:25: `value` must be an integer, but is `0400000`, which is decimal in YAML 1.2, but octal in YAML 1.1 (write it without leading zeros, or in \
         hexadecimal (0x…), or put it in quotes)",
    );
}

#[test]
fn wrong_types_and_numbers() {
    let arg = |value: &str| {
        with_entry(&format!(
            "- names: [dup]\n  action: SCMP_ACT_ALLOW\n  args:\n  - index: 0\n    value: {value}\n    \
             op: SCMP_CMP_EQ\n"
        ))
    };
    expect_messages(VALUES, |value| messages(&arg(value), Dialect::Runc));
    assert!(oci::read(&arg("0xffffffffffffffff"), &options(Dialect::Runc)).is_ok());
    rejected(
        &RESOURCE.replace("spec:\n", "spec:\n  disabled: yes\n"),
        "10:13: `disabled` must be true or false, but is `yes`, which is a boolean in YAML 1.1, which Kubernetes reads, but a string in YAML 1.2 (put it in quotes, or \
         write true or false)",
    );
}

/// Parts of a document that no profile is read from may have them.
#[test]
fn disputed_values_elsewhere_do_no_harm() {
    let pod = "apiVersion: v1\nkind: Pod\nspec: {hostNetwork: yes, volumes: [{secret: {defaultMode: 0644}}]}\n";
    assert!(oci::read(&format!("{pod}---\n{RESOURCE}"), &options(Dialect::Runc)).is_ok());
}

#[test]
fn other_resources_of_kubernetes() {
    rejected(
        &RESOURCE.replace("spec:\n", "spec:\n  baseProfileName: runc-v1.2\n"),
        "10:20: cannot read the base profile `runc-v1.2`: it is not in this document (a base profile may also be another resource in the same text)",
    );
}

#[test]
fn workloads_of_kubernetes_name_profiles() {
    let pod = "  securityContext:
    seccompProfile: {type: RuntimeDefault}
  containers:
  - name: web
    securityContext:
      seccompProfile:
        type: Localhost
        localhostProfile: profiles/web.json
  - name: logs
";
    rejected(
        &format!("apiVersion: v1\nkind: Pod\nspec:\n{pod}"),
        "2:7: this Pod is not a profile; it names RuntimeDefault for the pod at 5:21, Localhost profiles/web.json for \
         the container web at 10:9 (give the file of the node, /var/lib/kubelet/seccomp/profiles/web.json)",
    );
    let nested = pod.replace("\n", "\n    ");
    rejected(
        &format!("kind: Deployment\nspec:\n  template:\n    spec:\n    {nested}\n"),
        "1:7: this Deployment is not a profile; it names RuntimeDefault for the pod at 6:25, Localhost \
         profiles/web.json for the container web at 11:13 (give the file of the node, \
         /var/lib/kubelet/seccomp/profiles/web.json)",
    );
    let many: String = (0..7)
        .map(|n| {
            format!(
                "  - {{name: c{n}, securityContext: {{seccompProfile: {{type: Unconfined}}}}}}\n"
            )
        })
        .collect();
    let text = format!("kind: Pod\nspec:\n  containers:\n{many}");
    let messages = lines(&oci::read(&text, &options(Dialect::Runc)).unwrap_err());
    assert!(messages.contains("Unconfined for the container c4 at 8:50, 2 more"), "{messages}");
    assert!(messages.contains("(Unconfined means that no filter is installed)"), "{messages}");
}

#[test]
fn other_resources_that_name_profiles() {
    for (text, message) in [
        (
            "kind: Pod\nmetadata:\n  annotations:\n    seccomp.security.alpha.kubernetes.io/pod: runtime/default\n    \
             container.seccomp.security.alpha.kubernetes.io/web: localhost/web.json\nspec: {}\n",
            "1:7: this Pod is not a profile; it names RuntimeDefault for the pod at 4:47, Localhost web.json for the container \
             web at 5:57 (give the file of the node, /var/lib/kubelet/seccomp/web.json)",
        ),
        (
            "kind: ProfileBinding\nspec: {profileRef: {kind: SeccompProfile, name: web}}\n",
            "1:7: this ProfileBinding is not a profile; it names web (give the SeccompProfile resource, or the file of the \
             profile on the node)",
        ),
        (
            "kind: SecurityContextConstraints\nseccompProfiles: [runtime/default]\n",
            "1:7: this SecurityContextConstraints is not a profile; it allows runtime/default (give the SeccompProfile \
             resource, or the file of the profile on the node)",
        ),
        (
            "securityContext:\n  seccompProfile: {type: Localhost, localhostProfile: a.json}\n",
            "1:1: this part of a resource is not a profile; it names Localhost a.json for the pod at 2:19 (give the file of the \
             node, /var/lib/kubelet/seccomp/a.json)",
        ),
        (
            "seccompProfile: {type: RuntimeDefault}\n",
            "1:1: this part of a resource is not a profile; it names RuntimeDefault for it at 1:17 (RuntimeDefault is the \
             default of the node's runtime: give containerd-default or crio-default)",
        ),
    ] {
        rejected(text, message);
    }
}

#[test]
fn a_byte_order_mark_takes_no_column() {
    let text = with_entry("- names: [dup]\n  action: SCMP_ACT_ALLOW\n");
    let marked = format!("\u{feff}{text}");
    let options = options(Dialect::Runc);
    assert_eq!(oci::read(&marked, &options).unwrap(), oci::read(&text, &options).unwrap());
    rejected(
        &marked.replacen("SCMP_ACT_ERRNO", "5", 1),
        "1:16: `defaultAction` must be a string, but is the number 5 ()",
    );
}
