//! Gates: `includes` and `excludes`.

use callgate::Arch;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::CapSet;
use callgate_formats::oci::{self, Dialect};

use crate::oci::support::{entry, on, options, read, syscall, text, warnings};

/// Whether the gated entry applies on x86_64 with these capabilities and that kernel.
fn applies(gate: &str, caps: &str, kernel: &str) -> bool {
    let mut options = options(Dialect::Docker);
    options.caps = caps.parse::<CapSet>().unwrap();
    options.kernel = kernel.parse::<KernelVersion>().unwrap();
    let entries = [entry("dup", "ALLOW", gate), entry("close", "ALLOW", "")];
    syscall(&read(&entries, &options), "dup", &[]) == "ALLOW"
}

#[test]
fn gates_are_evaluated_as_in_the_table() {
    let bpf = "\"includes\": {\"caps\": [\"CAP_BPF\"]}";
    let both = "\"includes\": {\"caps\": [\"CAP_BPF\", \"CAP_CHOWN\"]}";
    let not_admin = "\"excludes\": {\"caps\": [\"CAP_SYS_ADMIN\", \"CAP_BPF\"]}";
    let kernel = "\"includes\": {\"minKernel\": \"4.8\"}";
    let old_kernel = "\"excludes\": {\"minKernel\": \"4.8\"}";
    let amd64 = "\"includes\": {\"arches\": [\"amd64\", \"x32\"]}";
    let arm = "\"includes\": {\"arches\": [\"arm\", \"arm64\"]}";
    let no_amd64 = "\"excludes\": {\"arches\": [\"amd64\"]}";
    let empty = "\"includes\": {\"caps\": [], \"arches\": []}, \"excludes\": {}";
    let clash = "\"includes\": {\"caps\": [\"CAP_BPF\"]}, \"excludes\": {\"caps\": [\"CAP_BPF\"]}";
    for (gate, caps, version, expected) in [
        (bpf, "docker", "6.18", false),
        (bpf, "CAP_BPF", "6.18", true),
        (both, "CAP_BPF", "6.18", false),
        (both, "CAP_BPF,CAP_CHOWN", "6.18", true),
        (not_admin, "docker", "6.18", true),
        (not_admin, "CAP_BPF", "6.18", false),
        (not_admin, "all", "6.18", false),
        (kernel, "none", "4.8", true),
        (kernel, "none", "4.19.0-8-amd64", true),
        (kernel, "none", "4.7", false),
        (kernel, "none", "3.10", false),
        (old_kernel, "none", "4.8", false),
        (old_kernel, "none", "4.7", true),
        (amd64, "none", "6.18", true),
        (arm, "none", "6.18", false),
        (no_amd64, "none", "6.18", false),
        (empty, "none", "6.18", true),
        (clash, "CAP_BPF", "6.18", false),
        (clash, "none", "6.18", false),
    ] {
        assert_eq!(applies(gate, caps, version), expected, "{gate} {caps} {version}");
    }
}

#[test]
fn arches_refer_to_the_main_architecture_on_all_architectures_of_the_filter() {
    let entries = [
        entry("dup", "ALLOW", "\"includes\": {\"arches\": [\"amd64\"]}"),
        entry("dup2", "ALLOW", "\"includes\": {\"arches\": [\"x86\"]}"),
    ];
    let mut options = options(Dialect::Docker);
    // The first 64-bit architecture counts as native, whatever the machine is.
    options.native = Arch::Aarch64;
    options.arches = vec![Arch::X86, Arch::X86_64];
    let profile = read(&entries, &options);
    for arch in [Arch::X86, Arch::X86_64] {
        assert_eq!(on(&profile.policy, arch, "dup", &[]), "ALLOW");
        assert_eq!(on(&profile.policy, arch, "dup2", &[]), "ERRNO(EPERM)");
    }
    options.arches = vec![Arch::X86];
    let profile = read(&entries, &options);
    assert_eq!(on(&profile.policy, Arch::X86, "dup2", &[]), "ALLOW");
}

#[test]
fn podman_ignores_min_kernel() {
    let entries = [entry("dup", "ALLOW", "\"includes\": {\"minKernel\": \"99.0\"}")];
    let profile = read(&entries, &options(Dialect::Podman));
    assert_eq!(syscall(&profile, "dup", &[]), "ALLOW");
    assert_eq!(warnings(&profile), ["`minKernel` is ignored: it is a key of Docker's profiles"]);
}

#[test]
fn the_other_dialects_ignore_gates() {
    let entries = [entry("dup", "ALLOW", "\"includes\": {\"caps\": [\"CAP_BPF\"]}")];
    for dialect in [Dialect::Oci, Dialect::Runc, Dialect::Crun] {
        let profile = read(&entries, &options(dialect));
        assert_eq!(syscall(&profile, "dup", &[]), "ALLOW", "{dialect}");
        let warning = "`includes` is ignored: it is a key of Docker's and Podman's profiles";
        assert_eq!(warnings(&profile), [warning], "{dialect}");
    }
}

#[test]
fn unknown_capabilities_and_architectures_are_warnings() {
    let gate = "\"includes\": {\"caps\": [\"CAP_SYS_ADMN\"], \"arches\": [\"x86_64\", \"vax\"]}";
    let text = text(&format!("{}, {}", entry("dup", "ALLOW", gate), entry("close", "ALLOW", "")));
    let mut options = options(Dialect::Docker);
    options.caps = CapSet::all();
    let profile = oci::read(&text, &options).unwrap();
    assert_eq!(syscall(&profile, "dup", &[]), "ERRNO(EPERM)");
    let messages: Vec<_> =
        profile.warnings.iter().map(|w| (w.message.as_str(), w.help.as_str())).collect();
    assert_eq!(
        messages,
        [
            (
                "unknown capability `CAP_SYS_ADMN`; no container has it",
                "did you mean `CAP_SYS_ADMIN`?"
            ),
            ("`x86_64` in `arches` is not an architecture; it matches nothing", "write `amd64`"),
            (
                "`vax` in `arches` is not an architecture; it matches nothing",
                "the names are amd64, x86, x32, arm64, arm, riscv64, s390x, ppc64le, …"
            ),
        ]
    );
}
