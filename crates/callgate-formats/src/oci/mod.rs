//! Profiles of container runtimes: OCI, Docker, Podman, runc, crun, and the `SeccompProfile` resource of
//! Kubernetes' Security Profiles Operator, in JSON or YAML.
//!
//! [`read()`] takes a profile, a whole OCI `config.json` (its `linux.seccomp`) or a `SeccompProfile`
//! resource (its `spec`). A text that starts with `{` or `[` is read as strict JSON, any other text as YAML 1.2:
//! without anchors, aliases, tags and directives. (YAML that starts with a brace needs `---` before it.) Of several
//! documents, or of the items of a `List`, the only profile is read, or the resource that [`ReadOptions::resource`] names. In the dialect of a runtime, the profile is the one that this runtime reads; without a dialect, a document
//! that can be read in more than one way is an error.
//!
//! The same profile can mean different filters in different runtimes; [`Dialect`] selects one:
//!
//! | | `oci` | `runc` | `crun` | `docker` | `podman` |
//! |---|---|---|---|---|---|
//! | the same index twice in an entry | all conditions | any condition | any | any | any |
//! | MASKED_EQ with a datum outside the mask | never holds | datum is masked | masked | masked | masked |
//! | `errnoRet` with an action that takes none | error | ignored | error | ignored | error |
//! | conditions of an entry after the sixth | used | used | ignored | used | ignored |
//! | rules that libseccomp rejects | may be accepted | error | error | error | error |
//! | errno 4095 | accepted | error | error | error | error |
//! | numbers above the largest one named | as any other | ENOSYS | as any other | ENOSYS | as any other |
//! | `archMap`, `includes`, `excludes`, `name` | ignored | ignored | ignored | read | read |
//! | `minKernel` | ignored | ignored | ignored | read | ignored |
//! | `errno`, `defaultErrno` | ignored | ignored | ignored | ignored | read |
//! | a key in another case, such as `Names` | error | read | ignored | read | read |
//!
//! Everything that is ignored, or that other runtimes read differently, is a warning. Entries combine in the same
//! way in all dialects, as [`ruleset`](crate::ruleset) describes. Rules that libseccomp rejects are errors, because
//! the container would not start; the specification does not mention libseccomp, so in `oci` only the same condition
//! with two actions is an error. Entries with the default verdict are skipped, as in all runtimes, but their names
//! count for the ENOSYS check. A name that no architecture has is a warning, or an error with
//! [`ReadOptions::strict`]; a name that only other architectures have is skipped without a warning, because profiles
//! are written for all of them.
//!
//! [`read_with_bases()`] adds the base profiles of a resource, as the operator does (`bases`).
//!
//! Steps: [`read()`] parses the text, `candidates` finds what may be the profile, also inside of other documents (`container`), or in
//! a file or an engine that the text names (`named`: `workload`, `compose`, `command`), `select` chooses one, `locate` finds the profile in the document, `bases` its base profiles, `parse`
//! turns its tree into the typed `model`, and `lower` turns the model into a policy.
//!
//! Sources: `config-linux.md` of the runtime specification; `profiles/seccomp` of moby; `pkg/seccomp` of
//! containers/common; `libcontainer/seccomp` of runc, whose `patchbpf` adds the ENOSYS check; and
//! `src/libcrun/seccomp.c` of crun.

mod arches;
mod bases;
mod candidates;
mod command;
mod compose;
mod container;
mod convert;
mod edit;
mod entry;
mod language;
mod locate;
mod lower;
mod model;
mod named;
mod options;
mod parse;
mod read;
mod select;
mod workload;
mod write;
mod write_annotated;

#[cfg(test)]
mod named_tests;

pub use crate::included::{Included, Includes};
pub use language::{DOCKER, LANGUAGE, PODMAN};
pub use lower::BAD_ARCH;
pub use options::{Dialect, EnosysAbove, ReadOptions};
pub use read::{read, read_with_bases};
pub use write::{
    WriteEntry, WriteProfile, action_of, has_resource_arch, is_resource_name, write, write_resource,
};
