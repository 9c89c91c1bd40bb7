//! Sources: everything that the command line accepts as a filter, `[FORMAT:]NAME`.
//!
//! Without a format, the built-in name, the extensions `.bpf`, `.json`, `.yaml`, `.yml`, `.kafel` and `.policy`, and then
//! the content decide: `{` and a quote, `---`, or a key of a profile or a Kubernetes resource begin a
//! profile, a keyword such as `POLICY` a Kafel policy, a line such as `read: 1` a minijail policy, a version and
//! `allowlist` or `denylist` an LXC profile, an entry such as `close(int) all` an Android list, other text is a program as text, anything else is raw instructions. An
//! unknown format is an error; a file
//! name with a colon is written with `./` before it.
//!
//! `android:DIRECTORY#FILTER` is an Android filter, from lists of syscalls ([`android`]).
//!
//! A JSON object in which a thread has a `filter` is a Firecracker document. `FILE#NAME` is one of its
//! threads, one of several Kubernetes resources in a file, or one of several arrays in source code ([`part`]).
//!
//! `systemd:TEXT` and unit files are the stack of filters that systemd installs ([`unit`]).
//!
//! `pid:N` is the stack of filters of a process or thread, `pid:N/I` one of them ([`process`]). Analyses use the
//! stack itself; commands that generate programs use the program to which it merges.
//!
//! `preset:NAME` is a preset ([`preset`]). `A + B - C ^ D` combines sources ([`expression`]).
//!
//! Most commands need a seccomp filter; those that also take packets read a [`Subject`].

mod android;
mod base;
mod built_in;
mod content;
mod expression;
mod filter;
mod format;
mod included;
mod installed;
mod loaded;
mod loader;
mod named;
mod part;
mod place;
mod preset;
mod process;
mod read;
mod read_ahead;
mod referenced;
mod several;
mod socket;
mod stack;
mod tree;
mod unit;

pub(crate) use built_in::is_built_in;
pub(crate) use callgate_requests::source::{
    BUILT_IN, Combination, FilterContent, SocketFilter, SourceFilter, SourceStack,
};
pub(crate) use expression::warn_about_conditions;
pub(crate) use filter::{Compile, KernelProgram, failed};
pub(crate) use installed::InstalledSystemd;
pub(crate) use loaded::{LoadedSource, Text};
pub(crate) use named::Source;
pub(crate) use place::Place;
pub(crate) use process::{dump, stack_of};
pub(crate) use read::{not_a_program, read_text};
pub(crate) use socket::{AnyBoth, AnyFilter, AnyFilterOptions, NOT_COMPILED};
pub(crate) use stack::Combine;
