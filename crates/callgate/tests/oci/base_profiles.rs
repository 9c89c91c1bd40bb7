//! Base profiles of `SeccompProfile` resources: the result is what version 1.0.0 of the Security Profiles Operator
//! writes to the node.

use std::fmt::Write;

use callgate_bpf::diagnostic::Diagnostics;
use callgate_formats::Profile;
use callgate_formats::oci::{self, Dialect, Included, ReadOptions};

use crate::oci::support::{lines, options, syscall, warnings};

/// A resource: its name, further members of `spec`, and entries in YAML, indented by two.
fn resource(name: &str, spec: &str, entries: &str) -> String {
    format!(
        "apiVersion: security-profiles-operator.x-k8s.io/v1\nkind: SeccompProfile\nmetadata: {{name: {name}}}\n\
         spec:\n  defaultAction: SCMP_ACT_ERRNO\n{spec}  syscalls:\n{entries}"
    )
}

/// Reads the first of these resources, whose base profiles are among the others, in files with their names.
fn read_with(
    text: &str,
    files: &[(&str, &str)],
    options: &ReadOptions,
) -> Result<Profile, Diagnostics> {
    let mut bases = |name: &str, _: Option<&str>| match files.iter().find(|file| file.0 == name) {
        Some((name, text)) => Ok(Included {
            name: format!("{name}.yaml"),
            identity: (*name).to_owned(),
            text: (*text).to_owned(),
            is_private: false,
        }),
        None => Err("there is no such file".to_owned()),
    };
    oci::read_with_bases(text, options, &mut bases)
}

fn read(text: &str, files: &[(&str, &str)]) -> Profile {
    read_with(text, files, &options(Dialect::Runc))
        .unwrap_or_else(|messages| panic!("{}", lines(&messages)))
}

/// Asserts that a resource with these base profiles is rejected with these messages.
fn rejected(text: &str, files: &[(&str, &str)], expected: &[&str]) {
    let messages = read_with(text, files, &options(Dialect::Runc)).unwrap_err();
    let expected: String = expected.iter().map(|message| format!("{message}\n")).collect();
    assert_eq!(lines(&messages), expected);
}

const APP: &str = "  - {names: [ptrace], action: SCMP_ACT_LOG}
  - {names: [personality], action: SCMP_ACT_ALLOW, args: [{index: 0, value: 8, op: SCMP_CMP_EQ}]}
  - {names: [mount], action: SCMP_ACT_ERRNO, errnoRet: 38}
  - {names: [socket], action: SCMP_ACT_ALLOW, args: [{index: 0, value: 1, op: SCMP_CMP_EQ}]}
  - {names: [umount2], action: SCMP_ACT_KILL_PROCESS}
  - {names: [clone], action: SCMP_ACT_ALLOW}
  - {names: [chmod], action: SCMP_ACT_ERRNO, errnoRet: 0}
";

const BASE: &str =
    "  - {names: [personality], action: SCMP_ACT_ALLOW, args: [{index: 0, op: SCMP_CMP_EQ}]}
  - {names: [socket], action: SCMP_ACT_ALLOW, args: [{index: 1, value: 2, op: SCMP_CMP_EQ}]}
  - {names: [write, read], action: SCMP_ACT_ALLOW}
  - names: [clone]
    action: SCMP_ACT_ALLOW
    args: [{index: 0, value: 2114060288, valueTwo: 0, op: SCMP_CMP_MASKED_EQ}]
";

const RUNTIME: &str = "  - {names: [getpid], action: SCMP_ACT_TRACE, errnoRet: 7}
  - {names: [read], action: SCMP_ACT_ALLOW}
  - {names: [socket], action: SCMP_ACT_LOG, args: [{index: 0, value: 17, op: SCMP_CMP_EQ}]}
";

/// The `spec` of the resource with [`APP`], [`BASE`] and [`RUNTIME`] as version 1.0.0 of the operator writes it, with
/// `"value":0` where it omits zero. Made with its function `UnionSyscalls`.
const WRITTEN: &str = r#"{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86_64"],
"flags":["SECCOMP_FILTER_FLAG_LOG"],"syscalls":[
{"names":["clone"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":2114060288,"op":"SCMP_CMP_MASKED_EQ"}]},
{"names":["read"],"action":"SCMP_ACT_ALLOW"},
{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":8,"op":"SCMP_CMP_EQ"}]},
{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":0,"op":"SCMP_CMP_EQ"}]},
{"names":["socket"],"action":"SCMP_ACT_ALLOW","args":[{"index":1,"value":2,"op":"SCMP_CMP_EQ"}]},
{"names":["read","write"],"action":"SCMP_ACT_ALLOW"},
{"names":["socket"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":1,"op":"SCMP_CMP_EQ"}]},
{"names":["clone"],"action":"SCMP_ACT_ALLOW"},
{"names":["mount"],"action":"SCMP_ACT_ERRNO","errnoRet":38},
{"names":["chmod"],"action":"SCMP_ACT_ERRNO"},
{"names":["umount2"],"action":"SCMP_ACT_KILL_PROCESS"},
{"names":["socket"],"action":"SCMP_ACT_LOG","args":[{"index":0,"value":17,"op":"SCMP_CMP_EQ"}]},
{"names":["ptrace"],"action":"SCMP_ACT_LOG"},
{"names":["getpid"],"action":"SCMP_ACT_TRACE","errnoRet":7}]}"#;

/// The three resources, of which each is the base profile of the one before. What is not about syscalls must have no
/// effect in a base profile.
fn three() -> [String; 3] {
    let app = "  architectures: [SCMP_ARCH_X86_64]\n  flags: [SECCOMP_FILTER_FLAG_LOG]\n  baseProfileName: base\n";
    let base =
        "  state: Disabled\n  flags: [SECCOMP_FILTER_FLAG_TSYNC]\n  baseProfileName: runtime\n";
    let runtime = "  architectures: [SCMP_ARCH_AARCH64]\n";
    [
        resource("app", app, APP),
        resource("base", base, BASE)
            .replace("defaultAction: SCMP_ACT_ERRNO", "defaultAction: SCMP_ACT_LOG"),
        resource("runtime", runtime, RUNTIME),
    ]
}

#[test]
fn the_result_is_what_the_operator_writes() {
    let [app, base, runtime] = three();
    let files = [("base", &*base), ("runtime", &*runtime)];
    for dialect in [Dialect::Oci, Dialect::Runc, Dialect::Crun] {
        let mut options = options(dialect);
        options.arches = Vec::new();
        options.enosys_above = None;
        let written = oci::read(WRITTEN, &options).unwrap();
        let combined = read_with(&app, &files, &options).unwrap();
        assert_eq!(combined.policy, written.policy, "{dialect}");
        assert_eq!((combined.flags, &combined.listener), (written.flags, &None), "{dialect}");
    }
}

#[test]
fn entries_of_base_profiles_apply_like_own_ones() {
    let [app, base, runtime] = three();
    let profile = read(&app, &[("base", &base), ("runtime", &runtime)]);
    for (name, args, verdict) in [
        ("ptrace", &[][..], "LOG"),
        ("personality", &[8], "ALLOW"),
        ("personality", &[0], "ALLOW"),
        ("personality", &[1], "ERRNO(EPERM)"),
        ("mount", &[], "ERRNO(ENOSYS)"),
        ("socket", &[1, 9], "ALLOW"),
        ("socket", &[9, 2], "ALLOW"),
        ("socket", &[17, 9], "LOG"),
        ("socket", &[17, 2], "ALLOW"),
        ("socket", &[9, 9], "ERRNO(EPERM)"),
        ("umount2", &[], "KILL_PROCESS"),
        ("clone", &[0x7e02_0000], "ALLOW"),
        ("chmod", &[], "ERRNO(EPERM)"),
        ("read", &[], "ALLOW"),
        ("write", &[], "ALLOW"),
        ("getpid", &[], "TRACE(7)"),
        ("getppid", &[], "ERRNO(EPERM)"),
    ] {
        assert_eq!(syscall(&profile, name, args), verdict, "{name} {args:?}");
    }
    assert_eq!(
        warnings(&profile),
        [
            "`socket` is in several entries, here and at base.yaml:11:14: version 1.0.0 of the operator writes \
             them all, later versions write one entry with the laxest action and the conditions of all",
            "the operator does not write an `errnoRet` of 0, so runtimes use EPERM",
        ]
    );
}

#[test]
fn entries_are_sorted_by_their_actions() {
    // The first unconditional rule decides.
    let app = resource(
        "app",
        "  baseProfileName: base\n",
        "  - {names: [read], action: SCMP_ACT_ALLOW}\n",
    );
    let base = resource("base", "", "  - {names: [read], action: SCMP_ACT_LOG}\n");
    let profile = read(&app, &[("base", &base)]);
    assert_eq!(syscall(&profile, "read", &[]), "ALLOW");
    assert_eq!(profile.warnings.len(), 2, "{}", lines(&profile.warnings));
}

#[test]
fn a_base_profile_may_have_all_rules() {
    let base = resource("base", "", "  - {names: [read], action: SCMP_ACT_ALLOW}\n");
    let app = resource("app", "  baseProfileName: base\n", "").replace("  syscalls:\n", "");
    let profile = read(&app, &[("base", &base)]);
    assert_eq!(syscall(&profile, "read", &[]), "ALLOW");
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn syscalls_with_the_same_rule_for_all_versions_are_not_reported() {
    let one = |entry: &str, other: &str| {
        let app = resource("app", "  baseProfileName: base\n", &format!("  - {entry}\n"));
        read(&app, &[("base", &resource("base", "", &format!("  - {other}\n")))]).warnings.len()
    };
    let entry = |args: &str| format!("{{names: [socket], action: SCMP_ACT_ALLOW, args: [{args}]}}");
    let (zero, one_of_zero, two) = (
        entry("{index: 0, value: 1, op: SCMP_CMP_EQ}"),
        entry("{index: 0, value: 2, op: SCMP_CMP_EQ}"),
        entry("{index: 0, value: 1, op: SCMP_CMP_EQ}, {index: 1, value: 1, op: SCMP_CMP_EQ}"),
    );
    let other = entry("{index: 1, value: 1, op: SCMP_CMP_EQ}");
    assert_eq!(one(&zero, &zero), 0);
    assert_eq!(one(&zero, &one_of_zero), 0);
    assert_eq!(one(&two, &two), 0);
    assert_eq!(one(&zero, &entry("")), 0);
    assert_eq!(one(&zero, &other), 1);
    assert_eq!(one(&one_of_zero, &two), 1);
}

#[test]
fn at_most_fourteen_base_profiles() {
    let names: Vec<String> = (0..=16).map(|level| format!("p{level}")).collect();
    let texts: Vec<String> = (0..=16)
        .map(|level| {
            let base = format!("  baseProfileName: p{}\n", level + 1);
            let entry = "  - {names: [read], action: SCMP_ACT_ALLOW}\n";
            resource(&names[level], if level == 15 { "" } else { &base }, entry)
        })
        .collect();
    let files: Vec<(&str, &str)> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(syscall(&read(&texts[1], &files), "read", &[]), "ALLOW");
    rejected(
        &texts[0],
        &files,
        &[
            "Error 6:20: in p14.yaml:6:20: `p15` is the base profile number 15; the operator's limit is 14 (write \
             several of them as one resource)",
        ],
    );
}

#[test]
fn resources_that_are_based_on_themselves() {
    let entry = "  - {names: [read], action: SCMP_ACT_ALLOW}\n";
    let on =
        |name: &str, base: &str| resource(name, &format!("  baseProfileName: {base}\n"), entry);
    rejected(
        &on("a", "a"),
        &[],
        &[
            "Error 6:20: the base profile `a` is based on itself: a -> a (remove one `baseProfileName`)",
        ],
    );
    rejected(
        &on("a", "b"),
        &[("b", &on("b", "a"))],
        &[
            "Error 6:20: in b.yaml:6:20: the base profile `a` is based on itself: a -> b -> a (remove one \
           `baseProfileName`)",
        ],
    );
    // The same files, whose names say nothing.
    let unnamed = |base: &str| on("x", base).replace("metadata: {name: x}\n", "metadata: {}\n");
    rejected(
        &unnamed("b"),
        &[("b", &unnamed("b"))],
        &[
            "Error 6:20: in b.yaml:6:20: the base profile `b` is based on itself: this resource -> b.yaml -> b (remove \
             one `baseProfileName`)",
        ],
    );
    // The file of the resource itself is known.
    let known = ReadOptions { identity: Some("b".to_owned()), ..options(Dialect::Runc) };
    let messages = read_with(&unnamed("b"), &[("b", &unnamed("b"))], &known).unwrap_err();
    assert_eq!(
        lines(&messages),
        "Error 6:20: the base profile `b` is based on itself: this resource -> b (remove one `baseProfileName`)\n"
    );
}

#[test]
fn base_profiles_that_cannot_be_read() {
    let entry = "  - {names: [read], action: SCMP_ACT_ALLOW}\n";
    let app = resource("app", "  baseProfileName: base\n", entry);
    rejected(
        &app,
        &[],
        &[
            "Error 6:20: cannot read the base profile `base`: there is no such file (a base profile may also be another \
           resource in the same text)",
        ],
    );
    rejected(
        &app,
        &[("base", "spec:\n\tdefaultAction: x\n")],
        &[
            "Error 6:20: in base.yaml:2:1: this line is indented with a tab (use spaces: YAML does not allow \
             tabs there)",
        ],
    );
    rejected(
        &app,
        &[("base", "defaultAction: SCMP_ACT_ALLOW\n")],
        &[
            "Error 6:20: the base profile `base` is not a SeccompProfile resource, see base.yaml:1:1 (put the profile \
             into the `spec` of a SeccompProfile resource)",
        ],
    );
    rejected(
        &app,
        &[("base", &resource("base", "", "  - {names: [read], action: SCMP_ACT_ALLOWED}\n"))],
        &[
            "Error 6:20: in base.yaml:7:29: `action` is \"SCMP_ACT_ALLOWED\", which is not an action (did you mean \
           \"SCMP_ACT_ALLOW\"?)",
        ],
    );
    let mut large = resource("base", "", entry);
    let _ = writeln!(large, "# {}", "x".repeat((10 << 20) - large.len() - 2));
    rejected(
        &app,
        &[("base", &large)],
        &[
            "Error 6:20: with `base` the base profiles have 10485761 bytes, the maximum is 10485760 (use smaller base \
           profiles)",
        ],
    );
}

#[test]
fn messages_about_base_profiles_name_their_file() {
    let app = resource(
        "app",
        "  baseProfileName: base\n",
        "  - {names: [read], action: SCMP_ACT_ALLOW}\n",
    );
    let base = resource(
        "other",
        "  defaultErrnoRet: 2\n",
        "  - {names: [raed], action: SCMP_ACT_ALLOW, more: 1}\n",
    );
    assert_eq!(
        lines(&read(&app, &[("base", &base)]).warnings),
        "Warning 6:20: `baseProfileName` is `base`, but the resource in base.yaml is named `other`; it is read anyway \
         (write the `metadata.name` of the base profile, which the operator looks for)\n\
         Warning 6:20: in base.yaml:6:3: `defaultErrnoRet` is ignored: it is a key of profiles of container \
         runtimes ()\n\
         Warning 6:20: in base.yaml:8:45: unknown key `more` in an entry of `syscalls`; it is ignored (remove it, or \
         check its spelling)\n\
         Warning 6:20: in base.yaml:8:14: no architecture has a syscall `raed`; it is skipped (did you mean `read`?)\n"
    );
}

#[test]
fn a_profile_that_is_disabled() {
    let entry = "  - {names: [read], action: SCMP_ACT_ALLOW}\n";
    rejected(
        &resource("app", "  state: Disabled\n", entry),
        &[],
        &["Error 6:10: this profile is disabled, so there is no filter (remove `state`)"],
    );
    rejected(
        &resource("app", "  state: Paused\n", entry),
        &[],
        &["Error 6:10: `state` is \"Paused\", but must be \"Enabled\" or \"Disabled\" ()"],
    );
    assert_eq!(warnings(&read(&resource("app", "  state: Enabled\n", entry), &[])), [""; 0]);
}
