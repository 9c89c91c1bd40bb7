//! What is written: names, groups, one entry for all syscalls with the same conditions.

use callgate::Arch;
use callgate::convert::{ConvertOptions, Target, convert};

use super::support::{closest, exact, policy};

const POLICY: &str = "ALLOW { write, read, exit_group, clone3 { 1 == 1 } }
    ALLOW { socket(family) { family == AF_UNIX || family == AF_INET6 }, fcntl(fd, cmd) { cmd == F_GETFD } }
    ALLOW { mmap(a, b, prot) { (prot & PROT_EXEC) == 0 } }
    DEFAULT KILL";

#[test]
fn a_profile_has_one_entry_per_condition_with_a_comment() {
    // x32 is killed by container profiles, and by default here.
    let text = exact(POLICY, Target::Podman).text;
    let expected = r#"{
  "defaultAction": "SCMP_ACT_KILL_THREAD",
  "architectures": ["SCMP_ARCH_X86_64"],
  "syscalls": [
    {
      "names": ["clone3", "exit_group", "read", "write"],
      "action": "SCMP_ACT_ALLOW"
    },
    {
      "comment": "cmd == F_GETFD",
      "names": ["fcntl"],
      "action": "SCMP_ACT_ALLOW",
      "args": [
        {"index": 1, "value": 1, "op": "SCMP_CMP_EQ"}
      ]
    },
    {
      "comment": "prot & PROT_EXEC == 0",
      "names": ["mmap"],
      "action": "SCMP_ACT_ALLOW",
      "args": [
        {"index": 2, "value": 4, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
      ]
    },
    {
      "comment": "family == AF_UNIX",
      "names": ["socket"],
      "action": "SCMP_ACT_ALLOW",
      "args": [
        {"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}
      ]
    },
    {
      "comment": "family == AF_INET6",
      "names": ["socket"],
      "action": "SCMP_ACT_ALLOW",
      "args": [
        {"index": 0, "value": 10, "op": "SCMP_CMP_EQ"}
      ]
    }
  ]
}
"#;
    assert_eq!(text, expected);
}

#[test]
fn a_kafel_policy_has_names_which_it_defines() {
    let text = exact(POLICY, Target::Kafel).text;
    let expected = "// For x86_64.
#define AF_INET6 10
#define AF_UNIX 1
#define F_GETFD 1
#define PROT_EXEC 4

POLICY converted {
  ALLOW {
    clone3, exit_group, read, write
  },
  ALLOW {
    fcntl(fd, cmd) {
      cmd == F_GETFD
    },
    mmap {
      (prot & PROT_EXEC) == 0
    },
    socket(family) {
      family == AF_UNIX ||
      family == AF_INET6
    }
  }
}

USE converted DEFAULT KILL
";
    assert_eq!(text, expected);
}

#[test]
fn docker_gets_an_arch_map() {
    let policy = policy("ALLOW { read, write } DEFAULT ERRNO(38)", &[Arch::X86_64, Arch::X86]);
    let converted = convert(&policy, &super::support::closest_options(Target::Docker)).unwrap();
    assert!(converted.text.contains("\"archMap\""), "{}", converted.text);
    assert!(converted.text.contains("\"subArchitectures\": [\"SCMP_ARCH_X86\"]"));
}

#[test]
fn podman_gets_names_of_errnos() {
    let text = closest("ALLOW { read } ERRNO(13) { mount } DEFAULT ERRNO(1)", Target::Podman).text;
    assert!(text.contains("\"defaultErrnoRet\": 1,\n  \"defaultErrno\": \"EPERM\""), "{text}");
    assert!(text.contains("\"errnoRet\": 13,\n      \"errno\": \"EACCES\""), "{text}");
}

#[test]
fn both_orders_of_rules_give_the_same_text() {
    let other = "ALLOW { exit_group } ALLOW { fcntl(fd, cmd) { cmd == F_GETFD }, clone3 }
        ALLOW { mmap(a, b, prot) { !((prot & 4) == 4) }, read }
        ALLOW { socket(family) { family == 10 || family == 1 }, write } DEFAULT KILL";
    for target in [Target::Oci, Target::Podman, Target::Kafel] {
        assert_eq!(exact(other, target).text, exact(POLICY, target).text, "{target}");
    }
}

#[test]
fn a_new_syscall_changes_one_line() {
    let more = POLICY.replace("write, read", "write, read, close");
    for target in [Target::Oci, Target::Kafel] {
        let (old, new) = (exact(POLICY, target).text, exact(&more, target).text);
        let changed = old.lines().zip(new.lines()).filter(|(old, new)| old != new).count();
        assert_eq!((old.lines().count(), changed), (new.lines().count(), 1), "{target}");
    }
}

#[test]
fn flags_are_part_of_a_profile_only() {
    let policy = policy("ALLOW { read } DEFAULT KILL", &[Arch::X86_64]);
    let mut options = ConvertOptions::new(Target::Oci);
    options.flags = callgate::bpf::FilterFlags::LOG;
    let text = convert(&policy, &options).unwrap().text;
    assert!(text.contains("\"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"]"), "{text}");
    options.target = Target::Kafel;
    let error = convert(&policy, &options).unwrap_err().to_string();
    assert!(error.contains("kafel has no place for SECCOMP_FILTER_FLAG_LOG"), "{error}");
}
