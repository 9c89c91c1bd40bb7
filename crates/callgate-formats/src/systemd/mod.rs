//! Unit files of systemd: the filters that its directives install.
//!
//! `SystemCallFilter=` is the best known of fifteen directives that install seccomp filters ([`Directive`]). systemd
//! installs a filter for each directive and each architecture, so a service often has more than thirty of them, and the
//! kernel runs them all. [`read`] returns this stack; `callgate::merge` makes one program of it.
//!
//! # Steps
//!
//! | step | where | input and output |
//! |---|---|---|
//! | lines | `lines.rs`, `words.rs` | text → sections, keys, values and words, with offsets |
//! | directives | `unit.rs`, `lists.rs`, `values.rs` | values → settings; drop-ins change the settings of the unit |
//! | groups | `groups.rs`, `table.rs` | `@system-service` → syscalls; the table is written by `cargo xtask systemd-groups` |
//! | filters | `lower.rs`, `rules.rs` | settings → a policy for each filter, in the order of installation |
//!
//! # What is an error, and what a warning
//!
//! systemd ignores most mistakes with a line in its log, so that a unit may run with fewer filters than its author
//! meant. Here each of them is a warning that says so. Errors are texts that systemd does not load, units that it does not
//! start because libseccomp rejects a rule, and texts beyond the limits. Directives without filters are ignored, but a
//! key that resembles one that installs filters is a warning.
//!
//! # What is assumed
//!
//! - systemd was built for [`ReadOptions::native`], with libseccomp, and runs on a kernel with seccomp filters. It is not in
//!   debugging mode (`SYSTEMD_LOG_SECCOMP`).
//! - The system's libseccomp knows the syscalls of this crate; [`ReadOptions::libseccomp_lacks`] lists those that it does
//!   not. systemd ignores these.
//! - The manager has the personality 0 (`LockPersonality=` without `Personality=`), and restricts no architectures itself
//!   (`SystemCallArchitectures=` in `system.conf`).
//! - Specifiers (`%i`) are not expanded; no directive that is read here expands them in what decides about filters.
//! - Commands have no prefix `+`; it exempts a command from the filters and is a warning.
//!
//! Sources: systemd's `src/shared/seccomp-util.c` (rules and groups), `src/core/load-fragment.c` (values),
//! `src/core/execute.c` and `exec-invoke.c` (order), `src/core/unit.c` (`unit_patch_contexts`: `DynamicUser=`),
//! `src/shared/conf-parser.c` (lines), of the releases in `table.rs`. `docs/reference/languages/systemd.md` lists what each directive does.

mod arches;
mod groups;
mod language;
mod lines;
mod lists;
mod lower;
mod options;
mod rules;
mod settings;
mod table;
mod text;
mod unit;
mod values;
mod write;
mod write_list;
mod write_restrictions;

pub use crate::files::{FileErrors as UnitErrors, FileMessage};
pub use arches::{local as build_arches, name as arch_name};
pub use groups::{
    SystemdVersion, SystemdVersionError, group_members, group_names,
    known_to_systemd as known_names,
};
pub use language::{
    FILE, LANGUAGE, NEW_DROP_IN, SHIPPED, VALUES, check_unit_name, is_unit, section_of,
};
pub use lower::{is_without_section, read};
pub use options::{ExecSection, ReadOptions, UnitFilter, UnitFilters, UnitText};
pub use settings::Directive;
pub use values::{families, family_end, namespaces};
