//! The built-in profiles by name.

use std::borrow::Cow;

use callgate_bpf::diagnostic::Diagnostic;

use super::defaults;
use super::release::Release;
use super::table::{Table, Version};
use crate::languages::LanguageId;
use crate::presets::CONTAINER_DEFAULT;
use crate::{oci, snap};

/// A built-in profile.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name, as a source.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What reads it.
    pub language: LanguageId,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// A profile without versions.
    Profile(&'static str),
    /// A table of versions, whose text is in Docker's format.
    Table(&'static str),
    /// A table of versions, whose text is in the language of snaps.
    Rules(&'static str),
}

/// All built-in profiles.
pub const BUILT_INS: [BuiltIn; 7] = [
    BuiltIn {
        name: "container-default",
        what: "the built-in profile for containers",
        language: oci::DOCKER,
        form: Form::Profile(CONTAINER_DEFAULT),
    },
    BuiltIn {
        name: "docker-default",
        what: "Docker's default profile",
        language: oci::DOCKER,
        form: Form::Table(defaults::DOCKER),
    },
    BuiltIn {
        name: "containerd-default",
        what: "containerd's default profile, for RuntimeDefault in Kubernetes",
        language: oci::DOCKER,
        form: Form::Table(defaults::CONTAINERD),
    },
    BuiltIn {
        name: "podman-default",
        what: "Podman's default profile",
        language: oci::PODMAN,
        form: Form::Table(defaults::PODMAN),
    },
    BuiltIn {
        name: "crio-default",
        what: "CRI-O's default profile, for RuntimeDefault in Kubernetes",
        language: oci::PODMAN,
        form: Form::Table(defaults::CRIO),
    },
    BuiltIn {
        name: "flatpak-default",
        what: "the filter of Flatpak for an application without --devel and --multiarch",
        language: oci::PODMAN,
        form: Form::Table(defaults::FLATPAK),
    },
    BuiltIn {
        name: "snapd-default",
        what: "the default template of snapd, for a snap without interfaces",
        language: LanguageId::of_name(&snap::LANGUAGE, 0),
        form: Form::Rules(include_str!("../../profiles/snapd-default.txt")),
    },
];

/// A built-in profile in one version.
#[derive(Clone, Debug)]
pub struct BuiltInText {
    /// The name with the first release that has this profile: `docker-default@28.2.0`.
    pub name: String,
    /// The releases that have it, for each series of numbers: `Docker Engine 28.2.0 to 29.4.1`, `moby/profiles 0.1.0`. Empty for
    /// a profile without versions.
    pub releases: Vec<String>,
    /// The text.
    pub text: Cow<'static, str>,
    /// What reads it.
    pub language: LanguageId,
}

/// The built-in profile that a source names, `NAME` or `NAME@VERSION`; `None` for other sources.
///
/// # Errors
/// A version that is not known.
///
/// ```
/// use callgate_formats::built_in;
///
/// let old = built_in("docker-default@24.0.2").ok_or("unknown")?.map_err(|error| error.to_string())?;
/// assert_eq!(old.name, "docker-default@24.0.0");
/// assert!(old.text.contains("\"io_uring_setup\""));
/// assert!(built_in("profile.json").is_none());
/// # Ok::<(), String>(())
/// ```
pub fn built_in(source: &str) -> Option<Result<BuiltInText, Diagnostic>> {
    // A combination, `docker-default@24 + ptrace`.
    if source.contains(char::is_whitespace) {
        return None;
    }
    let (name, version) = match source.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (source, None),
    };
    Some(BuiltIn::named(name)?.text(version))
}

impl BuiltIn {
    /// The profile with this name, which has no version.
    pub fn named(name: &str) -> Option<&'static BuiltIn> {
        BUILT_INS.iter().find(|one| one.name == name)
    }

    /// The text of a version; without one, of the newest.
    ///
    /// # Errors
    /// A version that is not known.
    pub fn text(&self, version: Option<&str>) -> Result<BuiltInText, Diagnostic> {
        let language = self.language;
        match (self.form, version) {
            (Form::Profile(text), None) => {
                let (name, text) = (self.name.to_owned(), Cow::Borrowed(text));
                Ok(BuiltInText { name, releases: Vec::new(), text, language })
            }
            (Form::Profile(_), Some(_)) => {
                let message = format!("{} has no versions", self.name);
                Err(Diagnostic::error(None, message).help(format!("write {}", self.name)))
            }
            (Form::Table(_) | Form::Rules(_), _) => {
                let table = self.table()?;
                let found = match version {
                    Some(version) => find(&table, self.name, version)?,
                    None => table.newest(),
                };
                let found = found.ok_or_else(|| {
                    Diagnostic::error(None, format!("{} has no version", self.name))
                })?;
                Ok(BuiltInText {
                    name: format!("{}@{}", self.name, found.name()),
                    releases: table.releases(found),
                    text: Cow::Owned(match self.form {
                        Form::Rules(_) => table.rules(found),
                        _ => table.profile(found),
                    }),
                    language,
                })
            }
        }
    }

    /// The usual extension of a file with its text.
    pub const fn extension(&self) -> &'static str {
        match self.form {
            Form::Profile(_) | Form::Table(_) => "json",
            Form::Rules(_) => "src",
        }
    }

    /// The names of all versions, the oldest first; empty for a profile without versions.
    pub fn versions(&self) -> Vec<String> {
        let table = self.table();
        let versions = table.iter().flat_map(|table| table.versions());
        versions.map(|version| version.name().to_string()).collect()
    }

    /// The table of a profile with versions. It is valid, as a test checks.
    fn table(&self) -> Result<Table<'static>, Diagnostic> {
        let text = match self.form {
            Form::Profile(_) => "",
            Form::Table(text) | Form::Rules(text) => text,
        };
        Table::parse(text).map_err(|(line, what)| {
            Diagnostic::error(None, format!("line {line} of the table of {}: {what}", self.name))
        })
    }
}

/// The version with a number that was given.
fn find<'t>(
    table: &'t Table<'_>,
    name: &str,
    given: &str,
) -> Result<Option<&'t Version>, Diagnostic> {
    let Some(release) = Release::parse(given) else {
        let message = format!("{name}: \"{given}\" is not a version");
        let help = format!("write up to three numbers, such as {name}@{}", table.example());
        return Err(Diagnostic::error(None, message).help(help));
    };
    table.find(&release).map(Some).ok_or_else(|| {
        let message = format!("{name}: version {release} is not known");
        Diagnostic::error(None, message).help(format!("known are {}", table.known()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn resolved(source: &str) -> String {
        built_in(source).unwrap().unwrap().name
    }

    #[track_caller]
    fn refused(source: &str) -> (String, String) {
        let error = built_in(source).unwrap().unwrap_err();
        (error.message, error.help.to_string())
    }

    #[test]
    fn a_version_is_what_a_release_had() {
        assert_eq!(resolved("docker-default@20.10.21"), "docker-default@20.10.18");
        assert_eq!(resolved("docker-default@20.10.22"), "docker-default@20.10.22");
        assert_eq!(resolved("docker-default@v28.5"), "docker-default@28.2.0");
        assert_eq!(resolved("docker-default@26"), "docker-default@25.0.3");
        assert_eq!(resolved("docker-default@0.1.0"), "docker-default@28.2.0");
        assert_eq!(resolved("docker-default@0.2.2"), "docker-default@29.4.2");
        assert_eq!(resolved("docker-default@0.2"), "docker-default@29.4.3");
        assert_eq!(resolved("docker-default@29"), resolved("docker-default"));
        assert_eq!(resolved("container-default"), "container-default");
        // snapd 2.67 is a release before 2.67.1.
        assert_eq!(resolved("snapd-default@2.67"), "snapd-default@2.64");
        assert_eq!(resolved("snapd-default@2.67.1"), "snapd-default@2.67.1");
        assert_eq!(resolved("snapd-default@2.76"), "snapd-default@2.74.1");
        assert_eq!(resolved("snapd-default@2"), resolved("snapd-default"));
    }

    #[test]
    fn unknown_versions_are_refused_with_those_that_are_known() {
        let (message, help) = refused("docker-default@1.13.1");
        assert!(message.contains("version 1.13.1 is not known"), "{message}");
        assert!(help.starts_with("known are Docker Engine 19.03.0 to 29."), "{help}");
        assert!(help.contains(", moby/profiles 0.1.0 to 0.2."), "{help}");
        for never in ["21.0.5", "22", "20.10.99", "19.03.99", "0.1.5"] {
            let (message, _) = refused(&format!("docker-default@{never}"));
            assert!(message.contains("is not known"), "{message}");
        }
        assert!(refused("docker-default@99.0.0").0.contains("99.0.0 is not known"));
        assert!(refused("docker-default@0.99").0.contains("0.99 is not known"));
        assert!(refused("docker-default@latest").0.contains("\"latest\" is not a version"));
        assert!(refused("docker-default@").0.contains("\"\" is not a version"));
        assert!(refused("container-default@1.0").0.contains("has no versions"));
        for other in ["docker", "", "docker-default + ptrace", "docker-default@24 - ptrace"] {
            assert!(built_in(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_newest_default_of_an_engine_is_the_source_of_that_name() {
        for (engine, source) in [
            (defaults::Engine::Docker, "docker-default"),
            (defaults::Engine::Podman, "podman-default"),
            (defaults::Engine::Containerd, "containerd-default"),
        ] {
            let BuiltInText { name, text, .. } = built_in(source).unwrap().unwrap();
            assert_eq!(engine.newest_default().unwrap(), (name, text.into_owned()));
        }
    }

    #[test]
    fn every_table_is_valid() {
        for one in BUILT_INS.iter().filter(|one| !matches!(one.form, Form::Profile(_))) {
            let table = one.table().unwrap();
            table.check().unwrap();
            let name = table.newest().unwrap().name().to_string();
            assert_eq!(one.versions().last(), Some(&name));
        }
    }
}
