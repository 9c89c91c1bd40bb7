//! What people mean by a name if neither a file nor a source has it.

/// Advice about the name of a runtime, platform or program that is given as a source.
///
/// ```
/// assert_eq!(callgate_formats::meant("podman").as_deref(), Some("Podman's profile is podman-default"));
/// assert_eq!(callgate_formats::meant("profile.json"), None);
/// ```
pub fn meant(name: &str) -> Option<String> {
    if let Some(group) = name.strip_prefix('@').filter(|group| !group.is_empty()) {
        return Some(format!("a systemd group is a source as systemd:@{group}"));
    }
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix("/default").or(name.strip_suffix(":default")).unwrap_or(&name);
    let found = MEANT.iter().find(|(words, _)| words.split(' ').any(|word| word == name));
    found.map(|(_, advice)| (*advice).to_owned())
}

/// Names of runtimes, platforms and programs, and what to write instead.
const MEANT: [(&str, &str); 12] = [
    ("docker docker-engine dockerd moby", "Docker's profile is docker-default"),
    ("containerd nerdctl", "the profile of containerd is containerd-default"),
    ("podman buildah", "Podman's profile is podman-default"),
    ("cri-o crio cri-o-default", "the profile of CRI-O is crio-default"),
    (
        "runtimedefault runtime-default runtime kubernetes k8s kubelet",
        "it is the default of the node's runtime: containerd-default or crio-default",
    ),
    (
        "chrome chromium firefox",
        "its filters are built into the program: callgate explain pid:N shows those of a process",
    ),
    ("flatpak", "the filter of Flatpak is flatpak-default"),
    (
        "bubblewrap bwrap",
        "it installs the filter that it is given: callgate dump -- CMD shows those of a command",
    ),
    (
        "snap snapd",
        "the default of snapd is snapd-default; each snap has a profile of its own, \
         snap:/var/lib/snapd/seccomp/bpf/snap.NAME.APP.src",
    ),
    (
        "unconfined seccomp=unconfined privileged",
        "no filter is installed, so all syscalls are allowed",
    ),
    ("systemd systemctl", "each unit has filters of its own: NAME.service"),
    ("android bionic", "its filters are made from lists of syscalls: android:DIRECTORY#FILTER"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in::BUILT_INS;

    #[test]
    fn names_of_runtimes_lead_to_sources() {
        for (name, expected) in [
            ("docker", "docker-default"),
            ("docker/default", "docker-default"),
            ("RuntimeDefault", "containerd-default or crio-default"),
            ("runtime/default", "containerd-default or crio-default"),
            ("k8s", "containerd-default or crio-default"),
            ("cri-o", "crio-default"),
            ("@system-service", "systemd:@system-service"),
            ("Firefox", "pid:N"),
            ("snap", "snapd-default"),
            ("flatpak", "flatpak-default"),
            ("Unconfined", "all syscalls are allowed"),
            ("systemd", "NAME.service"),
        ] {
            let advice = meant(name).unwrap();
            assert!(advice.contains(expected), "{name}: {advice}");
        }
        for name in ["profile.json", "@", "", "default"] {
            assert_eq!(meant(name), None, "{name}");
        }
    }

    #[test]
    fn no_built_in_profile_has_advice() {
        assert!(BUILT_INS.iter().all(|one| meant(one.name).is_none()));
    }
}
