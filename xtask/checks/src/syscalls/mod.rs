//! `cargo xtask syscalls`: the tables of `crates/callgate-bpf/src/syscalls/generated/`.
//!
//! Numbers come from the kernel's uapi headers, versions from the man page syscalls(2), arguments
//! from the running kernel's trace events; [`supplement`] has what these sources lack. The
//! output depends only on the sources, so a second run with the same sources changes nothing.

mod fetch;
pub(crate) mod headers;
mod help;
mod manpage;
mod prototype;
mod render;
mod run;
pub(crate) mod sources;
pub(crate) mod stale;
mod supplement;

pub(crate) use help::HELP;
pub(crate) use run::run;
