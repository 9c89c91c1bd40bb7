//! What the same text means in each dialect, and how the dialect is detected.

use callgate::source::SourceText;
use callgate::{Arch, Endian, SeccompData, SyscallTable};
use callgate_formats::oci::{self, Dialect};

use crate::oci::support::{args, entry, errors, lines, options, read, syscall, text, warnings};

#[test]
fn a_repeated_index_means_all_in_the_specification_and_any_in_the_runtimes() {
    let entries = [entry("dup2", "ALLOW", &args(&["0 GE 3", "0 LE 5", "1 EQ 7"]))];
    for dialect in Dialect::ALL {
        let profile = read(&entries, &options(dialect));
        let or = if dialect == Dialect::Oci { "ERRNO(EPERM)" } else { "ALLOW" };
        for (given, verdict) in [([4, 7], "ALLOW"), ([9, 0], or), ([0, 0], or), ([4, 0], or)] {
            assert_eq!(syscall(&profile, "dup2", &given), verdict, "{dialect} {given:?}");
        }
        assert!(warnings(&profile)[0].starts_with(
            "argument 0 is compared more than once in this \
                                                   entry"
        ));
    }
}

#[test]
fn a_datum_outside_its_mask_never_matches_or_is_masked() {
    let entries =
        [entry("dup2", "ALLOW", &args(&["0 MASKED_EQ 0xf0 0x3f"])), entry("dup", "ALLOW", "")];
    for dialect in Dialect::ALL {
        let profile = read(&entries, &options(dialect));
        let masked = if dialect == Dialect::Oci { "ERRNO(EPERM)" } else { "ALLOW" };
        assert_eq!(syscall(&profile, "dup2", &[0x35]), masked, "{dialect}");
        assert_eq!(syscall(&profile, "dup2", &[0x4f]), "ERRNO(EPERM)", "{dialect}");
        assert!(warnings(&profile)[0].contains("0x3f has bits outside the mask 0xf0: 0xf"));
    }
}

#[test]
fn an_errno_for_an_action_without_one_is_an_error_in_oci_crun_and_podman() {
    let entries = [entry("dup", "ALLOW", "\"errnoRet\": 5")];
    for dialect in Dialect::ALL {
        if matches!(dialect, Dialect::Oci | Dialect::Crun | Dialect::Podman) {
            let given = errors(&entries, &options(dialect));
            assert_eq!(given, ["SCMP_ACT_ALLOW does not take an errno"], "{dialect}");
        } else {
            let profile = read(&entries, &options(dialect));
            assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
            assert_eq!(
                warnings(&profile),
                ["SCMP_ACT_ALLOW does not take an errno; it is ignored"]
            );
        }
    }
}

#[test]
fn errno_names_are_read_by_podman_only() {
    let entries = [
        entry("dup", "ERRNO", "\"errnoRet\": 1, \"errno\": \"ENOSYS\""),
        entry("dup2", "ERRNO", "\"errno\": \"42\""),
        entry("dup3", "ERRNO", "\"errnoRet\": 7, \"errno\": \"\""),
    ];
    let profile = read(&entries, &options(Dialect::Podman));
    assert_eq!(syscall(&profile, "dup", &[]), "ERRNO(ENOSYS)");
    assert_eq!(syscall(&profile, "dup2", &[]), "ERRNO(ENOMSG)");
    assert_eq!(syscall(&profile, "dup3", &[]), "ERRNO(E2BIG)");
    let docker = read(&entries, &options(Dialect::Docker));
    assert_eq!(syscall(&docker, "dup", &[]), "ERRNO(EPERM)");
    assert_eq!(warnings(&docker)[0], "`errno` is ignored: it is a key of Podman's profiles");

    let default = "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 1, \
                   \"defaultErrno\": \"EACCES\", \
                   \"syscalls\": [{\"names\": [\"dup\"], \"action\": \"SCMP_ACT_ALLOW\"}]}";
    let profile = oci::read(default, &options(Dialect::Podman)).unwrap();
    assert_eq!(syscall(&profile, "close", &[]), "ERRNO(EACCES)");
}

#[test]
fn the_dialect_is_detected_from_the_keys_of_only_one_format() {
    let plain = "\"names\": [\"dup\"], \"action\": \"SCMP_ACT_ERRNO\"";
    for (more, dialect) in [
        ("", Dialect::Runc),
        (", \"comment\": \"x\"", Dialect::Runc),
        (", \"includes\": {}", Dialect::Docker),
        (", \"excludes\": {\"caps\": [\"CAP_BPF\"]}", Dialect::Docker),
        (", \"priority\": 1", Dialect::Docker),
        (", \"includes\": {}, \"errno\": \"EPERM\"", Dialect::Podman),
    ] {
        let mut options = options(Dialect::Runc);
        options.dialect = None;
        let profile = oci::read(&text(&format!("{{{plain}{more}}}")), &options);
        let profile = profile.unwrap_or_else(|messages| panic!("{more} {}", lines(&messages)));
        assert_eq!(profile.dialect, Some(dialect), "{more}");
    }
}

#[test]
fn older_formats_are_read() {
    let entries = "{\"name\": \"dup\", \"action\": \"SCMP_ACT_ALLOW\", \"args\": null, \
                   \"priority\": 3}, \
                   {\"name\": \"dup2\", \"names\": null, \"action\": \"SCMP_ACT_LOG\", \"args\": []}";
    let mut options = options(Dialect::Docker);
    options.dialect = None;
    let profile = oci::read(&text(entries), &options).unwrap();
    assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
    assert_eq!(syscall(&profile, "dup2", &[]), "LOG");
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn priorities_are_weights() {
    let entry = |name: &str, more: &str| {
        format!("{{\"name\": \"{name}\", \"action\": \"SCMP_ACT_ALLOW\"{more}}}")
    };
    // Every other number, so that each is an interval of its own.
    let names: Vec<&str> =
        Arch::X86_64.syscalls().map(|(_, name)| name).step_by(2).take(60).collect();
    let favourite = names[37];
    let with = |more: &str| {
        let entry = |name: &&str| entry(name, if *name == favourite { more } else { "" });
        let entries: Vec<String> = names.iter().map(entry).collect();
        let profile = format!(
            "{{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"architectures\": [\"SCMP_ARCH_X86_64\"], \"syscalls\": [{}]}}",
            entries.join(", ")
        );
        let source = SourceText::for_this_machine(&profile).unwrap();
        let compiled = source.compile().unwrap();
        let nr = Arch::X86_64.number(favourite).unwrap();
        let data = SeccompData { nr, arch: Arch::X86_64.token(), ..SeccompData::default() };
        compiled.program.run(&data, Endian::Little).executed
    };
    let (plain, favoured) = (with(""), with(", \"priority\": 254"));
    assert!(favoured < plain, "{favoured} and {plain}");
    assert_eq!(with(", \"priority\": 0"), plain);

    let read = |value: &str| {
        let entries = [entry("dup", &format!(", \"priority\": {value}")), entry("dup2", "")];
        oci::read(&text(&entries.join(", ")), &options(Dialect::Docker)).unwrap()
    };
    let profile = read("7");
    assert_eq!(profile.priorities, [("dup".to_owned(), 7), ("dup2".to_owned(), 0)]);
    assert!(read("0").priorities.is_empty());
    for wrong in ["256", "-1", "1.5", "\"high\""] {
        let profile = read(wrong);
        assert!(profile.priorities.is_empty(), "{wrong}");
        assert!(
            warnings(&profile)[0].contains("`priority` is not an integer from 0 to 255"),
            "{wrong}"
        );
    }
}

#[test]
fn a_runtime_configuration_and_a_kubernetes_resource_contain_a_profile() {
    let profile = text(&entry("dup", "ALLOW", ""));
    for document in [
        format!(
            "{{\"ociVersion\": \"1.2.0\", \"process\": {{\"cwd\": \"/\"}}, \
                 \"linux\": {{\"namespaces\": [], \"seccomp\": {profile}}}}}"
        ),
        format!(
            "{{\"apiVersion\": \"security-profiles-operator.x-k8s.io/v1beta1\", \
                 \"kind\": \"SeccompProfile\", \"metadata\": {{\"name\": \"x\"}}, \
                 \"spec\": {profile}}}"
        ),
    ] {
        let mut options = options(Dialect::Runc);
        options.dialect = None;
        let read = oci::read(&document, &options).unwrap();
        assert_eq!(read.dialect, Some(Dialect::Runc));
        assert_eq!(syscall(&read, "dup", &[]), "ALLOW");
        assert_eq!(warnings(&read), [""; 0]);
    }
}

#[test]
fn flags_and_listener_are_returned() {
    let text = "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \
                \"flags\": [\"SECCOMP_FILTER_FLAG_TSYNC\", \"SECCOMP_FILTER_FLAG_LOG\"], \
                \"listenerPath\": \"/run/l.sock\", \"listenerMetadata\": \"m\", \
                \"syscalls\": [{\"names\": [\"dup\"], \"action\": \"SCMP_ACT_NOTIFY\"}]}";
    let profile = oci::read(text, &options(Dialect::Runc)).unwrap();
    assert_eq!(profile.flags.to_string(), "TSYNC|LOG");
    let listener = profile.listener.as_ref().unwrap();
    assert_eq!((listener.path.as_str(), listener.metadata.as_deref()), ("/run/l.sock", Some("m")));
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn keys_in_another_case_are_read_where_go_reads_them() {
    let entries = "{\"Names\": [\"dup\"], \"action\": \"SCMP_ACT_ALLOW\"}";
    let profile = oci::read(&text(entries), &options(Dialect::Docker)).unwrap();
    assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
    assert_eq!(warnings(&profile), ["`Names` is read as `names`: Go's JSON decoder ignores case"]);
    let messages = oci::read(&text(entries), &options(Dialect::Crun)).unwrap_err();
    assert!(lines(&messages).contains(
        "unknown key `Names` in an entry of `syscalls`; it is \
                                       ignored (did you mean `names`? "
    ));
}

#[test]
fn architectures_add_to_the_native_one_and_options_replace_them() {
    let with = |arches: &str| {
        format!(
            "{{\"defaultAction\": \"SCMP_ACT_ERRNO\", {arches}, \
             \"syscalls\": [{{\"names\": [\"dup\"], \"action\": \"SCMP_ACT_ALLOW\"}}]}}"
        )
    };
    let map = "\"archMap\": [\
               {\"architecture\": \"SCMP_ARCH_AARCH64\", \"subArchitectures\": [\"SCMP_ARCH_ARM\"]}, \
               {\"architecture\": \"SCMP_ARCH_X86_64\", \"subArchitectures\": [\"SCMP_ARCH_X86\"]}, \
               {\"architecture\": \"SCMP_ARCH_RISCV64\", \"subArchitectures\": null}]";
    for (arches, native, given, expected) in [
        ("\"architectures\": []", Arch::X86_64, &[][..], &[Arch::X86_64][..]),
        ("\"architectures\": [\"SCMP_ARCH_X86\"]", Arch::X86_64, &[], &[Arch::X86_64, Arch::X86]),
        ("\"architectures\": [\"SCMP_ARCH_X86_64\"]", Arch::Arm, &[], &[Arch::Arm, Arch::X86_64]),
        (map, Arch::X86_64, &[], &[Arch::X86_64, Arch::X86]),
        (map, Arch::Aarch64, &[], &[Arch::Aarch64, Arch::Arm]),
        (map, Arch::Riscv64, &[], &[Arch::Riscv64]),
        (map, Arch::S390x, &[], &[Arch::S390x]),
        (map, Arch::S390x, &[Arch::X32, Arch::X86_64], &[Arch::X86_64, Arch::X32]),
    ] {
        let mut options = options(Dialect::Docker);
        options.native = native;
        options.arches = given.to_vec();
        let profile = oci::read(&with(arches), &options).unwrap();
        let found: Vec<Arch> = profile.policy.arches().collect();
        assert_eq!(found, expected, "{arches} {native}");
    }
}
