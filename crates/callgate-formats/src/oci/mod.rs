//! The profiles of container runtimes: OCI, Docker, Podman, runc, crun, and the `SeccompProfile`
//! resource of Kubernetes' Security Profiles Operator, in JSON or YAML.
//!
//! [`read`] takes a profile, a whole OCI `config.json` (its `linux.seccomp`) or a `SeccompProfile`
//! resource (its `spec`). A text that begins with `{` or `[` is strict JSON; any other is YAML 1.2, one
//! document without anchors, aliases, tags and directives. (YAML that begins with a brace needs `---`
//! in front.) A dialect of a runtime reads the profile that this runtime reads; without a dialect, a document
//! that can be read in more than one way is an error. What the same profile means differs between runtimes,
//! too; [`Dialect`] says whose reading counts:
//!
//! | | `oci` | `runc` | `crun` | `docker` | `podman` |
//! |---|---|---|---|---|---|
//! | an index that repeats in an entry | all conditions | any condition | any | any | any |
//! | MASKED_EQ with a datum outside the mask | never holds | datum is masked | masked | masked | masked |
//! | `errnoRet` where the action takes none | error | ignored | error | ignored | error |
//! | conditions of an entry beyond the sixth | count | count | ignored | count | ignored |
//! | rules that libseccomp refuses | may be accepted | error | error | error | error |
//! | errno 4095 | accepted | error | error | error | error |
//! | numbers above the largest one named | as any other | ENOSYS | as any other | ENOSYS | as any other |
//! | `archMap`, `includes`, `excludes`, `name` | ignored | ignored | ignored | read | read |
//! | `minKernel` | ignored | ignored | ignored | read | ignored |
//! | `errno`, `defaultErrno` | ignored | ignored | ignored | ignored | read |
//! | a key that folds to a name, as `Names` does | error | read | ignored | read | read |
//!
//! Whatever is ignored, or read by some in another way, is a warning. How entries combine is the
//! same in all: see [`policy::ruleset`](crate::ruleset). What libseccomp refuses is an error,
//! because the container would not start; in `oci`, whose text knows no libseccomp, only the same
//! condition with two actions is one. Entries with the default verdict
//! are skipped, as all runtimes do, but their names count for ENOSYS. A name that no architecture
//! has is a warning, or an error when [`Options::strict`]; one that only other architectures have
//! is skipped quietly, because profiles are written for all.
//!
//! Sources: the runtime specification's `config-linux.md`; `profiles/seccomp` of moby,
//! `pkg/seccomp` of containers/common; `libcontainer/seccomp` of runc, whose `patchbpf` makes the
//! ENOSYS part; `src/libcrun/seccomp.c` of crun.

mod args;
mod gate;
mod locate;
mod lower;
mod schema;

use super::Profile;
use super::caps::CapSet;
use super::json;
use super::keys::Keys;
use super::reader::Reader;
use super::tree::Node;
#[cfg(feature = "yaml")]
use super::yaml;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Severity};
use callgate_bpf::syscalls::{Arch, KernelVersion};
pub use lower::BAD_ARCH;

/// Whose reading of a profile counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The text of the OCI runtime specification.
    Oci,
    /// Docker: the profile format of moby, run by runc.
    Docker,
    /// Podman: the profile format of containers/common.
    Podman,
    /// runc, given an OCI configuration.
    Runc,
    /// crun, given an OCI configuration.
    Crun,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 5] =
        [Dialect::Oci, Dialect::Docker, Dialect::Podman, Dialect::Runc, Dialect::Crun];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Oci => "oci",
            Dialect::Docker => "docker",
            Dialect::Podman => "podman",
            Dialect::Runc => "runc",
            Dialect::Crun => "crun",
        }
    }

    /// The dialect of a name.
    pub fn from_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether the profile format has Docker's additions to the one of OCI.
    const fn has_gates(self) -> bool {
        matches!(self, Dialect::Docker | Dialect::Podman)
    }

    /// Whether numbers above the largest one named get ENOSYS by default.
    const fn enosys_above(self) -> EnosysAbove {
        match self {
            Dialect::Docker | Dialect::Runc => EnosysAbove::On,
            Dialect::Oci | Dialect::Podman | Dialect::Crun => EnosysAbove::Off,
        }
    }
}

/// What runc puts in front of a filter: numbers above the largest one that the profile names get
/// ENOSYS, unless the default action is ALLOW, LOG or TRACE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EnosysAbove {
    /// They get what any other number gets, as with crun.
    Off,
    /// For each architecture of the filter, as runc 1.1.15 and 1.2 to 1.5 do.
    On,
    /// For the architectures that the profile lists and no other, as runc 1.1.3 to 1.1.14 do: a profile
    /// that lists none has no such part.
    Runc1_1,
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose reading counts. `None` asks the profile: keys of Podman or Docker tell theirs, else it is
    /// [`Dialect::Runc`]; what these and crun would find in different places or under different keys is
    /// an error.
    pub dialect: Option<Dialect>,
    /// Exactly these architectures. Empty: the native one and those that the profile adds to it.
    /// When given, the first 64-bit one of them takes the place of `native`, else the first.
    pub arches: Vec<Arch>,
    /// The machine's own architecture: `archMap`, `includes` and `excludes` are judged against it.
    pub native: Arch,
    /// What `includes.caps` and `excludes.caps` are judged against.
    pub caps: CapSet,
    /// What `minKernel` is judged against.
    pub kernel: KernelVersion,
    /// Whether numbers above the largest one that the profile names get ENOSYS; `None` leaves it to the
    /// dialect.
    pub enosys_above: Option<EnosysAbove>,
    /// Names that no architecture has are errors, not warnings.
    pub strict: bool,
}

impl Options {
    /// What a container of Docker on that machine would get: its default capabilities, the dialect
    /// of the profile.
    pub fn new(native: Arch, kernel: KernelVersion) -> Options {
        Options {
            dialect: None,
            arches: Vec::new(),
            native,
            caps: CapSet::docker(),
            kernel,
            enosys_above: None,
            strict: false,
        }
    }

    /// The architecture that entries are judged against.
    fn judged_against(&self) -> Arch {
        let wide = self.arches.iter().find(|arch| arch.is_64bit());
        wide.or(self.arches.first()).copied().unwrap_or(self.native)
    }
}

/// Reads a profile: JSON, and with the feature `yaml` YAML.
///
/// ```
/// use callgate_formats::oci::{self, Options};
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_bpf::{Arch, SeccompData, Verdict};
/// let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
///                "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_ALLOW"}]}"#;
/// let options = Options::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
/// let profile = oci::read(text, &options)?;
/// let call = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&call), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// Every message about the text, warnings included, when at least one is an error.
pub fn read(text: &str, options: &Options) -> Result<Profile, Diagnostics> {
    let document = if is_json(text) { json::parse(text)? } else { parse_yaml(text)? };
    read_tree(text, &document, options)
}

#[cfg(feature = "yaml")]
fn parse_yaml(text: &str) -> Result<Node, Diagnostic> {
    yaml::parse(text)
}

#[cfg(not(feature = "yaml"))]
fn parse_yaml(_: &str) -> Result<Node, Diagnostic> {
    Err(Diagnostic::error(None, "the text is not JSON, and support for YAML is not compiled in")
        .help("give the profile in JSON, or enable the feature `yaml` of callgate"))
}

/// Whether a text wants to be JSON. Of a text without content, and of one that begins with a comment of
/// JavaScript, the JSON reader says best what is wrong.
fn is_json(text: &str) -> bool {
    let content = text.trim_start_matches('\u{feff}').trim_start();
    content.is_empty() || content.starts_with(['{', '[', '/'])
}

fn read_tree(text: &str, document: &Node, options: &Options) -> Result<Profile, Diagnostics> {
    let keys = match options.dialect {
        None | Some(Dialect::Oci) => Keys::Agreed,
        Some(Dialect::Crun) => Keys::Exact,
        Some(Dialect::Docker | Dialect::Podman | Dialect::Runc) => Keys::Folded,
    };
    let mut reader = Reader::new(text, keys);
    let located = locate::locate(&mut reader, document, options.dialect);
    let detected = || located.as_ref().map_or(Dialect::Runc, |found| detect(found.profile));
    let dialect = options.dialect.unwrap_or_else(detected);
    let lowered = located.and_then(|found| {
        if found.is_resource {
            // Kubernetes stores it without the keys that it does not know, whoever reads it afterwards.
            reader.match_keys(Keys::Agreed);
        }
        let raw = schema::read(
            &mut reader,
            found.profile,
            dialect,
            options.judged_against(),
            found.is_resource,
        )?;
        lower::lower(&mut reader, &raw, dialect, options)
    });
    let failed = reader.failed();
    let messages = reader.finish();
    match lowered {
        Some(lowered) if !failed => Ok(Profile {
            policy: lowered.policy,
            dialect,
            flags: lowered.flags,
            listener: lowered.listener,
            warnings: messages,
        }),
        _ => {
            debug_assert!(messages.iter().any(|message| message.severity == Severity::Error));
            Err(messages.into())
        }
    }
}

/// The dialect by the keys that only one of the formats has.
fn detect(profile: &Node) -> Dialect {
    let has = |node: &Node, keys: &[&str]| {
        keys.iter().any(|key| node.members().iter().any(|member| *member.key == **key))
    };
    let entries = profile.get("syscalls").map_or(&[][..], Node::items);
    if has(profile, &["defaultErrno"]) || entries.iter().any(|entry| has(entry, &["errno"])) {
        return Dialect::Podman;
    }
    let docker = ["includes", "excludes", "name", "priority"];
    if has(profile, &["archMap"]) || entries.iter().any(|entry| has(entry, &docker)) {
        return Dialect::Docker;
    }
    Dialect::Runc
}
