//! `cargo lab systemd`: compares the filters that systemd installs with those that the reader of units returns.
//!
//! Debian's packages of systemd are unpacked, not installed. `systemd --user` starts units in a change root with namespaces
//! of its own; each unit runs a program that waits. The filters of these processes, read by ptrace, are compared with the
//! policies of the reader, in their order: the MTBDD of each must be the same node.
//!
//! The table of groups is compared with what `systemd-analyze syscall-filter` prints.
//!
//! The user manager has the same code for filters as the system manager. A unit that systemd does not start must be an
//! error of the reader, and vice versa.

mod compare;
mod groups;
mod manager;
mod options;
mod root;
mod run;
mod units;

pub(crate) use options::HELP;
pub(crate) use run::run;
