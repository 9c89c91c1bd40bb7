//! What is written: names, groups, one entry for all syscalls with the same conditions.

use callgate::Arch;
use callgate::convert::{ConvertOptions, convert};
use callgate_formats::Listener;
use callgate_formats::languages::LanguageId;
use callgate_testing::languages::to;

use super::support::{closest, exact, policy};

const POLICY: &str = "ALLOW { write, read, exit_group, clone3 { 1 == 1 } }
    ALLOW { socket(family) { family == AF_UNIX || family == AF_INET6 }, fcntl(fd, cmd) { cmd == F_GETFD } }
    ALLOW { mmap(a, b, prot) { (prot & PROT_EXEC) == 0 } }
    DEFAULT KILL";

#[test]
fn a_profile_has_one_entry_per_condition_with_a_comment() {
    // x32 is killed by container profiles, and by default here.
    let text = exact(POLICY, to("podman")).text;
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
      "comment": "PROT_EXEC is not set",
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
    let text = exact(POLICY, to("kafel")).text;
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
    let converted = convert(&policy, &super::support::closest_options(to("docker"))).unwrap();
    assert!(converted.text.contains("\"archMap\""), "{}", converted.text);
    assert!(converted.text.contains("\"subArchitectures\": [\"SCMP_ARCH_X86\"]"));
}

#[test]
fn podman_gets_names_of_errnos() {
    let text = closest("ALLOW { read } ERRNO(13) { mount } DEFAULT ERRNO(1)", to("podman")).text;
    assert!(text.contains("\"defaultErrnoRet\": 1,\n  \"defaultErrno\": \"EPERM\""), "{text}");
    assert!(text.contains("\"errnoRet\": 13,\n      \"errno\": \"EACCES\""), "{text}");
}

#[test]
fn both_orders_of_rules_give_the_same_text() {
    let other = "ALLOW { exit_group } ALLOW { fcntl(fd, cmd) { cmd == F_GETFD }, clone3 }
        ALLOW { mmap(a, b, prot) { !((prot & 4) == 4) }, read }
        ALLOW { socket(family) { family == 10 || family == 1 }, write } DEFAULT KILL";
    for target in [to("oci"), to("podman"), to("kafel")] {
        assert_eq!(exact(other, target).text, exact(POLICY, target).text, "{target}");
    }
}

#[test]
fn a_new_syscall_changes_one_line() {
    let more = POLICY.replace("write, read", "write, read, close");
    for target in [to("oci"), to("kafel")] {
        let (old, new) = (exact(POLICY, target).text, exact(&more, target).text);
        let changed = old.lines().zip(new.lines()).filter(|(old, new)| old != new).count();
        assert_eq!((old.lines().count(), changed), (new.lines().count(), 1), "{target}");
    }
}

#[test]
fn flags_and_the_listener_are_part_of_a_profile_only() {
    let policy = policy("ALLOW { read } DEFAULT KILL", &[Arch::X86_64]);
    let mut options = ConvertOptions::new(to("oci"));
    options.flags = callgate_bpf::FilterFlags::LOG;
    let path = "/run/agent.sock".to_owned();
    options.listener = Some(Listener { path, metadata: Some("a: b".to_owned()) });
    let text = convert(&policy, &options).unwrap().text;
    for field in [
        "\"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"]",
        "\"listenerPath\": \"/run/agent.sock\"",
        "\"listenerMetadata\": \"a: b\"",
    ] {
        assert!(text.contains(field), "{text}");
    }
    options.target = to("kafel");
    let error = convert(&policy, &options).unwrap_err().to_string();
    for lost in ["SECCOMP_FILTER_FLAG_LOG", "the path of the listener"] {
        assert!(error.contains(&format!("kafel has no place for {lost}")), "{error}");
    }
}

/// The policy of `POLICY` with conditions of all kinds.
const CONDITIONS: &str = "ALLOW { read, write, exit_group, fcntl(fd, cmd) { cmd == 1 },
        mmap(a, b, prot) { (prot & 6) == 2 }, lseek(fd, offset) { offset >= 5 && offset <= 0x100000000 } }
    ERRNO(13) { socket(family) { family != 1 } } LOG { socket } ERRNO(1) { mount } DEFAULT KILL_PROCESS";

#[test]
fn a_policy_of_minijail_has_a_line_for_each_syscall() {
    let text = closest(CONDITIONS, to("minijail")).text;
    let expected = "# For x86_64.
@default kill-process

exit_group: 1
fcntl: arg1 == F_GETFD
lseek: arg1 >= 5 && arg1 <= 0x100000000
mmap: arg2 in ~PROT_EXEC && arg2 & PROT_WRITE
mount: return EPERM
read: 1
socket: { \\
  arg0 != AF_UNIX; return EACCES, \\
  log \\
}
write: 1
";
    assert_eq!(text, expected);
}

#[test]
fn an_allowed_rest_is_a_denylist_of_minijail() {
    let text = closest("ERRNO(1) { mount } DEFAULT ALLOW", to("minijail")).text;
    assert_eq!(text, "# For x86_64.\n@denylist\n\nmount: return EPERM\n");
}

#[test]
fn a_filter_of_firecracker_has_comments_for_numbers() {
    let policy = policy(
        "ALLOW { read, mmap(a, b, prot) { (prot & 6) == 2 }, lseek(fd, offset) { offset > 4 && offset < 0x100000001 } }
        DEFAULT ERRNO(1)",
        &[Arch::X86_64],
    );
    let mut options = super::support::closest_options(to("firecracker"));
    options.name = Some("api".to_owned());
    let expected = r#"{
  "api": {
    "mismatch_action": {"errno": 1},
    "match_action": "allow",
    "filter": [
      {
        "syscall": "lseek",
        "args": [
          {"index": 1, "type": "qword", "op": "ge", "val": 5, "comment": "offset >= 5"},
          {"index": 1, "type": "qword", "op": "le", "val": 4294967296, "comment": "offset <= 0x100000000"}
        ]
      },
      {
        "syscall": "mmap",
        "args": [
          {"index": 2, "type": "dword", "op": {"masked_eq": 6}, "val": 2, "comment": "prot & (PROT_WRITE | PROT_EXEC) == PROT_WRITE"}
        ]
      },
      {"syscall": "read"}
    ]
  }
}
"#;
    assert_eq!(convert(&policy, &options).unwrap().text, expected);
}

/// A Kafel policy for the architectures of a host of x86-64, without losses but for numbers.
fn host(text: &str, arches: &[Arch], target: LanguageId) -> String {
    let policy = policy(text, arches);
    convert(&policy, &super::support::closest_options(target)).unwrap().text
}

#[test]
fn a_profile_of_lxc_is_for_all_architectures_of_the_host() {
    let text =
        "ALLOW { read, write, ioctl { cmd == 0x5413 } } ERRNO(13) { mount } DEFAULT ERRNO(1)";
    let text = host(text, &[Arch::X86_64, Arch::X86, Arch::X32], to("lxc"));
    let expected = "2
allowlist errno 1
[all]
# cmd.low == TIOCGWINSZ
ioctl allow [1,0x5413,&=,0xffffffff]
mount errno 13
read
write
";
    assert_eq!(text, expected);
}

#[test]
fn a_profile_of_lxc_for_one_architecture_has_numbers() {
    let text = closest("ALLOW { read, exit_group, socket(f) { f == 1 } } DEFAULT KILL", to("lxc"));
    assert_eq!(text.text, "1\nallowlist\n0\n231\n");
    assert!(text.losses.iter().any(|loss| loss.names() == ["socket"]), "{:?}", text.losses);
}

#[test]
fn a_profile_of_a_snap_permits_and_denies() {
    let text =
        "ALLOW { read, quotactl { cmd == 0x80000700 } } ERRNO(13) { ioctl { cmd == 0x5412 } } ALLOW { ioctl }
        DEFAULT ERRNO(1)";
    let text = host(text, &[Arch::X86_64, Arch::X86], to("snap"));
    assert_eq!(text, "ioctl\nquotactl 4294967295|2147485440\nread\n~ioctl - 4294967295|TIOCSTI\n");
}

#[test]
fn a_resource_of_kubernetes_has_one_name_per_line() {
    let text = "ALLOW { read, write, fcntl { cmd == 1 } } ERRNO(13) { mount } DEFAULT ERRNO(1)";
    let text = host(text, &[Arch::X86_64, Arch::X86], to("k8s"));
    let expected = "apiVersion: security-profiles-operator.x-k8s.io/v1
kind: SeccompProfile
metadata:
  name: converted-profile
spec:
  defaultAction: SCMP_ACT_ERRNO
  architectures:
  - SCMP_ARCH_X86_64
  - SCMP_ARCH_X86
  syscalls:
  - action: SCMP_ACT_ALLOW
    names:
    - read
    - write
  - action: SCMP_ACT_ERRNO
    errnoRet: 13
    names:
    - mount
  # cmd.low == F_GETFD
  - action: SCMP_ACT_ALLOW
    names:
    - fcntl
    args:
    - index: 1
      op: SCMP_CMP_MASKED_EQ
      value: 4294967295
      valueTwo: 1
";
    assert_eq!(text, expected);
}

#[test]
fn kafel_gets_names_that_its_tables_have() {
    // Kafel's table of x86_64 has no listns (470), calls fstat newfstat, and the second argument of getrandom `count`.
    let text = "ALLOW { SYSCALL[470] (a) { a == 1 }, fstat, getrandom(b, n) { n <= 9 } } DEFAULT ERRNO(38)";
    let text = closest(text, to("kafel")).text;
    assert!(text.contains("SYSCALL[470](arg0) {"), "{text}");
    assert!(text.contains("    newfstat\n") && text.contains("getrandom(ubuf, len) {"), "{text}");
    assert!(text.contains("DEFAULT ERRNO(38)"), "{text}");
    // The second argument of arch_prctl is `arg2`.
    let text = exact("ALLOW { arch_prctl(a, b, c) { c == 1 } } DEFAULT KILL", to("kafel")).text;
    assert!(text.contains("arch_prctl(option, arg2, argument2) {"), "{text}");
}
