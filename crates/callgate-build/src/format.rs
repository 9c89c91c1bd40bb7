//! Formats of policies, and their detection.

use callgate::formats::Language;
use callgate::formats::oci::Dialect;
use std::path::Path;

/// The format of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A policy in Kafel's language.
    Kafel,
    /// A container profile, or a `SeccompProfile` of Kubernetes. The dialect is detected.
    Profile,
    /// A container profile in a dialect.
    ProfileOf(Dialect),
    /// A policy of minijail.
    Minijail,
    /// A document of Firecracker or seccompiler.
    Firecracker,
    /// A profile of LXC.
    Lxc,
}

/// The names of formats, which are among those of `callgate compile FORMAT:FILE`.
const NAMES: &[(&str, Format)] = &[
    ("kafel", Format::Kafel),
    ("oci", Format::ProfileOf(Dialect::Oci)),
    ("docker", Format::ProfileOf(Dialect::Docker)),
    ("podman", Format::ProfileOf(Dialect::Podman)),
    ("runc", Format::ProfileOf(Dialect::Runc)),
    ("crun", Format::ProfileOf(Dialect::Crun)),
    ("minijail", Format::Minijail),
    ("firecracker", Format::Firecracker),
    ("lxc", Format::Lxc),
];

impl Format {
    /// The format with a name such as `kafel` or `docker`, as in `callgate compile FORMAT:FILE`. The command also reads formats
    /// that are not policies for one program, such as units of systemd, profiles of snaps and programs.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// The names that [`Format::from_name`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// The format of a file by its extension, where that is ambiguous also by its content; `None` for an unknown extension.
    #[must_use]
    pub fn of(path: &Path, text: &str) -> Option<Format> {
        let language = Language::of_extension(path.extension()?.to_str()?, text.as_bytes())?;
        Some(match language {
            Language::Kafel => Format::Kafel,
            Language::Minijail => Format::Minijail,
            Language::Firecracker => Format::Firecracker,
            _ => Format::Profile,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_and_then_the_content_decide() {
        for (path, text, format) in [
            ("a.kafel", "read: 1", Some(Format::Kafel)),
            ("a.policy", "read: 1", Some(Format::Minijail)),
            ("a.policy", "ALLOW { read }", Some(Format::Kafel)),
            ("a.json", "{}", Some(Format::Profile)),
            ("a.json", "\u{feff}{\"vmm\": {\"filter\": []}}", Some(Format::Firecracker)),
            ("a.yml", "", Some(Format::Profile)),
            ("a.txt", "ALLOW { read }", None),
            ("kafel", "ALLOW { read }", None),
        ] {
            assert_eq!(Format::of(Path::new(path), text), format, "{path}");
        }
    }

    #[test]
    fn names_are_known() {
        assert!(Format::names().all(|name| Format::from_name(name).is_some()));
        assert_eq!(Format::from_name("docker"), Some(Format::ProfileOf(Dialect::Docker)));
        assert_eq!(Format::from_name("Docker"), None);
    }
}
