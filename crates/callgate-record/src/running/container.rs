//! Names of the cgroups of containers.
//!
//! | engine | systemd's names | other names |
//! |---|---|---|
//! | Docker | `docker-ID.scope` | `docker/ID` |
//! | Podman | `libpod-ID.scope`, `libpod-payload-ID` | `libpod-ID` |
//! | containerd, CRI | `cri-containerd-ID.scope`, `nerdctl-ID.scope` | `ID` |
//! | CRI-O | `crio-ID.scope` | `crio-ID` |
//! | runc, crun | `runc-NAME.scope`, `crun-NAME.scope` | `NAME` |
//!
//! `libpod-conmon-ID.scope` and `crio-conmon-ID.scope` have the engine's monitor of a container.

/// An ID of an engine: a SHA-256 hash or as many random digits.
const DIGITS: usize = 64;

const PREFIXES: [&str; 9] = [
    "docker-",
    "libpod-payload-",
    "libpod-",
    "cri-containerd-",
    "nerdctl-",
    "crio-",
    "runc-",
    "crun-",
    "",
];

/// Whether a directory is the cgroup of the container with this ID, or with an ID that starts so. Names that are not
/// hexadecimal, as runc takes them, must be complete.
pub(super) fn is_of(directory: &str, id: &str) -> bool {
    let name = directory.strip_suffix(".scope").unwrap_or(directory);
    PREFIXES.iter().filter_map(|prefix| Some((*prefix, name.strip_prefix(prefix)?))).any(
        |(prefix, found)| {
            let is_id = found.len() == DIGITS && is_hexadecimal(found);
            !id.is_empty() && (is_id && found.starts_with(id) || !prefix.is_empty() && found == id)
        },
    )
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_all_engines_are_known() {
        let id = "3f".repeat(32);
        for directory in [
            "docker-ID.scope",
            "libpod-ID.scope",
            "libpod-payload-ID",
            "libpod-ID",
            "cri-containerd-ID.scope",
            "crio-ID.scope",
            "nerdctl-ID.scope",
            "ID",
        ] {
            let directory = directory.replace("ID", &id);
            assert!(is_of(&directory, &id) && is_of(&directory, &id[..12]), "{directory}");
            assert!(!is_of(&directory, "4f") && !is_of(&directory, ""), "{directory}");
        }
        for directory in ["libpod-conmon-ID.scope", "crio-conmon-ID.scope", "ID.service", "IDa"] {
            assert!(!is_of(&directory.replace("ID", &id), &id[..12]), "{directory}");
        }
        assert!(is_of("runc-web.scope", "web") && is_of("crun-web.scope", "web"));
        // Any cgroup could have this name.
        assert!(!is_of("web", "web") && !is_of("runc-web.scope", "we"));
    }
}
