//! `cargo xtask systemd-groups`: the groups of syscalls in systemd's directives, from systemd's sources.
//!
//! The table `syscall_filter_sets` in `src/shared/seccomp-util.c` lists the members of each group, `syscall-list.txt`
//! those of `@known`. Both differ between releases, also between stable releases of one version, so the table is made
//! from the last stable release of each version.

mod parse;
mod render;
mod run;

pub(crate) use run::{HELP, run};
